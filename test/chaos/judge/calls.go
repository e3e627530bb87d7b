package judge

import "time"

const (
	// BeforeLoss is how long calls are counted before a loss.
	BeforeLoss = 15 * time.Second
	// CallsWindow is how long they are counted after it: tasks begin together every few seconds.
	CallsWindow = 6 * time.Second
	// BackWithin is how long after a loss calls are back to BackShare of their rate, where another server can serve.
	BackWithin = 20 * time.Second
	// BackShare is a share of the rate before.
	BackShare = 0.95
)

// rate returns the calls per second within a window that begins at a moment.
func rate(bySecond map[int64]int64, from time.Time, d time.Duration) float64 {
	n := int64(0)
	for s := from.Unix(); s < from.Add(d).Unix(); s++ {
		n += bySecond[s]
	}
	return float64(n) / d.Seconds()
}

// BackAfter returns how long after a loss the rate of calls was back.
func BackAfter(bySecond map[int64]int64, at time.Time) (after time.Duration, ok bool) {
	want := BackShare * rate(bySecond, at.Add(-BeforeLoss), BeforeLoss)
	// Calls granted before the loss are sent for some seconds: the rate falls only after them.
	stopped := false
	for after = time.Second; after <= BackWithin; after += time.Second {
		now := rate(bySecond, at.Add(after), CallsWindow)
		stopped = stopped || now < want
		if stopped && now >= want {
			return after, true
		}
	}
	if !stopped {
		return 0, true
	}
	return after, false
}

// LeastShare returns the least rate of calls after a loss, as a share of the rate before it.
func LeastShare(bySecond map[int64]int64, at time.Time) float64 {
	before := rate(bySecond, at.Add(-BeforeLoss), BeforeLoss)
	least := 1.0
	for after := time.Duration(0); after <= BackWithin; after += time.Second {
		least = min(least, rate(bySecond, at.Add(after), CallsWindow)/before)
	}
	return least
}

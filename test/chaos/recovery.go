package main

import (
	"context"
	"time"
)

const (
	// beforeLoss is how long calls are counted before a loss, and callsWindow how long after it: tasks begin together
	// every few seconds.
	beforeLoss  = 15 * time.Second
	callsWindow = 6 * time.Second
	// backWithin is how long after a loss calls are back to backShare of their rate, where another server can serve.
	backWithin = 20 * time.Second
	backShare  = 0.95
	// spared is the share of their rate that calls must keep if their servers are not touched.
	spared = 0.4
)

// loss is the loss of a server.
type loss struct {
	at time.Time
	// media are the platforms whose calls it stops; the calls of others continue.
	media []string
	// others means that those calls must keep their rate. They are judged up to until.
	others []string
}

// lose records that a server is lost now. Wait for beforeLoss before the call, and for backWithin and callsWindow
// after it.
func (t *trial) lose(media, others []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.losses = append(t.losses, loss{at: time.Now(), media: media, others: others})
}

// checkCallsAreBack judges by the platforms' ledger how soon calls came back after each loss, and whether unaffected
// calls continued.
func checkCallsAreBack(ctx context.Context, t *trial) error {
	calls, err := t.world.CallsBySecond(ctx)
	if err != nil {
		return err
	}
	for _, l := range t.losses {
		for _, media := range l.media {
			after, ok := backAfter(calls[media], l.at)
			t.log("calls to %s are back after %s: %t", media, after, ok)
			if !ok {
				t.complain("calls to %s were not back to %.0f %% of their rate within %s of a loss", media, 100*backShare,
					backWithin)
			}
		}
		for _, media := range l.others {
			if least := leastShare(calls[media], l.at); least < spared {
				t.complain("calls to %s fell to %.0f %% of their rate, though nothing that they need was lost", media, 100*least)
			} else {
				t.log("calls to %s kept at least %.0f %% of their rate", media, 100*least)
			}
		}
	}
	return nil
}

// rate returns the calls per second within a window that begins at a moment.
func rate(bySecond map[int64]int64, from time.Time, d time.Duration) float64 {
	n := int64(0)
	for s := from.Unix(); s < from.Add(d).Unix(); s++ {
		n += bySecond[s]
	}
	return float64(n) / d.Seconds()
}

// backAfter returns how long after a loss the rate of calls was back.
func backAfter(bySecond map[int64]int64, at time.Time) (after time.Duration, ok bool) {
	want := backShare * rate(bySecond, at.Add(-beforeLoss), beforeLoss)
	// Calls granted before the loss are sent for some seconds: the rate falls only after them.
	stopped := false
	for after = time.Second; after <= backWithin; after += time.Second {
		now := rate(bySecond, at.Add(after), callsWindow)
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

// leastShare returns the least rate of calls after a loss, as a share of the rate before it.
func leastShare(bySecond map[int64]int64, at time.Time) float64 {
	before := rate(bySecond, at.Add(-beforeLoss), beforeLoss)
	least := 1.0
	for after := time.Duration(0); after <= backWithin; after += time.Second {
		least = min(least, rate(bySecond, at.Add(after), callsWindow)/before)
	}
	return least
}

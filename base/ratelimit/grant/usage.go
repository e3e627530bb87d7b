package grant

import "slices"

// usage is what a plan keeps about one limit.
type usage struct {
	// every is the value of the last request. After a limit is lowered, its window may hold too many calls until
	// crowded.
	every, crowded int64
	kept           int64 // how long granted moments are kept, by the last request
	// granted are the moments of granted calls, in order and at least every apart. Those are kept that may keep later
	// calls away.
	granted []int64
	// ready replaces granted for a limit with a burst: the time at which the calls so far are used up.
	ready  int64
	claims map[claimant]*claim
}

func (b *usage) inStep(now, from, every int64) int64 {
	i, _ := slices.BinarySearch(b.granted, from)
	if i == 0 || every == 0 || b.granted[i-1] < now-every {
		return from
	}
	last := b.granted[i-1]
	return last + ceilDiv(from-last, every)*every
}

// earliest returns the first moment from t on at which the limit leaves cost free.
func (b *usage) earliest(t int64, cost int, l Limit) int64 {
	t = max(t, l.after)
	if l.bursts {
		return max(t, b.ready-max(0, l.tolerance-int64(cost-1)*l.Every))
	}
	i, _ := slices.BinarySearch(b.granted, t)
	if i > 0 {
		t = max(t, b.granted[i-1]+l.Every)
	}
	for ; i < len(b.granted) && b.granted[i] < t+int64(cost)*l.Every; i++ {
		t = max(t, b.granted[i]+l.Every)
	}
	if last := min(int64(i)-l.calls+int64(cost), int64(i)); b.crowded > 0 && last > 0 {
		t = max(t, b.granted[last-1]+l.window)
	}
	return t
}

// take takes cost from t on. In a calendar it takes as many moments.
func (b *usage) take(t int64, cost int, l Limit) {
	if l.bursts {
		b.ready = max(b.ready, t) + int64(cost)*l.Every
		return
	}
	i, _ := slices.BinarySearch(b.granted, t)
	for n := range cost {
		b.granted = slices.Insert(b.granted, i+n, t+int64(n)*l.Every)
	}
}

// undo undoes a take, if its moments are still where the limit's present number places them.
func (b *usage) undo(t int64, cost int, l Limit) {
	for n := range cost {
		if i, found := slices.BinarySearch(b.granted, t+int64(n)*l.Every); found {
			b.granted = slices.Delete(b.granted, i, i+1)
		}
	}
}

// forget drops what no longer matters.
func (b *usage) forget(now, horizon int64, l Limit) {
	b.kept = l.kept()
	i, _ := slices.BinarySearch(b.granted, now-b.kept)
	b.granted = slices.Delete(b.granted, 0, i)
	switch {
	case l.calls > 0 && b.every > 0 && l.Every > b.every:
		b.crowded = now + horizon + l.window
	case b.crowded < now:
		b.crowded = 0
	}
	b.every = l.Every
	// No grant exceeds this. A later value comes from a lower limit before, or from a clock that was set back.
	b.ready = max(0, min(b.ready, now+horizon+l.ahead))
	for who, c := range b.claims {
		if c.seen < now-claimLife {
			delete(b.claims, who)
		}
	}
}

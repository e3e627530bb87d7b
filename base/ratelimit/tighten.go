package ratelimit

import (
	"slices"
	"time"

	"adsync/base/clock"
)

// A limit of which the platform says that it is used up, though we have kept it, is lower than we believe, or others use it too. It is tightened by a
// tenth, once in a while for as long as the platform says so, down to a half, and comes back slowly.
//
// How far is kept as a moment, like a pause: that at which it will be whole again. So processes that are refused at the same time tighten
// it once, all learn of it as they do of pauses, and it comes back by itself.
const (
	tightenMost = 0.5              // of the limit, at the most
	tightenFor  = 10 * time.Minute // how long that takes to come back
	tightenStep = tightenFor / 5
	// tightenEvery is how long the calls that were granted before may still be refused.
	tightenEvery = 5 * time.Second
)

// tightened is which part of a limit is to be used.
func tightened(whole, now time.Time) float64 {
	left := min(max(0, whole.Sub(now)), tightenFor)
	return 1 - tightenMost*float64(left)/float64(tightenFor)
}

// tighten has the limits tightened that cover a call, of a scope. It returns them and for how long they are not whole.
func (d *desk) tighten(c Call, scope Scope, which func(Key) bool) map[Key]time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.w.now()
	common, own := d.w.rules.cover(c, now.Add(d.ahead))
	out := map[Key]time.Duration{}
	for _, x := range slices.Concat(common, own) {
		if x.Scope != scope || !which(x.Key) {
			continue
		}
		k := x.any()
		if now.Before(d.refused[k].Add(tightenEvery)) {
			continue
		}
		d.refused[k] = now
		whole := clock.Later(now, d.pauses[k]).Add(tightenStep)
		if most := now.Add(tightenFor); whole.After(most) {
			whole = most
		}
		d.pauses[k] = whole
		d.pausings++
		out[k] = whole.Sub(now)
	}
	return out
}

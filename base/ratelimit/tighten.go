package ratelimit

import (
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/ratelimit/grant"
)

// tightenEvery is how long calls that were granted before a tightening may still be refused.
const tightenEvery = 5 * time.Second

// tighten tightens the limits of a scope that cover a call and are in which. It returns them, with the time until
// each is whole again.
func (d *dispatcher) tighten(c grant.Call, scope grant.Scope, which func(grant.Key) bool) map[grant.Key]time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.w.now()
	common, own := d.w.rules.Cover(c, now.Add(d.ahead))
	out := map[grant.Key]time.Duration{}
	for _, x := range slices.Concat(common, own) {
		if x.Scope != scope || !which(x.Key) {
			continue
		}
		k := x.AnyWindow()
		if now.Before(d.refused[k].Add(tightenEvery)) {
			continue
		}
		d.refused[k] = now
		whole := clock.Later(now, d.pauses[k]).Add(grant.TightenStep)
		if most := now.Add(grant.TightenFor); whole.After(most) {
			whole = most
		}
		d.pauses[k] = whole
		d.pausings++
		out[k] = whole.Sub(now)
	}
	return out
}

package ratelimit

import (
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/ratelimit/grant"
)

// tightenEvery is how long the calls that were granted before may still be refused.
const tightenEvery = 5 * time.Second

// tighten has the limits tightened that cover a call, of a scope. It returns them and for how long they are not whole.
func (d *desk) tighten(c grant.Call, scope grant.Scope, which func(grant.Key) bool) map[grant.Key]time.Duration {
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

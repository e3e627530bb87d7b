package ratelimit

import (
	"context"
	"math"
	"time"

	"adsync/base/ratelimit/grant"
)

// see applies what the witness had recorded when it was read at began. While the common ledger is away this process
// has no part of the limits if others have the whole: processes that reach the common ledger, or those that reached
// it before this process and do not count it as a member yet.
func (f *fallback) see(ctx context.Context, s Sight, began time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if server := s.Servers[f.media]; server != "" && began.After(f.movedAt) {
		f.noted = server
	}
	within := lookBack
	if !f.awaySince.IsZero() {
		within = min(lookBack, max(lookEvery, f.own.Clock().Sub(f.awaySince)-lookSlack))
	}
	members, others, last := f.countReached(s.Reached, within)
	f.seen, f.others = true, others
	if f.awaySince.IsZero() {
		if members > 0 {
			f.members = members
		}
		return
	}
	known := !f.met.IsZero() && f.awaySince.Sub(f.met) > knownAfter
	full := !known && last >= f.reserve
	none := others || full
	if none {
		f.own.Spend(f.patience(false))
	}
	switch {
	case none == f.none:
	case others:
		f.log.WarnContext(ctx, "other processes reach redis: this one makes no calls")
	case full:
		f.log.WarnContext(ctx, "started without redis and no part is left: no calls until it is back",
			"processes", last, "members", f.reserve)
	default:
		f.log.WarnContext(ctx, "no process reaches redis: this one keeps to its part of the limits", "members", f.own.Parts())
	}
	f.none = none
}

// countReached returns how many processes reach the Redis of this media, whether another has reached it within a
// time, and how many others had when it was last reached.
func (f *fallback) countReached(all []Reach, within time.Duration) (members int, others bool, last int) {
	ago := map[string]time.Duration{}
	newest := time.Duration(math.MaxInt64)
	for _, r := range all {
		if r.Media != "" && r.Media != f.media {
			continue
		}
		if before, known := ago[r.Process]; !known || r.Ago < before {
			ago[r.Process] = r.Ago
		}
		newest = min(newest, r.Ago)
	}
	for process, d := range ago {
		if d < memberLife {
			members++
		}
		if process == f.process {
			continue
		}
		others = others || d < within
		if d < newest+memberLife {
			last++
		}
	}
	return members, others, last
}

// patience returns how long after a loss this process grants itself nothing: until earlier grants have lapsed, and
// the witness has records of others. A common ledger that timed out may also have paused and be back already for
// others that did not notice. They are granted calls unless nobody sent a request for grant.Unasked, so this process
// also waits until it has tried the ledger again.
func (f *fallback) patience(silence bool) time.Duration {
	d := grant.Horizon
	if silence {
		d = max(d, grant.Unasked+probeEvery+lookEvery-f.timeout)
	}
	if f.witness != nil {
		d = max(d, grant.Horizon+2*lookEvery)
	}
	return d
}

package ratelimit

import (
	"context"
	"math"
	"time"

	"adsync/base/ratelimit/grant"
)

// see takes note of what the witness had recorded when a look at it began. While the common ledger is away this process has no part of the limits if
// others have the whole: those that reach the common ledger, or those that did before this process, if they do not count it among them yet.
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
		f.log.WarnContext(ctx, "other processes reach redis and share the whole rate limits: this one makes no calls")
	case full:
		f.log.WarnContext(ctx, "this process has begun without redis, and those before it have all parts of the rate limits: it makes no calls until redis is back",
			"processes", last, "members", f.reserve)
	default:
		f.log.WarnContext(ctx, "no other process reaches redis either: this one keeps to its own part of the rate limits", "members", f.own.Parts())
	}
	f.none = none
}

// countReached returns how many processes reach the Redis of this media, whether any other has reached it within a time, and how many others had when
// it was reached last.
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

// patience is how long after a loss this process grants itself nothing: until what was granted before has lapsed, and the witness has told of others.
// The common ledger that did not answer in time may also have stood still and have come back since, for others that did not notice: they are granted calls
// unless nobody asked it for so long, and until this process has found it back.
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

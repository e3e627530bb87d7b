package ratelimit

import (
	"context"
	"math"
	"time"

	"adsync/base/ratelimit/grant"
)

// applyRecords applies what the witness had recorded when it was read at began. While the common ledger is away this
// process has no part of the limits if others have the whole: processes that reach the common ledger, or those that
// reached it before this process and do not count it as a member yet.
func (f *fallback) applyRecords(ctx context.Context, s Records, began time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if server := s.Servers[f.media]; server != "" && began.After(f.movedAt) {
		f.recordedServer = server
	}
	within := recordLife
	if !f.awaySince.IsZero() {
		within = min(recordLife, max(witnessEvery, f.own.Clock().Sub(f.awaySince)-noticeSlack))
	}
	members, others, last := f.countReached(s.Reached, within)
	f.witnessRead, f.others = true, others
	if f.awaySince.IsZero() {
		if members > 0 {
			f.members = members
		}
		return
	}
	known := !f.firstAnswer.IsZero() && f.awaySince.Sub(f.firstAnswer) > knownAfter
	full := !known && last >= f.reserve
	none := others || full
	if none {
		f.own.HoldOff(f.quietAfterLoss(false))
	}
	switch {
	case none == f.noPart:
	case others:
		f.log.WarnContext(ctx, "other processes reach redis: this one makes no calls")
	case full:
		f.log.WarnContext(ctx, "started without redis and no part is left: no calls until it is back",
			"processes", last, "members", f.reserve)
	default:
		f.log.WarnContext(ctx, "no process reaches redis: this one keeps to its part of the limits", "members", f.own.Parts())
	}
	f.noPart = none
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

// quietAfterLoss returns how long after a loss this process grants itself nothing: until earlier grants have lapsed,
// and the witness has records of others. A common ledger that timed out may also have paused and be back already for
// others that did not notice. They are granted calls unless no process sent a request for grant.IdleMost, so this
// process also waits until it has tried the ledger again.
func (f *fallback) quietAfterLoss(silence bool) time.Duration {
	d := grant.Horizon
	if silence {
		d = max(d, grant.IdleMost+probeEvery+witnessEvery-f.timeout)
	}
	if f.witness != nil {
		d = max(d, grant.Horizon+2*witnessEvery)
	}
	return d
}

package ratelimit

import (
	"context"
	"time"

	"adsync/base/ratelimit/grant"
)

// use is what an ask is put to.
type use int

const (
	useOwn    use = iota // this process's own ledger
	useCommon            // the common ledger
	tellBack             // the common ledger, which is told that this process was without it
	tellMoved            // the common ledger, which is told that it has taken the place of another
	meet                 // the common ledger, of which nothing is wanted yet
)

// of is what the common ledger is asked.
func (u use) of(a grant.Ask) grant.Ask {
	a.Back, a.Moved = u == tellBack || u == tellMoved, u == tellMoved
	if u == meet {
		a.Wants = nil
	}
	return a
}

// returned notes that the common ledger was told of an absence, or met, at a moment. Told of one it grants nothing within its horizon from then on.
func (f *fallback) returned(by use, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.met.IsZero() {
		f.met = f.own.Clock()
	}
	if by == meet {
		// It may have been away for others, who have not looked yet and go on with their parts: no calls until they have.
		f.ownUntil = at.Add(meetFor)
		f.own.Spend(meetFor + grant.Microseconds(grant.OwnHorizon))
		return
	}
	quiet := grant.Horizon
	if by == tellMoved {
		quiet = grant.Hush
	}
	if at.Sub(f.missed) > grant.PartMost {
		// It has not looked for a while. Others that were quicker to come back may have been granted all that there is within that time.
		f.own.Spend(quiet)
	}
	f.owes, f.moved, f.ownUntil = false, false, at.Add(quiet-2*grant.Microseconds(grant.OwnHorizon))
}

// use tells what an ask should be put to: the common ledger as long as it answers, else once each second.
func (f *fallback) use() use {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.own.Clock()
	switch {
	case now.Before(f.ownUntil):
		return useOwn
	case f.awaySince.IsZero() && f.barred.IsZero():
	case now.Before(f.nextProbe):
		return useOwn
	default:
		f.nextProbe = now.Add(probeEvery)
	}
	switch {
	case !f.barred.IsZero():
		return meet
	case f.moved:
		return tellMoved
	case f.owes:
		return tellBack
	case f.met.IsZero():
		return meet
	}
	return useCommon
}

// back notes that the common ledger answered what it was asked at the moment asked.
func (f *fallback) back(ctx context.Context, asked time.Time) {
	f.mu.Lock()
	since := f.awaySince
	// A late answer to an ask from before it went away says nothing.
	if since.IsZero() || asked.Before(since) {
		f.mu.Unlock()
		return
	}
	f.awaySince = time.Time{}
	f.mu.Unlock()
	f.metrics.fallback.WithLabelValues(f.media).Set(0)
	f.log.InfoContext(ctx, "redis answers again: rate limits are shared by all processes", "away", f.own.Clock().Sub(since).Round(time.Millisecond))
	// Redis may have come back empty, and nobody could tell it what the platforms said meanwhile.
	f.carry(ctx)
}

// carry has the common ledger know the pauses that this process knows. They are for all processes, so the deadline of the call that came upon the need
// does not bound it.
func (f *fallback) carry(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.timeout)
	defer cancel()
	for point, left := range f.own.InForce() {
		if err := f.common.Pause(bounded, point, left); err != nil {
			f.away(ctx, err)
			return
		}
	}
}

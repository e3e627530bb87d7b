package ratelimit

import (
	"context"
	"time"

	"adsync/base/ratelimit/grant"
)

// use defines which ledger answers a request, and what the ledger learns with it.
type use int

const (
	useOwn          use = iota // this process's own ledger
	useCommon                  // the common ledger
	useAfterAbsence            // the common ledger, which learns that this process was without it
	useAfterMove               // the common ledger, which learns that it has replaced another
	useFirst                   // the common ledger, without wanting calls yet
)

// of returns the request to the common ledger.
func (u use) of(a grant.Request) grant.Request {
	a.Back, a.Moved = u == useAfterAbsence || u == useAfterMove, u == useAfterMove
	if u == useFirst {
		a.Wants = nil
	}
	return a
}

// noteContact records that the common ledger learned of an absence, or was reached first, at a time. After an absence
// it grants nothing within its horizon.
func (f *fallback) noteContact(by use, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.firstAnswer.IsZero() {
		f.firstAnswer = f.own.Clock()
	}
	if by == useFirst {
		// The ledger may have been away for others that still use their own parts because they have not tried it yet. So no
		// calls until they have.
		f.ownUntil = at.Add(firstQuiet)
		f.own.HoldOff(firstQuiet + grant.Microseconds(grant.OwnHorizon))
		return
	}
	quiet := grant.Horizon
	if by == useAfterMove {
		quiet = grant.LongQuiet
	}
	if at.Sub(f.missed) > grant.PartMost {
		// This process has not tried the ledger for a while. Others that returned earlier may have been granted everything
		// within that time.
		f.own.HoldOff(quiet)
	}
	f.mustReport, f.moved, f.ownUntil = false, false, at.Add(quiet-2*grant.Microseconds(grant.OwnHorizon))
}

// use returns which ledger to use: the common one as long as it answers, otherwise once per second.
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
		return useFirst
	case f.moved:
		return useAfterMove
	case f.mustReport:
		return useAfterAbsence
	case f.firstAnswer.IsZero():
		return useFirst
	}
	return useCommon
}

// noteReturn records that the common ledger answered a request that was sent at the time sent.
func (f *fallback) noteReturn(ctx context.Context, sent time.Time) {
	f.mu.Lock()
	since := f.awaySince
	// A late answer to a request from before the loss proves nothing.
	if since.IsZero() || sent.Before(since) {
		f.mu.Unlock()
		return
	}
	f.awaySince = time.Time{}
	f.mu.Unlock()
	f.metrics.fallback.WithLabelValues(f.media).Set(0)
	f.log.InfoContext(ctx, "redis answers again: rate limits are shared", "away",
		f.own.Clock().Sub(since).Round(time.Millisecond))
	// Redis may have come back empty, and no pause could be stored in it meanwhile.
	f.restorePauses(ctx)
}

// restorePauses sends the pauses that this process knows to the common ledger. They concern all processes, so the
// deadline of the current call does not bound it.
func (f *fallback) restorePauses(ctx context.Context) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.timeout)
	defer cancel()
	for point, left := range f.own.InForce() {
		if err := f.common.Pause(bounded, point, left); err != nil {
			f.noteLoss(ctx, err)
			return
		}
	}
}

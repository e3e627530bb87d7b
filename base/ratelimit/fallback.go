package ratelimit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"adsync/base/clock"
)

// probeEvery is how often a process asks the common ledger whether it is back.
const probeEvery = time.Second

// fallback asks a common ledger, and this process's own while the common one is away.
type fallback struct {
	common  ledger
	own     *local
	timeout time.Duration
	log     *slog.Logger
	metrics *metrics

	mu        sync.Mutex
	awaySince time.Time // zero while the common ledger answers
	nextProbe time.Time
	owes      bool      // the common ledger has not been told of the absence
	ownUntil  time.Time // it grants nothing before this: meanwhile this process grants its own part
}

var _ ledger = (*fallback)(nil)

func (f *fallback) ask(ctx context.Context, media string, a ask) (answer, error) {
	use, back := f.useCommon()
	if !use {
		return f.own.ask(ctx, media, a)
	}
	var got answer
	err := f.try(ctx, func(ctx context.Context) (err error) {
		told := a
		told.back = back
		got, err = f.common.ask(ctx, media, told)
		return err
	})
	switch {
	case err == nil && !back:
		return got, nil
	case err == nil:
		f.mu.Lock()
		f.owes, f.ownUntil = false, got.asked.Add(microseconds(horizon-2*ownHorizon))
		f.mu.Unlock()
	case callerGaveUp(ctx):
		return answer{}, gaveUp(ctx)
	}
	return f.own.ask(ctx, media, a)
}

// pause implements ledger. A pause is always noted in this process too; the error says that no other process knows of it yet.
func (f *fallback) pause(ctx context.Context, point Key, d time.Duration) error {
	// The platform said so, and holding back is never wrong: the caller's giving up does not undo it here.
	if err := f.own.pause(context.WithoutCancel(ctx), point, d); err != nil {
		return err
	}
	return f.try(ctx, func(ctx context.Context) error { return f.common.pause(ctx, point, d) })
}

func (f *fallback) listen(ctx context.Context, told func(Key, time.Duration)) {
	f.common.listen(ctx, told)
}

// useCommon reports whether an ask should go to the common ledger: always while it answers, else once each second; and whether
// it has been away.
func (f *fallback) useCommon() (use, back bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := clock.Mark()
	switch {
	case now.Before(f.ownUntil):
		return false, false
	case f.awaySince.IsZero():
		return true, f.owes
	case now.Before(f.nextProbe):
		return false, false
	}
	f.nextProbe = now.Add(probeEvery)
	return true, true
}

// try asks the common ledger and takes note of whether it answered. A caller that gave up says nothing about that.
func (f *fallback) try(ctx context.Context, do func(context.Context) error) error {
	asked := clock.Mark()
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err := do(bounded)
	switch {
	case err == nil:
		f.back(ctx, asked)
	case !callerGaveUp(ctx):
		f.away(ctx, err)
	}
	return err
}

func (f *fallback) away(ctx context.Context, err error) {
	f.metrics.redisErrors.Inc()
	f.mu.Lock()
	first := f.awaySince.IsZero()
	if first {
		f.awaySince, f.owes, f.ownUntil = clock.Mark(), true, time.Time{}
		f.nextProbe = f.awaySince.Add(probeEvery)
		// What the common ledger granted a moment ago still stands in the platform's window.
		f.own.spend()
	}
	f.mu.Unlock()
	if first {
		f.metrics.fallback.Set(1)
		f.log.WarnContext(ctx, "redis does not answer: this process keeps to its own part of the rate limits", "members", f.own.members, "err", err)
	}
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
	f.metrics.fallback.Set(0)
	f.log.InfoContext(ctx, "redis answers again: rate limits are shared by all processes", "away", clock.Since(since).Round(time.Millisecond))
	// Redis may have come back empty, and nobody could tell it what the platforms said meanwhile. This is for all
	// processes, so the deadline of the one call that came upon it does not bound it.
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.timeout)
	defer cancel()
	for point, left := range f.own.paused() {
		if err := f.common.pause(bounded, point, left); err != nil {
			f.away(ctx, err)
			return
		}
	}
}

// callerGaveUp reports whether ctx has ended. A socket notices the deadline a moment before the context does.
func callerGaveUp(ctx context.Context) bool { return gaveUp(ctx) != nil }

func gaveUp(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if left, ok := clock.Left(ctx); ok && left <= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

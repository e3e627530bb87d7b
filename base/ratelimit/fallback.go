package ratelimit

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"adsync/base/clock"
)

// probeEvery is how often one call asks the common ledger whether it is back.
const probeEvery = time.Second

// fallback grants from a common ledger, and from this process's own while the common one is away.
type fallback struct {
	common  Limiter
	own     *Local
	timeout time.Duration
	log     *slog.Logger
	metrics *metrics

	mu        sync.Mutex
	awaySince time.Time // zero while the common ledger answers
	nextProbe time.Time
}

var _ Limiter = (*fallback)(nil)

// Take implements Limiter.
func (f *fallback) Take(ctx context.Context, keys []Key, n int) (Grant, error) {
	if !sameMedia(keys) {
		return Grant{}, errMixedMedia
	}
	if f.askCommon() {
		var g Grant
		err := f.ask(ctx, func(ctx context.Context) (err error) {
			g, err = f.common.Take(ctx, keys, n)
			return err
		})
		if err == nil {
			return g, nil
		}
		if callerGaveUp(ctx) {
			return Grant{}, gaveUp(ctx)
		}
	}
	return f.own.Take(ctx, keys, n)
}

// Pause implements Limiter. A pause is always noted in this process too; the error says that no other process knows of it yet.
func (f *fallback) Pause(ctx context.Context, key Key, d time.Duration) error {
	// The platform said so, and holding back is never wrong: the caller's giving up does not undo it here.
	if err := f.own.Pause(context.WithoutCancel(ctx), key, d); err != nil {
		return err
	}
	return f.ask(ctx, func(ctx context.Context) error { return f.common.Pause(ctx, key, d) })
}

// askCommon reports whether this call should ask the common ledger: always while it answers, else one call each second.
func (f *fallback) askCommon() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.awaySince.IsZero() {
		return true
	}
	now := clock.Mark()
	if now.Before(f.nextProbe) {
		return false
	}
	f.nextProbe = now.Add(probeEvery)
	return true
}

// ask asks the common ledger and takes note of whether it answered. A caller that gave up says nothing about that.
func (f *fallback) ask(ctx context.Context, do func(context.Context) error) error {
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
		f.awaySince = clock.Mark()
		f.nextProbe = f.awaySince.Add(probeEvery)
		// What the common ledger granted a moment ago still stands in the platform's window.
		f.own.Spend()
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
	for key, left := range f.own.pauses() {
		if err := f.common.Pause(bounded, key, left); err != nil {
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

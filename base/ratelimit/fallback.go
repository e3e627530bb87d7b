package ratelimit

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"adsync/base/clock"
)

const (
	// probeEvery is how often a process asks the common ledger whether it is back.
	probeEvery = time.Second
	// lookEvery is how often a process without the common ledger asks its witness about the others, and tellEvery how often one that has it
	// tells them.
	lookEvery = 250 * time.Millisecond
	tellEvery = time.Second
	// lookBack is how long what a process has told is believed: a little longer than one that has calls to make takes between two asks.
	lookBack = 5 * time.Second
	// lookSlack is how much earlier than this process another may notice the same loss.
	lookSlack = 500 * time.Millisecond
)

// Witness tells processes of each other by another way than Redis. A process that does not reach it must know whether others do: they share the
// whole limits, and leave nothing for it.
type Witness interface {
	// Reached notes that a process reaches Redis now.
	Reached(ctx context.Context, process string) error
	// OtherReached tells whether any but this process has reached Redis within the time before now.
	OtherReached(ctx context.Context, process string, within time.Duration) (bool, error)
}

// fallback asks a common ledger, and this process's own while the common one is away.
type fallback struct {
	common  ledger
	own     *local
	timeout time.Duration
	log     *slog.Logger
	metrics *metrics
	process string
	witness Witness       // may be nil
	reached chan struct{} // the common ledger has answered

	mu        sync.Mutex
	awaySince time.Time // zero while the common ledger answers
	missed    time.Time // when it was not there last
	nextProbe time.Time
	owes      bool      // the common ledger has to be told of the absence: this process has granted itself calls, or the ledger may have lost some
	ownUntil  time.Time // it grants nothing before this: meanwhile this process grants its own part
	others    bool      // reach the common ledger, and this process does not
}

var _ ledger = (*fallback)(nil)

func newFallback(common ledger, own *local, timeout time.Duration, log *slog.Logger, m *metrics) *fallback {
	return &fallback{common: common, own: own, timeout: timeout, log: log, metrics: m, reached: make(chan struct{}, 1)}
}

func (f *fallback) ask(ctx context.Context, media string, a ask) (answer, error) {
	use, back := f.useCommon()
	if !use {
		return f.alone(ctx, media, a)
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
		f.returned(got.asked)
	case callerGaveUp(ctx):
		return answer{}, gaveUp(ctx)
	}
	return f.alone(ctx, media, a)
}

// alone asks this process's own ledger.
func (f *fallback) alone(ctx context.Context, media string, a ask) (answer, error) {
	got, err := f.own.ask(ctx, media, a)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.awaySince.IsZero() && slices.ContainsFunc(got.wants, func(g given) bool { return len(g.starts) > 0 }) {
		f.owes = true
	}
	return got, err
}

// returned notes that the common ledger was told of an absence at a moment: it grants nothing within its horizon from then on.
func (f *fallback) returned(told time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owes, f.ownUntil = false, told.Add(microseconds(horizon-2*ownHorizon))
	if told.Sub(f.missed) > probeEvery+probeEvery/2 {
		// It has not looked for a while. Others that were quicker to come back may have been granted all that there is within the horizon.
		f.own.spend(horizonTime)
	}
}

// pause implements ledger. A pause is always noted in this process too; the error says that no other process knows of it yet.
func (f *fallback) pause(ctx context.Context, point Key, d time.Duration) error {
	// The platform said so, and holding back is never wrong: the caller's giving up does not undo it here.
	if err := f.own.pause(context.WithoutCancel(ctx), point, d); err != nil {
		return err
	}
	return f.try(ctx, func(ctx context.Context) error { return f.common.pause(ctx, point, d) })
}

// listen implements ledger. A loss that it is told of counts from then on, not from the next ask: what this process was granted lasts while what
// others may have been granted lapses.
func (f *fallback) listen(ctx context.Context, told func(Key, time.Duration), _ func(error)) {
	var watching sync.WaitGroup
	if f.witness != nil {
		watching.Go(func() { f.watch(ctx) })
	}
	f.common.listen(ctx, told, func(err error) { f.away(ctx, err) })
	watching.Wait()
}

// watch tells the witness that this process reaches the common ledger, or asks it about the others while it does not.
func (f *fallback) watch(ctx context.Context) {
	looks := time.NewTicker(lookEvery)
	defer looks.Stop()
	var told time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.reached:
			if now := f.own.clock(); now.Sub(told) >= tellEvery {
				told = now
				f.report(ctx, f.witness.Reached(ctx, f.process))
			}
		case <-looks.C:
			f.look(ctx)
		}
	}
}

// look asks about the others, and takes back this process's part of the limits if they have the whole. Without an answer it keeps it: whoever
// cannot reach the witness either is not alone with it.
func (f *fallback) look(ctx context.Context) {
	f.mu.Lock()
	since := f.awaySince
	f.mu.Unlock()
	if since.IsZero() {
		return
	}
	others, err := f.witness.OtherReached(ctx, f.process, min(lookBack, max(lookEvery, f.own.clock().Sub(since)-lookSlack)))
	if err != nil {
		f.report(ctx, err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.awaySince.IsZero() {
		return
	}
	if others {
		f.own.spend(f.patience())
	}
	switch {
	case others && !f.others:
		f.log.WarnContext(ctx, "other processes reach redis and share the whole rate limits: this one makes no calls")
	case !others && f.others:
		f.log.WarnContext(ctx, "no other process reaches redis either: this one keeps to its own part of the rate limits", "members", f.own.members)
	}
	f.others = others
}

func (f *fallback) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		f.log.DebugContext(ctx, "cannot tell, or learn, who reaches redis", "err", err)
	}
}

// patience is how long after a loss this process grants itself nothing: until what was granted before has lapsed, and the witness has told of others.
func (f *fallback) patience() time.Duration {
	if f.witness == nil {
		return horizonTime
	}
	return horizonTime + 2*lookEvery
}

// useCommon reports whether an ask should go to the common ledger: always while it answers, else once each second; and whether
// it has been away.
func (f *fallback) useCommon() (use, back bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.own.clock()
	switch {
	case now.Before(f.ownUntil):
		return false, false
	case f.awaySince.IsZero():
		return true, f.owes
	case now.Before(f.nextProbe):
		return false, false
	}
	f.nextProbe = now.Add(probeEvery)
	return true, f.owes
}

// try asks the common ledger and takes note of whether it answered. A caller that gave up says nothing about that.
func (f *fallback) try(ctx context.Context, do func(context.Context) error) error {
	asked := f.own.clock()
	bounded, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err := do(bounded)
	switch {
	case err == nil:
		select {
		case f.reached <- struct{}{}:
		default:
		}
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
	f.missed = f.own.clock()
	if !isTimeout(err) {
		f.owes = true // It may be another one that comes back, or have lost what it had.
	}
	if first {
		f.awaySince, f.ownUntil, f.others = f.own.clock(), time.Time{}, false
		f.nextProbe = f.awaySince.Add(probeEvery)
		// What the common ledger granted a moment ago still stands in the platform's window.
		f.own.spend(f.patience())
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
	f.log.InfoContext(ctx, "redis answers again: rate limits are shared by all processes", "away", f.own.clock().Sub(since).Round(time.Millisecond))
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

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
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

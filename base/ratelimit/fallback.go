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
	"adsync/base/redis"
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
	// partMost is how long after its return to the common ledger a process may go on with its own part because it has looked of late, and meetFor how
	// long one that has never asked it waits: by then it has heard of all of these.
	partMost = probeEvery + probeEvery/2
	meetFor  = partMost + 100*time.Millisecond
	// knownAfter is how long after it has met the common ledger all others count a process among them.
	knownAfter = 3 * touchEvery
)

// Witness tells processes of each other by another way than Redis. A process that does not reach it must know whether others do: they share the
// whole limits, and leave nothing for it.
type Witness interface {
	// Reached notes that a process reaches Redis now, and tells how many do.
	Reached(ctx context.Context, process string) (members int, err error)
	// OtherReached tells whether any but this process has reached Redis within the time before now, and how many but this did when it was reached last.
	OtherReached(ctx context.Context, process string, within time.Duration) (now bool, last int, err error)
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
	reserve int           // for how many processes there are parts at least, as this one was told
	reached chan struct{} // the common ledger has answered

	mu        sync.Mutex
	awaySince time.Time // zero while the common ledger answers
	missed    time.Time // when it was not there last
	nextProbe time.Time
	met       time.Time // when the common ledger answered first
	owes      bool      // the common ledger has to be told of the absence: this process has granted itself calls, or the ledger may have lost some
	ownUntil  time.Time // it grants nothing before this: meanwhile this process grants its own part
	members   int       // that reached the common ledger, as last known
	none      bool      // it has no part: others reach the common ledger, or had all parts before it began
}

var _ ledger = (*fallback)(nil)

func newFallback(common ledger, own *local, timeout time.Duration, log *slog.Logger, m *metrics) *fallback {
	return &fallback{common: common, own: own, timeout: timeout, log: log, metrics: m, reserve: own.members, reached: make(chan struct{}, 1)}
}

func (f *fallback) ask(ctx context.Context, media string, a ask) (answer, error) {
	use := f.use()
	if use == useOwn {
		return f.alone(ctx, media, a)
	}
	var got answer
	pausings := f.own.pausings()
	if use != useCommon || f.isAway() {
		pausings = -1 // The common ledger does not know all that this process does.
	}
	err := f.try(ctx, func(ctx context.Context) (err error) {
		if got, err = f.common.ask(ctx, media, use.of(a)); err == nil && got.pauses != nil {
			f.own.sync(media, got.pauses, pausings)
		}
		return err
	})
	switch {
	case err == nil && use == useCommon:
		return got, nil
	case err == nil:
		f.returned(use, got.asked)
	case callerGaveUp(ctx):
		return answer{}, gaveUp(ctx)
	}
	return f.alone(ctx, media, a)
}

func (f *fallback) isAway() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.awaySince.IsZero()
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

// use is what an ask is put to.
type use int

const (
	useOwn    use = iota // this process's own ledger
	useCommon            // the common ledger
	tellBack             // the common ledger, which is told that this process was without it
	meet                 // the common ledger, of which nothing is wanted yet
)

// of is what the common ledger is asked.
func (u use) of(a ask) ask {
	a.back = u == tellBack
	if u == meet {
		a.wants = nil
	}
	return a
}

// returned notes that the common ledger was told of an absence, or met, at a moment. Told of one it grants nothing within its horizon from then on.
func (f *fallback) returned(by use, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.met.IsZero() {
		f.met = f.own.clock()
	}
	switch {
	case by == meet:
		// It may have been away for others, who have not looked yet and go on with their parts: no calls until they have.
		f.ownUntil = at.Add(meetFor)
		f.own.spend(meetFor + microseconds(ownHorizon))
		return
	case at.Sub(f.missed) > partMost:
		// It has not looked for a while. Others that were quicker to come back may have been granted all that there is within the horizon.
		f.own.spend(horizonTime)
	}
	f.owes, f.ownUntil = false, at.Add(microseconds(horizon-2*ownHorizon))
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
	heard := func(point Key, d time.Duration) {
		_ = f.own.pause(ctx, point, d) // Nothing can be told when ctx has ended.
		told(point, d)
	}
	f.common.listen(ctx, heard, func(err error) { f.away(ctx, err) })
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
				members, err := f.witness.Reached(ctx, f.process)
				f.know(members)
				f.report(ctx, err)
			}
		case <-looks.C:
			f.look(ctx)
		}
	}
}

// know notes how many processes reach the common ledger, if that could be told.
func (f *fallback) know(members int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if members > 0 {
		f.members = members
	}
}

// look asks about the others, and takes back this process's part of the limits if they have the whole: those that reach the common ledger, or those that
// did before this process, if they do not count it among them yet. Without an answer it keeps it: whoever cannot reach the witness either is not alone with it.
func (f *fallback) look(ctx context.Context) {
	f.mu.Lock()
	since := f.awaySince
	f.mu.Unlock()
	if since.IsZero() {
		return
	}
	others, last, err := f.witness.OtherReached(ctx, f.process, min(lookBack, max(lookEvery, f.own.clock().Sub(since)-lookSlack)))
	if err != nil {
		f.report(ctx, err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.awaySince.IsZero() {
		return
	}
	known := !f.met.IsZero() && f.awaySince.Sub(f.met) > knownAfter
	full := !known && last >= f.reserve
	none := others || full
	if none {
		f.own.spend(f.patience(false))
	}
	switch {
	case none == f.none:
	case others:
		f.log.WarnContext(ctx, "other processes reach redis and share the whole rate limits: this one makes no calls")
	case full:
		f.log.WarnContext(ctx, "this process has begun without redis, and those before it have all parts of the rate limits: it makes no calls until redis is back",
			"processes", last, "members", f.reserve)
	default:
		f.log.WarnContext(ctx, "no other process reaches redis either: this one keeps to its own part of the rate limits", "members", f.own.parts())
	}
	f.none = none
}

func (f *fallback) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		f.log.DebugContext(ctx, "cannot tell, or learn, who reaches redis", "err", err)
	}
}

// patience is how long after a loss this process grants itself nothing: until what was granted before has lapsed, and the witness has told of others.
// The common ledger that did not answer in time may also have stood still and have come back since, for others that did not notice: they are granted calls
// unless nobody asked it for so long, and until this process has found it back.
func (f *fallback) patience(silence bool) time.Duration {
	d := horizonTime
	if silence {
		d = max(d, microseconds(unasked)+probeEvery+lookEvery-f.timeout)
	}
	if f.witness != nil {
		d = max(d, horizonTime+2*lookEvery)
	}
	return d
}

// use tells what an ask should be put to: the common ledger as long as it answers, else once each second.
func (f *fallback) use() use {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.own.clock()
	switch {
	case now.Before(f.ownUntil):
		return useOwn
	case f.awaySince.IsZero():
	case now.Before(f.nextProbe):
		return useOwn
	default:
		f.nextProbe = now.Add(probeEvery)
	}
	switch {
	case f.owes:
		return tellBack
	case f.met.IsZero():
		return meet
	}
	return useCommon
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
		f.awaySince, f.ownUntil, f.none = f.own.clock(), time.Time{}, false
		f.nextProbe = f.awaySince.Add(probeEvery)
		f.own.divide(max(f.reserve, f.members))
		// What the common ledger granted a moment ago still stands in the platform's window.
		f.own.spend(f.patience(isTimeout(err)))
	}
	f.mu.Unlock()
	if first {
		f.metrics.fallback.Set(1)
		if redis.Refused(err) {
			f.log.WarnContext(ctx, "redis refuses what is asked of it: this process keeps to its own part of the rate limits", "members", f.own.parts(), "err", err)
		} else {
			f.log.WarnContext(ctx, "redis does not answer: this process keeps to its own part of the rate limits", "members", f.own.parts(), "err", err)
		}
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
	for point, left := range f.own.inForce() {
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

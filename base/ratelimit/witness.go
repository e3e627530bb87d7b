package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"adsync/base/ratelimit/grant"
)

const (
	// lookEvery is how often a process without the common ledger looks at the witness, checkEvery how often one that has it does, and recordEvery
	// how often it records there that it reaches it.
	lookEvery   = 250 * time.Millisecond
	checkEvery  = 3 * lookEvery
	recordEvery = time.Second
	// lookBack is how long a record of another process counts: a little longer than one that has calls to make takes between two asks.
	lookBack = 5 * time.Second
	// memberLife is how long a process counts as one of those that reach Redis: many times the interval between its records.
	memberLife = 30 * time.Second
	// witnessTimeout limits what a process does at the witness before it makes calls.
	witnessTimeout = time.Second
)

// Witness lets processes learn of each other by another way than Redis. A process that does not reach Redis must know whether others do: they share
// the whole limits and leave nothing for it. A process that reaches a Redis must know whether the others use the same server: for some seconds of a
// failover two servers take writes, and each would grant the whole limits.
//
// All of it is kept for each media, whose keys may be on a server of their own.
type Witness interface {
	// Reached records that a process reaches the Redis of these media now.
	Reached(ctx context.Context, process string, media []string) error
	// Look returns what is recorded.
	Look(ctx context.Context) (Sight, error)
	// Move records that the limits of a media are kept by the server to from now on, if by now they are kept by the server from, which is empty where
	// none is recorded. It returns the server that is recorded then, and whether this call changed it.
	Move(ctx context.Context, media, from, to string) (server string, moved bool, err error)
}

// Sight is what a Witness has recorded.
type Sight struct {
	Reached []Reach           // one for each process and media, in any order
	Servers map[string]string // by media: the run id of the Redis server that keeps its limits
}

// Reach is when a process reached the Redis of a media last.
type Reach struct {
	Process string
	Media   string // empty stands for all of them, as processes of an earlier release record it
	Ago     time.Duration
}

// fallbacks is the ledger of a process in a deployment: a fallback for each media. In a Redis Cluster each media's keys are on a server of their
// own, which fails and returns without the others.
type fallbacks struct {
	common  grant.Ledger
	own     func() *grant.Memory // returns a new ledger of this process alone
	timeout time.Duration
	process string
	witness Witness // may be nil
	log     *slog.Logger
	metrics *metrics

	recorded, looked time.Time // of tick

	mu      sync.Mutex
	byMedia map[string]*fallback
}

var _ grant.Ledger = (*fallbacks)(nil)

func (a *fallbacks) of(media string) *fallback {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.byMedia[media]
	if f == nil {
		f = newFallback(media, a.common, a.own(), a.timeout, a.log, a.metrics)
		f.process, f.witness = a.process, a.witness
		a.byMedia[media] = f
	}
	return f
}

// all returns the fallbacks of all media that calls were made to, in the order of their names.
func (a *fallbacks) all() []*fallback {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*fallback, 0, len(a.byMedia))
	for _, media := range slices.Sorted(maps.Keys(a.byMedia)) {
		out = append(out, a.byMedia[media])
	}
	return out
}

func (a *fallbacks) Ask(ctx context.Context, media string, x grant.Ask) (grant.Answer, error) {
	return a.of(media).Ask(ctx, media, x)
}

func (a *fallbacks) Pause(ctx context.Context, point grant.Key, d time.Duration) error {
	return a.of(point.Media).Pause(ctx, point, d)
}

func (a *fallbacks) Listen(ctx context.Context, media string, told func(grant.Key, time.Duration), lost func(error)) {
	a.of(media).Listen(ctx, media, told, lost)
}

// watch keeps the witness and this process's fallbacks up to date with each other until ctx ends.
func (a *fallbacks) watch(ctx context.Context) {
	if a.witness == nil {
		return
	}
	ticks := time.NewTicker(lookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			a.tick(ctx)
		}
	}
}

// tick records at the witness what this process reaches, and looks what others do, when it is time for that. It is called each lookEvery, by one
// goroutine.
func (a *fallbacks) tick(ctx context.Context) {
	all := a.all()
	now := a.now(all)
	if now.IsZero() {
		return
	}
	if now.Sub(a.recorded) >= recordEvery {
		if reached := reachedOf(all); len(reached) > 0 {
			a.recorded, a.looked = now, time.Time{}
			a.record(ctx, reached)
		}
	}
	if now.Sub(a.looked) >= checkEvery || slices.ContainsFunc(all, (*fallback).isAway) {
		a.looked = now
		a.look(ctx, all)
	}
}

// now is a moment on the clock of the fallbacks; zero without any.
func (a *fallbacks) now(all []*fallback) time.Time {
	if len(all) == 0 {
		return time.Time{}
	}
	return all[0].own.Clock()
}

// reachedOf returns the media whose Redis was reached since the last call.
func reachedOf(all []*fallback) []string {
	var media []string
	for _, f := range all {
		if f.reached.Swap(false) {
			media = append(media, f.media)
		}
	}
	return media
}

func (a *fallbacks) record(ctx context.Context, media []string) {
	bounded, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	a.report(ctx, a.witness.Reached(bounded, a.process, media))
}

// look looks at the witness. Without an answer each fallback keeps to what it knows: a process that reaches neither Redis nor the witness is hardly
// the only one.
func (a *fallbacks) look(ctx context.Context, all []*fallback) {
	began := a.now(all)
	bounded, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	sight, err := a.witness.Look(bounded)
	if err != nil {
		a.report(ctx, err)
		return
	}
	for _, f := range all {
		f.see(ctx, sight, began)
	}
}

// trouble returns what is wrong with the common ledger of each media; nil where nothing is.
func (a *fallbacks) trouble() error {
	var errs []error
	for _, f := range a.all() {
		if err := f.trouble(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.media, err))
		}
	}
	return errors.Join(errs...)
}

func (a *fallbacks) report(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		a.log.DebugContext(ctx, "who reaches redis cannot be recorded or read", "err", err)
	}
}

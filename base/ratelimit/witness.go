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
	// witnessEvery is how often a process without the common ledger reads the witness, checkEvery how often one with it
	// does, and recordEvery how often the latter records that it reaches the ledger.
	witnessEvery = 250 * time.Millisecond
	checkEvery   = 3 * witnessEvery
	recordEvery  = time.Second
	// recordLife is how long a record of another process counts. It is a little longer than the time between two requests
	// of a process that has calls.
	recordLife = 5 * time.Second
	// memberLife is how long a process counts as one that reaches Redis. It is many times recordEvery.
	memberLife = 30 * time.Second
	// witnessTimeout bounds what a process does at the witness before it makes calls.
	witnessTimeout = time.Second
)

// Witness lets processes learn of each other without Redis. A process that does not reach Redis must know whether
// others do: those share the whole limits and leave nothing for it. A process that reaches a Redis must know whether
// the others use the same server: during a failover two servers take writes for some seconds, and each would grant
// the whole limits.
//
// Everything is kept per media, because the keys of each media may be on a server of their own.
type Witness interface {
	// Reached records that a process reaches the Redis of these media now.
	Reached(ctx context.Context, process string, media []string) error
	// Read returns the records.
	Read(ctx context.Context) (Records, error)
	// Move records that the server to keeps the limits of a media from now on, if the server from keeps them now. An
	// empty from means that none is recorded. Move returns the server that is recorded afterwards, and whether this call
	// changed it.
	Move(ctx context.Context, media, from, to string) (server string, moved bool, err error)
}

// Records holds the records of a Witness.
type Records struct {
	Reached []Reach           // one for each process and media, in any order
	Servers map[string]string // by media: the run id of the Redis server that keeps its limits
}

// Reach is the last time at which a process reached the Redis of a media.
type Reach struct {
	Process string
	Media   string // empty stands for all of them, as processes of an earlier release record it
	Ago     time.Duration
}

// fallbacks is the ledger of a process in a deployment: one fallback per media. In a Redis Cluster the keys of a
// media are on one server, which fails and returns independently of the others.
type fallbacks struct {
	common  grant.Ledger
	own     func() *grant.Memory // returns a new ledger of this process alone
	timeout time.Duration
	process string
	witness Witness // may be nil
	log     *slog.Logger
	metrics *metrics

	recorded, witnessRead time.Time // the last times in syncWitness

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

// all returns the fallbacks of all media that calls were made to, sorted by media.
func (a *fallbacks) all() []*fallback {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*fallback, 0, len(a.byMedia))
	for _, media := range slices.Sorted(maps.Keys(a.byMedia)) {
		out = append(out, a.byMedia[media])
	}
	return out
}

func (a *fallbacks) Request(ctx context.Context, media string, x grant.Request) (grant.Answer, error) {
	return a.of(media).Request(ctx, media, x)
}

func (a *fallbacks) Pause(ctx context.Context, point grant.Key, d time.Duration) error {
	return a.of(point.Media).Pause(ctx, point, d)
}

func (a *fallbacks) Listen(ctx context.Context, media string, onPause func(grant.Key, time.Duration),
	onLoss func(error)) {
	a.of(media).Listen(ctx, media, onPause, onLoss)
}

// watch records and reads the witness until ctx ends.
func (a *fallbacks) watch(ctx context.Context) {
	if a.witness == nil {
		return
	}
	ticks := time.NewTicker(witnessEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			a.syncWitness(ctx)
		}
	}
}

// syncWitness records at the witness what this process reaches, and reads what others do, when these are due. It is
// called every witnessEvery, by one goroutine.
func (a *fallbacks) syncWitness(ctx context.Context) {
	all := a.all()
	now := a.now(all)
	if now.IsZero() {
		return
	}
	if now.Sub(a.recorded) >= recordEvery {
		if reached := reachedOf(all); len(reached) > 0 {
			a.recorded, a.witnessRead = now, time.Time{}
			a.record(ctx, reached)
		}
	}
	if now.Sub(a.witnessRead) >= checkEvery || slices.ContainsFunc(all, (*fallback).isAway) {
		a.witnessRead = now
		a.readWitness(ctx, all)
	}
}

// now returns the time on the clock of the fallbacks; zero without any.
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

// readWitness reads the witness. Without an answer each fallback keeps what it knows, because a process that reaches
// neither Redis nor the witness is hardly the only one.
func (a *fallbacks) readWitness(ctx context.Context, all []*fallback) {
	began := a.now(all)
	bounded, cancel := context.WithTimeout(ctx, witnessTimeout)
	defer cancel()
	records, err := a.witness.Read(bounded)
	if err != nil {
		a.report(ctx, err)
		return
	}
	for _, f := range all {
		f.applyRecords(ctx, records, began)
	}
}

// trouble returns what is wrong with the common ledger of each media; nil if nothing is.
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
		a.log.DebugContext(ctx, "witness not recorded or read", "err", err)
	}
}

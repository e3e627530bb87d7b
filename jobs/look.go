package jobs

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"adsync/base/store/jobstore"
	"adsync/base/telemetry"
)

const (
	lookEvery    = time.Second
	lookAllEvery = time.Minute
	tidyEvery    = time.Hour
	// lookBack is how far a look goes back for jobs that became ready: longer than a transaction stays open.
	lookBack = 30 * time.Second
)

// look finds ready jobs that nobody announced in this process: delayed ones, those whose claim has lapsed, and those of
// other processes. It buries those whose last try has lapsed, and retires the tables of past days.
type look struct {
	queues   *queues
	quotas   *quotas
	keepDead time.Duration
	logger   *slog.Logger
	causes   *telemetry.CauseLog

	cancel context.CancelFunc
	done   sync.WaitGroup
}

func newLook(q *queues, quotas *quotas, keepDead time.Duration, logger *slog.Logger) *look {
	return &look{queues: q, quotas: quotas, keepDead: keepDead, logger: logger, causes: telemetry.NewCauseLog(logger),
		cancel: func() {}}
}

// Start implements service.Service: it prepares the tables of today and tomorrow.
func (l *look) Start(ctx context.Context) error {
	if err := l.queues.store.Prepare(ctx, l.queues.clock.Now()); err != nil {
		return err
	}
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	l.done.Go(func() { l.run(ctx) })
	l.done.Go(func() { l.tidy(ctx) })
	return nil
}

// Stop implements service.Service.
func (l *look) Stop() {
	l.cancel()
	l.done.Wait()
}

func (l *look) run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var lookedAll, looked time.Time
	for {
		now := l.queues.clock.Now()
		since := now.Add(-lookBack)
		// After a time without looks anything may have happened.
		all := now.Sub(lookedAll) >= lookAllEvery || now.Sub(looked) > lookBack/2
		if all {
			since = time.Time{}
		}
		err := l.look(ctx, since, now)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			looked = now
			if all {
				lookedAll = now
			}
		}
		l.report("look for ready jobs", err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (l *look) report(what string, err error) {
	if err != nil {
		l.causes.Report(slog.LevelWarn, what, "cannot "+what, err)
	} else if l.causes.Clear(what) {
		l.logger.Info("it works again", "what", what)
	}
}

func (l *look) look(ctx context.Context, since, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	paused, err := l.queues.store.Load(ctx)
	if err != nil {
		return err
	}
	l.queues.desks.setPaused(paused)
	if err := l.quotas.load(ctx); err != nil {
		return err
	}
	ready, err := l.queues.store.ReadyShelves(ctx, 0, since, now)
	if err != nil {
		return err
	}
	for _, r := range ready {
		if !r.LastTries() {
			l.queues.desks.found(r)
		}
	}
	l.queues.desks.release(now)
	l.queues.desks.forget()
	if since.IsZero() {
		l.report("count the jobs of queues", l.measure(ctx, ready, now))
		if l.queues.counts.waiting.Load() >= manyPolls {
			debug.FreeOSMemory()
		}
	}
	for _, r := range ready {
		for r.LastTries() {
			gone, err := l.queues.store.Bury(ctx, r.Shelf, now)
			if err != nil {
				return err
			}
			l.queues.counts.buried.Add(float64(gone))
			if gone == 0 {
				break
			}
		}
	}
	return nil
}

const (
	// measuredQueues is how many queues have metrics of their sizes.
	measuredQueues = 50
	// manyPolls is from how many polls on memory is returned to the system once a minute. The heap may grow by as much as
	// it and the stacks of all polls need before it is collected, which idle polls never make it do.
	manyPolls = 1000
	// measureTimeout bounds their count.
	measureTimeout = 3 * time.Second
)

// measure counts the jobs of the largest queues. It takes no time from the look.
func (l *look) measure(ctx context.Context, ready []jobstore.Ready, now time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), measureTimeout)
	defer cancel()
	sizes, err := l.queues.store.Sizes(ctx, ready, measuredQueues, now)
	if err != nil {
		return err
	}
	l.queues.counts.measured(sizes, now)
	return nil
}

// tidy prepares the tables of the next day and retires those of past days.
func (l *look) tidy(ctx context.Context) {
	ticker := time.NewTicker(tidyEvery)
	defer ticker.Stop()
	for {
		now := l.queues.clock.Now()
		err := l.queues.store.Prepare(ctx, now)
		if err == nil {
			err = l.queues.store.Retire(ctx, now)
		}
		if err == nil {
			err = l.queues.store.ForgetEmpty(ctx, now)
		}
		if err == nil {
			err = l.queues.store.PruneDead(ctx, l.keepDead, l.queues.store.KeptDead(), now)
		}
		if err == nil {
			err = l.queues.store.PruneKeys(ctx, now)
		}
		if err == nil {
			err = l.queues.store.PruneChanges(ctx, now)
		}
		if ctx.Err() != nil {
			return
		}
		l.report("prepare and retire the tables of jobs", err)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

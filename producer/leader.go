package producer

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/base/store"
	"adsync/base/telemetry"
)

// How often the leader's loops look for work of their own accord.
const (
	planInterval   = time.Second // orders are waited for; ticks wake the loop when they are due
	fanOutInterval = time.Second
	dueInterval    = 500 * time.Millisecond
	upkeepInterval = 15 * time.Second
	sweepInterval  = 15 * time.Second
)

// handoverTime is how long the batch in flight may still take when the producer stops.
const handoverTime = 5 * time.Second

// term is one period of this producer's lead. What it remembers is only to save work: the tables have it all.
type term struct {
	*Producer
	lease lease.Lease
	plan  *planner
	// made is told of new runs, so that their fan-out begins at once, and rested of a fan-out that rests for its lane's brake, so that the lane is looked at soon.
	made, rested chan struct{}

	mu     sync.Mutex
	ready  map[string]bool // topics and log tables that are there
	active map[int64]bool  // runs being fanned out
	queue  fanOutQueue
	retry  map[int64]time.Time // by run: when a fan-out that failed is tried again
	paced  map[int64]time.Time // by run: when its rate allows its next batch; as retry by this process's clock
	// What one loop alone reads and writes.
	fanOutAt   time.Time // when fan-outs are to be looked at again, by this process's clock as the next
	pump       duePump
	sweeper    sweeper
	watched    time.Time // when the lanes were last watched, by this process's clock as the next
	bindingsAt time.Time // of the upkeep
	// wrongBindings are the rows of account_binding that could not be used when they were last read.
	wrongBindings []store.Binding
	auditedAt     time.Time // of the upkeep
	audited       int64     // the account after which the next look for edits goes on
	// What the upkeep knows to be in task_good: its rows, and the version of the task list that they were taken from.
	goodRows    map[int64]store.TaskRow
	goodVersion int

	brakes *brakes
	stops  *stops
	causes *telemetry.CauseLog
	// paused tells whether a task makes no ticks for now.
	paused func(taskID int64, media string) bool
}

func newTerm(p *Producer, l lease.Lease) *term {
	t := &term{
		Producer: p, lease: l, plan: newPlanner(), made: make(chan struct{}, 1), rested: make(chan struct{}, 1),
		ready: map[string]bool{}, active: map[int64]bool{}, retry: map[int64]time.Time{}, paced: map[int64]time.Time{},
		sweeper: newSweeper(), brakes: newBrakes(), stops: newStops(), causes: telemetry.NewCauseLog(p.logger),
	}
	t.paused = t.pausedTask
	return t
}

// lead does the leader's work until ctx ends or a guarded write is refused.
func (p *Producer) lead(ctx context.Context, l lease.Lease) error {
	t := newTerm(p, l)
	p.metrics.leader.Set(1)
	defer p.metrics.leader.Set(0)
	defer p.metrics.forget() // Another one tells them from now on.
	defer p.troubles.clear()
	if !t.awaitStops(ctx) {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return t.loop(ctx, "upkeep", t.keepUp, every(upkeepInterval)) })
	group.Go(func() error { return t.loop(ctx, "plan", t.planRuns, t.untilPlan) })
	group.Go(func() error {
		return t.loop(ctx, "fan_out", func(ctx context.Context) error { return t.startFanOuts(ctx, group) }, t.untilRuns)
	})
	group.Go(func() error { return t.loop(ctx, "due", t.pumpDue, every(dueInterval)) })
	group.Go(func() error { return t.loop(ctx, "sweep", t.sweep, every(sweepInterval)) })
	group.Go(func() error { return t.loop(ctx, "brake", t.watchLanes, t.untilLook) })
	group.Go(func() error { return t.loop(ctx, "queued", t.releaseQueued, every(releaseInterval)) })
	group.Go(func() error { return t.loop(ctx, "stops", t.keepStops, every(stopInterval)) })
	group.Go(func() error { return t.loop(ctx, "parked", t.releaseParked, every(parkedInterval)) })
	if p.watcher != nil {
		defer p.watcher.Forget()
		// Each has a pace of its own: a long look for holes must not make the other figures old.
		figures, holes := &pace{interval: p.cfg.FiguresInterval, times: 9}, &pace{interval: p.cfg.FiguresInterval, times: 29}
		group.Go(func() error {
			return t.loop(ctx, "figures", func(ctx context.Context) error { return figures.pass(ctx, t.readFigures) }, figures.wait)
		})
		group.Go(func() error {
			return t.loop(ctx, "holes", func(ctx context.Context) error { return holes.pass(ctx, t.watcher.LookForHoles) }, holes.wait)
		})
	}
	group.Go(func() error { return t.loop(ctx, "cancel", t.cancelOpen, every(stopInterval)) })
	return group.Wait()
}

// passPause is how long a loop rests after a failed pass, beside its own interval: what is due does not become less due,
// and must not be tried without a pause.
const passPause = 500 * time.Millisecond

// loop runs a pass again and again; wait returns when the next one is to begin. A failed pass is tried again at the next
// turn; only a stale lease ends the loop with an error, and with it the term.
func (t *term) loop(ctx context.Context, name string, pass func(context.Context) error, wait func(context.Context)) error {
	var told time.Time // when the present trouble was logged, by this process's clock; zero = there is none
	for ctx.Err() == nil {
		err := pass(ctx)
		switch {
		case errors.Is(err, lease.ErrStaleLease):
			return err
		case ctx.Err() != nil:
			return nil //nolint:nilerr // What failed because the term ended is no failure.
		case err != nil:
			t.metrics.loopErrors.WithLabelValues(name).Inc()
			t.troubles.set(name, err)
			// Not at each turn, nor by the text: that of a broken connection is another one each time.
			if told.IsZero() || clock.Since(told) >= time.Minute {
				t.logger.Error("the leader's work fails, trying again", "loop", name, "err", err)
				told = clock.Mark()
			}
			waitFor(ctx, passPause, nil)
		case !told.IsZero():
			t.troubles.set(name, nil)
			t.logger.Info("the leader's work goes on", "loop", name)
			told = time.Time{}
		}
		wait(ctx)
	}
	return nil
}

// every waits for a fixed time.
func every(interval time.Duration) func(context.Context) {
	return func(ctx context.Context) { waitFor(ctx, interval, nil) }
}

// waitFor waits for a time, a wake-up or the end of ctx, whichever is first.
func waitFor(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

// finishing returns a context for work that is not to be broken off when ctx ends, but may go on for handoverTime.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(handoverTime)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-work.Done():
		}
	})
	return work, func() {
		stop()
		cancel()
	}
}

// once makes a thing ready unless this term has made it ready before.
func (t *term) once(what string, makeReady func() error) error {
	t.mu.Lock()
	ready := t.ready[what]
	t.mu.Unlock()
	if ready {
		return nil
	}
	if err := makeReady(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready[what] = true
	return nil
}

package producer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/telemetry"
	"adsync/media"
	"adsync/producer/brake"
)

// fanOuts is the loop that fans runs out. It chooses the next runs and starts a fan-out for each, which writes its
// subtasks.
type fanOuts struct {
	passes    passes
	store     fanOutStore
	lease     lease.Lease
	registry  *media.Registry
	waiting   clock.Clock
	out       *outbox
	tables    *logTables
	stops     *stopList
	brakes    *brake.Brakes
	queue     *fanOutQueue
	metrics   *metrics
	logger    *slog.Logger
	causes    *telemetry.CauseLog
	batchSize int // accounts that a fan-out takes at a time
	most      int // fan-outs at a time

	nextLook time.Time // when to check the fan-outs again, by this process's clock
}

// fanOutStore is the part of the store that fan-outs use.
type fanOutStore interface {
	FanningOutRuns(ctx context.Context, choice ledger.FanOutFilter, limit int) ([]ledger.Run, error)
	NextTick(ctx context.Context, taskID int64, paused []int64) ([]ledger.Run, error)
	Run(ctx context.Context, id int64) (ledger.Run, error)

	FanOutAccounts(ctx context.Context, media string, tiers []string, after int64, limit int) ([]ledger.FanOutAccount,
		error)
	FanOutAccountsOf(ctx context.Context, media string, ids []int64) ([]ledger.FanOutAccount, error)
	FanOutLogins(ctx context.Context, media string, after int64, limit int) ([]int64, error)
	AddSubtasks(ctx context.Context, l lease.Lease, runID int64, parts []ledger.AccountPart, now time.Time) (all bool,
		err error)
	HasSubtasks(ctx context.Context, runID, after int64) (bool, error)
	UnsentSubtasks(ctx context.Context, runID int64, in ledger.AccountRange) ([]ledger.AccountPart, error)
	AdvanceCursor(ctx context.Context, l lease.Lease, runID, from, to int64, offsets ledger.Offsets, note string) error
	fanOutEnder

	// The open subtasks of earlier runs: overlap.go.
	OlderOpenRuns(ctx context.Context, taskID, runID int64) ([]int64, error)
	OpenSubtasks(ctx context.Context, runIDs []int64, in ledger.AccountRange) (map[ledger.AccountPart][]ledger.OpenSubtask,
		error)
	QueuedSubtasks(ctx context.Context, runIDs []int64, in ledger.AccountRange) (map[ledger.AccountPart]bool, error)
	AddQueuedSubtasks(ctx context.Context, l lease.Lease, run *ledger.Run, parts []ledger.QueuedPart, now time.Time) error
	outcomeWriter

	// Dead subtasks: redrive.go.
	MarkDead(ctx context.Context, l lease.Lease, f task.DeadFilter, runID int64) error
	MarkedParts(ctx context.Context, runID, after int64, limit int) (parts []ledger.AccountPart, through int64, last bool,
		err error)
}

// fanOutEnder ends the fan-out of a run.
type fanOutEnder interface {
	FinishFanOut(ctx context.Context, l lease.Lease, runID int64, empty task.RunState, note string, now time.Time) error
}

// outcomeWriter ends subtasks with outcomes that the leader decides.
type outcomeWriter interface {
	ApplyLeaderOutcomes(ctx context.Context, l lease.Lease, outcomes []ledger.Outcome) (stale int, err error)
}

// Run starts fan-outs until ctx ends, and waits for those that run.
func (l *fanOuts) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return l.passes.run(ctx, func(ctx context.Context) error { return l.startFanOuts(ctx, group) },
			func(ctx context.Context) { waitFor(ctx, clock.Until(l.nextLook), l.queue.made) })
	})
	return group.Wait()
}

// startFanOuts begins or continues the fan-outs of the oldest runs, as many at a time as the configuration allows.
// The ticks of one task are fanned out one after the other, because a later one checks what the earlier one left
// open. An order by hand waits for no other run and holds up none.
func (l *fanOuts) startFanOuts(ctx context.Context, group *errgroup.Group) error {
	l.nextLook = clock.Mark().Add(fanOutInterval)
	if err := l.readQueue(ctx); err != nil {
		return err
	}
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	now := clock.Mark()
	earlier := map[int64]bool{}
	for i := range l.queue.runs {
		run := &l.queue.runs[i]
		stop := l.stops.ofRun(run)
		if stop != nil && stop.Kind == task.StopRun {
			continue // The other runs of its task overtake it, because it may rest for days.
		}
		if run.Kind == ledger.RunOfTick {
			blocked := earlier[run.TaskID]
			earlier[run.TaskID] = true
			if blocked {
				continue
			}
		}
		if l.queue.active[run.ID] || now.Before(l.queue.retry[run.ID]) || stop != nil || l.rests(run) {
			continue
		}
		if at := l.queue.paced[run.ID]; now.Before(at) {
			if at.Before(l.nextLook) {
				l.nextLook = at
			}
			continue
		}
		if len(l.queue.active) >= l.most {
			break
		}
		l.queue.active[run.ID] = true
		id := run.ID
		group.Go(func() error { return l.runFanOut(ctx, id) })
	}
	return nil
}

// readQueue reads the runs to fan out, unless the last read still holds.
func (l *fanOuts) readQueue(ctx context.Context) error {
	l.queue.mu.Lock()
	fresh := len(l.queue.runs) > 0 && !l.queue.stale && clock.Since(l.queue.readAt) < fanOutInterval
	l.queue.stale = false
	l.queue.mu.Unlock()
	if fresh {
		return nil
	}
	begun := clock.Mark()
	runs, err := l.fanningOut(ctx)
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	if err != nil {
		l.queue.stale = true
		return err
	}
	l.queue.runs, l.queue.readAt = runs, begun
	return nil
}

// runFanOut does one run's fan-out. It returns only a stale lease as an error; after any other error the fan-out is
// continued later.
func (l *fanOuts) runFanOut(ctx context.Context, id int64) error {
	// Read the run again: the list may be older than the end of its last step.
	run, err := l.store.Run(ctx, id)
	open := err == nil && run.State == task.RunFanningOut
	if open {
		err = l.fanOut(ctx, &run)
	}
	run.ID = id // also when it could not be read
	l.leave(ctx, &run, open, err)
	switch {
	case errors.Is(err, lease.ErrStaleLease):
		return err
	case err != nil && ctx.Err() == nil:
		l.metrics.loopErrors.WithLabelValues(l.passes.name).Inc()
		// Grouped by cause: an unavailable database fails every fan-out, each with a different text.
		l.causes.Report(slog.LevelError, "fan_out", "fan-outs fail; retrying", cause(err),
			"run", id, "task", run.TaskName, "cursor", run.Cursor, "failure", err.Error())
	}
	l.queue.wake() // The next run may begin.
	return nil
}

// leave frees the place of a fan-out and records the state of its run.
func (l *fanOuts) leave(ctx context.Context, run *ledger.Run, open bool, err error) {
	var next []ledger.Run
	var nextErr error
	if err == nil && run.Kind == ledger.RunOfTick {
		next, nextErr = l.store.NextTick(ctx, run.TaskID, l.stops.unpaused().PausedRuns)
	}
	l.queue.mu.Lock()
	defer l.queue.mu.Unlock()
	delete(l.queue.active, run.ID)
	delete(l.queue.retry, run.ID)
	if !open && err == nil {
		delete(l.queue.paced, run.ID)
	}
	if err != nil {
		l.queue.retry[run.ID] = clock.Mark().Add(fanOutRetry)
		return
	}
	if _, paced := l.queue.paced[run.ID]; paced {
		return // Its next batch follows soon.
	}
	q := l.queue
	q.runs = slices.DeleteFunc(q.runs, func(r ledger.Run) bool { return r.ID == run.ID })
	q.stale = q.stale || nextErr != nil
	for _, r := range next {
		at, there := slices.BinarySearchFunc(q.runs, r.ID, func(r ledger.Run, id int64) int { return cmp.Compare(r.ID, id) })
		if !there && r.ID != run.ID { // One that rests comes back when the queue is read.
			q.runs = slices.Insert(q.runs, at, r)
		}
	}
}

// restingMax is how many runs of resting lanes are read, to find those whose time to live is over.
const restingMax = 200

// fanningOut returns the oldest runs to fan out. Resting runs, however many, do not crowd out those of other lanes.
func (l *fanOuts) fanningOut(ctx context.Context) ([]ledger.Run, error) {
	choice := l.stops.unpaused()
	choice.Lanes = l.brakes.HeldLanes()
	runs, err := l.store.FanningOutRuns(ctx, choice, openRunsMax)
	if err != nil {
		return nil, err
	}
	choice.OnlyLanes = true
	resting, err := l.store.FanningOutRuns(ctx, choice, restingMax)
	if err != nil || len(resting) == 0 {
		return runs, err
	}
	runs = append(runs, resting...)
	slices.SortFunc(runs, func(a, b ledger.Run) int { return cmp.Compare(a.ID, b.ID) })
	return runs, nil
}

// rests reports whether a run's fan-out must rest now. A run whose time to live is over does not rest, so that it can
// end.
func (l *fanOuts) rests(run *ledger.Run) bool {
	name := ledger.LaneName{Media: run.Media, Lane: run.Settings.Lane}
	if l.brakes.Held(name) == "" {
		return false
	}
	if deadline := run.Deadline(); !deadline.IsZero() && !l.waiting.Now().Before(deadline) {
		return false
	}
	l.brakes.Rests(name)
	return true
}

// cause returns the innermost error that err wraps.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// fanOutQueue holds the runs to fan out as last read, without those whose fan-out has ended since. The next tick of a
// task replaces the one that ended. When thousands of tasks are due at once, reading all runs again after each would
// cost more than all the fan-outs.
type fanOutQueue struct {
	made chan struct{} // wakes the loop: runs were made, or a place is free

	mu     sync.Mutex // guards the fields below
	runs   []ledger.Run
	readAt time.Time           // by this process's clock
	stale  bool                // runs were made since
	active map[int64]bool      // runs being fanned out
	retry  map[int64]time.Time // when a failed fan-out is tried again, by run
	paced  map[int64]time.Time // when the rate allows the next batch, by run; both by this process's clock
}

func newFanOutQueue() *fanOutQueue {
	return &fanOutQueue{
		made: make(chan struct{}, 1), active: map[int64]bool{}, retry: map[int64]time.Time{}, paced: map[int64]time.Time{},
	}
}

// wake makes the loop check the fan-outs now.
func (q *fanOutQueue) wake() {
	select {
	case q.made <- struct{}{}:
	default:
	}
}

// reread makes the loop read the queue again now, because it lacks new runs or runs that rested.
func (q *fanOutQueue) reread() {
	q.mu.Lock()
	q.stale = true
	q.mu.Unlock()
	q.wake()
}

// begin takes a run's place, unless its fan-out is under way.
func (q *fanOutQueue) begin(runID int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	busy := q.active[runID]
	q.active[runID] = true
	return !busy
}

// isFull reports whether as many fan-outs run as may.
func (q *fanOutQueue) isFull(most int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.active) >= most
}

// end frees the place of a run whose fan-out stops.
func (q *fanOutQueue) end(runID int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.active, runID)
	delete(q.paced, runID)
}

// unpace forgets the pace of a run whose fan-out has ended.
func (q *fanOutQueue) unpace(runID int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.paced, runID)
}

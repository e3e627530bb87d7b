package producer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/base/store"
	"adsync/base/task"
)

func (t *term) untilRuns(ctx context.Context) { waitFor(ctx, clock.Until(t.fanOutAt), t.made) }

// startFanOuts begins or continues the fan-outs of the oldest runs, as many at a time as the configuration allows. The
// ticks of one task are fanned out one after the other: a later one looks at what the earlier left open. An order by hand
// waits for nobody and holds up nobody.
func (t *term) startFanOuts(ctx context.Context, group *errgroup.Group) error {
	t.fanOutAt = clock.Mark().Add(fanOutInterval)
	if err := t.readQueue(ctx); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := clock.Mark()
	earlier := map[int64]bool{}
	for i := range t.queue.runs {
		run := &t.queue.runs[i]
		stop := t.stopOf(run)
		if stop != nil && stop.Kind == task.StopRun {
			continue // The others of its task pass it: it may rest for days.
		}
		if run.Kind == store.RunOfTick {
			blocked := earlier[run.TaskID]
			earlier[run.TaskID] = true
			if blocked {
				continue
			}
		}
		if t.active[run.ID] || now.Before(t.retry[run.ID]) || stop != nil || t.rests(run) {
			continue
		}
		if at := t.paced[run.ID]; now.Before(at) {
			if at.Before(t.fanOutAt) {
				t.fanOutAt = at
			}
			continue
		}
		if len(t.active) >= t.cfg.MaxFanOuts {
			break
		}
		t.active[run.ID] = true
		id := run.ID
		group.Go(func() error { return t.runFanOut(ctx, id) })
	}
	return nil
}

// fanOutQueue is the runs to fan out as last read, without those whose fan-out has ended since; the next tick of a task has
// taken the place of the one that ended. When thousands of tasks are due at once, reading all of them anew after each would
// cost more than all the fan-outs.
type fanOutQueue struct {
	runs   []store.Run
	readAt time.Time // by this process's clock
	stale  bool      // runs were made since
}

// readQueue reads the runs to fan out, unless what was read a moment ago still holds.
func (t *term) readQueue(ctx context.Context) error {
	t.mu.Lock()
	fresh := len(t.queue.runs) > 0 && !t.queue.stale && clock.Since(t.queue.readAt) < fanOutInterval
	t.queue.stale = false
	t.mu.Unlock()
	if fresh {
		return nil
	}
	begun := clock.Mark()
	runs, err := t.fanningOut(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.queue.stale = true
		return err
	}
	t.queue.runs, t.queue.readAt = runs, begun
	return nil
}

// runFanOut does one run's fan-out. Only a stale lease is an error; after any other the fan-out is continued later.
func (t *term) runFanOut(ctx context.Context, id int64) error {
	// Read anew: it may have been taken from a list that is older than the end of its last step.
	run, err := t.store.Run(ctx, id)
	open := err == nil && run.State == task.RunFanningOut
	if open {
		err = t.fanOut(ctx, &run)
	}
	run.ID = id // also when it could not be read
	t.leave(ctx, &run, open, err)
	switch {
	case errors.Is(err, lease.ErrStaleLease):
		return err
	case err != nil && ctx.Err() == nil:
		t.metrics.loopErrors.WithLabelValues("fan_out").Inc()
		// By its cause: a database that is away fails every fan-out, and each in words of its own.
		t.causes.Report(slog.LevelError, "fan_out", "fan-outs fail, trying again", cause(err),
			"run", id, "task", run.TaskName, "cursor", run.Cursor, "failure", err.Error())
	}
	t.wakeFanOuts() // The next run may begin.
	return nil
}

// wakeFanOuts has the fan-outs looked at now.
func (t *term) wakeFanOuts() {
	select {
	case t.made <- struct{}{}:
	default:
	}
}

// leave gives the place of a fan-out back, and notes what becomes of its run.
func (t *term) leave(ctx context.Context, run *store.Run, open bool, err error) {
	var next []store.Run
	var nextErr error
	if err == nil && run.Kind == store.RunOfTick {
		next, nextErr = t.store.NextTick(ctx, run.TaskID, t.unpaused().PausedRuns)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.active, run.ID)
	delete(t.retry, run.ID)
	if !open && err == nil {
		delete(t.paced, run.ID)
	}
	if err != nil {
		t.retry[run.ID] = clock.Mark().Add(fanOutRetry)
		return
	}
	if _, paced := t.paced[run.ID]; paced {
		return // Its next batch is only a moment away.
	}
	q := &t.queue
	q.runs = slices.DeleteFunc(q.runs, func(r store.Run) bool { return r.ID == run.ID })
	q.stale = q.stale || nextErr != nil
	for _, r := range next {
		at, there := slices.BinarySearchFunc(q.runs, r.ID, func(r store.Run, id int64) int { return cmp.Compare(r.ID, id) })
		if !there && r.ID != run.ID { // One that rests comes back when the queue is read.
			q.runs = slices.Insert(q.runs, at, r)
		}
	}
}

// unpaused chooses the runs that no pause holds up now. What is cancelled is left to startFanOuts: it is over in a moment.
func (t *term) unpaused() store.FanOuts {
	var f store.FanOuts
	now := t.waiting.Now()
	for _, stop := range t.stops.list().All() {
		if stop.Verb != task.Pause || !stop.InForce(now) {
			continue
		}
		switch stop.Kind {
		case task.StopRun:
			f.PausedRuns = append(f.PausedRuns, stop.TargetID())
		case task.StopTask:
			f.PausedTasks = append(f.PausedTasks, stop.TargetID())
		case task.StopMedia:
			f.PausedMedias = append(f.PausedMedias, stop.Target)
		case task.StopAccount: // holds up no run
		}
	}
	return f
}

// cause is the innermost error that err wraps.
func cause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

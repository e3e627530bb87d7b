package producer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"adsync/base/failpoint"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/base/timer"
)

// Orders by hand stop work: pauses and cancels. Consumers obey them by themselves, each within a second or two. What is
// left for the leader: it makes no ticks and no subtasks of what is paused, makes due what waits for a pause that has
// ended, and ends what is cancelled, wherever it waits. All of it is found in the tables again by the next leader.

const (
	stopInterval = time.Second
	// cancelLinger is how long a cancel is told to consumers at least, so that each has seen it.
	cancelLinger = time.Minute
	cancelAtOnce = 500 // subtasks ended in one transaction
	// What waits for a pause is released so many at a time, each lot due a little after the one before it, and in one pass
	// no more lots than these: it is to be quick.
	releaseAtOnce  = 500
	releaseSpacing = 250 * time.Millisecond
	releaseLots    = 20
)

// stops are the orders as the leader last read them.
type stops struct {
	last     atomic.Pointer[task.Stops]
	told     map[int64]task.StopVerb // those that were logged; of the loop that reads them alone
	releases map[int64]*release      // by pause; of the same loop
	// ended counts the subtasks that this leader has ended for each cancel; of the loop that ends them alone.
	ended map[int64]int
}

// release is how far the release of what waits for a pause has come.
type release struct {
	next     time.Time // when its next lot is due
	subtasks int
}

func newStops() *stops {
	return &stops{told: map[int64]task.StopVerb{}, releases: map[int64]*release{}, ended: map[int64]int{}}
}

// list returns the orders; before they were read it has none.
func (s *stops) list() *task.Stops {
	if list := s.last.Load(); list != nil {
		return list
	}
	return &task.Stops{}
}

// awaitStops reads the orders for the first time, however long it takes: before that a leader must begin nothing, for it
// may be paused. It tells whether they were read before ctx ended.
func (t *term) awaitStops(ctx context.Context) bool {
	for ctx.Err() == nil {
		list, err := t.store.ActiveStops(ctx)
		if err == nil {
			t.stops.last.Store(task.NewStops(list))
			return true
		}
		if ctx.Err() == nil {
			t.causes.Report(slog.LevelError, "stops", "pauses and cancels cannot be read, so the leader does not begin; trying again", err)
		}
		waitFor(ctx, stopInterval, nil)
	}
	return false
}

// pausedTask tells whether a task is to make no ticks now.
func (t *term) pausedTask(taskID int64, media string) bool {
	return t.stops.list().Paused(task.Subject{TaskID: taskID, Media: media}, t.waiting.Now()) != nil
}

// stopOf returns the order by which the fan-out of a run is to rest, or nil.
func (t *term) stopOf(run *store.Run) *task.Stop {
	return t.stops.list().Find(task.Subject{RunID: run.ID, TaskID: run.TaskID, Media: run.Media}, t.waiting.Now())
}

// keepStops is the pass that is to be quick: it reads the orders, ends pauses whose time is over, cuts off the fan-outs of
// what is cancelled, and releases what waits for pauses that have ended.
func (t *term) keepStops(ctx context.Context) error {
	// Before the orders: a subtask may not wait for one that is younger than our list of them.
	waitedFor, err := t.store.PausesWaitedFor(ctx)
	if err != nil {
		return err
	}
	list, err := t.store.ActiveStops(ctx)
	if err != nil {
		return err
	}
	t.stops.last.Store(task.NewStops(list))
	now := t.waiting.Now()
	errs := []error{t.tellStops(ctx, list)}
	holding := map[int64]bool{}
	for _, stop := range list {
		switch {
		case stop.Verb == task.Cancel:
			errs = append(errs, t.cancelRuns(ctx, stop))
		case stop.InForce(now):
			holding[stop.ID] = true
		default:
			errs = append(errs, t.store.EndStop(ctx, t.lease, stop.ID, now))
		}
	}
	errs = append(errs, t.endRunPauses(ctx, list, now))
	for _, id := range waitedFor {
		if !holding[id] {
			errs = append(errs, t.releasePaused(ctx, id, now))
		}
	}
	for id := range t.stops.releases {
		if !slices.Contains(waitedFor, id) {
			t.tellReleased(id)
		}
	}
	return errors.Join(errs...)
}

// endRunPauses ends the pauses of runs that have ended: nobody would think of lifting them.
func (t *term) endRunPauses(ctx context.Context, list []task.Stop, now time.Time) error {
	pauses := map[int64]int64{} // by run
	var ids []int64
	for _, stop := range list {
		if stop.Verb == task.Pause && stop.Kind == task.StopRun {
			pauses[stop.TargetID()] = stop.ID
			ids = append(ids, stop.TargetID())
		}
	}
	runs, err := t.store.Runs(ctx, ids)
	if err != nil {
		return err
	}
	for i := range runs {
		if !runs[i].State.Open() {
			err = errors.Join(err, t.store.EndStop(ctx, t.lease, pauses[runs[i].ID], now))
		}
	}
	return err
}

// tellStops logs what begins and what ends, once each, and counts what is active.
func (t *term) tellStops(ctx context.Context, list []task.Stop) error {
	active := map[int64]bool{}
	counts := map[task.StopVerb]float64{task.Pause: 0, task.Cancel: 0}
	for _, stop := range list {
		active[stop.ID] = true
		counts[stop.Verb]++
		if _, told := t.stops.told[stop.ID]; told {
			continue
		}
		t.stops.told[stop.ID] = stop.Verb
		text := "work is paused by an order"
		if stop.Verb == task.Cancel {
			text = "work is cancelled by an order"
		}
		t.logger.Info(text, slices.Concat(about(stop), []any{"until", stop.Until})...) //nolint:sloglint // One of two constants.
	}
	for verb, n := range counts {
		t.metrics.stops.WithLabelValues(string(verb)).Set(n)
	}
	for id, verb := range t.stops.told {
		if active[id] {
			continue
		}
		if verb == task.Pause {
			stop, err := t.store.Stop(ctx, id)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			t.logger.Info("a pause has ended", append(about(stop), "lifted_by", stop.EndedBy)...)
		}
		delete(t.stops.told, id)
	}
	return nil
}

func about(stop task.Stop) []any {
	return []any{"order", stop.ID, "kind", string(stop.Kind), "target", stop.TargetName, "by", stop.By, "reason", stop.Reason}
}

// releasePaused makes due what waits for a pause that has ended, however it ended and however long ago: a consumer may
// learn of the end a little later than we do. It goes no further than the moments of a few passes: the next pass goes on.
func (t *term) releasePaused(ctx context.Context, pauseID int64, now time.Time) error {
	r := t.stops.releases[pauseID]
	if r == nil {
		r = &release{}
		t.stops.releases[pauseID] = r
	}
	if r.next.Before(now) {
		r.next = now
	}
	for end := now.Add(releaseLots * releaseSpacing); r.next.Before(end); r.next = r.next.Add(releaseSpacing) {
		list, err := t.release(ctx, task.PauseRef(pauseID), r.next)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			t.tellReleased(pauseID)
			break
		}
		r.subtasks += len(list)
		failpoint.Hit("producer.pause.released")
	}
	return nil
}

// release makes due a lot of what waits for something, and returns it.
func (t *term) release(ctx context.Context, ref string, due time.Time) ([]store.Due, error) {
	list, err := t.store.Release(ctx, ref, due, releaseAtOnce)
	if err != nil || len(list) == 0 || t.timer == nil {
		return list, err
	}
	entries := make([]timer.Entry, len(list))
	for i, d := range list {
		entries[i] = timer.Entry{Key: d.Key, Delivery: d.Delivery, DueAt: d.DueAt}
	}
	t.timer.Add(ctx, entries)
	return list, nil
}

// tellReleased logs that nothing waits for a pause any more.
func (t *term) tellReleased(pauseID int64) {
	if r := t.stops.releases[pauseID]; r.subtasks > 0 {
		t.logger.Info("subtasks go on after a pause", "order", pauseID, "subtasks", r.subtasks)
	}
	delete(t.stops.releases, pauseID)
}

// cancelRuns marks the runs that a cancel takes, so that they end as cancelled, and ends their fan-outs where they stand:
// only then is their total known. An account's cancel takes no run as a whole.
func (t *term) cancelRuns(ctx context.Context, stop task.Stop) error {
	if stop.Kind == task.StopAccount {
		return nil
	}
	runs, err := t.store.RunsTaken(ctx, stop)
	if err != nil {
		return err
	}
	var fresh []int64
	for _, run := range runs {
		if run.CancelID == 0 {
			fresh = append(fresh, run.ID)
		}
	}
	for some := range slices.Chunk(fresh, cancelAtOnce) {
		if err := t.store.MarkCancelled(ctx, t.lease, stop.ID, some, stop.Text()); err != nil {
			return err
		}
	}
	failpoint.Hit("producer.cancel.marked")
	for _, run := range runs {
		if run.State != task.RunFanningOut {
			continue
		}
		if err := t.cutFanOut(ctx, run.ID, stop.Text()); err != nil {
			return err
		}
	}
	return nil
}

// cutFanOut ends the fan-out of a run that is cancelled, unless it is under way: then it rests after its present step, and
// the next pass ends it. Nobody else adds subtasks meanwhile, so that they are counted exactly.
func (t *term) cutFanOut(ctx context.Context, runID int64, why string) error {
	t.mu.Lock()
	busy := t.active[runID]
	t.active[runID] = true
	t.mu.Unlock()
	if busy {
		return nil
	}
	defer func() {
		t.mu.Lock()
		delete(t.active, runID)
		delete(t.paced, runID)
		t.mu.Unlock()
	}()
	// A fan-out that never began has no table to count in.
	logDay := task.LogDay(runID)
	if err := t.once("log "+logDay.String(), func() error { return t.store.EnsureLogTable(ctx, logDay) }); err != nil {
		return err
	}
	err := t.store.FinishFanOut(ctx, t.lease, runID, task.RunCancelled, why, t.waiting.Now())
	if errors.Is(err, store.ErrRunChanged) {
		return nil // It has ended by itself.
	}
	return err
}

// cancelOpen is the pass that may take its time: it ends the open subtasks of what is cancelled, whether they wait in
// Kafka, for a retry, for quota or for a pause, and the cancels that are carried out. A subtask that ends by itself in the
// same moment counts as what came first.
func (t *term) cancelOpen(ctx context.Context) error {
	var errs []error
	for _, stop := range t.stops.list().All() {
		if stop.Verb != task.Cancel {
			continue
		}
		done, err := t.cancelSubtasks(ctx, stop)
		if err == nil && done {
			err = t.store.EndStop(ctx, t.lease, stop.ID, t.waiting.Now())
			if err == nil {
				t.logger.Info("a cancel is carried out", append(about(stop), "subtasks", t.stops.ended[stop.ID])...)
				delete(t.stops.ended, stop.ID)
			}
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// cancelSubtasks ends what it finds, and tells whether nothing more can come that the cancel takes.
func (t *term) cancelSubtasks(ctx context.Context, stop task.Stop) (done bool, err error) {
	// Before the runs: an order that is taken in between has its run.
	orders, err := t.store.OpenOrdersUntil(ctx, stop.Through())
	if err != nil {
		return false, err
	}
	runs, err := t.store.RunsTaken(ctx, stop)
	if err != nil {
		return false, err
	}
	if stop.Kind == task.StopAccount {
		done, err = t.cancelAccount(ctx, stop, runs)
	} else {
		done = len(runs) == 0
		for _, run := range runs {
			if run.CancelID == 0 {
				continue // It is marked in a moment; unmarked it could end as something else.
			}
			if err = t.cancelRun(ctx, stop, run); err != nil {
				break
			}
		}
	}
	lingered := !t.waiting.Now().Before(stop.OrderedAt.Add(cancelLinger))
	return done && lingered && orders == 0, err
}

func (t *term) cancelRun(ctx context.Context, stop task.Stop, run store.StoppedRun) error {
	for after := (task.Key{RunID: run.ID}); ; {
		open, err := t.store.OpenSubtasksOf(ctx, run.ID, after, cancelAtOnce)
		if err != nil || len(open) == 0 {
			return err
		}
		if err := t.cancelSome(ctx, stop, run.TaskID, open); err != nil {
			return err
		}
		after = open[len(open)-1].Key
	}
}

// cancelAccount ends the account's subtasks in all runs. A run that is still being fanned out may get to the account
// later.
func (t *term) cancelAccount(ctx context.Context, stop task.Stop, runs []store.StoppedRun) (done bool, err error) {
	done = true
	for len(runs) > 0 {
		table := store.LogTable(runs[0].ID)
		var some []int64
		for len(runs) > 0 && len(some) < cancelAtOnce && store.LogTable(runs[0].ID) == table {
			done = done && runs[0].State != task.RunFanningOut
			some = append(some, runs[0].ID)
			runs = runs[1:]
		}
		open, err := t.store.OpenSubtasksOfAccount(ctx, some, stop.TargetID())
		if err != nil {
			return false, err
		}
		for part := range slices.Chunk(open, cancelAtOnce) {
			done = false // The next pass looks whether all of them were as read.
			if err := t.cancelSome(ctx, stop, 0, part); err != nil {
				return false, err
			}
		}
	}
	return done, nil
}

func (t *term) cancelSome(ctx context.Context, stop task.Stop, taskID int64, open []store.OpenSubtask) error {
	now := t.waiting.Now()
	outcomes := make([]store.Outcome, len(open))
	for i, o := range open {
		outcomes[i] = store.Outcome{
			Key: o.Key, TaskID: taskID, Delivery: o.Delivery, Attempt: o.Attempt,
			State: task.Cancelled, EndedAt: now, ErrorText: stop.Text(),
		}
	}
	stale, err := t.store.ApplyLeaderOutcomes(ctx, t.lease, outcomes)
	if err != nil {
		return err
	}
	t.stops.ended[stop.ID] += len(open) - stale
	failpoint.Hit("producer.cancel.some_ended")
	return nil
}

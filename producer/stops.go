package producer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/telemetry"
)

// Pauses and cancels are orders by hand that stop work. Each consumer applies them within a second or two. The leader
// makes no ticks and no subtasks of paused work, makes subtasks due whose pause has ended, and ends cancelled subtasks,
// wherever they wait. The next leader finds all of it in the tables.

const (
	stopInterval = time.Second
	// cancelLinger is the least time for which a cancel stays in force, so that each consumer reads it.
	cancelLinger = time.Minute
	cancelAtOnce = 500 // subtasks ended in one transaction
	// Subtasks that wait for a pause are released in batches, each due a little after the one before, and only a few
	// batches in a pass, because the pass must be quick.
	releaseAtOnce  = 500
	releaseSpacing = 250 * time.Millisecond
	releaseLots    = 20
)

// stopOrders is the quick loop: an order takes effect within a second or two.
type stopOrders struct {
	passes  passes
	store   stopStore
	lease   lease.Lease
	waiting clock.Clock
	tables  *logTables
	queue   *fanOutQueue
	stops   *stopList
	release releaser
	metrics *metrics
	logger  *slog.Logger
	causes  *telemetry.CauseLog

	logged   map[int64]task.StopVerb // the orders that were logged
	releases map[int64]*released     // by pause
}

// released is the progress of releasing the subtasks that wait for a pause.
type released struct {
	next     time.Time // when its next lot is due
	subtasks int
}

// stopStore reads and writes the orders and the runs that they name.
type stopStore interface {
	ActiveStops(ctx context.Context) ([]task.Stop, error)
	Stop(ctx context.Context, id int64) (task.Stop, error)
	PausesWaitedFor(ctx context.Context) ([]int64, error)
	MarkCancelled(ctx context.Context, l lease.Lease, stopID int64, runIDs []int64, note string) error
	Runs(ctx context.Context, ids []int64) ([]ledger.Run, error)
	stopEnder
	fanOutEnder
}

// stopEnder ends an order, and lists the runs that it stops.
type stopEnder interface {
	RunsToCancel(ctx context.Context, stop task.Stop) ([]ledger.RunToCancel, error)
	EndStop(ctx context.Context, l lease.Lease, id int64, now time.Time) error
}

// Run applies the orders until ctx ends.
func (s *stopOrders) Run(ctx context.Context) error {
	return s.passes.run(ctx, s.keepStops, every(stopInterval))
}

// awaitStops reads the orders for the first time and retries until it succeeds, because a leader must not begin work
// that may be paused. It reports whether they were read before ctx ended.
func (s *stopOrders) awaitStops(ctx context.Context) bool {
	for ctx.Err() == nil {
		list, err := s.store.ActiveStops(ctx)
		if err == nil {
			s.stops.set(list)
			return true
		}
		if ctx.Err() == nil {
			s.causes.Report(slog.LevelError, "stops",
				"pauses and cancels cannot be read: the leader waits", err)
		}
		waitFor(ctx, stopInterval, nil)
	}
	return false
}

// keepStops is the quick pass: it reads the orders, ends pauses whose time is over, ends the fan-outs of cancelled
// runs, and releases subtasks whose pause has ended.
func (s *stopOrders) keepStops(ctx context.Context) error {
	// This is read before the orders, so that no subtask waits for an order that is newer than the list.
	waitedFor, err := s.store.PausesWaitedFor(ctx)
	if err != nil {
		return err
	}
	list, err := s.store.ActiveStops(ctx)
	if err != nil {
		return err
	}
	s.stops.set(list)
	now := s.waiting.Now()
	errs := []error{s.reportStops(ctx, list)}
	holding := map[int64]bool{}
	for _, stop := range list {
		switch {
		case stop.Verb == task.Cancel:
			errs = append(errs, s.cancelRuns(ctx, stop))
		case stop.InForce(now):
			holding[stop.ID] = true
		default:
			errs = append(errs, s.store.EndStop(ctx, s.lease, stop.ID, now))
		}
	}
	errs = append(errs, s.endRunPauses(ctx, list, now))
	for _, id := range waitedFor {
		if !holding[id] {
			errs = append(errs, s.releasePaused(ctx, id, now))
		}
	}
	for id := range s.releases {
		if !slices.Contains(waitedFor, id) {
			s.logReleased(id)
		}
	}
	return errors.Join(errs...)
}

// endRunPauses ends the pauses of runs that have ended, because no operator would lift them.
func (s *stopOrders) endRunPauses(ctx context.Context, list []task.Stop, now time.Time) error {
	pauses := map[int64]int64{} // by run
	var ids []int64
	for _, stop := range list {
		if stop.Verb == task.Pause && stop.Kind == task.StopRun {
			pauses[stop.TargetID()] = stop.ID
			ids = append(ids, stop.TargetID())
		}
	}
	runs, err := s.store.Runs(ctx, ids)
	if err != nil {
		return err
	}
	for i := range runs {
		if !runs[i].State.Open() {
			err = errors.Join(err, s.store.EndStop(ctx, s.lease, pauses[runs[i].ID], now))
		}
	}
	return err
}

// reportStops logs the beginning and the end of each order, once each, and counts the active ones.
func (s *stopOrders) reportStops(ctx context.Context, list []task.Stop) error {
	active := map[int64]bool{}
	counts := map[task.StopVerb]float64{task.Pause: 0, task.Cancel: 0}
	for _, stop := range list {
		active[stop.ID] = true
		counts[stop.Verb]++
		if _, known := s.logged[stop.ID]; known {
			continue
		}
		s.logged[stop.ID] = stop.Verb
		s.logger.Info("stop order in force", append(about(stop), "verb", string(stop.Verb), "until", stop.Until)...)
	}
	for verb, n := range counts {
		s.metrics.stops.WithLabelValues(string(verb)).Set(n)
	}
	for id, verb := range s.logged {
		if active[id] {
			continue
		}
		if verb == task.Pause {
			stop, err := s.store.Stop(ctx, id)
			if err != nil && !errors.Is(err, sqldb.ErrNotFound) {
				return err
			}
			s.logger.Info("a pause has ended", append(about(stop), "lifted_by", stop.EndedBy)...)
		}
		delete(s.logged, id)
	}
	return nil
}

func about(stop task.Stop) []any {
	return []any{"order", stop.ID, "kind", string(stop.Kind), "target", stop.TargetName, "by", stop.By, "reason",
		stop.Reason}
}

// releasePaused makes subtasks due that wait for an ended pause, however and whenever it ended: a consumer may learn of
// the end a little later. It releases only a few batches; the next pass continues.
func (s *stopOrders) releasePaused(ctx context.Context, pauseID int64, now time.Time) error {
	r := s.releases[pauseID]
	if r == nil {
		r = &released{}
		s.releases[pauseID] = r
	}
	if r.next.Before(now) {
		r.next = now
	}
	for end := now.Add(releaseLots * releaseSpacing); r.next.Before(end); r.next = r.next.Add(releaseSpacing) {
		list, err := s.release.lot(ctx, task.PauseRef(pauseID), r.next)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			s.logReleased(pauseID)
			break
		}
		r.subtasks += len(list)
		failpoint.Hit("producer.pause.released")
	}
	return nil
}

// logReleased logs that no subtask waits for a pause any longer.
func (s *stopOrders) logReleased(pauseID int64) {
	if r := s.releases[pauseID]; r.subtasks > 0 {
		s.logger.Info("released subtasks of a pause", "order", pauseID, "subtasks", r.subtasks)
	}
	delete(s.releases, pauseID)
}

// cancelRuns marks the runs of a cancel, so that they end as cancelled, and ends their fan-outs at their cursors: only
// then are their totals known. An account's cancel never stops a whole run.
func (s *stopOrders) cancelRuns(ctx context.Context, stop task.Stop) error {
	if stop.Kind == task.StopAccount {
		return nil
	}
	runs, err := s.store.RunsToCancel(ctx, stop)
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
		if err := s.store.MarkCancelled(ctx, s.lease, stop.ID, some, stop.Text()); err != nil {
			return err
		}
	}
	failpoint.Hit("producer.cancel.marked")
	for _, run := range runs {
		if run.State != task.RunFanningOut {
			continue
		}
		if err := s.cutFanOut(ctx, run.ID, stop.Text()); err != nil {
			return err
		}
	}
	return nil
}

// cutFanOut ends the fan-out of a cancelled run, unless it is under way: then it rests after its present step, and the
// next pass ends it. No other goroutine adds subtasks in between, so that the count is exact.
func (s *stopOrders) cutFanOut(ctx context.Context, runID int64, why string) error {
	if !s.queue.begin(runID) {
		return nil
	}
	defer s.queue.end(runID)
	// A fan-out that never began may have no table to count in.
	if err := s.tables.ensure(ctx, task.LogDay(runID)); err != nil {
		return err
	}
	err := s.store.FinishFanOut(ctx, s.lease, runID, task.RunCancelled, why, s.waiting.Now())
	if errors.Is(err, ledger.ErrRunChanged) {
		return nil // It has ended on its own.
	}
	return err
}

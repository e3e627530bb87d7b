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

// stopOrders is the loop that is to be quick: what was ordered holds a second or two later.
type stopOrders struct {
	turns   turns
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

	told     map[int64]task.StopVerb // the orders that were logged
	releases map[int64]*released     // by pause
}

// released is how far the release of what waits for a pause has come.
type released struct {
	next     time.Time // when its next lot is due
	subtasks int
}

// stopStore is the orders, and the runs that they are about.
type stopStore interface {
	ActiveStops(ctx context.Context) ([]task.Stop, error)
	Stop(ctx context.Context, id int64) (task.Stop, error)
	PausesWaitedFor(ctx context.Context) ([]int64, error)
	MarkCancelled(ctx context.Context, l lease.Lease, stopID int64, runIDs []int64, note string) error
	Runs(ctx context.Context, ids []int64) ([]ledger.Run, error)
	stopEnder
	fanOutEnder
}

// stopEnder ends an order, and lists the runs that it takes.
type stopEnder interface {
	RunsToCancel(ctx context.Context, stop task.Stop) ([]ledger.RunToCancel, error)
	EndStop(ctx context.Context, l lease.Lease, id int64, now time.Time) error
}

// Run keeps to the orders until ctx ends.
func (s *stopOrders) Run(ctx context.Context) error {
	return s.turns.run(ctx, s.keepStops, every(stopInterval))
}

// awaitStops reads the orders for the first time, however long it takes: before that a leader must begin nothing, for
// it may be paused. It tells whether they were read before ctx ended.
func (s *stopOrders) awaitStops(ctx context.Context) bool {
	for ctx.Err() == nil {
		list, err := s.store.ActiveStops(ctx)
		if err == nil {
			s.stops.set(list)
			return true
		}
		if ctx.Err() == nil {
			s.causes.Report(slog.LevelError, "stops",
				"pauses and cancels cannot be read, so the leader does not begin; trying again", err)
		}
		waitFor(ctx, stopInterval, nil)
	}
	return false
}

// keepStops is the pass that is to be quick: it reads the orders, ends pauses whose time is over, cuts off the
// fan-outs of what is cancelled, and releases what waits for pauses that have ended.
func (s *stopOrders) keepStops(ctx context.Context) error {
	// Before the orders: a subtask may not wait for one that is younger than our list of them.
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
	errs := []error{s.tellStops(ctx, list)}
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
			s.tellReleased(id)
		}
	}
	return errors.Join(errs...)
}

// endRunPauses ends the pauses of runs that have ended: nobody would think of lifting them.
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

// tellStops logs what begins and what ends, once each, and counts what is active.
func (s *stopOrders) tellStops(ctx context.Context, list []task.Stop) error {
	active := map[int64]bool{}
	counts := map[task.StopVerb]float64{task.Pause: 0, task.Cancel: 0}
	for _, stop := range list {
		active[stop.ID] = true
		counts[stop.Verb]++
		if _, told := s.told[stop.ID]; told {
			continue
		}
		s.told[stop.ID] = stop.Verb
		text := "work is paused by an order"
		if stop.Verb == task.Cancel {
			text = "work is cancelled by an order"
		}
		s.logger.Info(text, slices.Concat(about(stop), []any{"until",
			stop.Until})...) //nolint:sloglint // One of two constants.
	}
	for verb, n := range counts {
		s.metrics.stops.WithLabelValues(string(verb)).Set(n)
	}
	for id, verb := range s.told {
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
		delete(s.told, id)
	}
	return nil
}

func about(stop task.Stop) []any {
	return []any{"order", stop.ID, "kind", string(stop.Kind), "target", stop.TargetName, "by", stop.By, "reason",
		stop.Reason}
}

// releasePaused makes due what waits for a pause that has ended, however it ended and however long ago: a consumer
// may learn of the end a little later than we do. It goes no further than the moments of a few passes: the next pass
// goes on.
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
			s.tellReleased(pauseID)
			break
		}
		r.subtasks += len(list)
		failpoint.Hit("producer.pause.released")
	}
	return nil
}

// tellReleased logs that nothing waits for a pause any more.
func (s *stopOrders) tellReleased(pauseID int64) {
	if r := s.releases[pauseID]; r.subtasks > 0 {
		s.logger.Info("subtasks go on after a pause", "order", pauseID, "subtasks", r.subtasks)
	}
	delete(s.releases, pauseID)
}

// cancelRuns marks the runs that a cancel takes, so that they end as cancelled, and ends their fan-outs where they
// stand: only then is their total known. An account's cancel takes no run as a whole.
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

// cutFanOut ends the fan-out of a run that is cancelled, unless it is under way: then it rests after its present
// step, and the next pass ends it. Nobody else adds subtasks meanwhile, so that they are counted exactly.
func (s *stopOrders) cutFanOut(ctx context.Context, runID int64, why string) error {
	if !s.queue.begin(runID) {
		return nil
	}
	defer s.queue.end(runID)
	// A fan-out that never began has no table to count in.
	if err := s.tables.ensure(ctx, task.LogDay(runID)); err != nil {
		return err
	}
	err := s.store.FinishFanOut(ctx, s.lease, runID, task.RunCancelled, why, s.waiting.Now())
	if errors.Is(err, ledger.ErrRunChanged) {
		return nil // It has ended by itself.
	}
	return err
}

package producer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/failpoint"
	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
	"adsync/producer/tasklist"
)

const (
	ticksAtOnce    = 1000 // ticks without a run read at a time
	repairInterval = time.Minute
	repairBack     = 48 * time.Hour
)

// planning is the loop that makes runs: for due moments of the tasks' crons, for missed moments, for rounds, and for
// orders by hand. This file holds the path from a cron to its run, step by step: planRuns, planTicks, planDue,
// makeTicks, runsForTicks, addRuns. Only the ledger records which moments were made, so a new leader continues from
// the ledger.
type planning struct {
	passes    passes
	store     planStore
	lease     lease.Lease
	clock     clock.Clock // of ticks
	waiting   clock.Clock // of the times that runs record
	scheduled bool        // whether tasks run by their cron
	tasks     *tasklist.Set
	kinds     *media.Registry
	wake      <-chan struct{}
	paused    func(taskID int64, media string) bool // whether a task makes no ticks for now
	queue     *fanOutQueue
	metrics   *metrics
	logger    *slog.Logger

	version int // of the task list that entries were made from
	entries map[int64]*plannedTask
	catchUp *catchUp
	rounds  *rounds
	// repaired is the run id below which every tick has its run.
	repaired   int64
	repairedAt time.Time // by this process's clock; zero = look again in the next pass
	newest     int64     // the id that was given to a run last
}

// planStore reads and writes the ledger of ticks and their runs.
type planStore interface {
	AddTicks(ctx context.Context, l lease.Lease, ticks []ledger.Tick) error
	AddRound(ctx context.Context, l lease.Lease, r ledger.Round) error
	TicksWithoutRun(ctx context.Context, from int64, limit int) ([]ledger.Tick, error)
	AddRuns(ctx context.Context, l lease.Lease, runs []ledger.Run) error
	TaskSchedules(ctx context.Context) (map[int64]settings.TaskSchedule, error)
	OpenOrders(ctx context.Context, limit int) ([]ledger.RunOrder, error)
	TakeOrder(ctx context.Context, l lease.Lease, runID int64, errorText string) error
	catchUpStore
	roundStore
}

// plannedTask is a task that is planned by its cron.
type plannedTask struct {
	task    *tasklist.Task
	hash    string
	checked time.Time // all moments up to here are in the ledger, or in the gap
	next    time.Time // the first moment after checked
}

func newPlanning(p *Producer, l lease.Lease, t passes, paused func(taskID int64, media string) bool,
	queue *fanOutQueue) *planning {
	plan := &planning{
		passes: t, store: p.store, lease: l, clock: p.clock, waiting: p.waiting, scheduled: p.cfg.Schedule, tasks: p.tasks,
		kinds:  p.registry,
		wake:   p.wake,
		paused: paused, queue: queue, metrics: p.metrics, logger: p.logger,
		version: -1, entries: map[int64]*plannedTask{},
	}
	plan.catchUp = &catchUp{
		store: p.store, lease: l, isPaused: plan.isPaused, metrics: p.metrics, logger: p.logger, gaps: map[int64]*gap{},
	}
	plan.rounds = &rounds{store: p.store, isPaused: plan.isPaused, tasks: map[int64]*tasklist.Task{},
		from: map[pair]int64{}}
	return plan
}

// Run makes runs until ctx ends.
func (p *planning) Run(ctx context.Context) error { return p.passes.run(ctx, p.planRuns, p.untilPlan) }

// untilPlan waits for the next tick, for orders, or for a wake-up.
func (p *planning) untilPlan(ctx context.Context) {
	d := planInterval
	for _, e := range p.entries {
		if !e.next.IsZero() && !p.isPaused(e.task) {
			d = min(d, p.clock.Until(e.next))
		}
	}
	waitFor(ctx, min(d, p.catchUp.until(p.clock)), p.wake)
}

// isPaused reports whether a task makes no ticks for now. After the pause, missed ticks are caught up by its policy.
func (p *planning) isPaused(tk *tasklist.Task) bool {
	return p.paused(tk.ID, tk.Media)
}

// planRuns makes the runs of due ticks, rounds and orders. An error of one step does not hold up the next.
func (p *planning) planRuns(ctx context.Context) error {
	var err error
	if p.scheduled {
		err = errors.Join(p.planTicks(ctx), p.repairTicks(ctx))
		if err == nil {
			err = p.rounds.plan(ctx, p.makeRound) // It relies on all ticks having their runs.
		}
	}
	return errors.Join(err, p.takeOrders(ctx))
}

// planTicks enters due moments into the ledger and makes their runs: first those that are due now, then some of the
// missed ones.
func (p *planning) planTicks(ctx context.Context) error {
	now := p.clock.Now()
	if list := p.tasks.Current(); list.Version != p.version {
		// The old schedules hold up to now: their due moments are made before the new schedules begin.
		if err := p.dropEntries(ctx, list, now); err != nil {
			return err
		}
		if err := p.planDue(ctx, now); err != nil {
			return err
		}
		if err := p.syncSchedules(ctx, list, now); err != nil {
			return err
		}
	}
	if err := p.planDue(ctx, now); err != nil {
		return err
	}
	return p.catchUp.make(ctx, now, p.makeTicks)
}

// planDue makes the ticks of the moments that are due.
func (p *planning) planDue(ctx context.Context, now time.Time) error {
	recent := now.Add(-catchUpAfter)
	var ticks []ledger.Tick
	var due []*plannedTask
	for _, e := range p.entries {
		if e.next.IsZero() || e.next.After(now) || p.isPaused(e.task) {
			continue
		}
		if !e.next.After(recent) {
			p.catchUp.missed(e, e.checked, recent)
			e.checked = recent
			e.next = e.task.Schedule.Next(recent)
		}
		due = append(due, e)
		for m := e.next; !m.IsZero() && !m.After(now); m = e.task.Schedule.Next(m) {
			ticks = append(ticks, ledger.Tick{TaskID: e.task.ID, PlannedAt: m, MadeAt: now})
		}
	}
	slices.SortStableFunc(ticks, func(a, b ledger.Tick) int { return a.PlannedAt.Compare(b.PlannedAt) })
	if err := p.makeTicks(ctx, ticks, now); err != nil {
		return err
	}
	for _, e := range due {
		e.checked, e.next = now, e.task.Schedule.Next(now)
	}
	for _, tick := range ticks {
		p.metrics.lateness.Observe(now.Sub(tick.PlannedAt).Seconds())
	}
	return nil
}

// makeTicks enters ticks into the ledger, unless they exist, and makes their runs in the given order. After an error it
// can be repeated as a whole.
func (p *planning) makeTicks(ctx context.Context, ticks []ledger.Tick, now time.Time) error {
	if len(ticks) == 0 {
		return nil
	}
	p.nameRuns(ticks, now)
	lowest := ticks[0].RunID
	// In the order of the ledger's key, like every batch.
	slices.SortFunc(ticks, func(a, b ledger.Tick) int {
		return cmp.Or(cmp.Compare(a.TaskID, b.TaskID), a.PlannedAt.Compare(b.PlannedAt))
	})
	err := p.store.AddTicks(ctx, p.lease, ticks)
	failpoint.Hit("producer.ticks.added")
	if err == nil {
		// A tick that was in the ledger before keeps its run. Only ticks with one of the new ids lack a run.
		_, err = p.runsForTicks(ctx, lowest)
	}
	if err != nil {
		// Some ticks may exist, with or without their runs.
		p.repairedAt = time.Time{}
	}
	return err
}

// makeRound makes the tick of a round, which follows ended runs of its predecessors, and its run.
func (p *planning) makeRound(ctx context.Context, taskID int64, answers map[int64][]int64) error {
	now := p.clock.Now()
	newest, err := p.store.LastTicks(ctx, taskID, 1)
	if err != nil {
		return err
	}
	ticks := []ledger.Tick{{TaskID: taskID, PlannedAt: now, MadeAt: now}}
	if len(newest) > 0 && !newest[0].PlannedAt.Before(now) {
		// The clock stands still or was set back. The ledger holds each moment once, and a round needs its own moment.
		ticks[0].PlannedAt = newest[0].PlannedAt.Add(time.Millisecond)
	}
	p.nameRuns(ticks, now)
	tick := ticks[0]
	err = p.store.AddRound(ctx, p.lease, ledger.Round{Tick: tick, Answers: answers})
	failpoint.Hit("producer.round.added")
	if err == nil {
		_, err = p.runsForTicks(ctx, tick.RunID)
	}
	if err != nil {
		p.repairedAt = time.Time{}
	}
	return err
}

// nameRuns gives ticks their run ids. The ids are unique, although thousands may be made within one millisecond, and
// ascend in the order of the ticks, after those of the last call, because runs are fanned out by id.
func (p *planning) nameRuns(ticks []ledger.Tick, now time.Time) {
	if before := task.RunTime(p.newest); !before.Before(now) {
		now = before.Add(time.Millisecond)
	}
	ids := make([]int64, 0, len(ticks))
	for len(ids) < len(ticks) {
		for range len(ticks) - len(ids) {
			ids = append(ids, task.NewRunID(now))
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	for i := range ticks {
		ticks[i].RunID = ids[i]
		p.newest = ids[i]
	}
}

// runsForTicks makes the runs of all ticks that have run ids from from on and lack a run. It returns how many it had to
// leave for later.
func (p *planning) runsForTicks(ctx context.Context, from int64) (left int, err error) {
	list := p.tasks.Current()
	for {
		ticks, err := p.store.TicksWithoutRun(ctx, from, ticksAtOnce)
		if err != nil || len(ticks) == 0 {
			return left, err
		}
		var runs []ledger.Run
		for _, tick := range ticks {
			run := ledger.Run{ID: tick.RunID, TaskID: tick.TaskID, Kind: ledger.RunOfTick, PlannedAt: tick.PlannedAt}
			switch tk, loaded := list.Tasks[tick.TaskID]; {
			case loaded:
				p.fill(&run, tk, nil)
			case list.Bad[tick.TaskID].ID != 0:
				left++ // Its row may be corrected.
				continue
			default:
				p.fail(&run, task.RunCancelled, "the task was deleted before the run was made")
			}
			runs = append(runs, run)
		}
		if err := p.addRuns(ctx, runs); err != nil {
			return left, err
		}
		for i := range runs {
			p.rounds.lower(&runs[i])
		}
		p.metrics.ticks.Add(float64(len(runs)))
		from = ticks[len(ticks)-1].RunID + 1
		if len(ticks) < ticksAtOnce {
			return left, nil
		}
	}
}

func (p *planning) addRuns(ctx context.Context, runs []ledger.Run) error {
	if len(runs) == 0 {
		return nil
	}
	if err := p.store.AddRuns(ctx, p.lease, runs); err != nil {
		return err
	}
	p.queue.reread()
	return nil
}

// fill copies the task as it is now into a run.
func (p *planning) fill(run *ledger.Run, tk *tasklist.Task, order *task.Order) {
	run.TaskName, run.Media, run.Handler, run.TaskRevision = tk.Name, tk.Media, tk.Handler, tk.Revision
	run.Settings, run.Timezone = tk.Settings, tk.Timezone
	run.Settings.Order = order
	if order != nil {
		run.Settings.Lane = cmp.Or(order.Lane, run.Settings.Lane)
		run.Settings.Application = cmp.Or(order.Application, run.Settings.Application)
	}
	if order != nil && order.Redrive != nil {
		run.OriginRunID = order.Redrive.Origin
		run.Settings.FanOutRate = cmp.Or(order.Redrive.Rate, run.Settings.FanOutRate)
	}
	run.State, run.CreatedAt = task.RunFanningOut, p.waiting.Now()
}

// fail ends a run before it begins.
func (p *planning) fail(run *ledger.Run, state task.RunState, why string) {
	now, none := p.waiting.Now(), int64(0)
	run.State, run.ErrorText, run.CreatedAt, run.EndedAt, run.Total = state, why, now, now, &none
}

// repairTicks makes runs for ticks that lack one, because a leader may have ended between the two.
func (p *planning) repairTicks(ctx context.Context) error {
	if !p.repairedAt.IsZero() && clock.Since(p.repairedAt) < repairInterval {
		return nil
	}
	begun := clock.Mark()
	now := p.clock.Now()
	if p.repaired == 0 {
		p.repaired = task.FirstRunID(day.Of(now.Add(-repairBack), time.UTC))
	}
	left, err := p.runsForTicks(ctx, p.repaired)
	if err != nil {
		return err
	}
	p.repairedAt = begun
	if left == 0 {
		// This leaves a margin of a minute: ids contain the time of the clock, which may have stood still.
		p.repaired = task.NewRunID(now.Add(-repairInterval))
	}
	return nil
}

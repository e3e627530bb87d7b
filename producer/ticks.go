package producer

import (
	"cmp"
	"context"
	"slices"
	"time"

	"adsync/base/schedule"
	"adsync/base/store"
	"adsync/base/task"
)

const (
	// catchUpAfter is how late a moment may be and still be made whatever the policy says: what a takeover or a reload
	// takes is no gap.
	catchUpAfter = time.Minute
	// momentsMax is how many moments of one task a pass makes; the rest follows in the next passes.
	momentsMax = 1000
)

// planner remembers how far each task's moments were looked at.
type planner struct {
	version int // of the task list that entries were made from
	entries map[int64]*plannedTask
	// repaired is the run id below which every tick has its run.
	repaired   int64
	repairedAt time.Time // by this process's clock
}

type plannedTask struct {
	task    *loadedTask
	hash    string
	checked time.Time // all moments up to here are made or given up
	next    time.Time
	fresh   bool // the ledger may know moments after checked
}

func newPlanner() *planner { return &planner{version: -1, entries: map[int64]*plannedTask{}} }

// next is when the first task is due; zero when none is.
func (p *planner) next() time.Time {
	var first time.Time
	for _, e := range p.entries {
		if !e.next.IsZero() && (first.IsZero() || e.next.Before(first)) {
			first = e.next
		}
	}
	return first
}

// untilPlan waits for the next tick, for orders, or for a wake-up.
func (t *term) untilPlan(ctx context.Context) {
	d := planInterval
	if next := t.plan.next(); !next.IsZero() {
		d = min(d, max(t.clock.Until(next), 0))
	}
	waitFor(ctx, d, t.wake)
}

// planRuns makes runs of what is due and of what was ordered.
func (t *term) planRuns(ctx context.Context) error {
	if t.cfg.Schedule {
		if err := t.planTicks(ctx); err != nil {
			return err
		}
		if err := t.repairTicks(ctx); err != nil {
			return err
		}
	}
	return t.takeOrders(ctx)
}

// planTicks enters the moments that are due into the ledger and makes their runs.
func (t *term) planTicks(ctx context.Context) error {
	list := t.tasks.current()
	if list.version != t.plan.version {
		if err := t.syncSchedules(ctx, list); err != nil {
			return err
		}
	}
	now := t.clock.Now()
	var ticks []store.Tick
	var done []func()
	for _, e := range t.plan.entries {
		if e.next.IsZero() || e.next.After(now) {
			continue
		}
		moments, through, err := t.momentsOf(ctx, e, now)
		if err != nil {
			return err
		}
		for _, m := range moments {
			ticks = append(ticks, store.Tick{TaskID: e.task.ID, PlannedAt: m, MadeAt: now})
		}
		done = append(done, func() {
			e.checked, e.next, e.fresh = through, e.task.schedule.Next(through), false
		})
	}
	if len(done) == 0 {
		return nil
	}
	nameRuns(ticks, now)
	// In the order of the ledger's key, like every batch.
	slices.SortFunc(ticks, func(a, b store.Tick) int {
		return cmp.Or(cmp.Compare(a.TaskID, b.TaskID), a.PlannedAt.Compare(b.PlannedAt))
	})
	if err := t.store.AddTicks(ctx, t.lease, ticks); err != nil {
		return err
	}
	for _, f := range done {
		f()
	}
	for _, tick := range ticks {
		if late := now.Sub(tick.PlannedAt); late <= catchUpAfter {
			t.metrics.lateness.Observe(late.Seconds())
		}
	}
	if len(ticks) == 0 {
		return nil
	}
	// A tick that was in the ledger before keeps the run that it has: only those that took our id are still without.
	lowest := ticks[0].RunID
	for _, tick := range ticks {
		lowest = min(lowest, tick.RunID)
	}
	_, err := t.runsForTicks(ctx, lowest)
	return err
}

// nameRuns gives ticks their run ids: all different, though thousands may be made within one millisecond, and in the
// order of the planned moments, so that what is caught up runs in that order.
func nameRuns(ticks []store.Tick, now time.Time) {
	slices.SortStableFunc(ticks, func(a, b store.Tick) int { return a.PlannedAt.Compare(b.PlannedAt) })
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
	}
}

// syncSchedules brings task_schedule and the plan up to a task list. A schedule that is new begins now: what it would
// have planned before is no gap.
func (t *term) syncSchedules(ctx context.Context, list *taskList) error {
	known, err := t.store.TaskSchedules(ctx)
	if err != nil {
		return err
	}
	now := t.clock.Now()
	var changed []store.TaskSchedule
	for id, tk := range list.tasks {
		hash := tk.scheduleHash()
		if known[id].Hash != hash {
			known[id] = store.TaskSchedule{TaskID: id, Hash: hash, Since: now}
			changed = append(changed, known[id])
		}
	}
	if err := t.store.PutTaskSchedules(ctx, t.lease, changed); err != nil {
		return err
	}
	entries := map[int64]*plannedTask{}
	for id, tk := range list.tasks {
		if !tk.Enabled {
			continue
		}
		hash := tk.scheduleHash()
		if e, ok := t.plan.entries[id]; ok && e.hash == hash {
			e.task = tk
			entries[id] = e
			continue
		}
		from := known[id].Since
		if begin := now.Add(-tk.CatchUpWindow - catchUpAfter); from.Before(begin) {
			from = begin
		}
		entries[id] = &plannedTask{task: tk, hash: hash, checked: from, next: tk.schedule.Next(from), fresh: true}
	}
	t.plan.entries, t.plan.version = entries, list.version
	return nil
}

// momentsOf returns the moments of a task to be made now, and up to which moment the task is then looked after.
func (t *term) momentsOf(ctx context.Context, e *plannedTask, now time.Time) ([]time.Time, time.Time, error) {
	moments, through := dueMoments(e.task.schedule, e.task.CatchUp, e.checked, now)
	if !e.fresh || len(moments) < 2 {
		return moments, through, nil
	}
	ticks, err := t.store.TicksSince(ctx, e.task.ID, e.checked)
	if err != nil {
		return nil, time.Time{}, err
	}
	made := make(map[int64]bool, len(ticks))
	for _, tick := range ticks {
		made[tick.PlannedAt.UnixMilli()] = true
	}
	moments = slices.DeleteFunc(moments, func(m time.Time) bool { return made[m.UnixMilli()] })
	return moments, through, nil
}

// dueMoments chooses among the moments after from, up to now. Those of the last minute are always made; of older ones
// the policy takes none, the latest (if there is no later one), or all. through is up to where that settles them.
func dueMoments(s schedule.Schedule, policy task.CatchUp, from, now time.Time) (moments []time.Time, through time.Time) {
	recent := now.Add(-catchUpAfter)
	begin := from
	if policy != task.CatchUpAll && begin.Before(recent) {
		begin = recent
	}
	through = now
	for m := s.Next(begin); !m.IsZero() && !m.After(now); m = s.Next(m) {
		if len(moments) == momentsMax {
			return moments, moments[momentsMax-1]
		}
		moments = append(moments, m)
	}
	if len(moments) == 0 && policy == task.CatchUpLatest {
		if m := latest(s, from, recent); !m.IsZero() {
			moments = append(moments, m)
		}
	}
	return moments, through
}

// latest returns the last moment after from, up to until. It looks back in growing steps: a schedule knows only its next
// moment, and there may be very many.
func latest(s schedule.Schedule, from, until time.Time) time.Time {
	var found time.Time
	for back := time.Minute; from.Before(until); back *= 8 {
		begin := until.Add(-back)
		if begin.Before(from) {
			begin = from
		}
		for m := s.Next(begin); !m.IsZero() && !m.After(until); m = s.Next(m) {
			found = m
		}
		if !found.IsZero() || begin.Equal(from) {
			break
		}
	}
	return found
}

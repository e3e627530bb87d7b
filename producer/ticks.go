package producer

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"adsync/base/failpoint"
	"adsync/base/store"
	"adsync/base/task"
)

// catchUpAfter is how late a moment may be and still be made whatever the policy says: what a takeover or a reload takes
// is no gap.
const catchUpAfter = time.Minute

// planner remembers how far each task's moments were looked at. The ledger alone knows which of them were made: a leader
// that begins with nothing but the ledger goes on where the one before ended.
type planner struct {
	version int // of the task list that entries were made from
	entries map[int64]*plannedTask
	// repaired is the run id below which every tick has its run.
	repaired   int64
	repairedAt time.Time // by this process's clock; zero = look again in the next pass
	newest     int64     // the id that was given to a run last
	rounds     rounds
	looks      int // how often the present pass may still ask the ledger about what was missed
}

// plannedTask is a task that comes up by its cron.
type plannedTask struct {
	task    *loadedTask
	hash    string
	checked time.Time // all moments up to here are in the ledger, or in the gap
	next    time.Time // the first moment after checked
	gap     *gap      // what lies behind and is not settled; nil = nothing
}

func newPlanner() *planner {
	return &planner{version: -1, entries: map[int64]*plannedTask{}, rounds: newRounds()}
}

// untilPlan waits for the next tick, for orders, or for a wake-up.
func (t *term) untilPlan(ctx context.Context) {
	d := planInterval
	for _, e := range t.plan.entries {
		if t.isPaused(e.task) {
			continue
		}
		if !e.next.IsZero() {
			d = min(d, t.clock.Until(e.next))
		}
		if e.gap != nil {
			d = min(d, max(t.clock.Until(e.gap.notBefore), catchUpInterval))
		}
	}
	waitFor(ctx, d, t.wake)
}

// isPaused tells whether a task makes no ticks for now. What it misses is caught up by its policy when the pause ends.
func (t *term) isPaused(tk *loadedTask) bool {
	return t.paused(tk.ID, tk.Media)
}

// planRuns makes runs of what is due and of what was ordered. What fails does not hold up what comes after it.
func (t *term) planRuns(ctx context.Context) error {
	var err error
	if t.cfg.Schedule {
		err = errors.Join(t.planTicks(ctx), t.repairTicks(ctx))
		if err == nil {
			err = t.planRounds(ctx) // It relies on all ticks having their runs.
		}
	}
	return errors.Join(err, t.takeOrders(ctx))
}

// planTicks enters the moments that are due into the ledger and makes their runs: first those that are due now, then
// some of those that were missed.
func (t *term) planTicks(ctx context.Context) error {
	now := t.clock.Now()
	if list := t.tasks.current(); list.version != t.plan.version {
		// Up to now the schedules were the old ones: what they had due is made before the new ones begin.
		if err := t.dropEntries(ctx, list, now); err != nil {
			return err
		}
		if err := t.planDue(ctx, now); err != nil {
			return err
		}
		if err := t.syncSchedules(ctx, list, now); err != nil {
			return err
		}
	}
	if err := t.planDue(ctx, now); err != nil {
		return err
	}
	return t.catchUp(ctx, now)
}

// planDue makes the ticks of the moments that are due.
func (t *term) planDue(ctx context.Context, now time.Time) error {
	recent := now.Add(-catchUpAfter)
	var ticks []store.Tick
	var due []*plannedTask
	for _, e := range t.plan.entries {
		if e.next.IsZero() || e.next.After(now) || t.isPaused(e.task) {
			continue
		}
		if !e.next.After(recent) {
			e.widenGap(e.checked, recent)
			e.checked = recent
			e.next = e.task.schedule.Next(recent)
		}
		due = append(due, e)
		for m := e.next; !m.IsZero() && !m.After(now); m = e.task.schedule.Next(m) {
			ticks = append(ticks, store.Tick{TaskID: e.task.ID, PlannedAt: m, MadeAt: now})
		}
	}
	slices.SortStableFunc(ticks, func(a, b store.Tick) int { return a.PlannedAt.Compare(b.PlannedAt) })
	if err := t.makeTicks(ctx, ticks, now); err != nil {
		return err
	}
	for _, e := range due {
		e.checked, e.next = now, e.task.schedule.Next(now)
	}
	for _, tick := range ticks {
		t.metrics.lateness.Observe(now.Sub(tick.PlannedAt).Seconds())
	}
	return nil
}

// makeTicks enters ticks into the ledger, unless they are there, and makes their runs, in the order in which they are
// given. After an error all of it can be repeated.
func (t *term) makeTicks(ctx context.Context, ticks []store.Tick, now time.Time) error {
	if len(ticks) == 0 {
		return nil
	}
	t.plan.nameRuns(ticks, now)
	lowest := ticks[0].RunID
	// In the order of the ledger's key, like every batch.
	slices.SortFunc(ticks, func(a, b store.Tick) int {
		return cmp.Or(cmp.Compare(a.TaskID, b.TaskID), a.PlannedAt.Compare(b.PlannedAt))
	})
	err := t.store.AddTicks(ctx, t.lease, ticks)
	failpoint.Hit("producer.ticks.added")
	if err == nil {
		// A tick that was in the ledger before keeps the run that it has: only those that took our id are still without.
		_, err = t.runsForTicks(ctx, lowest)
	}
	if err != nil {
		// Some may be there, with or without their runs.
		t.plan.repairedAt = time.Time{}
	}
	return err
}

// nameRuns gives ticks their run ids: all different, though thousands may be made within one millisecond, and in their
// order, after those of the call before, for runs are fanned out by id.
func (p *planner) nameRuns(ticks []store.Tick, now time.Time) {
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

// dropEntries takes the tasks out of the plan that a new list has no more, or has switched off: nothing is made for them
// any longer.
func (t *term) dropEntries(ctx context.Context, list *taskList, now time.Time) error {
	for id, e := range t.plan.entries {
		if tk, there := list.tasks[id]; there && tk.Enabled {
			continue
		}
		if err := t.abandonGap(ctx, e, now); err != nil {
			return err
		}
		delete(t.plan.entries, id)
	}
	return nil
}

// goneHash is the hash of a schedule whose task was deleted. If its row comes back, it begins anew.
const goneHash = ""

// syncSchedules brings task_schedule and the plan up to a task list. A schedule that is new begins now: what it would
// have planned before is no gap.
func (t *term) syncSchedules(ctx context.Context, list *taskList, now time.Time) error {
	known, err := t.store.TaskSchedules(ctx)
	if err != nil {
		return err
	}
	var changed []store.TaskSchedule
	put := func(id int64, hash string) {
		if known[id].Hash != hash {
			known[id] = store.TaskSchedule{TaskID: id, Hash: hash, Since: now}
			changed = append(changed, known[id])
		}
	}
	hashes := make(map[int64]string, len(list.tasks))
	for id, tk := range list.tasks {
		hashes[id] = tk.scheduleHash()
		put(id, hashes[id])
	}
	for id := range known {
		_, usable := list.tasks[id]
		if _, bad := list.bad[id]; !usable && !bad {
			put(id, goneHash)
		}
	}
	// Before the new schedules begin: after an error the old ones are still there to be asked.
	for id, e := range t.plan.entries {
		if _, usable := list.tasks[id]; usable && e.hash != hashes[id] {
			if err := t.abandonGap(ctx, e, now); err != nil {
				return err
			}
		}
	}
	if err := t.store.PutTaskSchedules(ctx, t.lease, changed); err != nil {
		return err
	}
	entries := map[int64]*plannedTask{}
	for id, tk := range list.tasks {
		e, planned := t.plan.entries[id]
		switch {
		case !tk.Enabled || !tk.schedule.Recurs():
		case planned && e.hash == hashes[id]:
			if e.gap != nil && (e.task.CatchUp != tk.CatchUp || e.task.CatchUpOrder != tk.CatchUpOrder) {
				e.gap.putBack()
			}
			e.task = tk
			entries[id] = e
		default:
			entries[id] = newEntry(tk, hashes[id], known[id].Since, now)
		}
	}
	t.plan.entries, t.plan.version = entries, list.version
	t.plan.rounds.sync(list, known)
	return nil
}

// newEntry begins to plan a task by what the ledger knows of it since a moment.
func newEntry(tk *loadedTask, hash string, since, now time.Time) *plannedTask {
	e := &plannedTask{task: tk, hash: hash, checked: since}
	if recent := now.Add(-catchUpAfter); since.Before(recent) {
		e.widenGap(since, recent)
		e.checked = recent
	}
	e.next = tk.schedule.Next(e.checked)
	return e
}

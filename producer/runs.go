package producer

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/task"
)

const (
	repairInterval = time.Minute
	repairBack     = 48 * time.Hour
	ticksAtOnce    = 1000
	ordersAtOnce   = 100
)

// repairTicks makes runs for ticks that have none: a leader may have ended between the two.
func (t *term) repairTicks(ctx context.Context) error {
	if !t.plan.repairedAt.IsZero() && clock.Since(t.plan.repairedAt) < repairInterval {
		return nil
	}
	begun := clock.Mark()
	now := t.clock.Now()
	if t.plan.repaired == 0 {
		t.plan.repaired = task.FirstRunID(day.Of(now.Add(-repairBack), time.UTC))
	}
	left, err := t.runsForTicks(ctx, t.plan.repaired)
	if err != nil {
		return err
	}
	t.plan.repairedAt = begun
	if left == 0 {
		// A minute's margin: ids carry the time of the clock, which may have stood still.
		t.plan.repaired = task.NewRunID(now.Add(-repairInterval))
	}
	return nil
}

// runsForTicks makes the runs of all ticks whose run ids begin at from and have no run, and returns how many it had to
// leave for later.
func (t *term) runsForTicks(ctx context.Context, from int64) (left int, err error) {
	list := t.tasks.current()
	for {
		ticks, err := t.store.TicksWithoutRun(ctx, from, ticksAtOnce)
		if err != nil || len(ticks) == 0 {
			return left, err
		}
		var runs []store.Run
		for _, tick := range ticks {
			run := store.Run{ID: tick.RunID, TaskID: tick.TaskID, Kind: store.RunOfTick, PlannedAt: tick.PlannedAt}
			switch tk, loaded := list.tasks[tick.TaskID]; {
			case loaded:
				t.fill(&run, tk, nil)
			case list.bad[tick.TaskID].ID != 0:
				left++ // Its row may be put right.
				continue
			default:
				t.fail(&run, task.RunCancelled, "the task was deleted before the run was made")
			}
			runs = append(runs, run)
		}
		if err := t.addRuns(ctx, runs); err != nil {
			return left, err
		}
		for i := range runs {
			t.plan.rounds.lower(&runs[i])
		}
		t.metrics.ticks.Add(float64(len(runs)))
		from = ticks[len(ticks)-1].RunID + 1
		if len(ticks) < ticksAtOnce {
			return left, nil
		}
	}
}

func (t *term) addRuns(ctx context.Context, runs []store.Run) error {
	if len(runs) == 0 {
		return nil
	}
	if err := t.store.AddRuns(ctx, t.lease, runs); err != nil {
		return err
	}
	t.mu.Lock()
	t.queue.stale = true
	t.mu.Unlock()
	t.wakeFanOuts()
	return nil
}

// fill gives a run the task as it is now.
func (t *term) fill(run *store.Run, tk *loadedTask, order *task.Order) {
	run.TaskName, run.Media, run.Handler, run.TaskRevision = tk.Name, tk.Media, tk.Handler, tk.Revision
	run.Settings, run.Timezone = tk.Settings, tk.Timezone
	run.Settings.Order = order
	if order != nil && order.Redrive != nil {
		run.OriginRunID = order.Redrive.Origin
		run.Settings.FanOutRate = cmp.Or(order.Redrive.Rate, run.Settings.FanOutRate)
	}
	run.State, run.CreatedAt = task.RunFanningOut, t.waiting.Now()
}

// fail makes a run that ends before it begins.
func (t *term) fail(run *store.Run, state task.RunState, why string) {
	now, none := t.waiting.Now(), int64(0)
	run.State, run.ErrorText, run.CreatedAt, run.EndedAt, run.Total = state, why, now, now, &none
}

// takeOrders makes the runs of the orders that wait. Their ids are given, so that doing it twice makes one run.
func (t *term) takeOrders(ctx context.Context) error {
	orders, err := t.store.OpenOrders(ctx, ordersAtOnce)
	if err != nil {
		return err
	}
	for _, o := range orders {
		run := store.Run{ID: o.RunID, TaskID: o.TaskID, Kind: store.RunOfOrder, PlannedAt: o.OrderedAt}
		why := t.fillOrder(ctx, &run, o)
		if err := t.addRuns(ctx, []store.Run{run}); err != nil {
			return err
		}
		if err := t.store.TakeOrder(ctx, t.lease, o.RunID, why); err != nil {
			return err
		}
		result := "taken"
		if why != "" {
			result = "refused"
			t.logger.Warn("an order is refused", "run", o.RunID, "by", o.Request.By, "reason", why)
		}
		t.metrics.orders.WithLabelValues(result).Inc()
	}
	return nil
}

// fillOrder fills the run of an order, or says why it fails.
func (t *term) fillOrder(ctx context.Context, run *store.Run, o store.RunOrder) string {
	why := ""
	tk, loaded := t.tasks.current().tasks[o.TaskID]
	if !loaded {
		// The task may be younger than the last reload.
		if err := t.tasks.reload(ctx); err != nil {
			t.logger.Warn("cannot reload the tasks for an order", "err", err)
		}
		tk, loaded = t.tasks.current().tasks[o.TaskID]
	}
	switch {
	case o.Malformed != nil:
		why = o.Malformed.Error()
	case !loaded:
		why = fmt.Sprintf("there is no usable task with id %d", o.TaskID)
	}
	if loaded {
		t.fill(run, tk, &o.Request)
	}
	if why != "" {
		t.fail(run, task.RunFailed, why)
	}
	return why
}

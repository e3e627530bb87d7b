package producer

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

func (b *bench) planned() []string {
	b.t.Helper()
	var all []string
	for _, r := range b.runs() {
		all = append(all, r.TaskName+" "+r.PlannedAt.Format(time.TimeOnly))
	}
	slices.Sort(all)
	return all
}

func TestPlanTicks_EachMomentOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.addTask("minutely", "tulip.report", "* * * * *", nil)
	b.addTask("hourly", "tulip.report", "5 * * * *", nil)
	b.addTask("off", "tulip.report", "* * * * *", map[string]any{"enabled": 0})
	tm := b.term()
	require.NoError(t, tm.planTicks(ctx))
	require.Empty(t, b.runs(), "nothing before the task was there")
	for _, e := range tm.entries {
		if e.task.Name == "minutely" {
			require.Equal(t, time.Date(2026, 11, 21, 9, 1, 0, 0, time.UTC), e.next)
		}
	}

	for range 5 {
		b.clock.add(time.Minute)
		require.NoError(t, tm.planTicks(ctx))
		require.NoError(t, tm.planTicks(ctx))
	}
	want := []string{"hourly 09:05:00", "minutely 09:01:00", "minutely 09:02:00", "minutely 09:03:00", "minutely 09:04:00",
		"minutely 09:05:00"}
	require.Equal(t, want, b.planned())

	// Another leader makes none of these runs again, and continues.
	next := b.term()
	require.NoError(t, next.planTicks(ctx))
	require.Equal(t, want, b.planned())
	b.clock.add(time.Minute)
	require.ErrorIs(t, tm.planTicks(ctx), errStale)
	require.Equal(t, want, b.planned())
	require.NoError(t, next.planTicks(ctx))
	require.Contains(t, b.planned(), "minutely 09:06:00")
	for _, r := range b.runs() {
		require.Equal(t, task.RunFanningOut, r.State)
		require.Equal(t, ledger.RunOfTick, r.Kind)
		ticks, err := b.store.LastTicks(ctx, r.TaskID, 100)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(ticks, func(tick ledger.Tick) bool {
			return tick.RunID == r.ID &&
				tick.PlannedAt.Equal(r.PlannedAt)
		}))
	}
}

func TestPlanTicks_AChangedCronCountsFromTheChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.addTask("daily", "tulip.report", "0 1 * * *", map[string]any{"catch_up": "all"})
	tm := b.term()
	require.NoError(t, tm.planTicks(ctx))
	b.exec(b.store.Config, "UPDATE cron_task SET cron = '0 * * * *'")
	require.NoError(t, b.tasks.Reload(ctx))
	require.NoError(t, tm.planTicks(ctx))
	require.Empty(t, b.runs(), "the hours before the change are no gap")
	b.clock.add(time.Hour)
	require.NoError(t, tm.planTicks(ctx))
	require.Equal(t, []string{"daily 10:00:00"}, b.planned())

	// Disabled and enabled again: the time between is no gap either.
	b.exec(b.store.Config, "UPDATE cron_task SET enabled = 0")
	require.NoError(t, b.tasks.Reload(ctx))
	require.NoError(t, tm.planTicks(ctx))
	b.clock.add(3 * time.Hour)
	require.NoError(t, tm.planTicks(ctx))
	b.exec(b.store.Config, "UPDATE cron_task SET enabled = 1")
	require.NoError(t, b.tasks.Reload(ctx))
	require.NoError(t, tm.planTicks(ctx))
	require.Equal(t, []string{"daily 10:00:00"}, b.planned())
	b.clock.add(time.Hour)
	require.NoError(t, tm.planTicks(ctx))
	require.Len(t, b.runs(), 2)
}

func TestPlanTicks_AfterAGap(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][]string{
		"none":   {"x 12:00:00"},
		"latest": {"x 12:00:00"},
		"all":    {"x 10:00:00", "x 11:00:00", "x 12:00:00"},
	} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := t.Context()
			b.addTask("x", "tulip.report", "0 * * * *", map[string]any{"catch_up": policy, "catch_up_window_seconds": 3 * 3600})
			require.NoError(t, b.term().planTicks(ctx))
			b.clock.add(3 * time.Hour) // 12:00:30: within the minute that is no gap
			require.NoError(t, b.term().planTicks(ctx))
			require.Equal(t, want, b.planned())
		})
	}
	for policy, want := range map[string][]string{
		"none":   nil,
		"latest": {"x 14:00:00"},
		"all":    {"x 12:00:00", "x 13:00:00", "x 14:00:00"},
	} {
		t.Run(policy+" beyond the window", func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := t.Context()
			b.addTask("x", "tulip.report", "0 * * * *", map[string]any{"catch_up": policy, "catch_up_window_seconds": 3 * 3600})
			require.NoError(t, b.term().planTicks(ctx))
			b.clock.add(5*time.Hour + 10*time.Minute) // 14:10:30
			require.NoError(t, b.term().planTicks(ctx))
			require.Equal(t, want, b.planned())
			require.NoError(t, b.term().planTicks(ctx))
			require.Equal(t, want, b.planned(), "a gap is filled once")
		})
	}
}

func TestRepairTicks_MakesTheRunsThatAreMissing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := b.addTask("x", "tulip.report", "0 * * * *", nil)
	bad := b.addTask("bad", "tulip.report", "garbage", nil)
	tm := b.term()
	before := start.Add(-2 * repairInterval) // A tick older than the margin also waits for its row.
	ticks := []ledger.Tick{
		{TaskID: id, PlannedAt: before, RunID: task.NewRunID(before), MadeAt: start},
		{TaskID: bad, PlannedAt: before, RunID: task.NewRunID(before), MadeAt: start},
		{TaskID: 999, PlannedAt: before, RunID: task.NewRunID(before), MadeAt: start},
	}
	require.NoError(t, b.store.AddTicks(ctx, tm.lease, ticks))
	require.NoError(t, tm.repairTicks(ctx))
	run := b.run(ticks[0].RunID)
	require.Equal(t, "x", run.TaskName)
	require.Equal(t, task.RunFanningOut, run.State)
	require.Equal(t, ticks[0].PlannedAt, run.PlannedAt)
	gone := b.run(ticks[2].RunID)
	require.Equal(t, task.RunCancelled, gone.State)
	require.Contains(t, gone.ErrorText, "deleted")
	_, err := b.store.Run(ctx, ticks[1].RunID)
	require.ErrorIs(t, err, sqldb.ErrNotFound, "its row may be corrected")

	b.exec(b.store.Config, "UPDATE cron_task SET cron = '0 * * * *' WHERE name = 'bad'")
	require.NoError(t, b.tasks.Reload(ctx))
	tm.repairedAt = time.Time{}
	require.NoError(t, tm.repairTicks(ctx))
	require.Equal(t, "bad", b.run(ticks[1].RunID).TaskName)
}

// A run keeps its settings whatever changes in its task meanwhile, also under the next leader.
func TestRun_OutlivesWhatBecomesOfItsTask(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"edited": "UPDATE cron_task SET lane = 'offline', params = '{\"level\":\"other\"}', scope = 'inactive', cron " +
			"= '0 5 * * *', retry_max = 1",
		"switched off": "UPDATE cron_task SET enabled = 0",
		"deleted":      "DELETE FROM cron_task",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addAccounts(25)
			b.addTask("x", "tulip.report", "*/10 * * * *", map[string]any{"params": `{"level":"account"}`})
			tm := b.term()
			tm.settled(t)
			b.clock.add(10 * time.Minute)
			tm.settled(t)
			run := b.runs()[0]
			b.broker.fail = func(write int) error {
				if write == 2 {
					return errors.New("gone away")
				}
				return nil
			}
			require.Error(t, tm.fan(b, run.ID))
			require.EqualValues(t, 10, b.run(run.ID).Cursor)
			b.exec(b.store.Config, change)
			require.NoError(t, b.tasks.Reload(t.Context()))
			tm.settled(t)

			require.NoError(t, b.term().fan(b, run.ID))
			after := b.run(run.ID)
			require.Equal(t, task.RunRunning, after.State)
			require.EqualValues(t, 25, *after.Total)
			require.Equal(t, run.Settings, after.Settings)
			for _, e := range b.broker.envelopes(t) {
				require.Equal(t, "normal", e.Lane)
				require.Equal(t, 5, e.RetryMax)
			}
			b.end(after, task.Succeeded)
			require.Equal(t, task.RunSucceeded, b.run(run.ID).State)
			require.Len(t, b.runs(), 1)
		})
	}
}

// The tick of a task that was edited, switched off or deleted before its run was made.
func TestRun_OfATickWhoseTaskIsNoMoreWhatItWas(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change string
		state  task.RunState
		lane   string
	}{
		"edited":       {"UPDATE cron_task SET lane = 'offline'", task.RunFanningOut, "offline"},
		"switched off": {"UPDATE cron_task SET enabled = 0", task.RunFanningOut, "normal"},
		"deleted":      {"DELETE FROM cron_task", task.RunCancelled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id := b.addTask("x", "tulip.report", "*/10 * * * *", nil)
			tm := b.term()
			tm.settled(t)
			tick := ledger.Tick{TaskID: id, PlannedAt: start.Add(time.Minute), RunID: task.NewRunID(start), MadeAt: start}
			require.NoError(t, b.store.AddTicks(t.Context(), tm.lease, []ledger.Tick{tick}))
			b.exec(b.store.Config, tt.change)
			require.NoError(t, b.term().planRuns(t.Context()))
			run := b.run(tick.RunID)
			require.Equal(t, tt.state, run.State)
			require.Equal(t, tt.lane, run.Settings.Lane)
		})
	}
}

func TestNameRuns_UniqueAndInOrder(t *testing.T) {
	t.Parallel()
	ticks := make([]ledger.Tick, 20_000) // about 48 pairs of random ids would be the same
	for i := range ticks {
		ticks[i].PlannedAt = start.Add(time.Duration(-i) * time.Second)
	}
	p := &planning{}
	p.nameRuns(ticks[:10_000], start)
	p.nameRuns(ticks[10_000:], start)
	for i := 1; i < len(ticks); i++ {
		require.Greater(t, ticks[i].RunID, ticks[i-1].RunID)
		require.True(t, ticks[i].PlannedAt.Before(ticks[i-1].PlannedAt), "they stay as they are")
	}
}

// addTasks inserts many tasks at once, named load.1 and so on.
func (b *bench) addTasks(n int, cron string) {
	b.t.Helper()
	for first := 1; first <= n; first += 500 {
		last := min(first+499, n)
		var args []any
		for i := first; i <= last; i++ {
			args = append(args, fmt.Sprint("load.", i), "tulip", "tulip.report", cron)
		}
		b.exec(b.store.Config, "INSERT INTO cron_task (name, media, handler, cron) VALUES "+sqldb.Tuples(last-first+1, 4),
			args...)
	}
}

func TestPlanTicks_ThousandsDueAtTheSameSecond(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	const tasks = 5000
	b.addTasks(tasks, "0 12 * * *")
	tm := b.term()
	require.NoError(t, tm.planTicks(ctx))
	require.Empty(t, b.runs())
	b.clock.set(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	require.NoError(t, tm.planTicks(ctx))
	// The next leader has nothing to do.
	next := b.term()
	require.NoError(t, next.planTicks(ctx))
	require.NoError(t, next.repairTicks(ctx))
	var ticks, distinct, made int
	row := b.store.Data.Writer(ctx).Raw(
		"SELECT COUNT(*), COUNT(DISTINCT t.task_id), COUNT(DISTINCT r.id) FROM tick t LEFT JOIN run r ON r.id = t.run_id " +
			"AND r.task_id = t.task_id AND r.planned_at = t.planned_at").Row()
	require.NoError(t, row.Scan(&ticks, &distinct, &made))
	require.Equal(t, []int{tasks, tasks, tasks}, []int{ticks, distinct, made})
	runs, err := b.store.CountRunsInState(ctx, task.RunFanningOut)
	require.NoError(t, err)
	require.EqualValues(t, tasks, runs)
}

// The ledger is written in batches: this measures how long thousands of ticks take until the last run is made.
func BenchmarkPlanTicks_5000(b *testing.B) {
	h := setup(b)
	h.addTasks(5000, "* * * * *")
	tm := h.term()
	require.NoError(b, tm.planTicks(b.Context()))
	for b.Loop() {
		h.clock.add(time.Minute)
		require.NoError(b, tm.planTicks(b.Context()))
	}
}

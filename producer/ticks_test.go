package producer

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/schedule"
	"adsync/base/store"
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
	b.addTask("minutely", "tencent.report", "* * * * *", nil)
	b.addTask("hourly", "tencent.report", "5 * * * *", nil)
	b.addTask("off", "tencent.report", "* * * * *", map[string]any{"enabled": 0})
	tm := b.term()
	require.NoError(t, tm.planTicks(ctx))
	require.Empty(t, b.runs(), "nothing before the task was there")
	require.Equal(t, time.Date(2026, 11, 21, 9, 1, 0, 0, time.UTC), tm.plan.next())

	for range 5 {
		b.clock.add(time.Minute)
		require.NoError(t, tm.planTicks(ctx))
		require.NoError(t, tm.planTicks(ctx))
	}
	want := []string{"hourly 09:05:00", "minutely 09:01:00", "minutely 09:02:00", "minutely 09:03:00", "minutely 09:04:00", "minutely 09:05:00"}
	require.Equal(t, want, b.planned())

	// Another leader makes none of them again, and goes on.
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
		require.Equal(t, store.RunOfTick, r.Kind)
		ticks, err := b.store.LastTicks(ctx, r.TaskID, 100)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(ticks, func(tick store.Tick) bool { return tick.RunID == r.ID && tick.PlannedAt.Equal(r.PlannedAt) }))
	}
}

func TestPlanTicks_AChangedCronCountsFromTheChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.addTask("daily", "tencent.report", "0 1 * * *", map[string]any{"catch_up": "all"})
	tm := b.term()
	require.NoError(t, tm.planTicks(ctx))
	b.exec(b.store.Config, "UPDATE cron_task SET cron = '0 * * * *'")
	require.NoError(t, b.tasks.reload(ctx))
	require.NoError(t, tm.planTicks(ctx))
	require.Empty(t, b.runs(), "the hours before the change are no gap")
	b.clock.add(time.Hour)
	require.NoError(t, tm.planTicks(ctx))
	require.Equal(t, []string{"daily 10:00:00"}, b.planned())

	// Off and on again: what lies between is no gap either.
	b.exec(b.store.Config, "UPDATE cron_task SET enabled = 0")
	require.NoError(t, b.tasks.reload(ctx))
	require.NoError(t, tm.planTicks(ctx))
	b.clock.add(3 * time.Hour)
	require.NoError(t, tm.planTicks(ctx))
	b.exec(b.store.Config, "UPDATE cron_task SET enabled = 1")
	require.NoError(t, b.tasks.reload(ctx))
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
			b.addTask("x", "tencent.report", "0 * * * *", map[string]any{"catch_up": policy, "catch_up_window_seconds": 3 * 3600})
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
			b.addTask("x", "tencent.report", "0 * * * *", map[string]any{"catch_up": policy, "catch_up_window_seconds": 3 * 3600})
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
	id := b.addTask("x", "tencent.report", "0 * * * *", nil)
	bad := b.addTask("bad", "tencent.report", "garbage", nil)
	tm := b.term()
	ticks := []store.Tick{
		{TaskID: id, PlannedAt: start.Add(-time.Minute), RunID: task.NewRunID(start.Add(-time.Minute)), MadeAt: start},
		{TaskID: bad, PlannedAt: start.Add(-time.Minute), RunID: task.NewRunID(start.Add(-time.Minute)), MadeAt: start},
		{TaskID: 999, PlannedAt: start.Add(-time.Minute), RunID: task.NewRunID(start.Add(-time.Minute)), MadeAt: start},
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
	require.ErrorIs(t, err, store.ErrNotFound, "its row may be put right")

	b.exec(b.store.Config, "UPDATE cron_task SET cron = '0 * * * *' WHERE name = 'bad'")
	require.NoError(t, b.tasks.reload(ctx))
	tm.plan.repairedAt = time.Time{}
	require.NoError(t, tm.repairTicks(ctx))
	require.Equal(t, "bad", b.run(ticks[1].RunID).TaskName)
}

func TestTakeOrders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	tm := b.term()
	id := b.addTask("young", "tencent.report", "0 0 * * *", map[string]any{"enabled": 0})
	good := tm.order(b, id, task.Order{By: "otto"})
	require.Equal(t, "young", b.run(good).TaskName, "a task that is younger than the last reload, and switched off")
	unknown := tm.order(b, 999, task.Order{})
	run := b.run(unknown)
	require.Equal(t, task.RunFailed, run.State)
	require.Contains(t, run.ErrorText, "no usable task with id 999")
	b.exec(b.store.Data, "INSERT INTO manual_order (run_id, task_id, request, ordered_by, ordered_at) VALUES (7, ?, 'x', 'x', '2026-11-21 00:00:00')", id)
	require.NoError(t, tm.takeOrders(ctx))
	require.Equal(t, task.RunFailed, b.run(7).State)
	require.Contains(t, b.run(7).ErrorText, "cannot be read")

	// A leader that died between the run and the mark: the next one makes no second run.
	b.exec(b.store.Data, "UPDATE manual_order SET taken = 0")
	require.NoError(t, b.term().takeOrders(ctx))
	require.Len(t, b.runs(), 3)
	open, err := b.store.OpenOrders(ctx, 10)
	require.NoError(t, err)
	require.Empty(t, open)
}

func TestNameRuns_UniqueAndInOrder(t *testing.T) {
	t.Parallel()
	ticks := make([]store.Tick, 20_000) // about 48 pairs of random ids would be the same
	for i := range ticks {
		ticks[i].PlannedAt = start.Add(time.Duration(-i) * time.Second)
	}
	nameRuns(ticks, start)
	for i := 1; i < len(ticks); i++ {
		require.Greater(t, ticks[i].RunID, ticks[i-1].RunID)
		require.True(t, ticks[i].PlannedAt.After(ticks[i-1].PlannedAt))
	}
}

// Whatever the cron, the policy and the gap, the moments are those that stepping through the schedule gives.
func TestDueMoments_AgainstStepping(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, err := schedule.Parse(rapid.SampledFrom([]string{"* * * * *", "*/7 * * * *", "0 * * * *", "30 2 * * *", "*/20 * * * * *", "@every 45s"}).Draw(t, "cron"), "America/New_York")
		require.NoError(t, err)
		policy := rapid.SampledFrom([]task.CatchUp{task.CatchUpNone, task.CatchUpLatest, task.CatchUpAll}).Draw(t, "policy")
		from := start.Add(time.Duration(rapid.Int64Range(0, int64(10*24*time.Hour)).Draw(t, "from"))).Truncate(time.Millisecond)
		now := from.Add(time.Duration(rapid.Int64Range(0, int64(5*time.Hour)).Draw(t, "gap"))).Truncate(time.Millisecond)

		var all, recent []time.Time
		for m := s.Next(from); !m.After(now); m = s.Next(m) {
			all = append(all, m)
			if m.After(now.Add(-catchUpAfter)) {
				recent = append(recent, m)
			}
		}
		want := recent
		switch {
		case policy == task.CatchUpAll:
			want = all
		case policy == task.CatchUpLatest && len(recent) == 0 && len(all) > 0:
			want = all[len(all)-1:]
		}
		wantThrough := now
		if len(want) > momentsMax {
			want = want[:momentsMax]
			wantThrough = want[momentsMax-1]
		}
		moments, through := dueMoments(s, policy, from, now)
		require.Equal(t, want, moments)
		require.Equal(t, wantThrough, through)
	})
}

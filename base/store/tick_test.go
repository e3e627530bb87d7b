package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestTicks_ReadInEveryWay(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	l := lead(t, s, "me")
	at := func(minute int) time.Time { return time.Date(2026, 11, 21, 9, minute, 0, 0, time.UTC) }
	var ticks []ledger.Tick
	for minute := range 4 {
		ticks = append(ticks, ledger.Tick{TaskID: 7, PlannedAt: at(minute), RunID: int64(minute) + 1, MadeAt: at(30 - minute)})
	}
	ticks = append(ticks, ledger.Tick{TaskID: 8, PlannedAt: at(2), RunID: 9, MadeAt: at(2)})
	require.NoError(t, s.AddTicks(ctx, l, ticks))

	got, err := s.TicksBetween(ctx, 7, at(0), at(2))
	require.NoError(t, err)
	require.Equal(t, ticks[1:3], got, "after the first, up to the last")

	last, found, err := s.LastTickThrough(ctx, 7, at(3).Add(-time.Millisecond))
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, ticks[2], last)
	_, found, err = s.LastTickThrough(ctx, 8, at(1))
	require.NoError(t, err)
	require.False(t, found)

	got, err = s.TicksMadeAfter(ctx, 7, at(0), at(27))
	require.NoError(t, err)
	require.Equal(t, []ledger.Tick{ticks[2], ticks[1]}, got)

	planned, err := s.PlannedAfter(ctx, map[int64]time.Time{7: at(1), 8: at(2), 9: at(0)})
	require.NoError(t, err)
	require.Equal(t, map[int64][]time.Time{7: {at(2), at(3)}}, planned)
}

func TestPutTaskSchedules_WritesAllOrNothing(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	l := lead(t, s, "me")
	since := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	want := map[int64]settings.TaskSchedule{}
	var schedules []settings.TaskSchedule
	for id := int64(1); id <= 1500; id++ {
		want[id] = settings.TaskSchedule{TaskID: id, Hash: "a", Since: since}
		schedules = append(schedules, want[id])
	}
	require.NoError(t, s.PutTaskSchedules(ctx, l, schedules))
	want[3] = settings.TaskSchedule{TaskID: 3, Hash: "b", Since: since.Add(time.Hour)}
	require.NoError(t, s.PutTaskSchedules(ctx, l, []settings.TaskSchedule{want[3]}))
	require.NoError(t, s.PutTaskSchedules(ctx, l, nil))
	lead(t, s, "other")
	require.ErrorIs(t, s.PutTaskSchedules(ctx, l, schedules), lease.ErrStaleLease)
	got, err := s.TaskSchedules(ctx)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestRounds_AnswerEachRunOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	l := lead(t, s, "me")
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	states := []task.RunState{task.RunSucceeded, task.RunFailed, task.RunPartial, task.RunRunning, task.RunSucceeded}
	var runs []ledger.Run
	for i, state := range states {
		run := someRun(int64(100+i), now)
		run.TaskID, run.State = 7, state
		runs = append(runs, run)
	}
	runs[4].Kind = ledger.RunOfOrder
	require.NoError(t, s.AddRuns(ctx, l, runs))

	unanswered := func(from int64, want []int64, wantNext int64) {
		t.Helper()
		found, next, err := s.AnyUnanswered(ctx, 8, 7, from)
		require.NoError(t, err)
		require.Equal(t, want != nil, found)
		require.Equal(t, wantNext, next)
		ids, err := s.Unanswered(ctx, 8, 7, from, 10)
		require.NoError(t, err)
		require.Equal(t, want, ids)
	}
	unanswered(0, []int64{100, 102}, 100)
	unanswered(101, []int64{102}, 102)
	unanswered(200, nil, 200)
	round := ledger.Round{Tick: ledger.Tick{TaskID: 8, PlannedAt: now, RunID: 200, MadeAt: now}, Answers: map[int64][]int64{7: {100, 102}}}
	require.NoError(t, s.AddRound(ctx, l, round))
	unanswered(0, nil, 103)
	ids, err := s.Unanswered(ctx, 9, 7, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []int64{100, 102}, ids, "another successor answers for itself")
	ids, err = s.Unanswered(ctx, 9, 7, 0, 1)
	require.NoError(t, err)
	require.Equal(t, []int64{100}, ids)

	again := round
	again.PlannedAt, again.RunID = now.Add(time.Second), 201
	require.Error(t, s.AddRound(ctx, l, again))
	again.PlannedAt, again.Answers = now, map[int64][]int64{7: {103}}
	require.Error(t, s.AddRound(ctx, l, again), "nor is a moment taken twice")
	unanswered(0, nil, 103)

	open, err := s.TasksWithOpenTicks(ctx, []int64{7, 8, 9})
	require.NoError(t, err)
	require.Equal(t, map[int64]bool{7: true, 8: true}, open, "8 has a tick without a run")
	run := someRun(200, now)
	run.TaskID, run.State = 8, task.RunSucceeded
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{run}))
	open, err = s.TasksWithOpenTicks(ctx, []int64{8, 9})
	require.NoError(t, err)
	require.Empty(t, open)

	lead(t, s, "other")
	again.PlannedAt = now.Add(time.Minute)
	require.ErrorIs(t, s.AddRound(ctx, l, again), lease.ErrStaleLease)
}

func TestGoodTaskRows_AreKeptAndForgotten(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	l := lead(t, s, "me")
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	a, b := settings.TaskRow{ID: 1, Name: "a", Params: `{"level":"ä"}`, Revision: "4"}, settings.TaskRow{ID: 2, Name: "b", Revision: "1"}
	require.NoError(t, s.PutGoodTaskRows(ctx, l, []settings.TaskRow{b, a}, nil, now))
	a.Cron = "0 1 * * *"
	require.NoError(t, s.PutGoodTaskRows(ctx, l, []settings.TaskRow{a}, []int64{2, 3}, now))
	require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO task_good (task_id, revision, row_text, saved_at) VALUES (5, 1, 'x', '2026-11-21 00:00:00')").Error)
	got, err := s.GoodTaskRows(ctx)
	require.NoError(t, err)
	require.Equal(t, map[int64]settings.TaskRow{1: a}, got)
	lead(t, s, "other")
	require.ErrorIs(t, s.PutGoodTaskRows(ctx, l, []settings.TaskRow{b}, nil, now), lease.ErrStaleLease)
}

package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestRounds_AnswerEachRunOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	l := storetest.Lead(t, s, "me")
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	states := []task.RunState{task.RunSucceeded, task.RunFailed, task.RunPartial, task.RunRunning, task.RunSucceeded}
	var runs []ledger.Run
	for i, state := range states {
		run := storetest.SomeRun(int64(100+i), now)
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
	round := ledger.Round{Tick: ledger.Tick{TaskID: 8, PlannedAt: now, RunID: 200, MadeAt: now},
		Answers: map[int64][]int64{7: {100, 102}}}
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
	require.Error(t, s.AddRound(ctx, l, again), "a moment has one tick")
	unanswered(0, nil, 103)

	open, err := s.TasksWithOpenTicks(ctx, []int64{7, 8, 9})
	require.NoError(t, err)
	require.Equal(t, map[int64]bool{7: true, 8: true}, open, "8 has a tick without a run")
	run := storetest.SomeRun(200, now)
	run.TaskID, run.State = 8, task.RunSucceeded
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{run}))
	open, err = s.TasksWithOpenTicks(ctx, []int64{8, 9})
	require.NoError(t, err)
	require.Empty(t, open)

	storetest.Lead(t, s, "other")
	again.PlannedAt = now.Add(time.Minute)
	require.ErrorIs(t, s.AddRound(ctx, l, again), lease.ErrStaleLease)
}

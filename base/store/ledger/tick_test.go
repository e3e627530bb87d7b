package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestTicks_AMomentKeepsItsFirstRun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	now := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	ticks := []ledger.Tick{
		{TaskID: 1, PlannedAt: now, RunID: 10, MadeAt: now},
		{TaskID: 1, PlannedAt: now.Add(time.Minute), RunID: 11, MadeAt: now},
		{TaskID: 2, PlannedAt: now, RunID: 12, MadeAt: now},
	}
	require.NoError(t, s.AddTicks(ctx, l, ticks[:1]))
	again := ticks[0]
	again.RunID = 99
	require.NoError(t, s.AddTicks(ctx, l, []ledger.Tick{again, ticks[1], ticks[2]}))

	last, err := s.LastTicks(ctx, 1, 5)
	require.NoError(t, err)
	require.Equal(t, []ledger.Tick{ticks[1], ticks[0]}, last)
	between, err := s.TicksBetween(ctx, 1, now, now.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, ticks[1:2], between)

	run := storetest.SomeRun(11, now)
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{run}))
	without, err := s.TicksWithoutRun(ctx, 0, 5)
	require.NoError(t, err)
	require.Equal(t, []ledger.Tick{ticks[0], ticks[2]}, without)
	without, err = s.TicksWithoutRun(ctx, 11, 5)
	require.NoError(t, err)
	require.Equal(t, ticks[2:], without)
}

func TestTicks_ThousandsAtOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var ticks []ledger.Tick
	var runs []ledger.Run
	for i := range int64(1203) {
		ticks = append(ticks, ledger.Tick{TaskID: i + 1, PlannedAt: now, RunID: i + 1, MadeAt: now})
		runs = append(runs, storetest.SomeRun(i+1, now))
	}
	require.NoError(t, s.AddTicks(ctx, l, ticks))
	require.NoError(t, s.AddRuns(ctx, l, runs))
	n, err := s.CountRunsInState(ctx, task.RunFanningOut)
	require.NoError(t, err)
	require.EqualValues(t, len(runs), n)
	without, err := s.TicksWithoutRun(ctx, 0, 5)
	require.NoError(t, err)
	require.Empty(t, without)
}

func TestTicks_ReadInEveryWay(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	l := storetest.Lead(t, s, "me")
	at := func(minute int) time.Time { return time.Date(2026, 11, 21, 9, minute, 0, 0, time.UTC) }
	var ticks []ledger.Tick
	for minute := range 4 {
		ticks = append(ticks, ledger.Tick{TaskID: 7, PlannedAt: at(minute), RunID: int64(minute) + 1,
			MadeAt: at(30 - minute)})
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

package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestTicks_AMomentKeepsItsFirstRun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := lead(t, s, "a")
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

	run := someRun(11, now)
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
	l := lead(t, s, "a")
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var ticks []ledger.Tick
	var runs []ledger.Run
	for i := range int64(1203) {
		ticks = append(ticks, ledger.Tick{TaskID: i + 1, PlannedAt: now, RunID: i + 1, MadeAt: now})
		runs = append(runs, someRun(i+1, now))
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

func TestRuns_ComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := lead(t, s, "a")
	now := time.Date(2026, 11, 21, 1, 2, 3, 4_000_000, time.UTC)
	plain := someRun(1, now)
	ordered := someRun(2, now)
	ordered.Kind = ledger.RunOfOrder
	ordered.Settings.Order = &task.Order{Accounts: []int64{7, 8}, From: "2026-11-01", To: "2026-11-03", By: "otto"}
	ordered.Settings.Params = nil
	failed, zero := someRun(3, now), int64(0)
	failed.State, failed.ErrorText, failed.EndedAt, failed.Total = task.RunFailed, strings.Repeat("世", 600), now, &zero
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{plain, ordered, failed}))

	// A run that is there is left alone.
	changed := plain
	changed.TaskName = "other"
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{changed}))

	for _, want := range []ledger.Run{plain, ordered} {
		want.Epoch, want.Offsets = l.Epoch, ledger.Offsets{}
		got, err := s.Run(ctx, want.ID)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := s.Run(ctx, 3)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("世", 512), got.ErrorText)
	require.Equal(t, int64(0), *got.Total)
	require.Equal(t, now, got.EndedAt)
	_, err = s.Run(ctx, 4)
	require.ErrorIs(t, err, sqldb.ErrNotFound)

	for _, tt := range []struct {
		search ledger.RunSearch
		want   []int64
	}{
		{ledger.RunSearch{Limit: 2}, []int64{3, 2}},
		{ledger.RunSearch{Limit: 2, Before: 2}, []int64{1}},
		{ledger.RunSearch{Limit: 9, States: []task.RunState{task.RunFailed}, TaskName: "daily"}, []int64{3}},
		{ledger.RunSearch{Limit: 9, States: []task.RunState{task.RunFailed, plain.State}, Media: plain.Media, From: 2}, []int64{3, 2}},
		{ledger.RunSearch{Limit: 9, Media: "myspace"}, nil},
		{ledger.RunSearch{Limit: 9, Media: "\xff"}, nil},
	} {
		list, err := s.SearchRuns(ctx, tt.search)
		require.NoError(t, err)
		require.Equal(t, tt.want, runIDs(list), tt.search)
	}
}

func runIDs(runs []ledger.Run) []int64 {
	var ids []int64
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestOrders_AreTakenOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := lead(t, s, "a")
	now := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	order := ledger.RunOrder{RunID: 5, TaskID: 7, Request: task.Order{Accounts: []int64{1}, From: "2026-11-01", To: "2026-11-02", By: "otto"}, OrderedAt: now}
	require.NoError(t, s.AddOrder(ctx, order))
	require.Error(t, s.AddOrder(ctx, order), "an id is used once")
	require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO manual_order (run_id, task_id, request, ordered_by, ordered_at) VALUES (6, 7, 'please', 'by hand', '2026-11-21 00:00:00')").Error)

	open, err := s.OpenOrders(ctx, 10)
	require.NoError(t, err)
	require.Len(t, open, 2)
	require.Equal(t, order, open[0])
	require.ErrorContains(t, open[1].Malformed, "cannot be read")

	require.NoError(t, s.TakeOrder(ctx, l, 5, ""))
	require.NoError(t, s.TakeOrder(ctx, l, 5, ""), "twice is no harm")
	require.NoError(t, s.TakeOrder(ctx, l, 6, "nonsense"))
	open, err = s.OpenOrders(ctx, 10)
	require.NoError(t, err)
	require.Empty(t, open)
	taskID, err := s.Order(ctx, 6)
	require.NoError(t, err)
	require.EqualValues(t, 7, taskID)
	_, err = s.Order(ctx, 1)
	require.ErrorIs(t, err, sqldb.ErrNotFound)
}

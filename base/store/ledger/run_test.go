package ledger_test

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

func TestRuns_ComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	now := time.Date(2026, 11, 21, 1, 2, 3, 4_000_000, time.UTC)
	plain := storetest.SomeRun(1, now)
	ordered := storetest.SomeRun(2, now)
	ordered.Kind = ledger.RunOfOrder
	ordered.Settings.Order = &task.Order{Accounts: []int64{7, 8}, From: "2026-11-01", To: "2026-11-03", By: "otto"}
	ordered.Settings.Params = nil
	failed, zero := storetest.SomeRun(3, now), int64(0)
	failed.State, failed.ErrorText, failed.EndedAt, failed.Total = task.RunFailed, strings.Repeat("世", 600), now, &zero
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{plain, ordered, failed}))

	// An existing run is left alone.
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
		{ledger.RunSearch{Limit: 9, States: []task.RunState{task.RunFailed, plain.State}, Media: plain.Media, From: 2},
			[]int64{3, 2}},
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

package settings_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func TestGoodTaskRows_AreStoredAndDeleted(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	ctx := context.Background()
	l := storetest.Lead(t, s, "me")
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	a, b := settings.TaskRow{ID: 1, Name: "a", Params: `{"level":"ä"}`, Revision: "4"},
		settings.TaskRow{ID: 2, Name: "b", Revision: "1"}
	require.NoError(t, s.PutGoodTaskRows(ctx, l, []settings.TaskRow{b, a}, nil, now))
	a.Cron = "0 1 * * *"
	require.NoError(t, s.PutGoodTaskRows(ctx, l, []settings.TaskRow{a}, []int64{2, 3}, now))
	require.NoError(t,
		s.Data.Writer(ctx).Exec(
			"INSERT INTO task_good (task_id, revision, row_text, saved_at) VALUES (5, 1, 'x', '2026-11-21 00:00:00')").Error)
	got, err := s.GoodTaskRows(ctx)
	require.NoError(t, err)
	require.Equal(t, map[int64]settings.TaskRow{1: a}, got)
	storetest.Lead(t, s, "other")
	require.ErrorIs(t, s.PutGoodTaskRows(ctx, l, []settings.TaskRow{b}, nil, now), lease.ErrStaleLease)
}

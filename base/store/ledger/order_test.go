package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestOrders_AreTakenOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	now := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	order := ledger.RunOrder{RunID: 5, TaskID: 7, Request: task.Order{Accounts: []int64{1}, From: "2026-11-01",
		To: "2026-11-02", By: "otto"}, OrderedAt: now}
	require.NoError(t, s.AddOrder(ctx, order))
	require.Error(t, s.AddOrder(ctx, order), "an id is used once")
	require.NoError(t,
		s.Data.Writer(ctx).Exec(
			"INSERT INTO manual_order (run_id, task_id, request, ordered_by, ordered_at)"+
				" VALUES (6, 7, 'please', 'by hand', '2026-11-21 00:00:00')").Error)

	open, err := s.OpenOrders(ctx, 10)
	require.NoError(t, err)
	require.Len(t, open, 2)
	require.Equal(t, order, open[0])
	require.ErrorContains(t, open[1].Malformed, "cannot be read")

	require.NoError(t, s.TakeOrder(ctx, l, 5, ""))
	require.NoError(t, s.TakeOrder(ctx, l, 5, ""), "it may be repeated")
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

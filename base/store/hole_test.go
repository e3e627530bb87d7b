package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestOrderHoles_OrdersNothingThatSomebodyHasOrderedSince(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	now := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	calendar := store.Calendar{Report: "report_daily", Level: "account"}
	for _, d := range day.Between("2026-11-19", "2026-11-20") {
		calendar.Days = append(calendar.Days, store.CalendarDay{Day: d})
	}
	read := func(accounts ...int64) []store.Hole {
		holes, err := s.Holes(ctx, accounts, calendar)
		require.NoError(t, err)
		return holes
	}
	order := func(at time.Time, holes []store.Hole) (accounts []int64, runID int64) {
		o := store.HoleOrder{
			RunOrder: store.RunOrder{RunID: task.NewRunID(at), TaskID: 5, OrderedAt: at, Request: task.Order{From: "2026-11-19", To: "2026-11-20", By: "me"}},
			Report:   "report_daily", Level: "account", Holes: holes,
		}
		accounts, err := s.OrderHoles(ctx, o)
		require.NoError(t, err)
		return accounts, o.RunID
	}
	one, all := read(2)[1:], read(1, 2, 3) // One day of account 2, and both of all accounts.
	require.Len(t, all, 6)
	accounts, _ := order(now, one)
	require.Equal(t, []int64{2}, accounts)
	accounts, first := order(now, all)
	require.Equal(t, []int64{1, 3}, accounts, "a day of 2 was ordered after it was read")
	accounts, _ = order(now.Add(time.Minute), all)
	require.Empty(t, accounts, "nor are the others a second time")

	orders, err := s.OpenOrders(ctx, 10)
	require.NoError(t, err)
	require.Len(t, orders, 2, "an order without accounts would be one of the whole scope")
	again := read(1)
	require.Equal(t, store.Hole{AccountID: 1, Day: "2026-11-19", OrderedAt: now, RunID: first, Tries: 1}, again[0])
	accounts, _ = order(now.Add(time.Hour), again)
	require.Equal(t, []int64{1}, accounts, "what was read anew can be ordered anew")
	require.Equal(t, 2, read(1)[0].Tries)
}

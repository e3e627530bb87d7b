package results_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestOrderHoles_OrdersNoHoleTwice(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	now := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	calendar := results.Calendar{Report: "report_daily", Level: "account"}
	for _, d := range day.Between("2026-11-19", "2026-11-20") {
		calendar.Days = append(calendar.Days, results.CalendarDay{Day: d})
	}
	read := func(accounts ...int64) []results.Hole {
		holes, err := s.Holes(ctx, accounts, calendar)
		require.NoError(t, err)
		return holes
	}
	order := func(at time.Time, holes []results.Hole) (accounts []int64, runID int64) {
		o := results.HoleOrder{
			RunOrder: ledger.RunOrder{RunID: task.NewRunID(at), TaskID: 5, OrderedAt: at,
				Request: task.Order{From: "2026-11-19", To: "2026-11-20", By: "me"}},
			Report: "report_daily", Level: "account", Holes: holes,
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
	require.Empty(t, accounts, "the others are not ordered twice either")

	orders, err := s.OpenOrders(ctx, 10)
	require.NoError(t, err)
	require.Len(t, orders, 2, "an order without accounts would be one of the whole scope")
	again := read(1)
	require.Equal(t, results.Hole{AccountID: 1, Day: "2026-11-19", OrderedAt: now, RunID: first, Tries: 1}, again[0])
	accounts, _ = order(now.Add(time.Hour), again)
	require.Equal(t, []int64{1}, accounts, "holes that are read again can be ordered again")
	require.Equal(t, 2, read(1)[0].Tries)
}

// The database counts, and Holes reads: both must find the same accounts.
func TestAccountsWithHoles_AgreesWithHoles(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	const accounts = 40
	dice := rand.New(rand.NewPCG(1, 2)) // The same sequence each time.
	calendar := results.Calendar{Report: "report_daily", Level: "account"}
	for i, d := range day.Between("2026-11-18", "2026-11-20") {
		calendar.Days = append(calendar.Days, results.CalendarDay{Day: d, Since: int64(100 * (i + 1))})
	}
	var ids []int64
	for id := int64(1); id <= accounts; id++ {
		ids = append(ids, id)
		for i, d := range calendar.Days {
			// Most are whole; some are partial, were pulled too early, are of another report, or were never pulled.
			run, state, report := d.Since+int64(dice.IntN(2)), "complete", "report_daily"
			switch dice.IntN(12) {
			case 0:
				state = "partial"
			case 1:
				run = d.Since - 1
			case 2:
				report = "report_hourly"
			case 3:
				continue
			}
			require.NoError(t,
				s.Data.Writer(ctx).Exec(
					"INSERT INTO coverage (account_id, report, level, day, media, run_id, state)"+
						" VALUES (?, ?, 'account', ?, 'acme', ?, ?)",
					id, report, calendar.Days[i].Day, run, state).Error)
		}
	}
	for _, some := range [][]int64{ids, ids[:1], ids[7:8], ids[30:], {99}} {
		holes, err := s.Holes(ctx, some, calendar)
		require.NoError(t, err)
		var want []int64
		for _, h := range holes {
			if len(want) == 0 || want[len(want)-1] != h.AccountID {
				want = append(want, h.AccountID)
			}
		}
		got, err := s.AccountsWithHoles(ctx, some, calendar)
		require.NoError(t, err)
		require.ElementsMatch(t, want, got)
		require.IsIncreasing(t, append([]int64{0}, got...))
		if len(some) == accounts {
			require.Greater(t, len(want), 5)
			require.Less(t, len(want), accounts-5)
		}
	}
}

func TestAccountsWithHoles_ADayIsWholeFromTheFirstRunAfterItHadSettled(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	calendar := results.Calendar{Report: "report_daily", Level: "account",
		Days: []results.CalendarDay{{Day: "2026-11-19", Since: 100}, {Day: "2026-11-20", Since: 200}}}
	pulled := func(account int64, runs [2]int64, states ...string) {
		for i, d := range calendar.Days {
			state := "complete"
			if len(states) > 0 {
				state = states[i]
			}
			require.NoError(t,
				s.Data.Writer(t.Context()).Exec(
					"INSERT INTO coverage (account_id, report, level, day, media, run_id, state)"+
						" VALUES (?, 'report_daily', 'account', ?, 'tulip', ?, ?)",
					account, d.Day, runs[i], state).Error)
		}
	}
	pulled(1, [2]int64{100, 200})
	pulled(2, [2]int64{200, 200})
	pulled(3, [2]int64{99, 200})
	pulled(4, [2]int64{100, 199})
	pulled(5, [2]int64{300, 300}, "complete", "suspect")
	pulled(6, [2]int64{300, 300}, "partial", "complete")
	ids := []int64{1, 2, 3, 4, 5, 6, 7}
	without, err := s.AccountsWithHoles(t.Context(), ids, calendar)
	require.NoError(t, err)
	require.Equal(t, []int64{3, 4, 5, 6, 7}, without)
	holes, err := s.Holes(t.Context(), ids, calendar)
	require.NoError(t, err)
	var found []string
	for _, h := range holes {
		found = append(found, fmt.Sprint(h.AccountID, " ", h.Day))
	}
	require.Equal(t, []string{"3 2026-11-19", "4 2026-11-20", "5 2026-11-20", "6 2026-11-19", "7 2026-11-19",
		"7 2026-11-20"}, found)
}

func TestFillAccounts_AreThoseThatArePulled(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	now, err := s.Config.Now(t.Context())
	require.NoError(t, err)
	for id, c := range map[int64]struct {
		tier, parked string
		bound        int
		initialised  any
		age          time.Duration
	}{
		1: {"active", "", 1, sqldb.At(now), 0},
		2: {"inactive", "", 1, nil, 49 * time.Hour},
		3: {"active", "", 1, nil, 47 * time.Hour}, // Its past comes with its initialisation.
		4: {"active", "", 0, sqldb.At(now), 100 * time.Hour},
		5: {"active", "frozen", 1, sqldb.At(now), 100 * time.Hour},
		6: {"invalid", "", 1, sqldb.At(now), 100 * time.Hour},
		7: {"active", "", 1, sqldb.At(now), 100 * time.Hour},
	} {
		require.NoError(t,
			s.Config.Writer(t.Context()).Exec(
				"INSERT INTO media_account (id, media, external_id, token_id, tier, timezone, parked, bound, initialised_at,"+
					" created_at) VALUES (?, 'tulip', ?, 1, ?, 'UTC', ?, ?, ?, ?)",
				id, fmt.Sprint(id), c.tier, c.parked, c.bound, c.initialised, sqldb.At(now.Add(-c.age))).Error)
	}
	for _, limit := range []int{1, 2, 10} {
		var ids []int64
		for after := int64(0); ; {
			page, err := s.FillAccounts(t.Context(), "tulip", after, limit)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			for _, a := range page {
				ids = append(ids, a.ID)
			}
			after = page[len(page)-1].ID
		}
		require.Equal(t, []int64{1, 2, 7}, ids, "by %d", limit)
	}
}

func TestDeleteOldHoles_InSeveralStatementsAndNoYoungerOnes(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	before := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	const old = 1003
	storetest.AddRows(t, s.Data, "hole (account_id, report, level, day, ordered_at, run_id, tries)", old+1,
		func(i int) []any {
			at := before.Add(-time.Second)
			if i == old {
				at = before
			}
			return []any{i, "report_daily", "account", today, sqldb.At(at), 1, 1}
		})
	gone, err := s.DeleteOldHoles(t.Context(), before)
	require.NoError(t, err)
	require.Equal(t, old, gone)
	require.Equal(t, 1, storetest.RowsIn(t, s, "hole"))
}

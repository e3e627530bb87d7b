package upkeep_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/mediatest/invented"
	"adsync/upkeep"
)

const yesterday = day.Day("2026-11-20")

// figures pulls a day of one level of an account: objects and their figures.
func (f *filling) figures(t *testing.T, account int64, level string, d day.Day, runID int64,
	objects ...map[string]int64) {
	t.Helper()
	ctx := t.Context()
	claim, _, err := f.store.BeginPull(ctx, results.Scope{AccountID: account, Media: "tulip", Report: "report_daily",
		Level: level, Days: []day.Day{d}}, fmt.Sprint(runID, level), runID)
	require.NoError(t, err)
	w := results.ReportWrite{Claim: claim, Raw: rawtable.Table{Name: "tulip_report_daily", Shape: rawtable.DailyRows},
		Currency: "CNY", Zone: "Asia/Shanghai", Whole: true, Confirmed: true}
	for i, values := range objects {
		row := results.ReportRow{Day: d, Object: fmt.Sprint(i), JSON: fmt.Sprint(values)}
		if level == "account" {
			row.Object = ""
		}
		for name, v := range values {
			row.Metrics.Set(metric.Index(name), v)
		}
		w.Rows = append(w.Rows, row)
	}
	_, err = f.store.WriteReport(ctx, w)
	require.NoError(t, err)
}

func (f *filling) reconcile(t *testing.T, params string) int {
	t.Helper()
	r := media.NewRegistry(upkeep.Handlers(upkeep.Deps{
		Store: f.store, Marks: f.store.Data, Clock: clock.NewScaled(f.now, 1, true), Logger: slog.New(slog.DiscardHandler),
		Platforms: []media.Platform{invented.New()},
	})...)
	return run(t, r, upkeep.ReconcileName, "tulip", params).Rows
}

func (f *filling) differences(t *testing.T) []results.Difference {
	t.Helper()
	rows, err := f.store.Differences(t.Context(), results.DifferenceFilter{}, results.Difference{}, 1000)
	require.NoError(t, err)
	return rows
}

type figures = map[string]int64

func TestReconcile_ComparesWhatBothLevelsHave(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	at := settled(yesterday, 9)
	type same struct{ account, first, second figures }
	accounts := map[int64]same{
		1: {figures{"cost": 30_000, "clicks": 3}, figures{"cost": 10_000, "clicks": 1},
			figures{"cost": 20_000, "clicks": 2}},
		2: {figures{"cost": 40_000}, figures{"cost": 10_000}, figures{"cost": 20_000}}, // within a fen
		3: {figures{"cost": 40_001}, figures{"cost": 10_000}, figures{"cost": 20_000}}, // beyond it
		4: {figures{"clicks": 4}, figures{"clicks": 3}, figures{"clicks": 0}},          // counts are exact
		5: {figures{"cost": 0, "clicks": 4}, figures{"cost": 0}, figures{"cost": 0}},   // the level has no clicks
		6: {figures{"cost": 0}, figures{"cost": 0, "clicks": 9}, figures{"cost": 0}},   // the account has none
		7: {figures{"pay_amount_d7": 90_000}, figures{"pay_amount_d7": 0}, figures{}},  // still growing
		// unknown to the platform
		8:  {figures{"pay_amount_d14": 90_000}, figures{"pay_amount_d14": 0}, figures{}},
		9:  {figures{"cost": 20_000}, figures{"cost": 20_000}, figures{"cost": 500_000_000}}, // pulled too early, see below
		10: {figures{"cost": 20_000}, figures{"cost": 20_000}, figures{"cost": 500_000_000}}, // parked
	}
	for id, a := range accounts {
		parked := ""
		if id == 10 {
			parked = "revoked"
		}
		f.account(t, id, "active", "Asia/Shanghai", parked)
		early := at
		if id == 9 {
			early = settled(yesterday, 7)
		}
		f.figures(t, id, "account", yesterday, at, a.account)
		f.figures(t, id, "adgroup", yesterday, early, a.first, a.second)
	}
	// Spend without an object, and objects without a row of the account.
	for id := int64(11); id <= 13; id++ {
		f.account(t, id, "active", "Asia/Shanghai", "")
	}
	f.figures(t, 11, "account", yesterday, at, figures{"cost": 50_000})
	f.figures(t, 11, "adgroup", yesterday, at)
	f.figures(t, 12, "account", yesterday, at)
	f.figures(t, 12, "adgroup", yesterday, at, figures{"clicks": 2})
	f.figures(t, 13, "account", "2026-11-12", at, figures{"cost": 50_000}) // 9 days ago
	f.figures(t, 13, "adgroup", "2026-11-12", at)
	// Yen and dinars: one within the smallest amount, one beyond it.
	for id, a := range map[int64]struct {
		currency string
		cost     int64
	}{14: {"JPY", 4_000_000}, 15: {"JPY", 4_000_001}, 16: {"KWD", 3_001_000}, 17: {"KWD", 3_001_001}} {
		f.account(t, id, "active", "Asia/Shanghai", "")
		require.NoError(t, f.store.Config.Writer(t.Context()).Exec("UPDATE media_account SET currency = ? WHERE id = ?",
			a.currency, id).Error)
		f.figures(t, id, "account", yesterday, at, figures{"cost": a.cost})
		f.figures(t, id, "adgroup", yesterday, at, figures{"cost": 1_000_000}, figures{"cost": 2_000_000})
	}

	require.Equal(t, 6, f.reconcile(t, ""))
	var got []string
	for _, d := range f.differences(t) {
		require.Equal(t, yesterday, d.Day)
		require.Equal(t, results.DifferenceOpen, d.State)
		got = append(got, fmt.Sprintf("%d %s %s %d %d", d.AccountID, d.Level, d.Metric, d.AccountValue, d.SumValue))
	}
	require.Equal(t, []string{"3 adgroup cost 40001 30000", "4 adgroup clicks 4 3", "11 adgroup cost 50000 0",
		"12 adgroup clicks 0 2", "15 adgroup cost 4000001 3000000", "17 adgroup cost 3001001 3000000"}, got)

	again := map[int64][]int64{} // accounts by task
	for _, o := range f.ordered(t) {
		again[o.TaskID] = append(again[o.TaskID], o.Request.Accounts...)
		o.Request.Accounts = nil
		require.Equal(t, task.Order{From: yesterday, To: yesterday, Compare: true, By: upkeep.ReconcileName,
			Under: &task.Under{Key: task.Key{Part: "tulip"}}, Ancestors: []int64{0}}, o.Request)
	}
	for _, ids := range again { // There is an order for each currency.
		slices.Sort(ids)
	}
	both := []int64{3, 4, 11, 12, 15, 17}
	require.Equal(t, map[int64][]int64{f.tasks["adgroup.look_back"]: both, f.tasks["daily.look_back"]: both}, again,
		"both levels")
}

func TestReconcile_PullsAgainOnceAndTellsWhatStays(t *testing.T) {
	t.Parallel()
	f := newFilling(t)
	for id := int64(1); id <= 2; id++ {
		f.account(t, id, "active", "Asia/Shanghai", "")
		f.figures(t, id, "account", yesterday, settled(yesterday, 9), figures{"cost": 90_000, "clicks": 1})
		f.figures(t, id, "adgroup", yesterday, settled(yesterday, 9), figures{"cost": 10_000, "clicks": 1})
	}
	require.Equal(t, 2, f.reconcile(t, ""))
	require.Equal(t, 2, f.reconcile(t, ""))
	orders := f.ordered(t)
	require.Len(t, orders, 2, "once")
	confirmed := func() map[string]int64 {
		counts, err := f.store.CountConfirmedDifferences(t.Context())
		require.NoError(t, err)
		return counts
	}
	require.Empty(t, confirmed(), "nobody has pulled again yet")
	first := min(orders[0].RunID, orders[1].RunID)
	for _, d := range f.differences(t) {
		require.Equal(t, first, d.PulledAgainRunID)
	}

	// Account 1 agrees after the second pull, account 2 does not.
	f.now = f.now.Add(time.Hour)
	later := max(orders[0].RunID, orders[1].RunID)
	f.figures(t, 1, "adgroup", yesterday, later, figures{"cost": 90_000, "clicks": 1})
	f.figures(t, 2, "adgroup", yesterday, later, figures{"cost": 10_000, "clicks": 1})
	require.Equal(t, 1, f.reconcile(t, `{"only_open":true}`))
	require.Empty(t, confirmed(), "the account level of 2 was not pulled again yet")
	f.figures(t, 2, "account", yesterday, later, figures{"cost": 90_000, "clicks": 1})
	require.Equal(t, 1, f.reconcile(t, `{"only_open":true}`))
	require.Equal(t, map[string]int64{"tulip": 1}, confirmed())
	rows := f.differences(t)
	require.Equal(t, results.DifferenceMended, rows[0].State)
	require.Equal(t, results.DifferenceOpen, rows[1].State)
	require.True(t, rows[1].FirstSeenAt.Equal(noon))
	require.True(t, rows[1].LastSeenAt.Equal(f.now))
	require.Len(t, f.ordered(t), 2, "nor is it ordered again")

	// Later the platform corrects it. When it differs again, that is a new difference.
	f.figures(t, 2, "adgroup", yesterday, later+1, figures{"cost": 90_000, "clicks": 1})
	require.Zero(t, f.reconcile(t, ""))
	require.Empty(t, confirmed())
	f.figures(t, 2, "adgroup", yesterday, later+2, figures{"cost": 10_000, "clicks": 1})
	require.Equal(t, 1, f.reconcile(t, ""))
	require.Empty(t, confirmed())
	require.Len(t, f.ordered(t), 4)
	n, err := f.store.DeleteOldDifferences(t.Context(), f.now)
	require.NoError(t, err)
	require.Equal(t, 1, n, "the one that was corrected before")
}

func TestReconcile_RefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	_, r := setup(t)
	h, _ := r.Get(upkeep.ReconcileName)
	require.ErrorContains(t, h.Check(json.RawMessage(`{"days":36}`)), "params.days: 36 is refused: want 0 to 35")
	_, err := h.Run(t.Context(), media.Work{Key: task.Key{Part: "facebook"}})
	require.ErrorContains(t, err, "there is no media facebook")
}

// deeper is Tulip with one more level.
type deeper struct{ media.Platform }

func (d deeper) Reports() []media.Report {
	reports := d.Platform.Reports()
	for _, r := range reports {
		if r.Name == "report_daily" && r.Level == "adgroup" {
			r.Level = "lowest"
			return append(reports, r)
		}
	}
	return reports
}

func TestReconcile_OrdersTheAccountsLevelOnce(t *testing.T) {
	t.Parallel()
	f := newFilling(t, reportTask("account", "normal", "all", "account", 7),
		reportTask("adgroup", "normal", "all", "adgroup", 7), reportTask("lowest", "normal", "all", "lowest", 7))
	for id := int64(1); id <= 2; id++ {
		f.account(t, id, "active", "Asia/Shanghai", "")
		f.figures(t, id, "account", yesterday, settled(yesterday, 9), figures{"clicks": 2})
		f.figures(t, id, "adgroup", yesterday, settled(yesterday, 9), figures{"clicks": id})
		f.figures(t, id, "lowest", yesterday, settled(yesterday, 9), figures{"clicks": 5})
	}
	r := media.NewRegistry(upkeep.Handlers(upkeep.Deps{
		Store: f.store, Marks: f.store.Data, Clock: clock.NewScaled(f.now, 1, true), Logger: slog.New(slog.DiscardHandler),
		Platforms: []media.Platform{deeper{invented.New()}},
	})...)
	require.Equal(t, 3, run(t, r, upkeep.ReconcileName, "tulip", "").Rows)
	var got []string
	for _, o := range f.ordered(t) {
		for name, id := range f.tasks {
			if id == o.TaskID {
				got = append(got, fmt.Sprint(name, o.Request.Accounts))
			}
		}
	}
	require.ElementsMatch(t, []string{"adgroup[1]", "account[1]", "lowest[2]", "account[2]", "lowest[1]"}, got)
}

// Package simulated_test tests the platform's package against its simulated platform.
package simulated_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/storetest"
	"adsync/media/bilibili"
	"adsync/simulator"
	"adsync/test/platforms/simclient"
)

func newPuller(t *testing.T) *simclient.Puller {
	t.Helper()
	return simclient.NewPuller(t, bilibili.New(), simulator.Config{Accounts: simclient.OfEach(60), Seed: 7})
}

// In what form a report comes is not documented: both forms are read.
func TestReports_EqualTheTruthInBothForms(t *testing.T) {
	t.Parallel()
	for name, flat := range map[string]int{"groups and a total": 0, "flat rows, times of day and no total": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newPuller(t)
			x.World.Order(t, "limits", map[string]any{"assumed": map[string]any{bilibili.Name: map[string]any{
				"flat_rows": flat, "day_times": flat, "report_total": 1 - flat}}})
			for _, level := range []string{"account", "campaign", "adgroup", "creative"} {
				for _, report := range []string{"report_daily", "report_hourly"} {
					for _, d := range []day.Day{x.Server.Today, x.Server.Today.Add(-30)} {
						require.NoError(t, x.Try(t, report, 1, d.String(), `{"level":"`+level+`"}`))
						x.RequireTrue(t, report, level, 1, d, d)
						require.NoError(t, x.Store.Data.Writer(t.Context()).Exec("DELETE FROM "+report).Error)
					}
				}
			}
		})
	}
}

func TestLists_ArePulledWhole(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	for _, list := range []string{"campaign", "unit", "creative", "image", "video"} {
		x.RequireList(t, list, 1)
	}
	require.Positive(t, storetest.RowsIn(t, x.Store, "bilibili_unit WHERE budget_fen > 0 AND bid_fen > 0"))
	require.Positive(t, storetest.RowsIn(t, x.Store, "bilibili_unit WHERE deleted_at IS NOT NULL"))
	require.Positive(t, storetest.RowsIn(t, x.Store, "bilibili_video WHERE duration > 0 AND signature <> ''"))
	require.NoError(t, x.Try(t, "balance", 1, "1", ""))
	require.Positive(t, storetest.RowsIn(t, x.Store, "account_balance"))
	days := x.Server.Today.Add(-3).String() + ".." + x.Server.Today.Add(-1).String()
	require.NoError(t, x.Try(t, "fund_daily", 1, days, ""))
	require.Equal(t, 3, storetest.RowsIn(t, x.Store, "bilibili_fund_daily"))
}

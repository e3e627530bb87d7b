package simulated_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/store/storetest"
)

// levels are the public levels whose reports hold all rows of the truth, by the truth's name.
var levels = map[string]string{"account": "account", "campaign": "project", "adgroup": "ad", "creative": "creative"}

// In what form a report comes is not documented: both forms are read.
func TestReports_EqualTheTruthInBothForms(t *testing.T) {
	t.Parallel()
	for name, flat := range map[string]int{"groups and a total": 0, "flat rows, times of day and no total": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.assume("flat_rows", flat)
			w.assume("day_times", flat)
			w.assume("report_total", 1-flat)
			for level, of := range levels {
				for _, report := range []string{"report_daily", "report_hourly"} {
					for _, d := range []day.Day{w.Server.Today, w.Server.Today.Add(-30)} {
						w.pull(report, d.String(), `{"level":"`+level+`"}`)
						require.NotEmpty(t, w.written(report, level))
						require.Equal(t, w.truth(report, of, d), w.written(report, level), "%s of %s", report, level)
						w.clear(report)
					}
				}
			}
		})
	}
}

func TestLists_ArePulledWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for list, of := range map[string]string{"campaign": "project", "unit": "unit", "creative": "creative",
		"image": "image", "video": "video"} {
		w.pull(list, "1", `{"mode":"full"}`)
		count := len(w.Truth(t, url.Values{"kind": {of}, "account": {w.Server.Accounts[0]}}))
		require.Positive(t, count, list)
		require.Equal(t, count, storetest.RowsIn(t, w.Store, "bilibili_"+list), list)
	}
	require.Positive(t, storetest.RowsIn(t, w.Store, "bilibili_unit WHERE budget_fen > 0 AND bid_fen > 0"))
	require.Positive(t, storetest.RowsIn(t, w.Store, "bilibili_unit WHERE deleted_at IS NOT NULL"))
	require.Positive(t, storetest.RowsIn(t, w.Store, "bilibili_video WHERE duration > 0 AND signature <> ''"))
	w.pull("balance", "1", "")
	require.Positive(t, storetest.RowsIn(t, w.Store, "account_balance"))
	w.pull("fund_daily", w.Server.Today.Add(-3).String()+".."+w.Server.Today.Add(-1).String(), "")
	require.Equal(t, 3, storetest.RowsIn(t, w.Store, "bilibili_fund_daily"))
}

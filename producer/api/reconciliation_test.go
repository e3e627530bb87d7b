package api_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/results"
)

func TestReconciliation_IsListedAPageAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var ids []int64
	for _, external := range []string{"9001", "9002"} {
		ids = append(ids, b.account("tulip", external, "active", "Asia/Shanghai", ""))
	}
	add := func(account int64, d day.Day, metric, state string, confirmed any) {
		err := b.store.Data.Writer(t.Context()).Exec(
			"INSERT INTO reconciliation (account_id, day, level, metric, media, account_value, sum_value, first_seen_at, "+
				"last_seen_at, pulled_again_run_id, confirmed_at, state)"+
				" VALUES (?, ?, 'adgroup', ?, 'tulip', 5, 3, ?, ?, 77, ?, ?)", account, d, metric, sqldb.At(now), sqldb.At(now),
			confirmed, state).Error
		require.NoError(t, err)
	}
	add(ids[0], "2026-11-19", "clicks", "open", nil)
	add(ids[0], "2026-11-19", "cost", "open", sqldb.At(now))
	add(ids[0], "2026-11-20", "cost", results.DifferenceMended, nil)
	add(ids[1], "2026-11-18", "cost", "open", nil)

	type difference struct {
		Media, Account, Day, Level, Metric, State string
		AccountValue                              int64  `json:"account_value"`
		SumValue                                  int64  `json:"sum_value"`
		ConfirmedAt                               string `json:"confirmed_at"`
		RunID                                     string `json:"pulled_again_run_id"`
	}
	list := func(query string) (got struct {
		Differences []difference
		Next        string
	}) {
		decode(t, b.get("/api/v1/reconciliation"+query), &got)
		return got
	}
	first := list("?limit=1")
	require.Equal(t, []difference{{"tulip", "9001", "2026-11-19", "adgroup", "clicks", "open", 5, 3, "", "77"}},
		first.Differences)
	var got []string
	for page := first; ; page = list("?limit=1&after=" + url.QueryEscape(page.Next)) {
		for _, d := range page.Differences {
			got = append(got, d.Account+" "+d.Day+" "+d.Metric)
		}
		if page.Next == "" {
			break
		}
	}
	require.Equal(t, []string{"9001 2026-11-19 clicks", "9001 2026-11-19 cost", "9002 2026-11-18 cost"}, got)
	require.Len(t, list("?state=all").Differences, 4)
	require.Equal(t, results.DifferenceMended, list("?state=all&day=2026-11-20").Differences[0].State)
	require.NotEmpty(t, list("?day=2026-11-19").Differences[1].ConfirmedAt)
	require.Empty(t, list("?media=orchid").Differences)

	require.Equal(t, []fieldError{{Field: "state",
		Detail: `"bad" is refused: want one of open, ` + results.DifferenceMended + `, all`}},
		b.refused(http.MethodGet, "/api/v1/reconciliation?state=bad", ""))
	require.Equal(t, []fieldError{{Field: "media", Detail: `"x" is refused: want tulip or orchid`}},
		b.refused(http.MethodGet, "/api/v1/reconciliation?media=x", ""))
}

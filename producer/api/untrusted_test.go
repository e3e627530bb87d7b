package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/store/settings"
)

type untrusted struct {
	From, To string
	Days     []struct {
		Media, Account, Game, Day, Report, Level, State, Why string
		RunID                                                string `json:"run_id"`
	}
	Next string
}

// untrusted reads all pages of the list.
func (b *bench) untrusted(query string) (all []string) {
	b.t.Helper()
	for after := ""; ; {
		var page untrusted
		decode(b.t, b.get("/api/v1/coverage/untrusted?after="+after+query), &page)
		for _, d := range page.Days {
			all = append(all, strings.Join([]string{d.Account, d.Day, d.Report, d.Level, d.State}, " "))
		}
		if after = page.Next; after == "" {
			return all
		}
	}
}

func TestUntrusted_ListsTheDaysOfAllAccounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.store.SeedTasks(t.Context(), []settings.NewTask{{
		Name: "tulip.back", Media: "tulip", Handler: "tulip.report_daily", Cron: "@daily", Lane: "offline", Scope: "all",
		Params: `{"level":"account","days":4}`,
	}})
	require.NoError(t, err)
	one := b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	two := b.account("tulip", "9002", "active", "Asia/Shanghai", "revoked")
	for _, d := range []day.Day{"2026-11-18", "2026-11-19"} {
		b.addCoverage(one, "report_daily", "account", d, results.Complete, nil)
	}
	data := b.store.Data.Writer(t.Context())
	require.NoError(t,
		data.Exec("UPDATE coverage SET state = 'suspect', note = 'no rows', run_id = 77 WHERE day = '2026-11-18'").Error)
	b.addCoverage(two, "report_hourly", "account", "2026-11-10", results.Partial, nil)
	b.addCoverage(two, "adgroup", "adgroup", day.Epoch, results.Partial, nil)
	for _, metric := range []string{"cost", "impressions"} {
		require.NoError(t,
			data.Exec("INSERT INTO reconciliation (account_id, day, level, metric, media, account_value, sum_value,"+
				" first_seen_at, last_seen_at, pulled_again_run_id, state) VALUES (?, '2026-11-20', 'adgroup', ?, 'tulip', 5, 4, "+
				"?, ?, 78, 'open')",
				one, metric, sqldb.At(now), sqldb.At(now)).Error)
	}
	require.NoError(t, b.store.Config.Writer(t.Context()).Exec(
		"INSERT INTO account_binding (account_id, from_day, to_day, game, os) VALUES (?, '2026-11-01', '2026-11-15', "+
			"'chess', 'ios')", two).Error)

	want := []string{
		"9001 2026-11-18 report_daily account suspect", "9001 2026-11-19 report_daily account early",
		"9001 2026-11-20 report_daily account missing", "9001 2026-11-20 report_daily adgroup differs",
		"9002 2026-11-10 report_hourly account partial",
	}
	require.Equal(t, want, b.untrusted(""))
	require.Equal(t, want, b.untrusted("&limit=1"), "page by page")
	require.Equal(t, want[4:], b.untrusted("&game=chess"))
	require.Equal(t, want[:4], b.untrusted("&game=unassigned"))
	require.Empty(t, b.untrusted("&game=go"))
	require.Equal(t, want[1:2], b.untrusted("&from=2026-11-19&to=2026-11-19"))
	require.Empty(t, b.untrusted("&media=orchid"))

	var page untrusted
	decode(t, b.get("/api/v1/coverage/untrusted"), &page)
	require.Equal(t, []string{"2026-10-23", "2026-11-21"}, []string{page.From, page.To})
	require.Equal(t, []string{"no rows", "it was last pulled before it had settled",
		"it was never pulled, and tulip.back reaches back to it",
		"cost and 1 more figure of the account are not the sum of the level adgroup", "its pages did not agree"},
		[]string{page.Days[0].Why, page.Days[1].Why, page.Days[2].Why, page.Days[3].Why, page.Days[4].Why})
	require.Equal(t, []string{"77", "78"}, []string{page.Days[0].RunID, page.Days[3].RunID})
	require.Equal(t, []string{"unassigned", "chess"}, []string{page.Days[0].Game, page.Days[4].Game})

	const path = "/api/v1/coverage/untrusted"
	require.Equal(t, []fieldError{{Field: "media", Detail: `"myspace" is refused: want tulip or orchid`}},
		b.refused(http.MethodGet, path+"?media=myspace", ""))
	require.Equal(t, []fieldError{{Field: "from", Detail: "2026-11-21 is refused: want a day up to 2026-11-20"}},
		b.refused(http.MethodGet, path+"?from=2026-11-21&to=2026-11-20", ""))
	require.Equal(t, "after", b.refused(http.MethodGet, path+"?after=x", "")[0].Field)
}

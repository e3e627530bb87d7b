package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/results"
)

func (b *bench) addCoverage(account int64, report, level string, d day.Day, state results.CoverageState, dirty any) {
	b.t.Helper()
	err := b.store.Data.Writer(b.t.Context()).Exec(
		"INSERT INTO coverage (account_id, report, level, day, media, pulled_at, run_id, row_count, state, note, dirty)"+
			" VALUES (?, ?, ?, ?, 'tulip', ?, 77, 12, ?, '', ?)", account, report, level, d, sqldb.At(now), string(state),
		dirty).Error
	require.NoError(b.t, err)
}

type coverage struct {
	Report, Level, Day, State string
	Note                      string
	RunID                     string `json:"run_id"`
	PulledAt                  string `json:"pulled_at"`
	Rows                      int
	SummaryPending            bool `json:"summary_pending"`
}

func (b *bench) coverage(path string) (from, to string, rows []coverage) {
	b.t.Helper()
	var got struct {
		From, To string
		Coverage []coverage
	}
	decode(b.t, b.get(path), &got)
	return got.From, got.To, got.Coverage
}

// only keeps the rows of one report and level.
func only(rows []coverage, report, level string) []coverage {
	var some []coverage
	for _, r := range rows {
		if r.Report == report && r.Level == level {
			some = append(some, r)
		}
	}
	return some
}

func TestCoverage_ListsPulledAndNeverPulledDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	account := b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	b.addCoverage(account, "report_daily", "account", "2026-11-17", results.Complete, nil) // outside
	b.addCoverage(account, "report_daily", "account", "2026-11-18", results.Complete, nil)
	b.addCoverage(account, "report_daily", "account", "2026-11-20", results.Suspect, 5)
	b.addCoverage(account, "adgroup", "adgroup", day.Epoch, results.Complete, nil)
	b.addCoverage(account+1, "report_daily", "account", "2026-11-19", results.Complete, nil) // another's

	from, to, rows := b.coverage("/api/v1/accounts/tulip/9001/coverage?from=2026-11-18&to=2026-11-20")
	require.Equal(t, "2026-11-18", from)
	require.Equal(t, "2026-11-20", to)
	const pulled = "2026-11-21T10:30:00Z"
	const noTask = "no hole: no enabled task pulls it for accounts of the tier active"
	require.Equal(t, []coverage{
		{Report: "report_daily", Level: "account", Day: "2026-11-18", State: "complete", RunID: "77", PulledAt: pulled,
			Rows: 12},
		{Report: "report_daily", Level: "account", Day: "2026-11-19", State: "never", Note: noTask},
		{Report: "report_daily", Level: "account", Day: "2026-11-20", State: "suspect", RunID: "77", PulledAt: pulled,
			Rows: 12, SummaryPending: true},
	}, only(rows, "report_daily", "account"))
	require.Equal(t, []coverage{{Report: "adgroup", Level: "adgroup", State: "complete", RunID: "77", PulledAt: pulled,
		Rows: 12}}, only(rows, "adgroup", "adgroup"))
	for _, r := range []string{"report_daily", "report_hourly"} {
		for _, level := range []string{"account", "adgroup", "creative"} {
			require.Len(t, only(rows, r, level), 3, "every report and level of the platform, each day")
		}
	}
	require.Equal(t, []coverage{{Report: "balance", Level: "account", State: "never"}}, only(rows, "balance", "account"))
	require.Len(t, only(rows, "fund_daily", "account"), 3)
	require.Len(t, rows, 5+7*3, "the lists and the balance, and the days of reports and cash flow")

	require.Contains(t, b.get("/api/v1/accounts/tulip/9001/coverage"), `"account":{"id":"`+id(account)+
		`","media":"tulip","external_id":"9001","name":"account 9001","tier":"active","timezone":"Asia/Shanghai",`+
		`"currency":"CNY","bound":true}`)
}

func TestCoverage_CountsUnusableValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	account := b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	b.addCoverage(account, "report_daily", "account", "2026-11-18", results.Partial, nil)
	b.addCoverage(account, "report_daily", "account", "2026-11-19", results.Complete, nil)
	b.addCoverage(account, "adgroup", "adgroup", day.Epoch, results.Complete, nil)
	data := b.store.Data.Writer(t.Context())
	for _, v := range [][]any{
		{"report_daily", "account", "2026-11-18", "cost", "figure", 2},
		{"report_daily", "account", "2026-11-17", "cost", "figure", 9},
		{"adgroup", "adgroup", day.Epoch, "adgroup_name", "attribute", 1},
		{"adgroup", "adgroup", day.Epoch, "adgroup_id", "key", 1},
	} {
		require.NoError(t,
			data.Exec(
				"INSERT INTO unusable_value (account_id, report, level, day, field, kind, number, media, why, seen_at) VALUES "+
					"(?, ?, ?, ?, ?, ?, ?, 'tulip', 'is odd', ?)",
				append(append([]any{account}, v...), sqldb.At(now))...).Error)
		require.NoError(t,
			data.Exec("UPDATE coverage SET unusable = unusable + ? WHERE account_id = ? AND report = ? AND day = ?", v[5],
				account, v[0], v[2]).Error)
	}
	var got struct {
		Coverage []struct {
			Report, Day    string
			Unusable       int
			UnusableValues []struct {
				Field, Kind, Why string
				Number           int
			} `json:"unusable_values"`
		}
	}
	decode(t, b.get("/api/v1/accounts/tulip/9001/coverage?from=2026-11-18&to=2026-11-20"), &got)
	told := map[string]string{}
	for _, c := range got.Coverage {
		if c.Unusable > 0 {
			told[c.Report+" "+c.Day] = fmt.Sprint(c.Unusable, " ", c.UnusableValues)
		}
	}
	require.Equal(t, map[string]string{
		"report_daily 2026-11-18": "2 [{cost figure is odd 2}]",
		"adgroup ":                "2 [{adgroup_id key is odd 1} {adgroup_name attribute is odd 1}]",
	}, told)
}

func TestCoverage_ExplainsWhyADayIsNoHole(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	b.account("tulip", "9002", "active", "Asia/Shanghai", "frozen: closed")
	err := b.store.Config.Writer(t.Context()).Exec(
		"INSERT INTO cron_task (name, media, handler, cron, timezone, lane, scope, params) VALUES ('hours', 'tulip', "+
			"'tulip.report_hourly', '0 3 * * *', 'UTC', 'normal', 'all', ?)",
		`{"level":"account","days":3}`).Error
	require.NoError(t, err)
	notes := func(account, report string) (notes []string) {
		_, _, rows := b.coverage("/api/v1/accounts/tulip/" + account + "/coverage?from=2026-11-18&to=2026-11-21")
		for _, r := range only(rows, report, "account") {
			require.Equal(t, "never", r.State)
			notes = append(notes, r.Note)
		}
		return notes
	}
	// The time is 18:30 on the 21st in Shanghai.
	require.Equal(t, []string{
		"no hole: hours reaches back to 2026-11-19", "", "",
		"no hole before 2026-11-22T03:00:00Z: until then hours may still pull it",
	}, notes("9001", "report_hourly"))
	var holes struct{ Holes, Waiting int }
	decode(t, b.get("/api/v1/coverage/holes?media=tulip"), &holes)
	require.Equal(t, 2, holes.Holes+holes.Waiting, "the two days without a note")

	require.Equal(t, "no hole: no enabled task pulls it for accounts of the tier active", notes("9001", "report_daily")[0])
	require.Equal(t, "no hole: the account is parked", notes("9002", "report_hourly")[1])
}

func TestCoverage_DaysAreInTheAccountsZone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.account("tulip", "shanghai", "active", "Asia/Shanghai", "")
	b.account("tulip", "kiritimati", "active", "Pacific/Kiritimati", "") // where it is 22 November
	tests := []struct {
		path     string
		from, to string
		days     int
	}{
		{"shanghai/coverage", "2026-11-15", "2026-11-21", 7},
		{"kiritimati/coverage", "2026-11-16", "2026-11-22", 7},
		{"shanghai/coverage?to=2026-11-02", "2026-10-27", "2026-11-02", 7},
		{"shanghai/coverage?from=2026-11-20", "2026-11-20", "2026-11-21", 2},
		{"shanghai/coverage?from=2026-11-20&to=2026-11-22", "2026-11-20", "2026-11-22", 2}, // a future day is not missing
	}
	for _, test := range tests {
		from, to, rows := b.coverage("/api/v1/accounts/tulip/" + test.path)
		require.Equal(t, []string{test.from, test.to}, []string{from, to}, test.path)
		require.Len(t, only(rows, "report_daily", "account"), test.days, test.path)
		if test.to >= "2026-11-21" {
			require.Len(t, only(rows, "fund_daily", "account"), test.days-1, "%s: the present day has no cash flow yet",
				test.path)
		}
	}
}

func TestCoverage_RefusesUnknownAccountsAndWrongDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.account("tulip", "9001", "active", "Asia/Shanghai", "")
	tests := []struct {
		path string
		want []fieldError
	}{
		{"?from=yesterday", []fieldError{{Field: "from", Detail: `"yesterday" is refused: want a day such as 2026-11-21`}}},
		{"?from=0000-01-01", []fieldError{{Field: "from",
			Detail: `"0000-01-01" is refused: want a day from 2010-01-01 to `}}},
		// It has not begun in any zone, and will not begin tomorrow.
		{"?to=2026-11-23", []fieldError{{Field: "to", Detail: `"2026-11-23" is refused: want a day from 2010-01-01 to `}}},
		{"?to=2999-01-01", []fieldError{{Field: "to", Detail: `"2999-01-01" is refused: want a day from 2010-01-01 to `}}},
		{"?from=2026-11-21&to=2026-11-20", []fieldError{{Field: "from",
			Detail: "2026-11-21 is refused: want a day up to 2026-11-20"}}},
		{"?from=2020-01-01", []fieldError{{Field: "from",
			Detail: "2020-01-01 is refused: want 2025-11-21 or later, at most 366 days at a time"}}},
		{"?day=2026-11-21", []fieldError{{Field: "day", Detail: "there is no such parameter: want from, to"}}},
	}
	for _, test := range tests {
		got := b.refused(http.MethodGet, "/api/v1/accounts/tulip/9001/coverage"+test.path, "")
		require.Len(t, got, len(test.want), test.path)
		for i, want := range test.want {
			require.Equal(t, want.Field, got[i].Field, test.path)
			require.True(t, strings.HasPrefix(got[i].Detail, want.Detail), "%s: %s", test.path, got[i].Detail)
		}
	}
	for path, want := range map[string]string{
		"tulip/%E8%B4%A6": `tulip has no account "账" that is known here: the task tulip.account_list adds accounts.`,
		"tulip/9002":      `tulip has no account "9002" that is known here: the task tulip.account_list adds accounts.`,
		"orchid/9001":     `orchid has no account "9001" that is known here: the task orchid.account_list adds accounts.`,
		"facebook/9001":   `There is no media "facebook": want tulip or orchid.`,
	} {
		w := b.call(http.MethodGet, "/api/v1/accounts/"+path+"/coverage", "", viewerToken)
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.Equal(t, want, b.problem(w).Detail)
	}
}

package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/summaries"
)

// RawReport is the raw table of ReportOf.
var RawReport = rawtable.Table{
	Name: "test_report_daily", Shape: rawtable.DailyRows,
	Columns: []rawtable.Column{{Name: "cost_fen", Kind: rawtable.Int}},
}

// RawObject is a raw table of ad groups.
var RawObject = rawtable.Table{
	Name: "test_adgroup", Shape: rawtable.Objects,
	Columns: []rawtable.Column{{Name: "adgroup_name", Kind: rawtable.Text},
		{Name: "created_time", Kind: rawtable.Instant}},
}

// NewResults is New with the tables RawReport and RawObject.
func NewResults(t testing.TB) *store.Store {
	t.Helper()
	s := New(t)
	tables := []rawtable.Table{RawReport, RawObject}
	require.NoError(t, s.EnsureRawTables(context.Background(), tables))
	require.NoError(t, s.EnsureRawTables(context.Background(), tables), "the second call changes nothing")
	return s
}

// Claim claims days of the daily report of account 7 of the platform "test".
func Claim(t testing.TB, s *store.Store, pullID string, days ...day.Day) results.Claim {
	t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: "report_daily", Level: "account", Days: days}
	claim, _, err := s.BeginPull(context.Background(), scope, pullID, 1)
	require.NoError(t, err)
	return claim
}

// NotEmpty is the rule by which tests judge answers: one without rows is suspect where the tables hold some.
func NotEmpty(came, held int) (suspect string) {
	if came > 0 || held == 0 {
		return ""
	}
	return "it has no rows"
}

// notEmptied is NotEmpty for days that had spend.
var notEmptied = results.Judging{Judge: func(a *results.Answer, _ []results.Figure) results.Verdict {
	return results.Verdict{Suspect: NotEmpty(int(a.Rows), int(a.Stored))}
}}

// ReportOf returns a whole pull's rows, judged by NotEmpty.
func ReportOf(claim results.Claim, rows ...results.ReportRow) results.ReportWrite {
	return results.ReportWrite{
		Claim: claim, Raw: RawReport, Currency: "CNY", Zone: "Asia/Shanghai", Rows: rows, Whole: true,
		DirtySummary: true, Judging: notEmptied,
	}
}

// CostRow returns a row of ReportOf whose only figure is its cost in millionths.
func CostRow(d day.Day, object string, cost int64, json string) results.ReportRow {
	r := results.ReportRow{Day: d, Object: object, Raw: []any{cost / 10_000}, JSON: json}
	r.Metrics.Set(metric.Index("cost"), cost)
	return r
}

// CoverageOf returns the coverage of account 7 in 2026.
func CoverageOf(t testing.TB, s *store.Store) map[day.Day]results.Coverage {
	t.Helper()
	rows, err := s.ReadCoverage(context.Background(), 7, "2026-01-01", "2026-12-31")
	require.NoError(t, err)
	byDay := map[day.Day]results.Coverage{}
	for _, r := range rows {
		byDay[r.Day] = r
	}
	return byDay
}

// Tombstones returns the deletions of report_tombstone as text: the columns in order, with a dash for NULL.
func Tombstones(t testing.TB, s *store.Store) []string {
	t.Helper()
	var rows []struct {
		TableName string  `gorm:"column:table_name"`
		Day       day.Day `gorm:"column:day"`
		Hour      *int    `gorm:"column:hour"`
		AccountID *int64  `gorm:"column:account_id"`
		Level     *string `gorm:"column:level"`
		ObjectID  *string `gorm:"column:object_id"`
		Game      *string `gorm:"column:game"`
		Media     *string `gorm:"column:media"`
		OS        *string `gorm:"column:os"`
	}
	const columns = "table_name, day, hour, account_id, level, object_id, game, media, os"
	err := s.Data.Writer(t.Context()).Raw("SELECT " + columns + " FROM report_tombstone ORDER BY id").Scan(&rows).Error
	require.NoError(t, err)
	var words []string
	for _, r := range rows {
		words = append(words, strings.Join([]string{
			r.TableName, r.Day.String(), orDash(r.Hour), orDash(r.AccountID), orDash(r.Level), orDash(r.ObjectID),
			orDash(r.Game),
			orDash(r.Media), orDash(r.OS),
		}, " "))
	}
	return words
}

// orDash returns a value as text, or a dash for none.
func orDash[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// BindTo moves accounts to a game, like the leader.
func BindTo(t testing.TB, s *store.Store, game string, accounts ...int64) {
	t.Helper()
	var changes []summaries.BindingChange
	for _, id := range accounts {
		b := summaries.Binding{AccountID: id, From: "2026-01-01", To: summaries.LastDay, Game: game, OS: "ios"}
		bindings := []summaries.Binding{b}
		changes = append(changes, summaries.BindingChange{AccountID: id, Bindings: bindings, Touched: bindings})
	}
	require.NoError(t, s.ApplyBindings(t.Context(), Lead(t, s, "binder"), changes))
}

// RebuildSummaries rebuilds all summaries of marked days, and returns how many days were marked.
func RebuildSummaries(t testing.TB, s *store.Store) int {
	t.Helper()
	days, err := s.DirtyDays(t.Context(), "test", 1<<62, 100)
	require.NoError(t, err)
	for _, d := range days {
		_, err := s.RebuildSummary(t.Context(), d)
		require.NoError(t, err)
	}
	return len(days)
}

// SummaryVersions returns the version of each game's row of summary_daily.
func SummaryVersions(t testing.TB, s *store.Store) map[string]int64 {
	t.Helper()
	var rows []struct {
		Game    string
		Version int64
	}
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT game, version FROM summary_daily").Scan(&rows).Error)
	all := map[string]int64{}
	for _, r := range rows {
		all[r.Game] = r.Version
	}
	return all
}

package results_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/sqldb"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

func TestUnattributed_IsTheRestWithoutAnObject(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.NewResults(t)
	pull := func(level string, account int64, whole bool, rows ...results.ReportRow) {
		claim := storetest.Claim(t, s, level, today)
		claim.Level, claim.AccountID = level, account
		w := storetest.ReportOf(claim, rows...)
		w.Whole = whole
		_, err := s.WriteReport(ctx, w)
		require.NoError(t, err)
	}
	row := func(object string, figures map[string]int64) results.ReportRow {
		r := results.ReportRow{Day: today, Object: object, Raw: []any{0}, JSON: "{}"}
		for name, v := range figures {
			r.Metrics.Set(metric.Index(name), v)
		}
		return r
	}
	pull("account", 7, true, row("", map[string]int64{"cost": 100, "clicks": 10, "installs": 3}))
	pull("adgroup", 7, true, row("1", map[string]int64{"cost": 60, "clicks": 4}),
		row("2", map[string]int64{"cost": 30, "pays": 1}))
	pull("creative", 7, true)
	pull("campaign", 7, false, row("9", map[string]int64{"cost": 1}))
	pull("account", 8, true, row("", map[string]int64{"cost": 5}))
	pull("adgroup", 9, true, row("1", map[string]int64{"cost": 5}))

	type unattributed struct {
		Day       day.Day `gorm:"column:day"`
		AccountID int64   `gorm:"column:account_id"`
		Level     string  `gorm:"column:level"`
		ObjectID  string  `gorm:"column:object_id"`
		Media     string  `gorm:"column:media"`
		Currency  string  `gorm:"column:currency"`
		DayZone   string  `gorm:"column:day_zone"`
		Cost      *int64  `gorm:"column:cost"`
		Clicks    *int64  `gorm:"column:clicks"`
		Installs  *int64  `gorm:"column:installs"`
		Pays      *int64  `gorm:"column:pays"`
	}
	var got []unattributed
	require.NoError(t,
		s.Data.Writer(ctx).Raw("SELECT * FROM report_daily_unattributed ORDER BY account_id, level").Scan(&got).Error)
	n := func(v int64) *int64 { return &v }
	want := unattributed{Day: today, AccountID: 7, Level: "adgroup", ObjectID: "unattributed", Media: "test",
		Currency: "CNY", DayZone: "Asia/Shanghai"}
	some, all := want, want
	some.Cost, some.Clicks = n(10), n(6)
	all.Level, all.Cost, all.Clicks, all.Installs = "creative", n(100), n(10), n(3)
	require.Equal(t, []unattributed{some, all}, got,
		"levels that were not pulled whole, and those without account figures, have none; what one side lacks is NULL")
}

func TestUnattributed_HasEveryMetricAndReadsByDay(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	rows, err := s.Data.Writer(t.Context()).Raw("SELECT * FROM report_daily_unattributed").Rows()
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	require.False(t, rows.Next())
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close()) // SQLite's one writer is needed below.
	require.Equal(t, append([]string{"day", "account_id", "level", "object_id", "media", "currency", "day_zone"},
		metric.Names()...), columns)

	if s.Data.Dialect() != sqldb.SQLiteDialect {
		return
	}
	var plan []struct{ Detail string }
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw(
			"EXPLAIN QUERY PLAN SELECT * FROM report_daily_unattributed WHERE day = '2026-11-21'").Scan(&plan).Error)
	require.NotEmpty(t, plan)
	for _, step := range plan {
		require.NotContains(t, step.Detail, "SCAN a", "only the rows of the day are read: %v", plan)
		require.NotContains(t, step.Detail, "SCAN s")
		require.NotContains(t, step.Detail, "SCAN c")
	}
}

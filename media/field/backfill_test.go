package field_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/field"
	"adsync/media/mediatest/invented"
)

// pulled is a store with rows of a program that did not know a figure: the figure is only in their JSON.
type pulled struct {
	*store.Store
	t        *testing.T
	platform media.Platform
}

func newPulled(t *testing.T, p media.Platform) pulled {
	t.Helper()
	s := pulled{storetest.New(t), t, p}
	require.NoError(t, s.EnsureRawTables(t.Context(), media.Tables(p)))
	return s
}

// write writes the rows of an account. A row's hour is its index.
func (s pulled) write(account int64, report, level string, d day.Day, rows ...results.ReportRow) {
	s.t.Helper()
	var table rawtable.Table
	for _, r := range s.platform.Reports() {
		if r.Name == report && r.Level == level {
			table = r.Table
		}
	}
	scope := results.Scope{AccountID: account, Media: s.platform.Name(), Report: report, Level: level, Days: []day.Day{d}}
	claim, _, err := s.BeginPull(s.t.Context(), scope, "pull", 1)
	require.NoError(s.t, err)
	hourly := report == "report_hourly"
	for i := range rows {
		rows[i].Day = d
		if rows[i].Raw == nil {
			rows[i].Raw = make([]any, len(table.Columns))
		}
		if hourly {
			rows[i].Hour = i % 24
		}
	}
	_, err = s.WriteReport(s.t.Context(), results.ReportWrite{
		Claim: claim, Raw: table, Hourly: hourly, Currency: "CNY", Zone: "Asia/Shanghai", Rows: rows, Whole: true,
		DirtySummary: level == settings.AccountLevel,
	})
	require.NoError(s.t, err)
}

// backfill fills the days from one on to the last pulled day.
func (s pulled) backfill(name string, from day.Day) (filled []string) {
	s.t.Helper()
	const to = day.Day("2026-11-20")
	err := field.Backfill(s.t.Context(), s.Store, s.platform, name, from, to, func(f field.Filled) {
		filled = append(filled, fmt.Sprintf("%s %s %d", f.Day, f.Report, f.Rows))
	})
	require.NoError(s.t, err)
	return filled
}

// column returns a column of all rows, "-" for NULL, ordered by table, day, account, level, object and hour.
func (s pulled) column(table, column string) (values []string) {
	s.t.Helper()
	rows, err := s.Data.Writer(s.t.Context()).Raw("SELECT account_id, level, object_id, " + column + " FROM " + table +
		" ORDER BY 1, 2, 3").Rows()
	require.NoError(s.t, err)
	defer rows.Close()
	for rows.Next() {
		var account int64
		var level, object string
		var value *int64
		require.NoError(s.t, rows.Scan(&account, &level, &object, &value))
		text := "-"
		if value != nil {
			text = fmt.Sprint(*value)
		}
		values = append(values, fmt.Sprintf("%d %s %s: %s", account, level, object, text))
	}
	require.NoError(s.t, rows.Err())
	return values
}

func TestBackfill_FillsOnlyNULL(t *testing.T) {
	t.Parallel()
	s := newPulled(t, invented.New())
	const d = day.Day("2026-11-20")
	own := make([]any, len(report(t, "report_daily", "adgroup").Table.Columns))
	own[6] = int64(70)
	var has metric.Values
	has.Set(metric.Index("registrations"), 70)
	s.write(1, "report_daily", "account", d, results.ReportRow{JSON: `{"date":"2026-11-20","signups":12}`})
	s.write(2, "report_daily", "account", d, results.ReportRow{JSON: `{"date":"2026-11-20"}`})
	s.write(1, "report_daily", "adgroup", d,
		results.ReportRow{Object: "41", JSON: `{"signups":"5"}`}, results.ReportRow{Object: "42", JSON: `{"signups":0}`},
		results.ReportRow{Object: "43", JSON: `{"signups":null}`},
		results.ReportRow{Object: "44", JSON: `{"signups":7}`, Raw: own, Metrics: has})
	s.write(1, "report_daily", "account", d.Add(1), results.ReportRow{JSON: `{"date":"2026-11-21","signups":99}`})
	s.write(1, "report_hourly", "adgroup", d, results.ReportRow{Object: "41", JSON: `{"hour":0,"signups":3}`},
		results.ReportRow{Object: "41", JSON: `{"hour":1,"signups":3}`})
	past := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE report_daily SET updated_at = ?", sqldb.At(past)).Error)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE coverage SET dirty = NULL").Error)

	require.Equal(t, []string{"2026-11-19 report_daily 0", "2026-11-19 report_hourly 0", "2026-11-20 report_daily 3",
		"2026-11-20 report_hourly 2"},
		s.backfill("signups", d.Add(-1)))
	want := []string{
		"1 account : 12", "1 account : -", "1 adgroup 41: 5", "1 adgroup 42: 0", "1 adgroup 43: -", "1 adgroup 44: 70",
		"2 account : -",
	}
	require.ElementsMatch(t, want, s.column("report_daily", "registrations"),
		"values that the JSON lacks stay NULL; existing values and other days stay")
	require.ElementsMatch(t, want, s.column("tulip_report_daily", "signups"))
	require.Equal(t, []string{"1 adgroup 41: 3", "1 adgroup 41: 3"}, s.column("report_hourly", "registrations"))
	var updated int
	require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM report_daily WHERE updated_at > ?",
		sqldb.At(past)).Row().Scan(&updated))
	require.Equal(t, 3, updated, "a warehouse loads only the filled rows")

	days, err := s.DirtyDays(t.Context(), invented.Tulip, time.Now().AddDate(1, 0, 0).UnixMicro(), 100)
	require.NoError(t, err)
	require.Len(t, days, 1, "only for the account whose figure changed")
	require.Equal(t, d, days[0].Day)
	_, err = s.RebuildSummary(t.Context(), days[0])
	require.NoError(t, err)
	var registrations int64
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw("SELECT SUM(registrations) FROM summary_daily").Row().Scan(&registrations))
	require.EqualValues(t, 12, registrations)

	require.Equal(t, []string{"2026-11-20 report_daily 0", "2026-11-20 report_hourly 0"}, s.backfill("signups", d),
		"a second time changes nothing")
	days, err = s.DirtyDays(t.Context(), invented.Tulip, time.Now().AddDate(1, 0, 0).UnixMicro(), 100)
	require.NoError(t, err)
	require.Empty(t, days)
}

func TestBackfill_FillsMoreRowsThanABatch(t *testing.T) {
	t.Parallel()
	s := newPulled(t, invented.New())
	const d = day.Day("2026-11-20")
	var daily, hourly []results.ReportRow
	for i := range 1100 {
		daily = append(daily, results.ReportRow{Object: fmt.Sprint(5000 + i), JSON: fmt.Sprintf(`{"signups":%d}`, i%7)})
		hourly = append(hourly, results.ReportRow{Object: fmt.Sprint(5000 + i/24), JSON: `{"signups":1}`})
	}
	s.write(1, "report_daily", "creative", d, daily...)
	s.write(1, "report_hourly", "creative", d, hourly...)
	require.Equal(t, []string{"2026-11-20 report_daily 1100", "2026-11-20 report_hourly 1100"}, s.backfill("signups", d))
	for i, value := range s.column("report_daily", "registrations") {
		require.Equal(t, fmt.Sprintf("1 creative %d: %d", 5000+i, i%7), value)
	}
}

func TestBackfill_ConvertsMoneyToItsUnit(t *testing.T) {
	t.Parallel()
	s := newPulled(t, invented.NewOrchid())
	const d = day.Day("2026-11-20")
	s.write(1, "report_daily", "campaign", d, results.ReportRow{Object: "7",
		JSON: `{"id":"7","figures":{"paid_1d":"12.30"}}`})
	s.backfill("paid_1d", d)
	require.Equal(t, []string{"1 campaign 7: 12300000"}, s.column("orchid_report_daily", "paid_1d_micros"))
	require.Equal(t, []string{"1 campaign 7: 12300000"}, s.column("report_daily", "pay_amount_d1"))
}

// The JSON of an hour that occurs twice is a list of the platform's two rows.
func TestBackfill_AddsUpTheRowsOfAnHourThatOccursTwice(t *testing.T) {
	t.Parallel()
	s := newPulled(t, invented.NewOrchid())
	const d = day.Day("2026-11-01")
	row := func(paid string) string { return `{"id":"7","figures":{` + paid + `}}` }
	s.write(1, "report_hourly", "campaign", d,
		results.ReportRow{Object: "7", JSON: row(`"paid_1d":1`)},
		results.ReportRow{Object: "7", JSON: "[" + row(`"paid_1d":"12.30"`) + "," + row(`"paid_1d":0.7`) + "]"},
		results.ReportRow{Object: "7", JSON: "[" + row(`"paid_1d":"12.30"`) + "," + row(`"shows":1`) + "]"})
	s.backfill("paid_1d", d)
	require.Equal(t, []string{"1 campaign 7: 1000000", "1 campaign 7: 13000000", "1 campaign 7: -"},
		s.column("report_hourly", "pay_amount_d1"))
	require.Equal(t, []string{"1 campaign 7: 1000000", "1 campaign 7: 13000000", "1 campaign 7: -"},
		s.column("orchid_report_hourly", "paid_1d_micros"))
}

func TestBackfill_RefusesAFigureWithoutAColumnAndSkipsUnusableValues(t *testing.T) {
	t.Parallel()
	s := newPulled(t, invented.New())
	err := field.Backfill(t.Context(), s.Store, s.platform, "orders", "2026-11-20", "2026-11-20",
		func(field.Filled) { t.Error("nothing must be filled") })
	require.ErrorContains(t, err, `field "orders" is refused: want a figure of the package of tulip: one of activations, `)

	s.write(1, "report_daily", "account", "2026-11-20", results.ReportRow{JSON: `{"signups":"twelve"}`})
	s.write(2, "report_daily", "account", "2026-11-20", results.ReportRow{JSON: `{"signups":12}`})
	unusable := 0
	err = field.Backfill(t.Context(), s.Store, s.platform, "signups", "2026-11-20", "2026-11-20",
		func(f field.Filled) { unusable += f.Unusable })
	require.NoError(t, err)
	require.Equal(t, 1, unusable)
	require.Equal(t, []string{"1 account : -", "2 account : 12"}, s.column("report_daily", "registrations"),
		"an unusable value affects no other")
}

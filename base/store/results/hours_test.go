package results_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

var rawHours = rawtable.Table{Name: "test_report_hourly", Shape: rawtable.HourlyRows,
	Columns: []rawtable.Column{{Name: "cost_fen", Kind: rawtable.Int}}}

type hoursOfDay struct {
	t *testing.T
	*store.Store
}

func newHours(t *testing.T) hoursOfDay {
	t.Helper()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{rawHours}))
	return hoursOfDay{t, s}
}

// begin claims the day from an hour on.
func (s hoursOfDay) begin(fromHour int, runID int64) results.Claim {
	s.t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: "report_hourly", Level: "account", Days: []day.Day{today},
		FromHour: fromHour}
	claim, _, err := s.BeginPull(s.t.Context(), scope, "pull", runID)
	require.NoError(s.t, err)
	return claim
}

func (s hoursOfDay) write(claim results.Claim, costs map[int]int64) (results.ReportResult, error) {
	s.t.Helper()
	w := results.ReportWrite{Claim: claim, Raw: rawHours, Hourly: true, Currency: "CNY", Zone: "Asia/Shanghai",
		Whole: true, DirtySummary: true}
	for hour, cost := range costs {
		row := storetest.CostRow(today, "", cost, `{}`)
		row.Hour, row.JSON = hour, fmt.Sprintf(`{"cost":%d}`, cost)
		w.Rows = append(w.Rows, row)
	}
	return s.WriteReport(s.t.Context(), w)
}

func (s hoursOfDay) costs() map[int]int64 {
	s.t.Helper()
	var rows []struct {
		Hour int
		Cost int64
	}
	require.NoError(s.t, s.Data.Writer(s.t.Context()).Raw("SELECT hour, cost FROM report_hourly").Scan(&rows).Error)
	costs := map[int]int64{}
	for _, r := range rows {
		costs[r.Hour] = r.Cost
	}
	return costs
}

func TestWriteReport_SomeHoursAreNotAWholeDay(t *testing.T) {
	t.Parallel()
	s := newHours(t)
	_, err := s.write(s.begin(0, 1), map[int]int64{0: 1, 8: 2, 9: 3, 10: 4})
	require.NoError(t, err)
	before := storetest.CoverageOf(t, s.Store)[today]
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE coverage SET dirty = NULL, note = 'said of the day'").Error)

	late := s.begin(0, 2)
	claim := s.begin(9, 3)
	claim.Version = max(claim.Version, late.Version+1)
	require.Equal(t, 9, claim.FromHour)
	result, err := s.write(claim, map[int]int64{9: 5, 11: 6})
	require.NoError(t, err)
	require.Equal(t, 2, result.Written)
	require.Zero(t, result.Deleted)
	require.Empty(t, result.Suspect)
	require.Equal(t, map[int]int64{0: 1, 8: 2, 9: 5, 10: 4, 11: 6}, s.costs(),
		"only a pull of the whole day deletes hour 10")

	after := storetest.CoverageOf(t, s.Store)[today]
	require.Equal(t, claim.Version, after.ClaimedVersion)
	require.Equal(t, before.CompleteVersion, after.CompleteVersion, "no pull has had the whole day since")
	require.EqualValues(t, 1, after.RunID, "the run of the last whole pull")
	require.Equal(t, results.Complete, after.State)
	require.Equal(t, "said of the day", after.Note)
	require.EqualValues(t, 5, after.RowCount)
	require.Equal(t, claim.Version, *after.Dirty, "the summaries read the day again")
	require.False(t, after.PulledAt.Before(before.PulledAt.Time))

	_, err = s.write(late, map[int]int64{9: 4})
	fenced, ok := results.IsFenced(err)
	require.True(t, ok, "an older pull of the day would put older figures over those hours: %v", err)
	require.False(t, fenced.Complete, "it must be repeated, since no other pull has the day")

	whole := s.begin(0, 4)
	w := results.ReportWrite{Claim: whole, Raw: rawHours, Hourly: true, Currency: "CNY", Zone: "Asia/Shanghai",
		Whole: true, Confirmed: true}
	w.Rows = append(w.Rows, storetest.CostRow(today, "", 7, `{"cost":7}`))
	result, err = s.WriteReport(t.Context(), w)
	require.NoError(t, err)
	require.Equal(t, 4, result.Deleted)
	require.Equal(t, map[int]int64{0: 7}, s.costs(), "a pull of the whole day deletes their rows like any other")
	require.Equal(t, whole.Version, storetest.CoverageOf(t, s.Store)[today].CompleteVersion)
}

func TestBeginPull_OfHoursTakesTheDayIfItWasNeverWhole(t *testing.T) {
	t.Parallel()
	s := newHours(t)
	first := s.begin(20, 1)
	require.Zero(t, first.FromHour)

	w := results.ReportWrite{Claim: first, Raw: rawHours, Hourly: true, Currency: "CNY", Zone: "Asia/Shanghai",
		Note: "the total changed"}
	_, err := s.WriteReport(t.Context(), w)
	require.NoError(t, err)
	require.Equal(t, results.Partial, storetest.CoverageOf(t, s.Store)[today].State)
	require.Zero(t, s.begin(20, 2).FromHour, "the day is still not whole")

	_, err = s.write(s.begin(20, 3), map[int]int64{3: 1})
	require.NoError(t, err)
	require.NotZero(t, storetest.CoverageOf(t, s.Store)[today].CompleteVersion)
	require.Equal(t, 20, s.begin(20, 4).FromHour)
}

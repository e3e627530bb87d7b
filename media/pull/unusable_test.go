package pull

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/store/results"
	"adsync/media"
	"adsync/media/wire"
)

// coverage returns the coverage of the days from one on, up to 2026-11-21.
func (b *bundle) coverage(t *testing.T, from day.Day) []results.Coverage {
	t.Helper()
	rows, err := b.store.ReadCoverage(context.Background(), 7, from, "2026-11-21")
	require.NoError(t, err)
	return rows
}

// unusable returns the numbers in unusable_value by "<day> <kind> of <field>".
func (b *bundle) unusable(t *testing.T) map[string]int {
	t.Helper()
	var rows []struct {
		Day         day.Day
		Field, Kind string
		Number      int
	}
	require.NoError(t,
		b.store.Data.Writer(t.Context()).Raw("SELECT day, field, kind, number FROM unusable_value").Scan(&rows).Error)
	all := map[string]int{}
	for _, r := range rows {
		all[r.Day.String()+" "+r.Kind+" of "+r.Field] = r.Number
	}
	return all
}

func faulty(row media.Row, field string, kind wire.FaultKind) media.Row {
	row.Faults = append(row.Faults, wire.Fault{Field: field, Kind: kind, Why: "is broken"})
	row.Lost = row.Lost || kind == wire.KeyFault
	return row
}

func TestReport_AnUnusableFigureMakesItsDayPartialAndNoOther(t *testing.T) {
	t.Parallel()
	figure := faulty(reportRow("2026-11-21", 0), "cost", wire.FigureFault)
	figure.Metrics, figure.Raw = metric.Values{}, []any{nil}
	b := setup(t, reportPage(2, "", reportRow("2026-11-20", 10_000), figure),
		reportPage(2, "", reportRow("2026-11-20", 10_000), reportRow("2026-11-21", 30_000)))
	_, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.ErrorContains(t, err, "unusable values: 1 × figure of cost")
	coverage := b.coverage(t, "2026-11-20")
	require.Equal(t, results.Complete, coverage[0].State)
	require.Empty(t, coverage[0].Note)
	require.Equal(t, results.Partial, coverage[1].State, "never complete")
	require.Zero(t, coverage[1].CompleteVersion)
	require.Equal(t, "unusable values: 1 × figure of cost; cost is broken", coverage[1].Note)
	require.EqualValues(t, 1, coverage[1].Unusable)
	var cost *int64
	require.NoError(t,
		b.store.Data.Writer(t.Context()).Raw("SELECT cost FROM report_daily WHERE day = '2026-11-21'").Row().Scan(&cost))
	require.Nil(t, cost, "the row is written, with the figure NULL")
	require.Equal(t, map[string]int{"2026-11-21 figure of cost": 1}, b.unusable(t))
	n, err := testutil.GatherAndCount(b.metrics, "adsync_pull_unusable_values_total")
	require.NoError(t, err)
	require.Equal(t, 1, n, "the metric counts it")

	_, err = b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.NoError(t, err)
	require.Empty(t, b.unusable(t), "the next pull could use all values")
	require.Equal(t, results.Complete, b.coverage(t, "2026-11-21")[0].State)
	require.Zero(t, b.coverage(t, "2026-11-21")[0].Unusable)
}

func TestReport_AnUnusableAttributeIsNotedOnAWholeDay(t *testing.T) {
	t.Parallel()
	b := setup(t, reportPage(1, "", faulty(reportRow("2026-11-21", 10_000), "title", wire.AttributeFault)))
	_, err := b.run(t, "fake.report_daily", "2026-11-21", levelAccount)
	require.NoError(t, err)
	coverage := b.coverage(t, "2026-11-21")
	require.Equal(t, results.Complete, coverage[0].State)
	require.Equal(t, "unusable values: 1 × attribute of title; title is broken", coverage[0].Note)
	require.Contains(t, b.log.String(), "values of the platform's rows cannot be used")
}

func TestReport_ARowWithoutAUsableKeyIsLostAndNothingIsDeleted(t *testing.T) {
	t.Parallel()
	first := reportPage(2, "", reportRow("2026-11-20", 10_000), reportRow("2026-11-21", 20_000))
	for name, lost := range map[string]media.Row{
		"a key that cannot be used":       faulty(reportRow("2026-11-21", 5), "date", wire.KeyFault),
		"no day":                          faulty(reportRow("", 5), "date", wire.KeyFault),
		"a day that was not requested":    reportRow("2099-01-01", 5),
		"a day before the requested ones": reportRow("2026-11-19", 5),
		"a text that is not a day":        reportRow("x", 5),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, first, reportPage(2, "", reportRow("2026-11-20", 11_000), lost))
			_, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
			require.NoError(t, err)
			_, err = b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
			require.ErrorContains(t, err, "unusable values: 1 × key of ")
			require.Equal(t, map[string]int64{"2026-11-20": 11_000, "2026-11-21": 20_000}, b.costs(t),
				"the other rows are written, nothing is deleted")
			require.Equal(t, results.Partial, b.coverage(t, "2026-11-21")[0].State)
		})
	}
}

func TestReport_SumsHoldForTheFiguresThatCanBeUsed(t *testing.T) {
	t.Parallel()
	unset := faulty(reportRow("2026-11-21", 0), "cost", wire.FigureFault)
	unset.Faults[0].Metric, unset.Metrics = "cost", metric.Values{}
	b := setup(t, reportPage(2, "", reportRow("2026-11-20", 10_000), unset).summing(30_000))
	_, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.ErrorContains(t, err, "unusable values")
	require.Len(t, b.platform.asked, 1, "not pulled again: a retry would not help")
	lost := faulty(reportRow("2026-11-21", 20_000), "date", wire.KeyFault)
	b = setup(t, reportPage(2, "", reportRow("2026-11-20", 10_000), lost).summing(30_000))
	_, err = b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.ErrorContains(t, err, "unusable values")
	require.Len(t, b.platform.asked, 1, "a row that is lost counts in the sums")
}

func object(id string, modified time.Time) media.Row {
	return media.Row{Object: id, Name: "n" + id, Modified: modified, Raw: []any{"n" + id},
		JSON: json.RawMessage(`{"id":"` + id + `"}`)}
}

func TestList_AnUnusableAttributeCostsNothingAndAKeyMarksNothingDeleted(t *testing.T) {
	t.Parallel()
	now := time.Now().Add(-time.Hour)
	empty := reportPage(0, "")
	b := setup(t, reportPage(2, "", faulty(object("1", now), "bid_amount", wire.AttributeFault), object("2", now)), empty,
		reportPage(2, "", object("1", now), faulty(object("", now), "adgroup_id", wire.KeyFault)), empty)
	_, err := b.run(t, "fake.adgroup", "full", `{}`)
	require.NoError(t, err)
	coverage := b.coverage(t, "2026-11-21")
	require.Equal(t, results.Complete, coverage[0].State)
	require.Equal(t, "unusable values: 1 × attribute of bid_amount; bid_amount is broken", coverage[0].Note)
	require.EqualValues(t, 2, coverage[0].RowCount)

	_, err = b.run(t, "fake.adgroup", "full", `{}`)
	require.ErrorContains(t, err, "1 × key of adgroup_id")
	require.Equal(t, results.Partial, b.coverage(t, "2026-11-21")[0].State)
	var deleted int
	require.NoError(t,
		b.store.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM fake_adgroup WHERE deleted_at IS NOT NULL").Row().Scan(
			&deleted))
	require.Zero(t, deleted)
	require.Equal(t, map[string]int{"1970-01-01 key of adgroup_id": 1, "1970-01-01 attribute of bid_amount": 1},
		b.unusable(t), "a list that is not whole adds to the known values")
}

func TestList_AModificationInTheFutureMovesNoMark(t *testing.T) {
	t.Parallel()
	past, future := time.Now().Add(-time.Hour).Truncate(time.Second), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	page := reportPage(2, "", object("1", past), object("2", future))
	b := setup(t, page, reportPage(0, ""), page, reportPage(0, ""))
	_, err := b.run(t, "fake.adgroup", "full", `{}`)
	require.NoError(t, err)
	coverage := b.coverage(t, "2026-11-21")
	require.Equal(t, past.Unix(), coverage[0].HighWater)
	require.Contains(t, coverage[0].Note, "1 × future of modified")
	require.Contains(t, b.log.String(), "2100-01-01")

	// The next pull lowers a mark that an earlier release moved into the future, and requests all objects.
	exec := b.store.Data.Writer(t.Context()).Exec("UPDATE coverage SET high_water = ?", future.Unix())
	require.NoError(t, exec.Error)
	b.platform.lists = nil
	_, err = b.run(t, "fake.adgroup", "changes", `{"mode":"changes"}`)
	require.NoError(t, err)
	require.True(t, b.platform.lists[0].Since.IsZero(), "what has changed since is unknown")
	require.Equal(t, past.Unix(), b.coverage(t, "2026-11-21")[0].HighWater)
}

// A modification while a list waited for its limits is not in the future.
func TestList_AModificationDuringTheWaitIsNotInTheFuture(t *testing.T) {
	t.Parallel()
	modified := time.Now().Add(40 * time.Minute).Truncate(time.Second)
	b := setup(t, reportPage(1, "", object("1", modified)), reportPage(0, ""))
	b.platform.waits = time.Hour
	_, err := b.run(t, "fake.adgroup", "full", `{}`)
	require.NoError(t, err)
	require.Empty(t, b.unusable(t))
	require.Equal(t, modified.Unix(), b.coverage(t, "2026-11-21")[0].HighWater)
}

func TestList_AMarkInTheFutureIsLoweredAlsoWhereNoRowHasATime(t *testing.T) {
	t.Parallel()
	page := reportPage(1, "", object("1", time.Time{}))
	b := setup(t, page, reportPage(0, ""), page, reportPage(0, ""))
	_, err := b.run(t, "fake.adgroup", "full", `{}`)
	require.NoError(t, err)
	require.NoError(t, b.store.Data.Writer(t.Context()).Exec("UPDATE coverage SET high_water = 4102444800").Error)
	_, err = b.run(t, "fake.adgroup", "changes", `{"mode":"changes"}`)
	require.NoError(t, err)
	require.Zero(t, b.coverage(t, "2026-11-21")[0].HighWater)
}

// A row of a platform's package may not fit the tables.
func TestList_FitsTextsOfAPackageToTheTables(t *testing.T) {
	t.Parallel()
	now := time.Now().Add(-time.Hour)
	cutInside := media.Row{Object: "1", Name: "广\xe5\xb9", Modified: now, Raw: []any{"广\xe5\xb9"},
		JSON: json.RawMessage("{\"n\":\"\xe5\"}")}
	long := media.Row{Object: "2", Name: strings.Repeat("广", 300), Modified: now, Raw: []any{strings.Repeat("广", 300)},
		JSON: json.RawMessage(`{}`)}
	wide := object(strings.Repeat("9", 65), now)
	other := object("广", now)
	b := setup(t, reportPage(4, "", cutInside, long, wide, other), reportPage(0, ""))
	_, err := b.run(t, "fake.adgroup", "full", `{}`)
	require.ErrorContains(t, err, "2 × key of id")
	var names []string
	require.NoError(t,
		b.store.Data.Writer(t.Context()).Raw("SELECT adgroup_name FROM fake_adgroup ORDER BY object_id").Scan(&names).Error)
	require.Equal(t, []string{"广\uFFFD", strings.Repeat("广", 255)}, names)
}

package pull

import (
	"cmp"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/store/results"
	"adsync/media"
)

func TestReport_WhatNeverAddsUpIsNotWhole(t *testing.T) {
	t.Parallel()
	b := setup(t, reportPage(1, "", reportRow("2026-11-21", 10_000)).summing(50_000))
	_, err := b.run(t, "fake.report_daily", "2026-11-21", levelAccount)
	failed, ok := errors.AsType[*media.Error](err)
	require.True(t, ok)
	require.Equal(t, media.Transient, failed.Class, "it is pulled again")
	require.Len(t, b.platform.asked, restartsMax)
	coverage, err := b.store.ReadCoverage(context.Background(), 7, "2026-11-21", "2026-11-21")
	require.NoError(t, err)
	require.Equal(t, results.Partial, coverage[0].State)
	require.Zero(t, coverage[0].CompleteVersion)
	require.Equal(t, "the rows add up to 10000 of cost, the platform's own sum is 50000", coverage[0].Note)
}

func TestReport_SumsAreOfAllPages(t *testing.T) {
	t.Parallel()
	b := setup(t, reportPage(2, "2", reportRow("2026-11-20", 10_000)).summing(40_000),
		reportPage(2, "", reportRow("2026-11-21", 30_000)).summing(40_000))
	_, err := b.run(t, "fake.report_daily", "2026-11-20..2026-11-21", levelAccount)
	require.NoError(t, err)
	require.Len(t, b.platform.asked, 2, "no page was requested twice")
}

func TestPagesOf_RequiresTheSumsOfAReportThatHasSums(t *testing.T) {
	t.Parallel()
	ask := func(hasSums bool, answer pageAnswer) error {
		report := media.Report{HasSums: hasSums, Page: func(context.Context, media.API, media.ReportQuery,
			string) (media.Page, error) {
			return answer.page, answer.err
		}}
		_, err := fetch(t.Context(), terms{}, pagesOf(nil, report, media.ReportQuery{}))
		return err
	}
	one := reportPage(1, "", reportRow("2026-11-21", 10_000))
	require.NoError(t, ask(false, one))
	require.NoError(t, ask(true, one.summing(10_000)))
	require.NoError(t, ask(true, reportPage(0, "")), "an empty page needs no sums")
	require.ErrorContains(t, ask(true, one), "lacks the platform's own sums")
}

func TestDifference_AllowsForRoundingOfMoneyOnly(t *testing.T) {
	t.Parallel()
	costs, clicks := metric.Index("cost"), metric.Index("clicks")
	rows := func(cost, click int64, n int) []media.Row {
		all := make([]media.Row, n)
		for i := range all {
			all[i].Day = day.Day("2026-11-21")
			all[i].Metrics.Set(costs, cost)
			all[i].Metrics.Set(clicks, click)
		}
		return all
	}
	sums := func(cost, click int64) *metric.Values {
		v := &metric.Values{}
		v.Set(costs, cost)
		v.Set(clicks, click)
		return v
	}
	for _, c := range []struct {
		name string
		rows []media.Row
		sums *metric.Values
		// currency is "CNY" if it is not set.
		currency string
		want     string
	}{
		{name: "rows that add up", rows: rows(20_000, 2, 3), sums: sums(60_000, 6)},
		{name: "no rows", rows: nil, sums: sums(0, 0)},
		{name: "three rows of 1.4 cents are 4", rows: rows(10_000, 2, 3), sums: sums(40_000, 6)},
		{name: "two rows of 1.5 cents are 3", rows: rows(20_000, 2, 2), sums: sums(30_000, 4)},
		{name: "the lowest sum within rounding", rows: rows(20_000, 2, 3), sums: sums(80_000, 6)},
		{name: "the highest sum within rounding", rows: rows(20_000, 2, 3), sums: sums(40_000, 6)},
		{name: "a little less", rows: rows(20_000, 2, 3), sums: sums(80_001, 6),
			want: "the rows add up to 60000 of cost, the platform's own sum is 80001"},
		{name: "a little more", rows: rows(20_000, 2, 3), sums: sums(39_999, 6),
			want: "the rows add up to 60000 of cost, the platform's own sum is 39999"},
		{name: "more than rounding allows", rows: rows(10_000, 2, 3), sums: sums(60_000, 6),
			want: "the rows add up to 30000 of cost, the platform's own sum is 60000"},
		{name: "three rows of 1.4 yen are 4", currency: "JPY", rows: rows(1_000_000, 2, 3), sums: sums(4_000_000, 6)},
		{name: "yen that are not rounded so far", currency: "JPY", rows: rows(2_000_000, 2, 3), sums: sums(3_999_999, 6),
			want: "the rows add up to 6000000 of cost, the platform's own sum is 3999999"},
		{name: "three rows of 1.4 fils are 4", currency: "KWD", rows: rows(1_000, 2, 3), sums: sums(4_000, 6)},
		{name: "a cent apart in dinars", currency: "KWD", rows: rows(10_000, 2, 3), sums: sums(40_000, 6),
			want: "the rows add up to 30000 of cost, the platform's own sum is 40000"},
		{name: "a count is exact", rows: rows(20_000, 2, 3), sums: sums(60_000, 7),
			want: "the rows add up to 6 of clicks, the platform's own sum is 7"},
		{name: "a metric without a sum", rows: rows(20_000, 2, 3), sums: &metric.Values{}},
		{name: "a metric that no row has", rows: make([]media.Row, 1), sums: sums(0, 5),
			want: "the rows add up to 0 of clicks, the platform's own sum is 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, difference(c.rows, len(c.rows), c.sums, cmp.Or(c.currency, "CNY")))
		})
	}
}

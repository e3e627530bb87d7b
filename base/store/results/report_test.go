package results_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

const today = day.Day("2026-11-21")

type publicRow struct {
	Day      day.Day `gorm:"column:day"`
	ObjectID string  `gorm:"column:object_id"`
	Cost     *int64  `gorm:"column:cost"`
	Clicks   *int64  `gorm:"column:clicks"`
	Version  int64   `gorm:"column:version"`
}

func publicRows(t *testing.T, s *store.Store) []publicRow {
	t.Helper()
	var rows []publicRow
	require.NoError(t,
		s.Data.Writer(context.Background()).Raw(
			"SELECT day, object_id, cost, clicks, version FROM report_daily ORDER BY day, object_id").Scan(&rows).Error)
	return rows
}

func TestWriteReport_LeavesUnchangedRowsAndDeletesStaleOnes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	first := storetest.Claim(t, s, "a", today)
	_, err := s.WriteReport(ctx, storetest.ReportOf(first, storetest.CostRow(today, "1", 100_000_000, `{"v":1}`),
		storetest.CostRow(today, "2", 200_000_000, `{"v":1}`), storetest.CostRow(today, "3", 1_000_000, `{"v":1}`)))
	require.NoError(t, err)

	second := storetest.Claim(t, s, "b", today)
	require.Greater(t, second.Version, first.Version)
	result, err := s.WriteReport(ctx, storetest.ReportOf(second, storetest.CostRow(today, "1", 100_000_000, `{"v":1}`),
		storetest.CostRow(today, "2", 210_000_000, `{"v":2}`)))
	require.NoError(t, err)
	require.Equal(t, results.ReportResult{Written: 1, Deleted: 1, FencedComplete: true}, result)

	rows := publicRows(t, s)
	require.Len(t, rows, 2)
	require.Equal(t, first.Version, rows[0].Version, "an unchanged row is not rewritten")
	require.Equal(t, second.Version, rows[1].Version)
	require.EqualValues(t, 210_000_000, *rows[1].Cost)
	require.Nil(t, rows[1].Clicks, "a figure that the answer lacks is NULL, not 0")
	c := storetest.CoverageOf(t, s)[today]
	require.Equal(t, results.Complete, c.State)
	require.Equal(t, second.Version, c.CompleteVersion)
	require.EqualValues(t, 2, c.RowCount)
	require.Equal(t, second.Version, *c.Dirty)
}

func TestWriteReport_RefusesToEmptyADayThatHadSpend(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	yesterday := today.Add(-1)
	_, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "a", yesterday, today),
		storetest.CostRow(yesterday, "", 5_000_000, `{}`), storetest.CostRow(today, "", 1_000_000, `{}`)))
	require.NoError(t, err)
	before := storetest.CoverageOf(t, s)[yesterday].CompleteVersion

	result, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "b", yesterday, today),
		storetest.CostRow(today, "", 2_000_000, `{"n":2}`)))
	require.NoError(t, err)
	require.Equal(t, []day.Day{yesterday}, result.Suspect)
	require.Len(t, publicRows(t, s), 2, "the suspect day keeps its row")
	c := storetest.CoverageOf(t, s)
	require.Equal(t, results.Suspect, c[yesterday].State)
	require.Equal(t, before, c[yesterday].CompleteVersion)
	require.Equal(t, results.Complete, c[today].State)
}

func TestWriteReport_KeepsRowsOfAPullThatWasNotWhole(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	_, err := s.WriteReport(ctx, storetest.ReportOf(storetest.Claim(t, s, "a", today),
		storetest.CostRow(today, "1", 1_000_000, `{}`)))
	require.NoError(t, err)
	partial := storetest.ReportOf(storetest.Claim(t, s, "b", today), storetest.CostRow(today, "2", 1_000_000, `{}`))
	partial.Whole, partial.Note = false, "2 rows came of a total of 3"
	_, err = s.WriteReport(ctx, partial)
	require.NoError(t, err)
	require.Len(t, publicRows(t, s), 2)
	require.Equal(t, results.Partial, storetest.CoverageOf(t, s)[today].State)
}

func TestWriteReport_FenceStopsThePullThatBeganEarlier(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	older := storetest.Claim(t, s, "older", today)
	newer := storetest.Claim(t, s, "newer", today)
	if newer.Version == older.Version { // both claims were made in one microsecond
		newer.Version++
	}
	_, err := s.WriteReport(ctx, storetest.ReportOf(newer, storetest.CostRow(today, "1", 2_000_000, `{"n":2}`)))
	require.NoError(t, err)
	_, err = s.WriteReport(ctx, storetest.ReportOf(older, storetest.CostRow(today, "1", 1_000_000, `{"n":1}`)))
	fenced, ok := results.IsFenced(err)
	require.True(t, ok, "got %v", err)
	require.True(t, fenced.Complete)
	require.EqualValues(t, 2_000_000, *publicRows(t, s)[0].Cost, "the older figures were not written")

	twin := newer
	twin.PullID = "twin"
	_, err = s.WriteReport(ctx, storetest.ReportOf(twin))
	_, ok = results.IsFenced(err)
	require.True(t, ok, "an equal version of another pull is fenced too")
	_, err = s.WriteReport(ctx, storetest.ReportOf(newer, storetest.CostRow(today, "1", 2_000_000, `{"n":2}`)))
	require.NoError(t, err, "a pull may write again under its own claim")
}

func TestWriteReport_WritesTheDaysThatNoOtherPullHasClaimed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	yesterday := today.Add(-1)
	both := storetest.Claim(t, s, "both", yesterday, today)
	newer := storetest.Claim(t, s, "newer", today)
	newer.Version = both.Version + 1
	_, err := s.WriteReport(ctx, storetest.ReportOf(newer, storetest.CostRow(today, "", 2_000_000, `{"n":2}`)))
	require.NoError(t, err)

	result, err := s.WriteReport(ctx, storetest.ReportOf(both, storetest.CostRow(yesterday, "", 7_000_000, `{}`),
		storetest.CostRow(today, "", 1_000_000, `{"n":1}`)))
	require.NoError(t, err)
	require.Equal(t, results.ReportResult{Written: 1, Fenced: []day.Day{today}, FencedComplete: true}, result)
	rows := publicRows(t, s)
	require.Len(t, rows, 2)
	require.EqualValues(t, 7_000_000, *rows[0].Cost, "the day that no other pull has claimed is written")
	require.EqualValues(t, 2_000_000, *rows[1].Cost, "the newer figures stay")
}

func TestWriteReport_RefusesRowsOutsideItsDays(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	_, err := s.WriteReport(context.Background(), storetest.ReportOf(storetest.Claim(t, s, "a", today),
		storetest.CostRow(today.Add(1), "", 1, `{}`)))
	require.ErrorContains(t, err, "outside its days")
	require.Empty(t, storetest.CoverageOf(t, s), "nothing of the transaction stays")
}

// A platform may return a row on two pages, with figures that rose in between: the last one is stored, once.
func TestWriteReport_StoresTheLastOfARepeatedRow(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	rows := []results.ReportRow{storetest.CostRow(today, "1", 1_000_000, `{"v":1}`),
		storetest.CostRow(today, "2", 5_000_000, `{"v":1}`), storetest.CostRow(today, "1", 2_000_000, `{"v":2}`)}
	result, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "a", today), rows...))
	require.NoError(t, err)
	require.Equal(t, 2, result.Written)
	first := publicRows(t, s)
	require.Len(t, first, 2)
	require.EqualValues(t, 2_000_000, *first[0].Cost)
	require.EqualValues(t, 2, storetest.CoverageOf(t, s)[today].RowCount, "the repeated row is counted once")

	result, err = s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "b", today), rows...))
	require.NoError(t, err)
	require.Zero(t, result.Written, "the same answer changes nothing")
	require.Equal(t, first, publicRows(t, s))
}

// A row has a raw and a public half, each in its table. If one table lacks its half of an unchanged row, the half is
// written again. A row that only one table has, and the answer lacks, is deleted.
func TestWriteReport_CorrectsRowsThatOneTableLacks(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	db := s.Data.Writer(t.Context())
	pulled := []results.ReportRow{storetest.CostRow(today, "1", 100_000_000, `{"v":1}`),
		storetest.CostRow(today, "2", 200_000_000, `{"v":1}`), storetest.CostRow(today, "3", 300_000_000, `{"v":1}`)}
	gone := []results.ReportRow{storetest.CostRow(today, "8", 1_000_000, `{"v":1}`),
		storetest.CostRow(today, "9", 1_000_000, `{"v":1}`)}
	_, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "a", today), append(gone, pulled...)...))
	require.NoError(t, err)
	for table, objects := range map[string][]string{storetest.RawReport.Name: {"1", "8"}, "report_daily": {"2", "9"}} {
		require.NoError(t, db.Exec("DELETE FROM "+table+" WHERE object_id IN ?", objects).Error)
	}
	result, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "b", today), pulled...))
	require.NoError(t, err)
	require.Equal(t, 2, result.Written)
	require.Equal(t, 2, result.Deleted)
	for _, table := range []string{storetest.RawReport.Name, "report_daily"} {
		var objects []string
		require.NoError(t, db.Raw("SELECT object_id FROM "+table+" ORDER BY object_id").Scan(&objects).Error)
		require.Equal(t, []string{"1", "2", "3"}, objects, table)
	}
}

func TestWriteReport_RefusalNamesANewerPullOfTheSameRun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.NewResults(t)
	older := storetest.Claim(t, s, "older", today)
	newer := storetest.Claim(t, s, "newer", today)
	newer.Version = older.Version + 1
	_, err := s.WriteReport(ctx, storetest.ReportOf(newer, storetest.CostRow(today, "", 1_000_000, `{}`)))
	require.NoError(t, err)
	_, err = s.WriteReport(ctx, storetest.ReportOf(older, storetest.CostRow(today, "", 1_000_000, `{}`)))
	fenced, ok := results.IsFenced(err)
	require.True(t, ok)
	require.True(t, fenced.Complete)
	require.True(t, fenced.Own, "both pulls are of run 1")
	older.RunID = 2
	_, err = s.WriteReport(ctx, storetest.ReportOf(older))
	fenced, ok = results.IsFenced(err)
	require.True(t, ok)
	require.False(t, fenced.Own)
}

// Newer pulls have claimed all days of an older one. The older one is done only if all newer ones are whole.
func TestWriteReport_IsDoneOnlyIfAllNewerPullsAreWhole(t *testing.T) {
	t.Parallel()
	d1, d2 := today.Add(-1), today
	for name, whole := range map[string][2]bool{"all are": {true, true}, "the first is not": {false, true},
		"the last is not": {true, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := storetest.NewResults(t)
			old := storetest.Claim(t, s, "old", d1, d2)
			for i, d := range []day.Day{d1, d2} {
				claim := storetest.Claim(t, s, "new", d)
				claim.Version = old.Version + 10
				write := storetest.ReportOf(claim, storetest.CostRow(d, "", 1_000_000, `{}`))
				write.Whole = whole[i]
				_, err := s.WriteReport(t.Context(), write)
				require.NoError(t, err)
			}
			_, err := s.WriteReport(t.Context(), storetest.ReportOf(old, storetest.CostRow(d1, "", 5_000_000, `{}`),
				storetest.CostRow(d2, "", 5_000_000, `{}`)))
			refusal, fenced := results.IsFenced(err)
			require.True(t, fenced, "%v", err)
			require.Equal(t, whole[0] && whole[1], refusal.Complete)
		})
	}
}

func TestWriteReport_SucceedsIfTheConnectionIsCutAtTheCommit(t *testing.T) {
	t.Parallel()
	for _, kind := range []sqldbtest.Cut{sqldbtest.Lost, sqldbtest.Unseen} {
		s := storetest.NewResults(t)
		_, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "a", today),
			storetest.CostRow(today, "1", 5_000_000, `{"v":1}`), storetest.CostRow(today, "2", 100, `{"v":1}`)))
		require.NoError(t, err)
		c := sqldbtest.CutWrites(s.Data)
		c.Set(kind)
		claim := storetest.Claim(t, s, "b", today)
		_, err = s.WriteReport(t.Context(), storetest.ReportOf(claim, storetest.CostRow(today, "1", 6_000_000, `{"v":2}`)))
		require.NoError(t, err)
		require.Equal(t, 1, c.Met)
		rows := publicRows(t, s)
		require.Len(t, rows, 1)
		require.Equal(t, claim.Version, rows[0].Version)
		coverage := storetest.CoverageOf(t, s)[today]
		require.Equal(t, claim.Version, coverage.CompleteVersion)
		require.Equal(t, claim.Version, *coverage.Dirty)
		require.Equal(t, results.Complete, coverage.State)
	}
}

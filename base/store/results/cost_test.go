package results_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

// The cost of a pull of a report's day in statements, without those that begin and end its transaction.
func TestWriteReport_StatementsOfAPull(t *testing.T) {
	t.Parallel()
	s := storetest.NewResults(t)
	pull := func(rows ...results.ReportRow) int {
		claim := storetest.Claim(t, s, "a", today)
		return sqldbtest.Statements(s.Data, func() {
			_, err := s.WriteReport(t.Context(), storetest.ReportOf(claim, rows...))
			require.NoError(t, err)
		})
	}
	first, second := storetest.CostRow(today, "1", 100_000_000, `{"v":1}`),
		storetest.CostRow(today, "2", 1_000_000, `{"v":1}`)
	require.Equal(t, 8, pull(first, second),
		"coverage is made and locked, two reads, two upserts, the mark for wide_daily, coverage")
	require.Equal(t, 4, pull(first, second), "nothing has changed: the lock, two reads, coverage")
	second.JSON = `{"v":2}`
	require.Equal(t, 7, pull(first, second), "the lock, two reads, two upserts, the mark, coverage")
	require.Equal(t, 8, pull(first), "the lock, two reads, two deletes, the tombstones of one, the mark, coverage")
}

// Most rows of most pulls have not changed: they are read, and nothing is allocated for them.
func TestWriteReport_AllocationsOfAnUnchangedRow(t *testing.T) {
	s := storetest.NewResults(t)
	pull := func(rows []results.ReportRow) float64 {
		write := func() {
			_, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s, "a", today), rows...))
			require.NoError(t, err)
		}
		write()
		return testing.AllocsPerRun(5, write)
	}
	var rows []results.ReportRow
	for i := range 1000 {
		rows = append(rows, storetest.CostRow(today, fmt.Sprintf("%012d", i), 1_000_000, `{"some":"json"}`))
	}
	few := pull(rows[:100])
	more := (pull(rows) - few) / 900
	require.LessOrEqual(t, more, 57.0,
		"SQLite's driver takes 54, as it parses days into times; with a copy of each row it was 61")
}

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
	compare := false
	pull := func(rows ...results.ReportRow) int {
		claim := storetest.Claim(t, s, "a", today)
		return sqldbtest.Statements(s.Data, func() {
			w := storetest.ReportOf(claim, rows...)
			w.Compare = compare
			_, err := s.WriteReport(t.Context(), w)
			require.NoError(t, err)
		})
	}
	first, second := storetest.CostRow(today, "1", 100_000_000, `{"v":1}`),
		storetest.CostRow(today, "2", 1_000_000, `{"v":1}`)
	require.Equal(t, 8, pull(first, second),
		"coverage is made and locked, two reads, two upserts, the mark for wide_daily, coverage")
	require.Equal(t, 2, pull(first, second), "nothing has changed: the lock, coverage")
	compare = true
	require.Equal(t, 4, pull(first, second), "it compares: the lock, two reads, coverage")
	compare = false
	second.JSON = `{"v":2}`
	require.Equal(t, 7, pull(first, second), "the lock, two reads, two upserts, the mark, coverage")
	require.Equal(t, 8, pull(first), "the lock, two reads, two deletes, the tombstones of one, the mark, coverage")
}

// Most rows of most pulls have not changed. Where they are read, nothing is allocated for them.
func TestWriteReport_AllocationsOfAnUnchangedRow(t *testing.T) {
	s := storetest.NewResults(t)
	pull := func(compare bool, rows []results.ReportRow) float64 {
		write := func() {
			w := storetest.ReportOf(storetest.Claim(t, s, "a", today), rows...)
			w.Compare = compare
			_, err := s.WriteReport(t.Context(), w)
			require.NoError(t, err)
		}
		write()
		return testing.AllocsPerRun(5, write)
	}
	var rows []results.ReportRow
	for i := range 1000 {
		rows = append(rows, storetest.CostRow(today, fmt.Sprintf("%012d", i), 1_000_000, `{"some":"json"}`))
	}
	few := pull(true, rows[:100])
	more := (pull(true, rows) - few) / 900
	require.LessOrEqual(t, more, 75.0, "SQLite's driver takes 72, as it parses days into times and copies texts")
	few = pull(false, rows[:100])
	require.LessOrEqual(t, (pull(false, rows)-few)/900, 0.1)
}

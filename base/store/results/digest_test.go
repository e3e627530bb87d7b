package results_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

// digestTest pulls days of account 7.
type digestTest struct {
	t *testing.T
	*store.Store
}

func newDigestTest(t *testing.T) digestTest {
	t.Helper()
	return digestTest{t, newTogether(t)}
}

// pull writes a whole pull of today, and returns how many rows it wrote and how many statements that took.
func (s digestTest) pull(change func(*results.ReportWrite), rows ...results.ReportRow) (written, statements int) {
	s.t.Helper()
	w := storetest.ReportOf(storetest.Claim(s.t, s.Store, "pull", today), rows...)
	if change != nil {
		change(&w)
	}
	statements = sqldbtest.Statements(s.Data, func() {
		result, err := s.WriteReport(s.t.Context(), w)
		require.NoError(s.t, err)
		written = result.Written
	})
	return written, statements
}

// reads is how many statements a pull without changes takes that reads the stored rows.
const reads = 4

// An answer that differs from the last one in anything is compared with the stored rows, and written.
func TestDigest_CoversAllOfARow(t *testing.T) {
	t.Parallel()
	one, two := storetest.CostRow(today, "1", 100, `{"v":1}`), storetest.CostRow(today, "2", 200, `{"v":2}`)
	changed := func(change func(*results.ReportRow)) []results.ReportRow {
		row := two
		change(&row)
		return []results.ReportRow{one, row}
	}
	for name, c := range map[string]struct {
		rows    []results.ReportRow
		write   func(*results.ReportWrite)
		written int
	}{
		"its JSON":    {rows: changed(func(r *results.ReportRow) { r.JSON = `{"v":3}` }), written: 1},
		"its cost":    {rows: changed(func(r *results.ReportRow) { r.Metrics.Set(metric.Cost, 201) }), written: 1},
		"its object":  {rows: changed(func(r *results.ReportRow) { r.Object = "3" }), written: 1},
		"another row": {rows: append(changed(func(*results.ReportRow) {}), storetest.CostRow(today, "3", 1, "")), written: 1},
		"exchanged JSON": {rows: []results.ReportRow{
			storetest.CostRow(today, "1", 100, two.JSON), storetest.CostRow(today, "2", 200, one.JSON)}, written: 2},
		"the currency": {write: func(w *results.ReportWrite) { w.Currency = "USD" }, written: 2},
		"the zone":     {write: func(w *results.ReportWrite) { w.Zone = "America/Los_Angeles" }, written: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newDigestTest(t)
			s.pull(nil, one, two)
			written, statements := s.pull(nil, two, one)
			require.Zero(t, written)
			require.Equal(t, reads-2, statements, "answers have no order: only the lock and coverage")
			rows := c.rows
			if rows == nil {
				rows = []results.ReportRow{one, two}
			}
			written, _ = s.pull(c.write, rows...)
			require.Equal(t, c.written, written)
			_, statements = s.pull(c.write, rows...)
			require.Equal(t, reads-2, statements)
		})
	}
}

// The hour is a part of the key of hourly rows.
func TestDigest_CoversTheHour(t *testing.T) {
	t.Parallel()
	s := newHours(t)
	for _, hour := range []int{3, 3, 4} {
		_, err := s.write(s.begin(0, 1), map[int]int64{hour: 5})
		require.NoError(t, err)
		require.Equal(t, map[int]int64{hour: 5}, s.costs())
	}
}

// Of a row that the platform returns twice, the last one counts.
func TestDigest_OfARepeatedRow(t *testing.T) {
	t.Parallel()
	s := newDigestTest(t)
	one, other := storetest.CostRow(today, "1", 100, `{"v":1}`), storetest.CostRow(today, "1", 200, `{"v":2}`)
	s.pull(nil, one, other)
	require.EqualValues(t, 200, *publicRows(t, s.Store)[0].Cost)
	s.pull(nil, other, one)
	require.EqualValues(t, 100, *publicRows(t, s.Store)[0].Cost)
}

// A column that a new release adds to the table is no reason to trust what an older one wrote.
func TestDigest_CoversTheColumns(t *testing.T) {
	t.Parallel()
	s := newDigestTest(t)
	s.pull(nil, storetest.CostRow(today, "1", 100, `{}`))
	s.pull(nil, storetest.CostRow(today, "1", 100, `{}`))
	more := storetest.RawReport
	more.Columns = append(more.Columns[:1:1], rawtable.Column{Name: "clicks", Kind: rawtable.Int})
	_, statements := s.pull(func(w *results.ReportWrite) { w.Raw = more }, storetest.CostRow(today, "1", 100, `{}`))
	require.Equal(t, reads, statements)
}

// Whatever writes a day or its coverage otherwise makes the next pull read its rows.
func TestDigest_IsClearedByOtherWrites(t *testing.T) {
	t.Parallel()
	row := storetest.CostRow(today, "", 100, `{"clicks":5}`)
	for name, write := range map[string]func(s digestTest){
		"a pull that is not whole": func(s digestTest) {
			s.pull(func(w *results.ReportWrite) { w.Whole, w.Note = false, "pages disagree" }, row)
		},
		"an answer that is not believed": func(s digestTest) { s.pull(nil) },
		"a filled column": func(s digestTest) {
			filled, err := s.FillColumn(s.t.Context(), results.ColumnFill{
				Report: "report_daily", Raw: storetest.RawReport, Column: "clicks_count", Metric: "clicks",
				Read: func(string) (int64, int64, bool, error) { return 5, 5, true, nil },
			}, results.LevelOf{AccountID: 7, Level: "account"}, today)
			require.NoError(s.t, err)
			require.Equal(s.t, 1, filled.Rows)
		},
		"another answer's doubt": func(s digestTest) {
			claim := claimOf(s.t, s.Store, results.Scope{AccountID: 7, Report: "report_daily", Level: "adgroup",
				Days: []day.Day{today}}, "other", 1<<61)
			w := storetest.ReportOf(claim, storetest.CostRow(today, "1", 900, `{}`))
			w.Judging = results.Judging{Judge: func(*results.Answer, []results.Figure) results.Verdict {
				doubt := results.Doubt{ReportLevel: results.ReportLevel{Report: "report_daily", Level: "account"}, Day: today}
				return results.Verdict{Doubts: []results.Doubt{doubt}}
			}}
			_, err := s.WriteReport(s.t.Context(), w)
			require.NoError(s.t, err)
		},
		"a program that knows no digests": func(s digestTest) {
			digest := *storetest.CoverageOf(s.t, s.Store)[today].Digest
			s.pull(nil, storetest.CostRow(today, "", 101, `{"clicks":6}`))
			require.NoError(s.t, s.Data.Writer(s.t.Context()).Exec("UPDATE coverage SET digest = ?", digest).Error)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newDigestTest(t)
			require.NoError(t, s.Data.Writer(t.Context()).Exec(
				"ALTER TABLE test_report_daily ADD COLUMN clicks_count BIGINT NULL").Error)
			s.pull(nil, row)
			_, statements := s.pull(nil, row)
			require.Equal(t, reads-2, statements)
			write(s)
			if name != "a program that knows no digests" {
				require.Equal(t, 1, storetest.RowsIn(t, s.Store, "coverage WHERE level = 'account' AND digest IS NULL"))
			}
			_, statements = s.pull(nil, row)
			require.GreaterOrEqual(t, statements, reads)
			_, statements = s.pull(nil, row)
			require.Equal(t, reads-2, statements, "it is known again")
			require.EqualValues(t, 100, *publicRows(t, s.Store)[0].Cost)
		})
	}
}

// A pull that compares finds rows that somebody has altered.
func TestDigest_ComparingReadsTheRows(t *testing.T) {
	t.Parallel()
	s := newDigestTest(t)
	row := storetest.CostRow(today, "", 100, `{}`)
	s.pull(nil, row)
	for _, table := range []string{"report_daily", storetest.RawReport.Name} {
		require.NoError(t, s.Data.Writer(t.Context()).Exec("DELETE FROM "+table).Error)
		written, _ := s.pull(nil, row)
		require.Zero(t, written, "nothing says that %s was altered", table)
		written, _ = s.pull(func(w *results.ReportWrite) { w.Compare = true }, row)
		require.Equal(t, 1, written, table)
	}
}

// Of several days, those that have changed are read.
func TestDigest_IsThatOfADay(t *testing.T) {
	t.Parallel()
	s := newDigestTest(t)
	pull := func(costs ...int64) results.ReportResult {
		days := day.Between(today.Add(1-len(costs)), today)
		var rows []results.ReportRow
		for i, cost := range costs {
			rows = append(rows, storetest.CostRow(days[i], "", cost, fmt.Sprint(cost)))
		}
		result, err := s.WriteReport(t.Context(), storetest.ReportOf(storetest.Claim(t, s.Store, "pull", days...), rows...))
		require.NoError(t, err)
		return result
	}
	require.Equal(t, 3, pull(1, 2, 3).Written)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("DELETE FROM report_daily WHERE day <> ?", today).Error)
	require.Equal(t, 2, pull(1, 5, 6).Written, "the rows of the first day are not looked for")
	days := storetest.CoverageOf(t, s.Store)
	require.NotEqual(t, days[today].Digest, days[today.Add(-1)].Digest)
}

// Pulls that rely on digests have the same effects and results as pulls that compare all rows.
func TestDigest_EqualsComparing(t *testing.T) {
	t.Parallel()
	relying, comparing := newDigestTest(t), newDigestTest(t)
	known := 0
	for seed := uint64(1); seed <= 600; seed++ {
		statements := [2]int{}
		var ends [2]results.ReportResult
		for i, s := range []digestTest{relying, comparing} {
			w := digestPull(t, s.Store, seed)
			w.Compare = i == 1
			statements[i] = sqldbtest.Statements(s.Data, func() {
				result, err := s.WriteReport(t.Context(), w)
				require.NoError(t, err)
				ends[i] = result
			})
		}
		require.Equal(t, ends[1], ends[0], "seed %d", seed)
		if statements[0] < statements[1] {
			known++
		}
		require.Equal(t, dump(t, comparing.Store), dump(t, relying.Store), "seed %d", seed)
	}
	require.Greater(t, known, 60)
}

// digestPull returns a random pull whose answers are among a few, so that many are equal to what is stored.
func digestPull(t *testing.T, s *store.Store, seed uint64) results.ReportWrite {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	scope := results.Scope{AccountID: 7, Report: "report_daily", Level: "account",
		Days: []day.Day{today.Add(-1), today}[r.IntN(2):]}
	hourly := r.IntN(2) == 0
	if hourly {
		scope.Report, scope.Days, scope.FromHour = "report_hourly", []day.Day{today}, []int{0, 0, 0, 9}[r.IntN(4)]
	}
	claim := claimOf(t, s, scope, fmt.Sprint("pull ", seed), int64(seed))
	var rows []results.ReportRow
	for _, d := range scope.Days {
		for object := range 1 + r.IntN(2) {
			cost := int64(1+r.IntN(2)/2) * 1_000_000
			row := storetest.CostRow(d, fmt.Sprint(object), cost, fmt.Sprintf(`{"cost":%d}`, cost+int64(r.IntN(5)/4)))
			if hourly {
				row.Hour = 9 + r.IntN(5)/4
			}
			rows = append(rows, row)
		}
	}
	r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	w := storetest.ReportOf(claim, rows...)
	if hourly {
		w.Raw, w.Hourly = rawHours, true
	}
	switch r.IntN(16) {
	case 0:
		w.Whole, w.Note = false, "pages disagree"
	case 1:
		w.Judging.Judge = func(a *results.Answer, _ []results.Figure) (v results.Verdict) {
			if a.Cost != a.Stored {
				v.Suspect = fmt.Sprintf("%d of %d", a.Cost, a.Stored)
			}
			return v
		}
	case 2:
		w.Unusable = []results.Unusable{{Day: today, Field: "cost", Kind: rawtable.FigureFault, Number: 1, Why: "text"}}
	case 3:
		w.Confirmed = true
	case 4:
		w.Currency = "USD"
	}
	return w
}

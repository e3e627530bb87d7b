package results_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
)

// claimOf claims days of an account and level. The version is the caller's.
func claimOf(t *testing.T, s *store.Store, scope results.Scope, pullID string, version int64) results.Claim {
	t.Helper()
	scope.Media = "test"
	claim, _, err := s.BeginPull(t.Context(), scope, pullID, version)
	require.NoError(t, err)
	claim.Version = version
	return claim
}

func newTogether(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.NewResults(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{rawHours}))
	return s
}

// dump returns everything that reports write, without times.
func dump(t *testing.T, s *store.Store) map[string][]map[string]any {
	t.Helper()
	tables := map[string][]map[string]any{}
	for table, query := range map[string]string{
		"raw":   "SELECT * FROM test_report_daily ORDER BY day, account_id, level, object_id",
		"hours": "SELECT * FROM test_report_hourly ORDER BY day, account_id, level, object_id, hour",
		"public": "SELECT day, account_id, level, object_id, media, currency, cost, version FROM report_daily" +
			" ORDER BY 1,2,3,4",
		"public hours": "SELECT day, account_id, level, object_id, hour, media, cost, version FROM report_hourly" +
			" ORDER BY 1,2,3,4,5",
		"coverage": "SELECT account_id, report, level, day, media, claimed_version, claimed_by, complete_version, run_id," +
			" row_count, high_water, dirty, state, note, answer_cost, answer_run, believed_cost, unusable, digest" +
			" FROM coverage ORDER BY 1,2,3,4",
		"unusable":   "SELECT account_id, level, day, field, number FROM unusable_value ORDER BY 1,2,3,4",
		"tombstones": "SELECT table_name, day, account_id, level, object_id FROM report_tombstone ORDER BY 1,2,3,4,5",
		"wide":       "SELECT account_id, day FROM wide_day ORDER BY 1, 2",
	} {
		var rows []map[string]any
		require.NoError(t, s.Data.Writer(t.Context()).Raw(query).Scan(&rows).Error)
		tables[table] = rows
	}
	return tables
}

// randomPulls returns the pulls of a round for a store: of one raw table, each of another account or level. The same
// seed gives the same pulls.
func randomPulls(t *testing.T, s *store.Store, seed uint64) []results.ReportWrite {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	hourly, version := r.IntN(3) == 0, int64(seed)*100
	compared := r.IntN(2) == 0
	var writes []results.ReportWrite
	var accounts []int
	for _, n := range r.Perm(8)[:2+r.IntN(5)] {
		if compared && slices.Contains(accounts, n/2) {
			continue // The later one of two pulls of an account would see what the earlier one wrote.
		}
		accounts = append(accounts, n/2)
		scope := results.Scope{AccountID: int64(1 + n/2), Report: "report_daily", Level: []string{"account", "adgroup"}[n%2],
			Days: []day.Day{today.Add(-1), today}[r.IntN(2):]}
		if hourly {
			scope.Report, scope.Days = "report_hourly", []day.Day{today}
			scope.FromHour = max(r.IntN(30)-20, 0)
		}
		at := version + int64(n)
		if r.IntN(6) == 0 {
			at -= 250 // Often another pull has claimed the days since.
		}
		claim := claimOf(t, s, scope, fmt.Sprint("pull ", at), at)
		var rows []results.ReportRow
		for _, on := range scope.Days {
			for object := range r.IntN(4) {
				cost := int64(r.IntN(3)) * 1_000_000
				row := storetest.CostRow(on, strconv.Itoa(object), cost, fmt.Sprintf(`{"cost":%d}`, cost))
				if hourly {
					row.Hour = max(claim.FromHour, 8+r.IntN(4))
				}
				rows = append(rows, row)
			}
		}
		w := storetest.ReportOf(claim, rows...)
		if hourly {
			w.Raw, w.Hourly = rawHours, true
		}
		switch r.IntN(12) {
		case 0:
			w.Whole, w.Note = false, "pages disagreed"
		case 1:
			w.Unusable = []results.Unusable{{Day: today, Field: "name", Kind: rawtable.AttributeFault, Number: 2, Why: "long"}}
		case 2:
			w.Confirmed = true
		case 3:
			w.Judging.Judge = func(*results.Answer, []results.Figure) results.Verdict {
				return results.Verdict{Suspect: "it is not believed"}
			}
		}
		if compared {
			w.Judging = comparing(seed)
		}
		writes = append(writes, w)
	}
	return writes
}

// comparing returns a rule that compares the answers for all days, or for today, with all other reports and levels.
func comparing(seed uint64) results.Judging {
	var with []results.ReportLevel
	for _, report := range []string{"report_daily", "report_hourly"} {
		with = append(with, results.ReportLevel{Report: report, Level: "account"},
			results.ReportLevel{Report: report, Level: "adgroup"})
	}
	return results.Judging{
		With: with,
		Compares: func(a *results.Answer) bool {
			return (seed%4 > 0 || a.Day == today) && (a.Before.CompleteVersion == 0 || a.Cost != a.Stored)
		},
		Judge: func(a *results.Answer, others []results.Figure) (v results.Verdict) {
			for _, f := range others {
				switch {
				case f.Cost > 2*a.Cost:
					v.Suspect = fmt.Sprintf("%s has %d with %d", f.ReportLevel, f.Cost, f.Coverage.RowCount)
				case f.Coverage.State == results.Complete && a.Cost > 2*f.Cost:
					v.Doubts = append(v.Doubts, results.Doubt{ReportLevel: f.ReportLevel, Day: a.Day, Note: "it is too low"})
				}
			}
			return v
		},
	}
}

// Pulls that share transactions have the same effect and the same results as pulls that are written one by one.
func TestWriteTogether_EqualsPullsWrittenAlone(t *testing.T) {
	t.Parallel()
	alone, shared := newTogether(t), newTogether(t)
	stayed, left, fenced, suspect, doubts := 0, 0, 0, 0, 0
	for seed := uint64(1); seed <= 160; seed++ {
		type end struct {
			result results.ReportResult
			err    string
		}
		text := func(err error) string {
			if err == nil {
				return ""
			}
			return err.Error()
		}
		want := map[string]end{}
		for _, w := range randomPulls(t, alone, seed) {
			result, err := alone.WriteReport(t.Context(), w)
			want[w.PullID] = end{result, text(err)}
		}
		got := map[string]end{}
		var together []results.ReportWrite
		for _, w := range randomPulls(t, shared, seed) {
			if w.Plain() {
				together = append(together, w)
				continue
			}
			result, err := shared.WriteReport(t.Context(), w)
			got[w.PullID] = end{result, text(err)}
		}
		if len(together) == 0 {
			continue
		}
		for i, e := range results.WriteTogether(t.Context(), shared.Results, together...) {
			switch _, isFenced := results.IsFenced(e.Err); {
			case e.Alone:
				left++
				e.Result, e.Err = shared.WriteReport(t.Context(), together[i])
			case isFenced:
				fenced++
			default:
				stayed++
				if e.Compared {
					suspect, doubts = suspect+len(e.Result.Suspect), doubts+len(e.Result.Doubts)
				}
			}
			got[together[i].PullID] = end{e.Result, text(e.Err)}
		}
		require.Equal(t, want, got, "seed %d", seed)
		require.Equal(t, dump(t, alone), dump(t, shared), "seed %d", seed)
	}
	require.Greater(t, stayed, 60)
	require.Greater(t, left, 10)
	require.Greater(t, fenced, 5)
	require.Greater(t, suspect, 10)
	require.Greater(t, doubts, 10)
}

// A shared transaction takes as many statements as one pull.
func TestWriteTogether_Statements(t *testing.T) {
	t.Parallel()
	s := newTogether(t)
	round := func(version int64, json string) (statements int) {
		var writes []results.ReportWrite
		for account := int64(1); account <= 10; account++ {
			claim := claimOf(t, s, results.Scope{AccountID: account, Report: "report_daily", Level: "account",
				Days: []day.Day{today}}, "pull", version)
			writes = append(writes, storetest.ReportOf(claim, storetest.CostRow(today, "", 1_000_000, json)))
		}
		return sqldbtest.Statements(s.Data, func() {
			for i, e := range results.WriteTogether(t.Context(), s.Results, writes...) {
				require.NoError(t, e.Err)
				if e.Alone {
					_, err := s.WriteReport(t.Context(), writes[i])
					require.NoError(t, err)
				}
			}
		})
	}
	require.Equal(t, 8, round(1, `{}`),
		"coverage is made and locked, two reads, two upserts, coverage, the marks for wide_daily")
	require.Equal(t, 2, round(2, `{}`), "nothing has changed: the lock, coverage")
	require.Equal(t, 7, round(3, `{"v":2}`), "the lock, two reads, two upserts, coverage, the marks")
}

// Pulls whose answers are compared share transactions of their own, with one lock of all coverage and one statement for
// all figures.
func TestWriteTogether_ComparedAnswers(t *testing.T) {
	t.Parallel()
	s := newTogether(t)
	pulls := func(version int64, judging results.Judging) (writes []results.ReportWrite) {
		for account := int64(1); account <= 10; account++ {
			scope := results.Scope{AccountID: account, Report: "report_daily", Level: "account", Days: []day.Day{today}}
			w := storetest.ReportOf(claimOf(t, s, scope, "pull", version),
				storetest.CostRow(today, "", version*1_000_000, fmt.Sprint(version)))
			w.Judging = judging
			writes = append(writes, w)
		}
		return writes
	}
	write := func(writes []results.ReportWrite) (statements int) {
		return sqldbtest.Statements(s.Data, func() {
			for _, e := range results.WriteTogether(t.Context(), s.Results, writes...) {
				require.NoError(t, e.Err)
				require.False(t, e.Alone)
				require.Equal(t, 1, e.Result.Written)
			}
		})
	}
	require.Equal(t, 9, write(pulls(1, comparing(1))),
		"coverage is made and locked, two reads, the figures, two upserts, coverage, the marks for wide_daily")
	require.Equal(t, 3+8, write(pulls(2, comparing(1))), "they prove to be compared: a lock and two reads, and then all")

	once := pulls(3, comparing(1))
	once[4].Judging = results.Judging{}
	for i, e := range results.WriteTogether(t.Context(), s.Results, once...) {
		require.NoError(t, e.Err)
		require.Equal(t, i != 4, e.Compared)
	}
	_, err := s.WriteReport(t.Context(), pulls(4, comparing(1))[0])
	require.NoError(t, err)

	// Each keeps to its own days.
	pair := pulls(5, comparing(1))[:2]
	for i, days := range [][]day.Day{{today.Add(1)}, {today, today.Add(1)}} {
		pair[i].Claim = claimOf(t, s, results.Scope{AccountID: int64(i + 1), Report: "report_daily", Level: "account",
			Days: days}, "pair", 5)
		pair[i].Rows[0].Day = today.Add(1)
	}
	ends := results.WriteTogether(t.Context(), s.Results, pair[0], pair[1])
	require.NoError(t, ends[0].Err)
	require.Equal(t, []bool{true, false}, []bool{ends[0].Compared, ends[0].Alone})
	require.True(t, ends[1].Alone, "it lacks a row of its first day")
	var claimed int64
	require.NoError(t, s.Data.Writer(t.Context()).Raw(
		"SELECT claimed_version FROM coverage WHERE account_id = 1 AND day = ?", today).Row().Scan(&claimed))
	require.EqualValues(t, 4, claimed)
}

// A panic of the rule that judges ends its caller's goroutine, which handles it, and nothing else.
func TestWriteReport_APanicReachesItsCaller(t *testing.T) {
	t.Parallel()
	s := newTogether(t)
	w := storetest.ReportOf(storetest.Claim(t, s, "pull", today), storetest.CostRow(today, "", 1_000_000, `{}`))
	judging := w.Judging
	w.Judging.Judge = func(*results.Answer, []results.Figure) results.Verdict { panic("a bug") }
	require.PanicsWithValue(t, "a bug", func() { _, _ = s.WriteReport(t.Context(), w) })
	w.Judging = judging
	_, err := s.WriteReport(t.Context(), w)
	require.NoError(t, err)
}

// A shared transaction that fails changes nothing, and all its pulls are written alone.
func TestWriteTogether_OneThatFails(t *testing.T) {
	t.Parallel()
	s := newTogether(t)
	var writes []results.ReportWrite
	for account := int64(1); account <= 3; account++ {
		scope := results.Scope{AccountID: account, Report: "report_daily", Level: "account", Days: []day.Day{today}}
		row := storetest.CostRow(today, "", 1_000_000, `{}`)
		_, err := s.WriteReport(t.Context(), storetest.ReportOf(claimOf(t, s, scope, "first", 1), row))
		require.NoError(t, err)
		row = storetest.CostRow(today, "", 2_000_000, `{"v":2}`)
		writes = append(writes, storetest.ReportOf(claimOf(t, s, scope, "second", 2), row))
	}
	before := dump(t, s)
	good := writes[1].Rows
	writes[1].Rows = slices.Concat(good, []results.ReportRow{storetest.CostRow(today.Add(-1), "", 1, `{}`)})
	for _, e := range results.WriteTogether(t.Context(), s.Results, writes...) {
		require.Equal(t, results.Together{Alone: true}, e)
	}
	require.Equal(t, before, dump(t, s))
	_, err := s.WriteReport(t.Context(), writes[1])
	require.ErrorContains(t, err, "outside its days")

	writes[1].Rows = good
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range results.WriteTogether(cancelled, s.Results, writes...) {
		require.True(t, e.Alone, "it gets the error of its context")
	}
	require.Equal(t, before, dump(t, s))
}

// Pulls of many goroutines at once: each has its own end, and all rows are those of the last pull of their scope.
func TestWriteReport_ManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newTogether(t)
	const rounds = 6
	for version := int64(1); version <= rounds; version++ {
		var wg sync.WaitGroup
		errs := make([]error, 60)
		for i := range errs {
			wg.Go(func() {
				scope := results.Scope{AccountID: int64(i % 30), Report: "report_daily", Media: "test", Days: []day.Day{today},
					Level: []string{"account", "adgroup"}[i/30]}
				claim, _, err := s.BeginPull(t.Context(), scope, fmt.Sprint(version), version)
				if err != nil {
					errs[i] = err
					return
				}
				w := storetest.ReportOf(claim,
					storetest.CostRow(today, fmt.Sprint(i), version*1_000_000, fmt.Sprint(version)))
				if i%3 > 0 {
					w.Judging = comparing(1)
					w.Judging.Judge = nil
				}
				result, err := s.WriteReport(t.Context(), w)
				if err == nil && result.Written != 1 {
					err = fmt.Errorf("%d rows were written", result.Written)
				}
				errs[i] = err
			})
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		rows := publicRows(t, s)
		require.Len(t, rows, len(errs))
		for _, row := range rows {
			require.Equal(t, version*1_000_000, *row.Cost)
		}
	}
}

// Claims that are read together are those that are read alone.
func TestBeginPull_Together(t *testing.T) {
	t.Parallel()
	s := newTogether(t)
	scope := func(account int64, days ...day.Day) results.Scope {
		return results.Scope{AccountID: account, Media: "test", Report: "report_daily", Level: "account", Days: days}
	}
	write := func(account, version int64, whole bool, days ...day.Day) {
		w := storetest.ReportOf(claimOf(t, s, scope(account, days...), "pull", version))
		w.Whole = whole
		_, err := s.WriteReport(t.Context(), w)
		require.NoError(t, err)
	}
	write(1, 70, true, today.Add(-1), today)
	write(2, 80, false, today)
	write(3, 90, true, today)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE coverage SET high_water = 5 WHERE account_id = 3").Error)
	scopes := []results.Scope{scope(1, today.Add(-1), today), scope(2, today), scope(3, today.Add(-1), today),
		scope(4, today)}
	known, alone := results.BeginTogether(t.Context(), s.Results, scopes...)
	require.Equal(t, make([]bool, len(scopes)), alone)
	require.Equal(t, []string{"70 0 2 2 false false", "80 0 0 1 false false", "90 5 1 1 false false",
		"0 0 0 0 false false"}, known)
	for i, want := range known {
		one, _ := results.BeginTogether(t.Context(), s.Results, scopes[i])
		require.Equal(t, want, one[0])
	}
	unknown := []results.Scope{scope(5, today), scope(6, today), scope(7, today)}
	require.Equal(t, 2, sqldbtest.Statements(s.Data, func() {
		known, alone = results.BeginTogether(t.Context(), s.Results, unknown...)
	}), "the time is read apart if none has a row")
	require.Equal(t, make([]bool, len(unknown)), alone)
	require.Equal(t, slices.Repeat([]string{"0 0 0 0 false false"}, len(unknown)), known)
}

// A pull that waits for a lock does not hold up those of other scopes.
func TestWriteReport_OneThatWaitsForALock(t *testing.T) {
	t.Parallel()
	s := newTogether(t)
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		t.Skip("SQLite has one writer")
	}
	scope := func(account int) results.Scope {
		return results.Scope{AccountID: int64(account), Report: "report_daily", Level: "account", Days: []day.Day{today}}
	}
	write := func(account int, version int64) error {
		_, err := s.WriteReport(t.Context(), storetest.ReportOf(claimOf(t, s, scope(account), "pull", version),
			storetest.CostRow(today, "", version, fmt.Sprint(version))))
		return err
	}
	for account := range 10 {
		require.NoError(t, write(account, 1))
	}
	held := s.Data.Writer(t.Context()).Begin()
	require.NoError(t, held.Exec("UPDATE coverage SET note = 'held' WHERE account_id < 3").Error)
	errs := make(chan error, 3)
	for account := range 3 {
		go func() { errs <- write(account, 2) }()
	}
	var wg sync.WaitGroup
	for account := 3; account < 10; account++ {
		wg.Go(func() { require.NoError(t, write(account, 2)) })
	}
	wg.Wait()
	require.NoError(t, held.Commit().Error)
	for range 3 {
		require.NoError(t, <-errs)
	}
	require.Len(t, publicRows(t, s), 10)
}

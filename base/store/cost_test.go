package store_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// Keys of texts are compared as they are: written down anew for each comparison, they were a tenth of what a report's upsert takes.
func TestUpsert_SortsWithoutAllocating(t *testing.T) {
	rows := make([][]any, 1000)
	for i := range rows {
		rows[i] = []any{day.Day("2026-11-20"), int64(7), "creative", fmt.Sprintf("%012d", i*7919%1000), i}
	}
	require.Zero(t, testing.AllocsPerRun(10, func() { sqldb.SortByKey(rows, 4) }))
}

// What a batch of subtasks costs the database, in statements: what holds on any machine. Nearly all of them are as here, sent once and well.
func TestSubtasks_StatementsOfABatch(t *testing.T) {
	t.Parallel()
	const n = 50 // On SQLite too this is one statement's worth.
	s, l, run, now := fanningOut(t)
	var parts []ledger.AccountPart
	var keys []task.Key
	for i := range int64(n) {
		parts = append(parts, ledger.AccountPart{AccountID: i + 1, Part: "d"})
		keys = append(keys, task.Key{RunID: run.ID, AccountID: i + 1, Part: "d"})
	}
	require.Equal(t, 1, sqldbtest.Statements(s.Data, func() {
		all, err := s.AddSubtasks(t.Context(), l, run.ID, parts, now)
		require.NoError(t, err)
		require.True(t, all)
	}), "a fan-out's rows")
	require.Equal(t, 1, sqldbtest.Statements(s.Data, func() {
		require.NoError(t, s.AdvanceCursor(t.Context(), l, run.ID, 0, n, nil, ""))
	}), "its cursor")
	require.Equal(t, 1, sqldbtest.Statements(s.Data, func() {
		states, err := s.SubtaskStates(t.Context(), keys)
		require.NoError(t, err)
		require.Len(t, states, n)
	}), "the look before the work")
	var outcomes []ledger.Outcome
	for i, k := range keys {
		outcomes = append(outcomes, ledger.Outcome{Key: k, Delivery: 1, State: task.Succeeded, StartedAt: outcomeTime, EndedAt: outcomeTime, Rows: i})
	}
	require.Equal(t, 4, sqldbtest.Statements(s.Data, func() {
		stale, err := s.ApplyOutcomes(t.Context(), outcomes)
		require.NoError(t, err)
		require.Zero(t, stale)
	}), "the outcomes: the rows, what is queued behind, the run's counts, the run's end")
}

// Rows that came some other way are read back, and all of them are counted as they are.
func TestAddSubtasks_TellsWhetherAllWereNew(t *testing.T) {
	t.Parallel()
	s, l, run, now := fanningOut(t)
	part := func(account int64) ledger.AccountPart { return ledger.AccountPart{AccountID: account, Part: "d"} }
	left, err := s.HasSubtasks(t.Context(), run.ID, 0)
	require.NoError(t, err)
	require.False(t, left)
	all, err := s.AddSubtasks(t.Context(), l, run.ID, []ledger.AccountPart{part(1), part(2)}, now)
	require.NoError(t, err)
	require.True(t, all)
	all, err = s.AddSubtasks(t.Context(), l, run.ID, []ledger.AccountPart{part(2), part(3)}, now)
	require.NoError(t, err)
	require.False(t, all)
	for after, want := range map[int64]bool{0: true, 2: true, 3: false} {
		left, err := s.HasSubtasks(t.Context(), run.ID, after)
		require.NoError(t, err)
		require.Equal(t, want, left, "after %d", after)
	}
}

// A message may come again when its subtask was put off already: the outcome takes it out of what waits, and counts once.
func TestApplyOutcomes_OfWhatWasPutOffAmongOthers(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := newRun(t, s, outcomeTime, accounts(3)...)
	_, err := s.ApplyOutcomes(t.Context(), []ledger.Outcome{r.outcome(2, 1, task.Deferred)})
	require.NoError(t, err)
	stale, err := s.ApplyOutcomes(t.Context(), []ledger.Outcome{r.outcome(1, 1, task.Succeeded), r.outcome(2, 1, task.Succeeded), r.outcome(3, 1, task.Succeeded)})
	require.NoError(t, err)
	require.Zero(t, stale)
	var due, calls int
	db := s.Data.Writer(t.Context())
	require.NoError(t, db.Raw("SELECT COUNT(*) FROM subtask_due").Row().Scan(&due))
	require.Zero(t, due)
	require.NoError(t, db.Raw("SELECT SUM(api_calls) FROM "+ledger.LogTable(r.run)).Row().Scan(&calls))
	require.Equal(t, 2*4, calls, "of each try once")
	run, err := s.Run(t.Context(), r.run)
	require.NoError(t, err)
	require.Equal(t, task.RunSucceeded, run.State)
	require.EqualValues(t, 3, run.Succeeded)
}

// The look tells of those that are as they were made by saying nothing; what it says of the others is all there is to say.
func TestSubtaskStates_TellsEachApart(t *testing.T) {
	t.Parallel()
	withAllLists(t, func(t *testing.T, s *store.Store) {
		t.Helper()
		r := newRun(t, s, outcomeTime, accounts(5)...)
		retried := r.outcome(2, 1, task.Retrying)
		retried.Attempt = 3
		apply(t, s, retried, r.outcome(3, 1, task.Succeeded), r.outcome(4, 1, task.Deferred))
		r.resend(t, 4)
		keys := accounts(6) // the last one has no row
		for i := range keys {
			keys[i].RunID = r.run
		}
		found, err := s.SubtaskStates(t.Context(), keys)
		require.NoError(t, err)
		require.Equal(t, map[task.Key]ledger.SubtaskStatus{
			keys[0]: {State: task.Waiting, Delivery: 1},
			keys[1]: {State: task.Retrying, Delivery: 1, Attempt: 3},
			keys[2]: {State: task.Succeeded, Delivery: 1},
			keys[3]: {State: task.Waiting, Delivery: 2},
			keys[4]: {State: task.Waiting, Delivery: 1},
		}, found)
	})
}

// What a pull of a report's day costs the database, in statements beside those that begin and end its transaction.
func TestWriteReport_StatementsOfAPull(t *testing.T) {
	t.Parallel()
	s := resultStore(t)
	pull := func(rows ...results.ReportRow) int {
		claim := begin(t, s, "a", today)
		return sqldbtest.Statements(s.Data, func() {
			_, err := s.WriteReport(t.Context(), reportOf(claim, rows...))
			require.NoError(t, err)
		})
	}
	first, second := costRow(today, "1", 100_000_000, `{"v":1}`), costRow(today, "2", 1_000_000, `{"v":1}`)
	require.Equal(t, 8, pull(first, second), "coverage is made and locked, two reads, two upserts, the mark for wide_daily, coverage")
	require.Equal(t, 4, pull(first, second), "nothing has changed: the lock, two reads, coverage")
	second.JSON = `{"v":2}`
	require.Equal(t, 7, pull(first, second), "the lock, two reads, two upserts, the mark, coverage")
	require.Equal(t, 8, pull(first), "the lock, two reads, two deletes, the tombstones of one, the mark, coverage")
}

// Most rows of most pulls have not changed: what they cost is to be read, and adsync makes nothing of them.
func TestWriteReport_AllocationsOfAnUnchangedRow(t *testing.T) {
	s := resultStore(t)
	pull := func(rows []results.ReportRow) float64 {
		write := func() {
			_, err := s.WriteReport(t.Context(), reportOf(begin(t, s, "a", today), rows...))
			require.NoError(t, err)
		}
		write()
		return testing.AllocsPerRun(5, write)
	}
	var rows []results.ReportRow
	for i := range 1000 {
		rows = append(rows, costRow(today, fmt.Sprintf("%012d", i), 1_000_000, `{"some":"json"}`))
	}
	few := pull(rows[:100])
	more := (pull(rows) - few) / 900
	require.LessOrEqual(t, more, 57.0, "54 are those of SQLite's driver, which makes times of the days; with a copy of each row it was 61")
}

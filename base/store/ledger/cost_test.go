package ledger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// The cost of a batch of subtasks in statements, which is the same on any machine. Nearly all subtasks are like
// these: sent once and succeeded.
func TestSubtasks_StatementsOfABatch(t *testing.T) {
	t.Parallel()
	const n = 25 // One statement's worth, on SQLite too.
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
	}), "the check before the work")
	var outcomes []ledger.Outcome
	for i, k := range keys {
		outcomes = append(outcomes, ledger.Outcome{Key: k, Delivery: 1, State: task.Succeeded, StartedAt: storetest.Moment,
			EndedAt: storetest.Moment, Rows: i})
	}
	require.Equal(t, 4, sqldbtest.Statements(s.Data, func() {
		stale, err := s.ApplyOutcomes(t.Context(), outcomes)
		require.NoError(t, err)
		require.Zero(t, stale)
	}), "the outcomes: the rows, what is queued behind, the run's counts, the run's end")
}

// A message may come again when its subtask was put off already: the outcome deletes its row of subtask_due, and is
// counted once.
func TestApplyOutcomes_OfPutOffSubtasksAmongOthers(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(3)...)
	_, err := s.ApplyOutcomes(t.Context(), []ledger.Outcome{r.Outcome(2, 1, task.Deferred)})
	require.NoError(t, err)
	stale, err := s.ApplyOutcomes(t.Context(), []ledger.Outcome{r.Outcome(1, 1, task.Succeeded),
		r.Outcome(2, 1, task.Succeeded), r.Outcome(3, 1, task.Succeeded)})
	require.NoError(t, err)
	require.Zero(t, stale)
	var due, calls int
	db := s.Data.Writer(t.Context())
	require.NoError(t, db.Raw("SELECT COUNT(*) FROM subtask_due").Row().Scan(&due))
	require.Zero(t, due)
	require.NoError(t, db.Raw("SELECT SUM(api_calls) FROM "+ledger.LogTable(r.ID)).Row().Scan(&calls))
	require.Equal(t, 2*4, calls, "each try's calls are added once")
	run, err := s.Run(t.Context(), r.ID)
	require.NoError(t, err)
	require.Equal(t, task.RunSucceeded, run.State)
	require.EqualValues(t, 3, run.Succeeded)
}

// SubtaskStates returns the exact status of rows in their first state and of all others.
func TestSubtaskStates_ReturnsTheStatusOfEach(t *testing.T) {
	t.Parallel()
	withAllLists(t, func(t *testing.T, s *store.Store) {
		t.Helper()
		r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(5)...)
		retried := r.Outcome(2, 1, task.Retrying)
		retried.Attempt = 3
		storetest.Apply(t, s, retried, r.Outcome(3, 1, task.Succeeded), r.Outcome(4, 1, task.Deferred))
		resend(t, r, 4)
		keys := storetest.Keys(6) // the last one has no row
		for i := range keys {
			keys[i].RunID = r.ID
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

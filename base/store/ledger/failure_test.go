package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestFailures_KeepTheErrorOfEachDelivery(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(3)...)
	key := func(account int64) task.Key { return task.Key{RunID: r.ID, AccountID: account, Part: "d"} }
	failed := func(account int64, delivery, attempt int, state task.State, class, text string) ledger.Outcome {
		o := r.Outcome(account, delivery, state)
		o.Attempt, o.ErrorClass, o.ErrorText = attempt, class, text
		return o
	}
	first := failed(1, 1, 1, task.Retrying, "transient", "timeout")
	require.Zero(t, storetest.Apply(t, s, first, r.Outcome(2, 1, task.Succeeded),
		failed(3, 1, 0, task.Deferred, "", "its account is at work")))
	storetest.Apply(t, s, first) // It is applied twice.
	resend(t, r, 1)
	require.Zero(t, storetest.Apply(t, s, failed(1, 2, 1, task.Deferred, "quota", "too many calls")))
	resend(t, r, 1)
	require.Zero(t, storetest.Apply(t, s, failed(1, 3, 2, task.Failed, "invalid", "code 7")))

	all, err := s.Failures(t.Context(), key(1))
	require.NoError(t, err)
	of := func(delivery, attempt int, state task.State, class, text string) ledger.Failure {
		return ledger.Failure{
			Delivery: delivery, Attempt: attempt, State: state, Node: "n1", StartedAt: sqldb.At(storetest.Moment),
			EndedAt:    sqldb.At(storetest.Moment.Add(time.Second)),
			ErrorClass: class, ErrorText: text, Calls: 2,
		}
	}
	require.Equal(t, []ledger.Failure{
		of(3, 2, task.Failed, "invalid", "code 7"), of(2, 1, task.Deferred, "quota", "too many calls"),
		of(1, 1, task.Retrying, "transient", "timeout"),
	}, all, "the newest first")
	for _, account := range []int64{2, 3} {
		all, err = s.Failures(t.Context(), key(account))
		require.NoError(t, err)
		require.Empty(t, all, "account %d: nothing failed", account)
	}
}

// Failures must not block outcomes: a day of an older release has no table of them, and they are dropped with the
// day's log.
func TestFailures_LiveAsLongAsTheirDaysLog(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	days := []time.Time{storetest.Moment, storetest.Moment.Add(24 * time.Hour)}
	var runs []storetest.Run
	var outcomes []ledger.Outcome
	for _, at := range days {
		r := storetest.NewRun(t, s, at, storetest.Keys(1)...)
		runs, outcomes = append(runs, r), append(outcomes, r.Outcome(1, 1, task.Failed))
	}
	older := storetest.NewRun(t, s, storetest.Moment.Add(-24*time.Hour), storetest.Keys(1)...)
	day := task.LogDay(older.ID)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("DROP TABLE "+sqldb.FailureTablePrefix+
		ledger.LogTable(older.ID)[len(sqldb.LogTablePrefix):]).Error)
	require.Zero(t, storetest.Apply(t, s, append(outcomes, older.Outcome(1, 1, task.Failed))...))
	require.EqualValues(t, 1, countsOf(t, older).Failed)
	kept := func(r storetest.Run) int {
		all, err := s.Failures(t.Context(), task.Key{RunID: r.ID, AccountID: 1, Part: "d"})
		require.NoError(t, err)
		return len(all)
	}
	require.Zero(t, kept(older))
	require.Equal(t, []int{1, 1}, []int{kept(runs[0]), kept(runs[1])}, "each day has its own")
	require.NoError(t, s.DropLogTable(t.Context(), task.LogDay(runs[0].ID)))
	require.Equal(t, []int{0, 1}, []int{kept(runs[0]), kept(runs[1])})
	require.NoError(t, s.DropLogTable(t.Context(), day), "without a table of failures too")
	found, err := s.LogDays(t.Context())
	require.NoError(t, err)
	require.Len(t, found, 1)
}

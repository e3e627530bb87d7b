package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestCalls_OfEachDeliveryAreAddedToItsRunOnce(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(3)...)
	idle := storetest.NewRun(t, s, storetest.Moment.Add(time.Minute), storetest.Keys(1)...)
	outcome := func(account int64, delivery int, state task.State, calls int) ledger.Outcome {
		o := r.Outcome(account, delivery, state)
		o.Calls = calls
		return o
	}
	nothing := idle.Outcome(1, 1, task.Succeeded)
	nothing.Calls = 0
	require.Zero(t, storetest.Apply(t, s, outcome(1, 1, task.Retrying, 3), outcome(2, 1, task.Succeeded, 4), nothing))
	require.Equal(t, task.RunRunning, countsOf(t, r).State)
	resend(t, r, 1)
	require.Zero(t, storetest.Apply(t, s, outcome(1, 2, task.Succeeded, 5)))
	stale := storetest.Apply(t, s, outcome(1, 2, task.Succeeded, 5), outcome(1, 1, task.Retrying, 3))
	require.Equal(t, 2, stale)
	require.Zero(t, storetest.Apply(t, s, outcome(3, 1, task.Deferred, 0)))

	from := task.FirstRunIDAt(storetest.Moment)
	runs, err := s.CallsOfRuns(t.Context(), from)
	require.NoError(t, err)
	require.Equal(t, []ledger.RunCalls{
		{RunID: r.ID, Task: "report", Media: "acme", Lane: "normal", Total: 3, Calls: 12},
	}, runs)
	runs, err = s.CallsOfRuns(t.Context(), task.FirstRunIDAt(storetest.Moment.Add(time.Second)))
	require.NoError(t, err)
	require.Empty(t, runs)

	accounts, err := s.CallsOfAccounts(t.Context(), []int64{r.ID, idle.ID})
	require.NoError(t, err)
	require.ElementsMatch(t, []ledger.AccountCalls{{AccountID: 1, Calls: 8}, {AccountID: 2, Calls: 4}}, accounts)
	require.NoError(t, s.DropLogTable(t.Context(), task.LogDay(r.ID)))
	accounts, err = s.CallsOfAccounts(t.Context(), []int64{r.ID})
	require.NoError(t, err)
	require.Empty(t, accounts)
}

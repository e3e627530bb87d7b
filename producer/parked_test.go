package producer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/task"
)

func TestParked_MakesDueWhatWaitsForAnAccountThatIsBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(4)
	taskID := b.addTask("report", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	runID := tm.order(b, taskID, task.Order{By: "otto"})
	require.NoError(t, tm.fan(b, runID))
	run := b.run(runID)
	exec := func(query string, args ...any) {
		require.NoError(t, b.store.Config.Writer(t.Context()).Exec(query, args...).Error)
	}
	wait := func(account int64, delivery int) { b.waits(run, account, delivery, task.ParkedRef(account)) }
	sent := func() []int64 {
		before := len(b.broker.accounts(t))
		require.NoError(t, tm.releaseParked(t.Context()))
		require.NoError(t, tm.pumpDue(t.Context()))
		return b.broker.accounts(t)[before:]
	}
	exec("UPDATE media_account SET parked = 'frozen: closed' WHERE id IN (1, 2, 3)")
	for account := range int64(3) {
		wait(account+1, 1)
	}
	require.Empty(t, sent(), "all are parked")

	exec("UPDATE media_account SET parked = '' WHERE id = 1")
	require.Equal(t, []int64{1}, sent(), "another process has taken it back")
	exec("UPDATE media_account SET bound = 0 WHERE id = 2")
	require.Equal(t, []int64{2}, sent(), "it never comes back: the platform's refusal ends it")

	// A consumer that does not know it yet defers again, and another pass finds that.
	wait(1, 2)
	require.Equal(t, []int64{1}, sent())
	require.Empty(t, sent())
	due, err := b.store.DueOf(t.Context(), []task.Key{{RunID: runID, AccountID: 3, Part: "2026-11-21"}})
	require.NoError(t, err)
	require.Len(t, due, 1, "the third waits on, and is not lost")
}

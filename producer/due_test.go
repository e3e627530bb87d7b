package producer

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"adsync/base/broker"
	"adsync/base/store"
	"adsync/base/task"
)

func newGroup() *errgroup.Group { return &errgroup.Group{} }

// retrying makes a run of n subtasks that all wait for a retry from now on.
func retrying(t *testing.T, n int64, columns map[string]any) (*bench, *term, store.Run) {
	t.Helper()
	b := setup(t)
	b.addAccounts(n)
	id := b.addTask("daily", "tencent.report", "0 0 * * *", columns)
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))
	run := b.run(runID)
	b.end(run, task.Retrying)
	b.broker.log, b.broker.sizes = nil, nil
	return b, tm, run
}

func TestPumpDue_SendsTheNextDelivery(t *testing.T) {
	t.Parallel()
	b, tm, run := retrying(t, 3, nil)
	ctx := t.Context()
	require.NoError(t, tm.pumpDue(ctx))
	require.NoError(t, tm.pumpDue(ctx), "what is under way is left alone")
	envelopes := b.broker.envelopes(t)
	require.Len(t, envelopes, 3)
	for _, e := range envelopes {
		require.Equal(t, 2, e.Delivery)
		require.Equal(t, 1, e.Attempt)
		require.Equal(t, run.ID, e.RunID)
		require.Equal(t, "daily", e.TaskName)
	}
	b.end(run, task.Succeeded)
	require.Equal(t, task.RunSucceeded, b.run(run.ID).State)
	counts, err := b.store.CountDue(ctx)
	require.NoError(t, err)
	require.Zero(t, counts["sent"])
}

func TestPumpDue_SendsAgainWhatWasNotWritten(t *testing.T) {
	t.Parallel()
	b, tm, _ := retrying(t, 3, nil)
	ctx := t.Context()
	down := errors.New("down")
	b.broker.fail = func(n int) error {
		return map[int]error{1: &broker.WriteError{Failed: []int{0}, Unknown: []int{2}, Err: down}}[n]
	}
	require.ErrorIs(t, tm.pumpDue(ctx), down)
	require.Equal(t, []int64{2}, b.broker.accounts(t))
	tm.cycles = 1
	require.NoError(t, tm.pumpDue(ctx))
	require.Len(t, b.broker.log, 1, "not at once: the message may still come to light")
	b.clock.add(sentAgainAfter)
	require.NoError(t, tm.pumpDue(ctx))
	require.Equal(t, []int64{2, 1, 3}, b.broker.accounts(t))
	require.Equal(t, 3, b.broker.envelopes(t)[1].Delivery, "every send is a delivery of its own")
}

func TestPumpDue_ANewLeaderSendsWhatTheLastOneLeft(t *testing.T) {
	t.Parallel()
	b, tm, _ := retrying(t, 2, nil)
	ctx := t.Context()
	b.broker.fail = func(n int) error { return map[int]error{1: errors.New("dead")}[n] }
	require.Error(t, tm.pumpDue(ctx))
	require.Empty(t, b.broker.log)

	next := b.term()
	require.NoError(t, next.pumpDue(ctx))
	require.Equal(t, []int64{1, 2}, b.broker.accounts(t), "without a wait")
	b.exec(b.store.Data, "UPDATE subtask_due SET state = 'retrying'")
	require.ErrorIs(t, tm.pumpDue(ctx), errStale)
}

func TestPumpDue_ExpiresWhatIsTooOld(t *testing.T) {
	t.Parallel()
	b, tm, run := retrying(t, 3, map[string]any{"ttl_seconds": 600})
	b.clock.add(10 * time.Minute)
	require.NoError(t, tm.pumpDue(t.Context()))
	require.Empty(t, b.broker.log)
	run = b.run(run.ID)
	require.EqualValues(t, 3, run.Expired)
	require.False(t, run.State.Open())
	counts, err := b.store.CountDue(t.Context())
	require.NoError(t, err)
	require.Zero(t, counts["retrying"])
}

package producer

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"adsync/base/broker"
	"adsync/base/redis/redistest"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/timer"
)

// longAgo is a reading of the process's clock so old that every row is read again.
var longAgo = time.Now().Add(-time.Hour)

func newGroup() *errgroup.Group { return &errgroup.Group{} }

// retrying makes a run of n subtasks, all of which wait for a retry from now on.
func retrying(t *testing.T, n int64, columns map[string]any) (*bench, *term, ledger.Run) {
	t.Helper()
	b := setup(t)
	b.addAccounts(n)
	id := b.addTask("daily", "tulip.report", "0 0 * * *", columns)
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
	tm.sought = longAgo
	require.NoError(t, tm.pumpDue(ctx))
	require.Len(t, b.broker.log, 1, "not at once: the message may still come to light")
	b.clock.add(sentAgainAfter)
	tm.sought = longAgo
	require.NoError(t, tm.pumpDue(ctx))
	require.Equal(t, []int64{2, 1, 3}, b.broker.accounts(t))
	require.Equal(t, 3, b.broker.envelopes(t)[1].Delivery, "every send is a delivery of its own")
}

func TestPumpDue_AsksOnceForATopicThatFails(t *testing.T) {
	t.Parallel()
	b, _, _ := retrying(t, 5, nil)
	tm := b.term()
	b.broker.topicsErr, b.broker.ensured = errors.New("no broker will have it"), 0
	require.ErrorIs(t, tm.pumpDue(t.Context()), b.broker.topicsErr)
	require.Equal(t, 1, b.broker.ensured)
	require.Equal(t, ids(1, 5), b.broker.accounts(t), "it was there all the same")
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

// timed is retrying with a timer that has all n subtasks, after the first scan.
func timed(t *testing.T, n int64) (*bench, *term, ledger.Run, *timer.Timer) {
	t.Helper()
	b, tm, run := retrying(t, n, nil)
	client, keys := redistest.New(t)
	clock := timer.New(client, keys, slog.New(slog.DiscardHandler), nil)
	clock.AddTimeout = time.Minute // A busy machine must not look like a Redis that does not answer.
	tm.dueWork.timer = clock
	tm.scanned, tm.sought = time.Now().Add(time.Hour), time.Now() // no row is found by a scan
	for id := range n {
		clock.Add(t.Context(), []timer.Entry{{Key: task.Key{RunID: run.ID, AccountID: id + 1, Part: "2026-11-21"},
			Delivery: 1, DueAt: start}})
	}
	return b, tm, run, clock
}

func TestPumpDue_TheTimerFindsWhatIsDue(t *testing.T) {
	t.Parallel()
	b, tm, run, clock := timed(t, 3)
	ctx := t.Context()
	require.NoError(t, tm.pumpDue(ctx))
	require.ElementsMatch(t, ids(1, 3), b.broker.accounts(t))
	for _, e := range b.broker.envelopes(t) {
		require.Equal(t, 2, e.Delivery)
	}
	left, err := clock.Due(ctx, start.Add(time.Hour), 100)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, 3.0, testutil.ToFloat64(tm.metrics.dueFound.WithLabelValues("timer")))
	b.end(run, task.Succeeded)
	require.Equal(t, task.RunSucceeded, b.run(run.ID).State)
}

func TestPumpDue_TheRowsDecideWhatTheTimerMayTell(t *testing.T) {
	t.Parallel()
	b, tm, run, clock := timed(t, 5)
	ctx := t.Context()
	key := func(account int64) task.Key { return task.Key{RunID: run.ID, AccountID: account, Part: "2026-11-21"} }
	_, err := b.store.ApplyOutcomes(ctx, []ledger.Outcome{
		{Key: key(1), Delivery: 1, State: task.Succeeded, EndedAt: start},
		{Key: key(2), Delivery: 1, State: task.Deferred, DueAt: start.Add(time.Minute), EndedAt: start},
	})
	require.NoError(t, err)
	b.exec(b.store.Data, "UPDATE subtask_due SET delivery = 7 WHERE account_id = 3")
	clock.Add(ctx, []timer.Entry{
		{Key: task.Key{RunID: run.ID, AccountID: 99, Part: "x"}, Delivery: 1, DueAt: start},
		{Key: key(4), Delivery: 2, DueAt: start}, // in addition to the entry of delivery 1
	})

	require.NoError(t, tm.pumpDue(ctx))
	require.ElementsMatch(t, ids(4, 5), b.broker.accounts(t))
	left, err := clock.Due(ctx, start.Add(time.Hour), 100)
	require.NoError(t, err)
	require.Equal(t, []timer.Entry{{Key: key(2), Delivery: 1, DueAt: start.Add(time.Minute)}}, left,
		"what is due later is sent to the timer again then")
	b.clock.add(time.Minute)
	require.NoError(t, tm.pumpDue(ctx))
	require.Equal(t, []int64{2}, b.broker.accounts(t)[2:])
}

func TestPumpDue_FindsWhatTheTimerForgot(t *testing.T) {
	t.Parallel()
	b, tm, _ := retrying(t, 3, nil)
	client, keys := redistest.New(t) // empty: as after FLUSHALL
	tm.dueWork.timer = timer.New(client, keys, slog.New(slog.DiscardHandler), nil)
	tm.scanned, tm.sought = time.Now(), time.Now()
	require.NoError(t, tm.pumpDue(t.Context()))
	require.Empty(t, b.broker.log)
	tm.scanned = tm.scanned.Add(-scanInterval)
	require.NoError(t, tm.pumpDue(t.Context()))
	require.Equal(t, ids(1, 3), b.broker.accounts(t))
	require.LessOrEqual(t, scanInterval+dueInterval, 20*time.Second, "well within the minute that is promised")
}

// deadTimer is a timer whose Redis does not answer.
type deadTimer struct{}

func (deadTimer) Add(context.Context, []timer.Entry) {}
func (deadTimer) Due(context.Context, time.Time, int) ([]timer.Entry, error) {
	return nil, errors.New("away")
}
func (deadTimer) Remove(context.Context, []timer.Entry) error { return errors.New("away") }

func TestPumpDue_WithoutATimerEachPassLooks(t *testing.T) {
	t.Parallel()
	b, tm, run := retrying(t, 1, nil)
	tm.dueWork.timer = deadTimer{}
	for delivery := 1; delivery <= 3; delivery++ {
		require.NoError(t, tm.pumpDue(t.Context()))
		require.Len(t, b.broker.log, delivery)
		b.end(run, task.Retrying)
	}
}

func TestPumpDue_TwoLeadersSendOnce(t *testing.T) {
	t.Parallel()
	b, tm, _, _ := timed(t, 20)
	var group errgroup.Group
	for range 4 { // The pump and the sweep of a leader and of its predecessor, as seen in the rows.
		group.Go(func() error {
			due, err := b.store.DueSubtasks(t.Context(), start, time.Time{}, 100)
			if err != nil {
				return err
			}
			return tm.sendDue(t.Context(), due, start)
		})
	}
	require.NoError(t, group.Wait())
	require.ElementsMatch(t, ids(1, 20), b.broker.accounts(t))
}

func TestPumpDue_DropsWhatWaitsForARunThatIsGone(t *testing.T) {
	t.Parallel()
	b, tm, run := retrying(t, 4, nil)
	b.exec(b.store.Data, "DELETE FROM run WHERE id = ?", run.ID)
	b.exec(b.store.Data, "DELETE FROM "+ledger.LogTable(run.ID)+" WHERE account_id > 2")
	require.NoError(t, tm.pumpDue(t.Context()))
	require.Empty(t, b.broker.log)
	counts, err := b.store.CountDue(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"retrying": 0, "deferred": 0, "sent": 0}, counts)
	require.Equal(t, 4.0, testutil.ToFloat64(tm.metrics.orphans))
	key := task.Key{RunID: run.ID, AccountID: 1, Part: "2026-11-21"}
	states, err := b.store.SubtaskStates(t.Context(), []task.Key{key})
	require.NoError(t, err)
	require.Equal(t, task.Cancelled, states[key].State)
}

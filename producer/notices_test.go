package producer

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client/outcomes"
	"adsync/producer/notice"
)

// ended makes a run of a followed task over some accounts, ends its subtasks, and returns the outcomes.
func (b *bench) ended(tm *term, taskID int64, accounts ...int64) []ledger.Outcome {
	b.t.Helper()
	run := tm.order(b, taskID, task.Order{Accounts: accounts})
	require.NoError(b.t, tm.fan(b, run))
	list := make([]ledger.Outcome, len(accounts))
	for i, id := range accounts {
		list[i] = ledger.Outcome{
			Key: task.Key{RunID: run, AccountID: id, Part: "2026-11-21"}, Media: "tulip", Lane: "normal", TaskID: taskID,
			Delivery: 1, State: task.Succeeded, StartedAt: start, EndedAt: start.Add(time.Second), Rows: 4, Calls: 1,
		}
	}
	_, err := b.store.ApplyOutcomes(b.t.Context(), list)
	require.NoError(b.t, err)
	return list
}

// sendNotices runs a pass of each slot.
func (t *term) sendNotices(ctx context.Context) error {
	var errs []error
	for _, n := range t.notices {
		errs = append(errs, n.sender.SendAll(ctx))
	}
	return errors.Join(errs...)
}

// outcomes returns the messages about ended subtasks.
func (b *fakeBroker) outcomes(t testing.TB) []outcomes.Outcome {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []outcomes.Outcome
	for _, m := range b.log {
		if m.Topic != b.OutcomesTopic() {
			continue
		}
		var o outcomes.Outcome
		require.NoError(t, json.Unmarshal(m.Value, &o))
		o.Key = string(m.Key)
		all = append(all, o)
	}
	return all
}

func TestNotices_BecomeMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(2)
	id := b.addTask("a", "tulip.report", "0 0 1 1 *", map[string]any{"application": "shop"})
	tm := b.term()
	require.NoError(t, tm.sendNotices(t.Context()))
	require.NotContains(t, b.broker.topics, "t.outcomes", "the topic is made when it is needed")
	run := b.ended(tm, id, 2)[0].RunID
	require.NoError(t, tm.sendNotices(t.Context()))
	require.Equal(t, []outcomes.Outcome{{
		Key: ledger.Subject{TaskID: id, AccountID: 2}.String(), Seq: 1, Application: "shop", Task: "a", Media: "tulip",
		Handler: "tulip.report", Account: "e2", Part: "2026-11-21", RunID: strconv.FormatInt(run, 10),
		State: outcomes.Succeeded, Rows: 4, Calls: 1, PlannedAt: start, StartedAt: start, EndedAt: start.Add(time.Second),
	}}, b.broker.outcomes(t))
	require.InDelta(t, 1, testutil.ToFloat64(b.metrics.outcomes), 0)

	require.NoError(t, tm.sendNotices(t.Context()))
	require.Len(t, b.broker.outcomes(t), 1, "it is sent once")
}

// An order may name the application: of system.files each subscription has its own.
func TestNotices_GoToTheApplicationOfTheOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(1)
	tm := b.term()
	for _, c := range []struct{ task, order, want string }{{"", "shop", "shop"}, {"desk", "shop", "shop"},
		{"desk", "", "desk"}, {"", "", ""}} {
		id := b.addTask("a"+c.task+"-"+c.order, "tulip.report", "0 0 1 1 *", map[string]any{"application": c.task})
		run := tm.order(b, id, task.Order{Accounts: []int64{1}, Application: c.order})
		require.Equal(t, c.want, b.run(run).Settings.Application)
		var followed string
		require.NoError(t, b.store.Data.Writer(t.Context()).Raw("SELECT application FROM run WHERE id = ?",
			run).Scan(&followed).Error)
		require.Equal(t, c.want, followed)
	}
}

// forgetful is a store whose deletions of notices fail, as if the leader had died before them.
type forgetful struct{ notice.Store }

func (forgetful) DeleteNotices(context.Context, []ledger.Notice) error { return errors.New("it died") }

func TestNotices_OfADeadLeaderAreSentAgainWithTheirNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(3)
	id := b.addTask("a", "tulip.report", "0 0 1 1 *", map[string]any{"application": "shop"})
	first := b.term()
	for _, n := range first.notices {
		n.sender.Store = forgetful{n.sender.Store}
	}
	b.ended(first, id, 1, 2, 3)
	require.ErrorContains(t, first.sendNotices(t.Context()), "it died")
	require.Len(t, b.broker.outcomes(t), 3)

	b.clock.add(time.Minute)
	second := b.term()
	b.ended(second, id, 1, 2, 3)
	require.NoError(t, second.sendNotices(t.Context()))
	seqs := map[string][]int64{}
	for _, o := range b.broker.outcomes(t) {
		seqs[o.Account] = append(seqs[o.Account], o.Seq)
	}
	require.Equal(t, map[string][]int64{"e1": {1, 1, 2}, "e2": {1, 1, 2}, "e3": {1, 1, 2}}, seqs)
	require.ErrorIs(t, sendAfterAll(t, b, first, id), lease.ErrStaleLease, "the first one leads no longer")
}

// sendAfterAll ends one more subtask, and lets an earlier leader send its notice.
func sendAfterAll(t *testing.T, b *bench, earlier *term, id int64) error {
	t.Helper()
	b.clock.add(time.Minute)
	b.ended(b.term(), id, 1)
	return earlier.sendNotices(t.Context())
}

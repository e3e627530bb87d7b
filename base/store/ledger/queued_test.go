package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// queue has two runs of a task that are fanning out. The older one has the accounts 1 to n open.
type queue struct {
	t            *testing.T
	s            *store.Store
	l            lease.Lease
	older, newer ledger.Run
	now          time.Time
}

func newQueue(t *testing.T, n int64) *queue {
	t.Helper()
	s, l, older, now := fanningOut(t)
	newer := storetest.SomeRun(older.ID+1, now)
	require.NoError(t, s.AddRuns(t.Context(), l, []ledger.Run{newer}))
	q := &queue{t: t, s: s, l: l, older: older, newer: newer, now: now}
	var parts []ledger.AccountPart
	for id := range n {
		parts = append(parts, ledger.AccountPart{AccountID: id + 1, Part: "p"})
	}
	require.NoError(t, storetest.AddSubtasks(t.Context(), s, l, older.ID, parts, now))
	return q
}

func (q *queue) parts(accounts ...int64) []ledger.QueuedPart {
	var parts []ledger.QueuedPart
	for _, id := range accounts {
		parts = append(parts, ledger.QueuedPart{AccountPart: ledger.AccountPart{AccountID: id, Part: "p"},
			Behind: q.older.ID})
	}
	return parts
}

func (q *queue) add(accounts ...int64) {
	q.t.Helper()
	require.NoError(q.t, q.s.AddQueuedSubtasks(q.t.Context(), q.l, &q.newer, q.parts(accounts...), q.now))
}

func (q *queue) outcome(account int64, state task.State) ledger.Outcome {
	return ledger.Outcome{Key: key(q.older, account), Delivery: 1, State: state, DueAt: q.now.Add(time.Hour),
		EndedAt: q.now}
}

// due returns the accounts of the newer run that are to be sent now.
func (q *queue) due() []int64 {
	q.t.Helper()
	var ids []int64
	for _, d := range dueNow(q.t, q.s, q.now, time.Time{}) {
		require.Equal(q.t, ledger.Due{Key: key(q.newer, d.AccountID), State: task.Deferred, DueAt: q.now, Delivery: 1}, d)
		ids = append(ids, d.AccountID)
	}
	return ids
}

func TestQueued_IsDueWhenTheOlderOneEnds(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 7)
	q.add(6, 5, 4, 3, 2, 1)
	q.add(1, 2) // a repeated batch changes nothing
	queued, err := q.s.QueuedSubtasks(t.Context(), []int64{q.older.ID, q.newer.ID},
		ledger.AccountRange{After: 1, Through: 3})
	require.NoError(t, err)
	require.Equal(t, map[ledger.AccountPart]bool{{AccountID: 2, Part: "p"}: true, {AccountID: 3, Part: "p"}: true}, queued)
	unsent, err := q.s.UnsentSubtasks(t.Context(), q.newer.ID, ledger.AccountRange{After: 0, Through: 9})
	require.NoError(t, err)
	require.Empty(t, unsent, "the fan-out sends none of them")

	require.Zero(t, storetest.Apply(t, q.s, q.outcome(1, task.Retrying), q.outcome(2, task.Deferred)))
	require.Empty(t, q.due(), "an older one that only waits is still open")
	ends := []task.State{task.Succeeded, task.Failed, task.Expired, task.Cancelled}
	for i, state := range ends {
		require.Zero(t, storetest.Apply(t, q.s, q.outcome(int64(3+i), state)))
	}
	require.Equal(t, []int64{3, 4, 5, 6}, q.due(), "whatever its end")
	require.Zero(t, storetest.Apply(t, q.s, q.outcome(7, task.Succeeded)), "no subtask waits for this one")

	raised, err := q.s.NextDeliveries(t.Context(), q.l, dueNow(t, q.s, q.now, time.Time{}), q.now)
	require.NoError(t, err)
	require.Len(t, raised, 4)
	require.Equal(t, 2, raised[0].Delivery)
	q.add(3)
	require.Empty(t, q.due(), "a sent subtask is not queued again")
}

func TestQueued_WaitsNoLongerThanItsTimeToLive(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 2)
	q.add(2)
	q.newer.Settings.TTL = 0
	q.add(1)
	require.Equal(t, []task.Key{key(q.newer, 2)}, keys(dueNow(t, q.s, q.newer.PlannedAt.Add(time.Hour), time.Time{})))
	require.Len(t, dueNow(t, q.s, ledger.Never, time.Time{}), 2)
}

func keys(due []ledger.Due) []task.Key {
	var all []task.Key
	for _, d := range due {
		all = append(all, d.Key)
	}
	return all
}

func TestQueued_BehindAnEndedSubtaskIsDueAtOnce(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 3)
	require.Zero(t, storetest.Apply(t, q.s, q.outcome(1, task.Succeeded)))
	q.add(1, 2, 8)
	require.Equal(t, []int64{1, 8}, q.due(), "8 has no older subtask")

	// And behind a run whose day was dropped.
	gone := q.parts(3)
	gone[0].Behind = task.NewRunID(q.now.AddDate(0, 0, -30))
	require.NoError(t, q.s.AddQueuedSubtasks(t.Context(), q.l, &q.newer, gone, q.now))
	require.Equal(t, []int64{1, 3, 8}, q.due())
}

// An outcome may look for queued subtasks and commit only after one was queued. That one must not wait forever.
func TestQueued_WhileTheOlderOneIsEnding(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 1)
	if q.s.Data.Dialect() == sqldb.SQLiteDialect {
		t.Skip("SQLite has one writer: the two cannot overlap")
	}
	ctx := context.Background()
	tx := q.s.Data.Writer(ctx).Begin()
	require.NoError(t, tx.Exec("UPDATE "+ledger.LogTable(q.older.ID)+
		" SET state = 'succeeded' WHERE run_id = ? AND account_id = 1", q.older.ID).Error)
	require.Zero(t, storetest.Int(t, q.s, "SELECT COUNT(*) FROM subtask_due WHERE waits_for = ?",
		ledger.QueuedBehind(q.older.ID)))

	added := make(chan error, 1)
	go func() { added <- q.s.AddQueuedSubtasks(ctx, q.l, &q.newer, q.parts(1), q.now) }()
	require.Eventually(t, func() bool { return storetest.Int(t, q.s, "SELECT COUNT(*) FROM subtask_due") == 1 },
		10*time.Second, time.Millisecond)
	require.NoError(t, tx.Commit().Error)
	require.NoError(t, <-added)
	require.Equal(t, []int64{1}, q.due())
}

func TestReleaseQueued_FindsSubtasksThatNoOutcomeReleased(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 3)
	q.add(1, 2, 3)
	// Their older subtasks end by direct changes of the rows.
	require.NoError(t, q.s.Data.Writer(t.Context()).Exec("UPDATE "+ledger.LogTable(q.older.ID)+
		" SET state = 'expired' WHERE account_id = 1").Error)
	require.NoError(t, q.s.Data.Writer(t.Context()).Exec("DELETE FROM "+ledger.LogTable(q.older.ID)+
		" WHERE account_id = 2").Error)
	dropped := q.parts(9)
	dropped[0].Behind = task.NewRunID(q.now.AddDate(0, 0, -30))
	require.NoError(t, q.s.AddQueuedSubtasks(t.Context(), q.l, &q.newer, dropped, q.now))
	require.NoError(t,
		q.s.Data.Writer(t.Context()).Exec(
			"UPDATE subtask_due SET due_at = '9999-01-01 00:00:00.000', waits_for = ? WHERE account_id = 9",
			ledger.QueuedBehind(dropped[0].Behind)).Error)
	require.Empty(t, q.due())

	n, err := q.s.ReleaseQueued(t.Context(), q.now)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []int64{1, 2, 9}, q.due())
	n, err = q.s.ReleaseQueued(t.Context(), q.now)
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestApplyLeaderOutcomes_NeedTheLead(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 2)
	stale, err := q.s.ApplyLeaderOutcomes(t.Context(), q.l, []ledger.Outcome{q.outcome(1, task.Superseded)})
	require.NoError(t, err)
	require.Zero(t, stale)
	storetest.Lead(t, q.s, "another")
	_, err = q.s.ApplyLeaderOutcomes(t.Context(), q.l, []ledger.Outcome{q.outcome(2, task.Superseded)})
	require.ErrorIs(t, err, lease.ErrStaleLease)
	require.ErrorIs(t, q.s.AddQueuedSubtasks(t.Context(), q.l, &q.newer, q.parts(2), q.now), lease.ErrStaleLease)
	states, err := q.s.SubtaskStates(t.Context(), []task.Key{key(q.older, 1), key(q.older, 2), key(q.newer, 2)})
	require.NoError(t, err)
	require.Equal(t, map[task.Key]ledger.SubtaskStatus{
		key(q.older, 1): {State: task.Superseded, Delivery: 1}, key(q.older, 2): {State: task.Waiting, Delivery: 1},
	}, states)
}

// Every batch of outcomes looks for queued subtasks: it must not read all waiting rows.
func TestQueued_IsLookedUpByIndex(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 1)
	plan := explain(t, q.s, ledger.QueuedSQL(q.s.Data, 20))
	if q.s.Data.Dialect() == sqldb.SQLiteDialect {
		require.Contains(t, plan, "INDEX subtask_due_waits_for (waits_for=? AND account_id=? AND part=?)")
		return
	}
	require.Regexp(t, `(?m)^\S+ \S+ t ref waits_for waits_for`, plan)
}

func TestReleaseQueued_OfAllRunsThatSubtasksAreQueuedBehind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	var older []storetest.Run
	for i := range 3 {
		older = append(older, storetest.NewRun(t, s, storetest.Moment.Add(time.Duration(i)*time.Minute),
			storetest.Keys(1)...))
		storetest.Apply(t, s, older[i].Outcome(1, 1, task.Succeeded))
	}
	queue := storetest.NewRun(t, s, storetest.Moment.Add(time.Hour), storetest.Keys(4)...)
	for i, account := range []int64{1, 2, 3} {
		require.NoError(t,
			s.Data.Writer(ctx).Exec(
				"INSERT INTO subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt, reason,"+
					" waits_for) VALUES (?, ?, 'd', 'deferred', 'acme', 'normal', ?, 1, 0, '', ?)",
				queue.ID, account, sqldb.At(ledger.Never), ledger.QueuedBehind(older[i].ID)).Error)
	}
	released, err := s.ReleaseQueued(ctx, storetest.Moment)
	require.NoError(t, err)
	require.Equal(t, 3, released)
	require.Zero(t, storetest.RowsIn(t, s, "subtask_due WHERE waits_for <> ''"))
}

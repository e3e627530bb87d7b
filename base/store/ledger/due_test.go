package ledger_test

import (
	"context"
	"slices"
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

// waiting makes subtasks 1..n of a run that wait for a retry until now.
func waiting(t *testing.T, n int64) (*store.Store, lease.Lease, ledger.Run, time.Time) {
	t.Helper()
	ctx := context.Background()
	s, l, run, now := fanningOut(t)
	var parts []ledger.AccountPart
	var outcomes []ledger.Outcome
	for id := range n {
		parts = append(parts, ledger.AccountPart{AccountID: id + 1, Part: "p"})
		outcomes = append(outcomes, ledger.Outcome{Key: key(run, id+1), Delivery: 1, Attempt: 1, State: task.Retrying,
			DueAt: now, EndedAt: now})
	}
	require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, parts, now))
	_, err := s.ApplyOutcomes(ctx, outcomes)
	require.NoError(t, err)
	return s, l, run, now
}

func key(run ledger.Run, account int64) task.Key {
	return task.Key{RunID: run.ID, AccountID: account, Part: "p"}
}

func dueNow(t *testing.T, s *store.Store, now, lost time.Time) []ledger.Due {
	t.Helper()
	due, err := s.DueSubtasks(context.Background(), now, lost, 100)
	require.NoError(t, err)
	return due
}

func TestDue_WaitsUntilItsTime(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := waiting(t, 2)
	_, err := s.ApplyOutcomes(ctx, []ledger.Outcome{{Key: key(run, 2), Delivery: 1, Attempt: 1, State: task.Deferred,
		DueAt: now.Add(time.Minute), EndedAt: now}})
	require.NoError(t, err)
	require.Empty(t, dueNow(t, s, now.Add(-time.Millisecond), time.Time{}))
	first := dueNow(t, s, now, time.Time{})
	require.Equal(t, []ledger.Due{{Key: key(run, 1), State: task.Retrying, DueAt: now, Delivery: 1, Attempt: 1}}, first)
	require.Len(t, dueNow(t, s, now.Add(time.Minute), time.Time{}), 2)
	counts, err := s.CountDue(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"retrying": 1, "deferred": 1, "sent": 0}, counts)
	retrying, deferred, err := s.SubtasksWaiting(ctx, run.ID)
	require.NoError(t, err)
	require.Equal(t, [2]int64{1, 1}, [2]int64{retrying, deferred})

	raised, err := s.NextDeliveries(ctx, l, first, now)
	require.NoError(t, err)
	require.Equal(t, []ledger.Due{{Key: key(run, 1), State: "sent", DueAt: now, Delivery: 2, Attempt: 1}}, raised)
	states, err := s.SubtaskStates(ctx, []task.Key{key(run, 1)})
	require.NoError(t, err)
	require.Equal(t, ledger.SubtaskStatus{State: task.Waiting, Delivery: 2, Attempt: 1}, states[key(run, 1)])
	require.Empty(t, dueNow(t, s, now, now.Add(-time.Second)), "it is under way")

	// The place of its message was never recorded: it is sent again as the next delivery.
	lost := dueNow(t, s, now, now)
	require.Len(t, lost, 1)
	raised, err = s.NextDeliveries(ctx, l, lost, now)
	require.NoError(t, err)
	require.Equal(t, 3, raised[0].Delivery)

	require.NoError(t,
		s.RecordSent(ctx, []ledger.SentDue{{Key: key(run, 1), Delivery: 2, Topic: "t", Partition: 1, Offset: 5}}))
	require.Len(t, dueNow(t, s, now, now), 1, "the place of an older delivery is ignored")
	require.NoError(t,
		s.RecordSent(ctx, []ledger.SentDue{{Key: key(run, 1), Delivery: 3, Topic: "t", Partition: 1, Offset: 6}}))
	require.Empty(t, dueNow(t, s, now, now))

	// The outcome of the delivery under way deletes the row. That of an older delivery changes nothing.
	stale, err := s.ApplyOutcomes(ctx, []ledger.Outcome{{Key: key(run, 1), Delivery: 2, State: task.Succeeded,
		EndedAt: now}})
	require.NoError(t, err)
	require.Equal(t, 1, stale)
	stale, err = s.ApplyOutcomes(ctx, []ledger.Outcome{{Key: key(run, 1), Delivery: 3, State: task.Succeeded,
		EndedAt: now}})
	require.NoError(t, err)
	require.Zero(t, stale)
	counts, err = s.CountDue(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"retrying": 0, "deferred": 1, "sent": 0}, counts)
}

func TestNextDeliveries_LeaveChangedRowsAlone(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := waiting(t, 3)
	due := dueNow(t, s, now, time.Time{})
	require.Len(t, due, 3)
	// The first got its next delivery from another call; the second ended without a change of its row of subtask_due.
	_, err := s.NextDeliveries(ctx, l, due[:1], now)
	require.NoError(t, err)
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE "+ledger.LogTable(run.ID)+
		" SET state = 'cancelled' WHERE account_id = 2").Error)

	raised, err := s.NextDeliveries(ctx, l, due, now)
	require.NoError(t, err)
	require.Len(t, raised, 1)
	require.EqualValues(t, 3, raised[0].AccountID)
	states, err := s.SubtaskStates(ctx, []task.Key{key(run, 1), key(run, 2), key(run, 3)})
	require.NoError(t, err)
	require.Equal(t, 2, states[key(run, 1)].Delivery, "its delivery rose once")
	require.Equal(t, task.Cancelled, states[key(run, 2)].State)
	counts, err := s.CountDue(ctx)
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"retrying": 0, "deferred": 0, "sent": 2}, counts,
		"the row of the ended subtask is gone")
}

func TestNextDeliveries_OfADroppedDay(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := waiting(t, 2)
	due := dueNow(t, s, now, time.Time{})
	require.NoError(t, s.DropLogTable(ctx, task.LogDay(run.ID)))
	raised, err := s.NextDeliveries(ctx, l, due, now)
	require.NoError(t, err)
	require.Empty(t, raised)
	require.Empty(t, dueNow(t, s, now, time.Time{}))
}

func TestDueSubtasks_ReturnsTheEarliestFirst(t *testing.T) {
	t.Parallel()
	s, l, _, now := waiting(t, 3)
	db := s.Data.Writer(t.Context())
	for account, ago := range map[int64]time.Duration{1: time.Second, 2: 3 * time.Second, 3: 2 * time.Second} {
		require.NoError(t, db.Exec("UPDATE subtask_due SET due_at = ? WHERE account_id = ?", sqldb.At(now.Add(-ago)),
			account).Error)
	}
	order := func(lost time.Time) (accounts []int64) {
		for limit := 1; limit <= 3; limit++ {
			due, err := s.DueSubtasks(t.Context(), now, lost, limit)
			require.NoError(t, err)
			require.Len(t, due, limit)
			for _, d := range due {
				if !slices.Contains(accounts, d.AccountID) {
					accounts = append(accounts, d.AccountID)
				}
			}
		}
		return accounts
	}
	require.Equal(t, []int64{2, 3, 1}, order(time.Time{}))

	due, err := s.DueSubtasks(t.Context(), now, time.Time{}, 3)
	require.NoError(t, err)
	_, err = s.NextDeliveries(t.Context(), l, due, now)
	require.NoError(t, err)
	for account, ago := range map[int64]time.Duration{1: 2 * time.Second, 2: time.Second, 3: 3 * time.Second} {
		require.NoError(t, db.Exec("UPDATE subtask_due SET due_at = ? WHERE account_id = ?", sqldb.At(now.Add(-ago)),
			account).Error)
	}
	require.Equal(t, []int64{3, 1, 2}, order(now), "also of those whose place is not recorded")
}

func TestWaitOf_IsOnlyForWaitingSubtasks(t *testing.T) {
	t.Parallel()
	s, l, run, now := waiting(t, 3)
	_, err := s.ApplyOutcomes(t.Context(), []ledger.Outcome{{Key: key(run, 2), Delivery: 1, State: task.Deferred,
		DueAt: now.Add(time.Hour), EndedAt: now, Reason: "its quota"}})
	require.NoError(t, err)
	due, err := s.DueOf(t.Context(), []task.Key{key(run, 3)})
	require.NoError(t, err)
	_, err = s.NextDeliveries(t.Context(), l, []ledger.Due{due[key(run, 3)]}, now)
	require.NoError(t, err)
	for account, want := range map[int64]time.Time{1: now, 2: now.Add(time.Hour), 3: {}, 4: {}} {
		_, at, err := s.WaitOf(t.Context(), key(run, account))
		require.NoError(t, err)
		require.Equal(t, want, at, "account %d", account)
	}
	reason, _, err := s.WaitOf(t.Context(), key(run, 2))
	require.NoError(t, err)
	require.Equal(t, "its quota", reason)
}

func TestDropDue_OfAnOlderDeliveryLeavesTheRow(t *testing.T) {
	t.Parallel()
	s, l, run, now := waiting(t, 1)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_due SET delivery = 2").Error)
	require.NoError(t, s.DropDue(t.Context(), l, []ledger.Due{{Key: key(run, 1), State: task.Retrying, Delivery: 1}}))
	require.Len(t, dueNow(t, s, now, time.Time{}), 1)
}

func TestNextDeliveries_ClearWhatTheyWaitedFor(t *testing.T) {
	t.Parallel()
	s, l, _, now := waiting(t, 2)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_due SET waits_for = 'pause:7'").Error)
	raised, err := s.NextDeliveries(t.Context(), l, dueNow(t, s, now, time.Time{}), now)
	require.NoError(t, err)
	require.Len(t, raised, 2)
	require.Zero(t, storetest.RowsIn(t, s, "subtask_due WHERE waits_for <> ''"))
}

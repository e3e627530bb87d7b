package ledger_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func TestRunningRuns_AreFannedOutAndOpen(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := fanningOut(t)
	require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, []ledger.AccountPart{{AccountID: 1, Part: "p"}}, now))
	require.NoError(t, s.AdvanceCursor(ctx, l, run.ID, 0, 1, ledger.Offsets{0: 7, 3: 9}, ""))
	runs, err := s.RunningRuns(ctx, 0, 10)
	require.NoError(t, err)
	require.Empty(t, runs)

	require.NoError(t, s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", now))
	runs, err = s.RunningRuns(ctx, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []ledger.RunningRun{{
		ID: run.ID, TaskName: run.TaskName, Media: run.Media, Lane: run.Settings.Lane, Offsets: ledger.Offsets{0: 7, 3: 9},
		CreatedAt: run.CreatedAt,
	}}, runs)
	runs, err = s.RunningRuns(ctx, run.ID, 10)
	require.NoError(t, err)
	require.Empty(t, runs)
}

func running(run ledger.Run) ledger.RunningRun {
	return ledger.RunningRun{ID: run.ID, Media: run.Media, Lane: run.Settings.Lane}
}

func TestFirstDeliveries_AreReadInPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := fanningOut(t)
	var parts []ledger.AccountPart
	for id := range int64(4) {
		parts = append(parts, ledger.AccountPart{AccountID: id, Part: "a"}, ledger.AccountPart{AccountID: id, Part: "b"})
	}
	require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, parts, now))
	_, err := s.ApplyOutcomes(ctx, []ledger.Outcome{
		{Key: task.Key{RunID: run.ID, AccountID: 1, Part: "a"}, Delivery: 1, State: task.Succeeded, EndedAt: now},
		{Key: task.Key{RunID: run.ID, AccountID: 2, Part: "b"}, Delivery: 1, State: task.Retrying, DueAt: now, EndedAt: now},
	})
	require.NoError(t, err)
	var found []string
	after := ledger.AccountPart{AccountID: -1}
	for {
		lost, err := s.FirstDeliveries(ctx, running(run), after, 2)
		require.NoError(t, err)
		for _, x := range lost {
			require.Equal(t, 1, x.Delivery)
			require.Equal(t, run.Media, x.Media)
			found = append(found, string(rune('0'+x.AccountID))+x.Part)
		}
		if len(lost) < 2 {
			break
		}
		after = ledger.AccountPart{AccountID: lost[1].AccountID, Part: lost[1].Part}
	}
	require.Equal(t, "0a 0b 1b 2a 3a 3b", strings.Join(found, " "))

	require.NoError(t, s.DropLogTable(ctx, task.LogDay(run.ID)))
	lost, err := s.FirstDeliveries(ctx, running(run), ledger.AccountPart{AccountID: -1}, 2)
	require.NoError(t, err)
	require.Empty(t, lost)
}

func TestDeferLost_ChangesOnlySubtasksThatWaitForTheLostDelivery(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := fanningOut(t)
	var parts []ledger.AccountPart
	var lost []ledger.LostSubtask
	for id := int64(5); id > 0; id-- {
		parts = append(parts, ledger.AccountPart{AccountID: id, Part: "p"})
		lost = append(lost, ledger.LostSubtask{Key: key(run, id), Media: run.Media, Lane: "normal", Delivery: 1})
	}
	require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, parts, now))
	later := now.Add(time.Hour)
	// During the sweep 1 ended, 2 failed and waits for its retry, and 3 was sent again.
	_, err := s.ApplyOutcomes(ctx, []ledger.Outcome{
		{Key: key(run, 1), Delivery: 1, State: task.Succeeded, EndedAt: now},
		{Key: key(run, 2), Delivery: 1, Attempt: 4, State: task.Retrying, DueAt: later, EndedAt: now},
		{Key: key(run, 3), Delivery: 1, Attempt: 2, State: task.Retrying, DueAt: now, EndedAt: now},
	})
	require.NoError(t, err)
	_, err = s.NextDeliveries(ctx, l, dueNow(t, s, now, time.Time{}), now)
	require.NoError(t, err)

	due, err := s.DeferLost(ctx, l, lost, now)
	require.NoError(t, err)
	require.Equal(t, []ledger.Due{
		{Key: key(run, 4), State: task.Deferred, DueAt: now, Delivery: 1},
		{Key: key(run, 5), State: task.Deferred, DueAt: now, Delivery: 1},
	}, due)
	require.Equal(t, due, dueNow(t, s, now, time.Time{}))
	states, err := s.SubtaskStates(ctx, []task.Key{key(run, 1), key(run, 2), key(run, 3), key(run, 4)})
	require.NoError(t, err)
	require.Equal(t, map[task.Key]ledger.SubtaskStatus{
		key(run, 1): {State: task.Succeeded, Delivery: 1},
		key(run, 2): {State: task.Retrying, Delivery: 1, Attempt: 4},
		key(run, 3): {State: task.Waiting, Delivery: 2, Attempt: 2},
		key(run, 4): {State: task.Deferred, Delivery: 1},
	}, states)
	due, err = s.DeferLost(ctx, l, lost, now)
	require.NoError(t, err)
	require.Empty(t, due, "a second time nothing is left to do")

	_, err = s.DeferLost(ctx, lease.Lease{Epoch: l.Epoch, Holder: "another"}, lost, now)
	require.ErrorIs(t, err, lease.ErrStaleLease)
	require.NoError(t, s.DropLogTable(ctx, task.LogDay(run.ID)))
	due, err = s.DeferLost(ctx, l, lost, now)
	require.NoError(t, err)
	require.Empty(t, due)
}

func TestSentRanges_HoldTheLaterDeliveries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := waiting(t, 5)
	ranges, err := s.SentRanges(ctx)
	require.NoError(t, err)
	require.Empty(t, ranges)
	raised, err := s.NextDeliveries(ctx, l, dueNow(t, s, now, time.Time{}), now)
	require.NoError(t, err)
	require.Len(t, raised, 5)
	var sent []ledger.SentDue
	for i, at := range []struct {
		partition int
		offset    int64
	}{{0, 10}, {1, 5}, {0, 7}, {0, 12}} {
		sent = append(sent, ledger.SentDue{Key: raised[i].Key, Delivery: 2, Topic: "t", Partition: at.partition,
			Offset: at.offset})
	}
	require.NoError(t, s.RecordSent(ctx, sent))
	ranges, err = s.SentRanges(ctx)
	require.NoError(t, err)
	lane := ledger.LaneName{Media: run.Media, Lane: run.Settings.Lane}
	require.Equal(t, []ledger.SentRange{{Lane: lane, Topic: "t", Lowest: 7, Highest: 12},
		{Lane: lane, Topic: "t", Partition: 1, Lowest: 5, Highest: 5}}, ranges)

	within := func(from, to int64, before time.Time, limit int) []int64 {
		lost, err := s.SentWithin(ctx, ledger.SentRange{Topic: "t", Lowest: from, Highest: to}, before, limit)
		require.NoError(t, err)
		var accounts []int64
		for _, x := range lost {
			require.Equal(t, 2, x.Delivery)
			accounts = append(accounts, x.AccountID)
		}
		return accounts
	}
	after := now.Add(time.Millisecond)
	require.Equal(t, []int64{3, 1, 4}, within(0, 100, after, 10))
	require.Equal(t, []int64{3, 1}, within(7, 11, after, 10))
	require.Equal(t, []int64{3}, within(7, 11, after, 1))
	require.Empty(t, within(0, 100, now, 10), "sent too recently")

	due, err := s.DeferLost(ctx, l, []ledger.LostSubtask{{Key: key(run, 3), Media: "tulip", Lane: "normal", Delivery: 2}},
		now)
	require.NoError(t, err)
	require.Equal(t, 1, due[0].Attempt, "the failures before are kept")
	require.Equal(t, []int64{1, 4}, within(0, 100, after, 10), "a waiting subtask has no place")
}

func TestDueOf_AndDropDue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := waiting(t, 3)
	found, err := s.DueOf(ctx, []task.Key{key(run, 2), key(run, 99), key(run, 2)})
	require.NoError(t, err)
	require.Equal(t, map[task.Key]ledger.Due{key(run, 2): {Key: key(run, 2), State: task.Retrying, DueAt: now, Delivery: 1,
		Attempt: 1}}, found)
	found, err = s.DueOf(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, found)

	due := dueNow(t, s, now, time.Time{})
	due[0].Delivery = 2
	require.ErrorIs(t, s.DropDue(ctx, lease.Lease{Epoch: l.Epoch + 1, Holder: l.Holder}, due), lease.ErrStaleLease)
	require.NoError(t, s.DropDue(ctx, l, due))
	left := dueNow(t, s, now, time.Time{})
	require.Len(t, left, 1, "a row that has changed stays")
	require.Equal(t, key(run, 1), left[0].Key)
}

func TestFirstDeliveries_AreNoLaterOnes(t *testing.T) {
	t.Parallel()
	s, l, run, now := waiting(t, 2)
	due := dueNow(t, s, now, time.Time{})
	_, err := s.NextDeliveries(t.Context(), l, due[:1], now)
	require.NoError(t, err)
	lost, err := s.FirstDeliveries(t.Context(), running(run), ledger.AccountPart{AccountID: -1}, 10)
	require.NoError(t, err)
	require.Empty(t, lost, "one is at its second delivery, and one waits for it")
}

func TestRunningRuns_AreSortedByID(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	var want, got []int64
	for i := range 3 {
		want = append(want, storetest.NewRun(t, s, storetest.Moment.Add(time.Duration(i)*time.Minute),
			storetest.Keys(1)...).ID)
	}
	for after := int64(0); ; {
		page, err := s.RunningRuns(t.Context(), after, 1)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		after = page[0].ID
		got = append(got, after)
	}
	require.Equal(t, want, got)
}

// One run's day was dropped, and the others are of other days.
func TestDeferLost_OfSeveralDays(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	gone := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(1)...)
	there := storetest.NewRun(t, s, storetest.Moment.AddDate(0, 0, 1), storetest.Keys(1)...)
	require.NoError(t, s.DropLogTable(t.Context(), task.LogDay(gone.ID)))
	due, err := s.DeferLost(t.Context(), l, []ledger.LostSubtask{
		{Key: task.Key{RunID: gone.ID, AccountID: 1, Part: "d"}, Media: "acme", Lane: "normal", Delivery: 1},
		{Key: task.Key{RunID: there.ID, AccountID: 1, Part: "d"}, Media: "acme", Lane: "normal", Delivery: 1},
	}, storetest.Moment)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.Equal(t, there.ID, due[0].RunID)
}

func TestSentRanges_OfNoRunAreLeftOut(t *testing.T) {
	t.Parallel()
	s, _, _, _ := waiting(t, 2)
	require.NoError(t,
		s.Data.Writer(t.Context()).Exec(
			"UPDATE subtask_due SET state = 'sent', topic = 't', topic_partition = 0, topic_offset = 5"+
				" WHERE account_id = 1").Error)
	require.NoError(t,
		s.Data.Writer(t.Context()).Exec(
			"UPDATE subtask_due SET state = 'sent', topic = 'u', topic_partition = 0, topic_offset = 5, run_id = 1"+
				" WHERE account_id = 2").Error)
	ranges, err := s.SentRanges(t.Context())
	require.NoError(t, err)
	require.Len(t, ranges, 1)
	require.Equal(t, "t", ranges[0].Topic)
}

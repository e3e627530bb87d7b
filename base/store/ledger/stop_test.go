package ledger_test

import (
	"context"
	"strconv"
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

func newStop(verb task.StopVerb, kind task.StopKind, target string) task.Stop {
	return task.Stop{
		ID: task.NewRunID(storetest.Moment), Verb: verb, Kind: kind, Target: target, TargetName: "the " + target,
		Reason: "the platform asked us to", By: "otto", OrderedAt: storetest.Moment,
	}
}

func addStop(t *testing.T, s *store.Store, stop task.Stop) {
	t.Helper()
	require.NoError(t, s.AddStop(t.Context(), stop))
}

func leading(t *testing.T, s *store.Store) lease.Lease {
	t.Helper()
	l, _, err := s.Leadership().Campaign(t.Context(), "tester", time.Minute)
	require.NoError(t, err)
	return l
}

func TestStops_AreReadAsTheyWereOrdered(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := leading(t, s)
	pause := newStop(task.Pause, task.StopMedia, "tulip")
	pause.Until = storetest.Moment.Add(time.Hour)
	addStop(t, s, pause)
	open := newStop(task.Pause, task.StopAccount, "12")
	open.ID = pause.ID + 1
	addStop(t, s, open)
	cancel := newStop(task.Cancel, task.StopTask, "7")
	cancel.ID = pause.ID + 2
	addStop(t, s, cancel)

	active, err := s.ActiveStops(ctx)
	require.NoError(t, err)
	require.Equal(t, []task.Stop{pause, open, cancel}, active)

	lifted, err := s.LiftPause(ctx, open.ID, "vera", storetest.Moment.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, lifted)
	lifted, err = s.LiftPause(ctx, open.ID, "eve", storetest.Moment.Add(2*time.Minute))
	require.NoError(t, err)
	require.False(t, lifted, "it ends once")
	lifted, err = s.LiftPause(ctx, cancel.ID, "vera", storetest.Moment)
	require.NoError(t, err)
	require.False(t, lifted, "a cancel cannot be undone")
	require.NoError(t, s.EndStop(ctx, l, cancel.ID, storetest.Moment.Add(time.Minute)))
	require.NoError(t, s.EndStop(ctx, l, cancel.ID, storetest.Moment.Add(time.Hour)))
	open.EndedAt, open.EndedBy = storetest.Moment.Add(time.Minute), "vera"
	cancel.EndedAt = storetest.Moment.Add(time.Minute)

	active, err = s.ActiveStops(ctx)
	require.NoError(t, err)
	require.Equal(t, []task.Stop{pause}, active)
	list := func(f ledger.StopFilter) []task.Stop {
		f.Limit = 10
		all, err := s.ListStops(ctx, f)
		require.NoError(t, err)
		return all
	}
	require.Equal(t, []task.Stop{open, pause}, list(ledger.StopFilter{Verb: task.Pause}))
	require.Equal(t, []task.Stop{pause}, list(ledger.StopFilter{Verb: task.Pause, Active: true}))
	require.Equal(t, []task.Stop{pause}, list(ledger.StopFilter{Verb: task.Pause, Before: open.ID}))
	require.Equal(t, []task.Stop{cancel}, list(ledger.StopFilter{Verb: task.Cancel}))
	one, err := s.Stop(ctx, open.ID)
	require.NoError(t, err)
	require.Equal(t, open, one)
	_, err = s.Stop(ctx, 5)
	require.ErrorIs(t, err, sqldb.ErrNotFound)

	l.Epoch--
	require.ErrorIs(t, s.EndStop(ctx, l, pause.ID, storetest.Moment), lease.ErrStaleLease)
}

func TestRunsToCancel_AreOlderThanTheOrder(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := leading(t, s)
	older, newer := storetest.NewRun(t, s, storetest.Moment.Add(-time.Minute), storetest.Keys(1)...),
		storetest.NewRun(t, s, storetest.Moment.Add(time.Minute), storetest.Keys(1)...)
	ended := storetest.NewRun(t, s, storetest.Moment.Add(-time.Hour), storetest.Keys(1)...)
	storetest.Apply(t, s, ended.Outcome(1, 1, task.Succeeded))
	for _, tt := range []struct {
		kind   task.StopKind
		target string
		want   []int64
	}{
		{task.StopTask, "7", []int64{older.ID}},
		{task.StopTask, "8", nil},
		{task.StopMedia, "acme", []int64{older.ID}},
		{task.StopMedia, "zeta", nil},
		{task.StopAccount, "1", []int64{older.ID}},
		{task.StopRun, strconv.FormatInt(older.ID, 10), []int64{older.ID}},
		{task.StopRun, strconv.FormatInt(ended.ID, 10), nil},
	} {
		runs, err := s.RunsToCancel(ctx, newStop(task.Cancel, tt.kind, tt.target))
		require.NoError(t, err)
		var ids []int64
		for _, r := range runs {
			ids = append(ids, r.ID)
			require.EqualValues(t, 7, r.TaskID)
			require.Equal(t, task.RunRunning, r.State)
		}
		require.Equal(t, tt.want, ids, "%s %s", tt.kind, tt.target)
	}
	_, err := s.RunsToCancel(ctx, newStop(task.Cancel, "planet", "1"))
	require.ErrorContains(t, err, `"planet"`)

	require.NoError(t, s.MarkCancelled(ctx, l, 99, []int64{ended.ID, older.ID}, "cancelled by otto: a test"))
	require.NoError(t, s.MarkCancelled(ctx, l, 100, []int64{older.ID}, "again"), "the first mark stays")
	runs, err := s.RunsToCancel(ctx, newStop(task.Cancel, task.StopTask, "7"))
	require.NoError(t, err)
	require.EqualValues(t, 99, runs[0].CancelID)
	storetest.Apply(t, s, older.Outcome(1, 1, task.Succeeded), newer.Outcome(1, 1, task.Succeeded))
	require.Equal(t, task.RunCancelled, countsOf(t, older).State, "whatever the outcome of its last subtask")
	require.Equal(t, task.RunSucceeded, countsOf(t, newer).State)
	require.Equal(t, task.RunSucceeded, countsOf(t, ended).State, "an end is final")
	run, err := s.Run(ctx, older.ID)
	require.NoError(t, err)
	require.Equal(t, "cancelled by otto: a test", run.ErrorText)
	l.Epoch--
	require.ErrorIs(t, s.MarkCancelled(ctx, l, 1, []int64{newer.ID}, ""), lease.ErrStaleLease)
}

// The leader may not have marked the run yet: the transaction that ends it reads the cancels.
func TestRuns_EndAsCancelledBeforeTheLeaderMarksThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		verb task.StopVerb
		kind task.StopKind
		// target is the run if empty.
		target string
		ended  bool
		want   task.RunState
	}{
		{"its own cancel", task.Cancel, task.StopRun, "", false, task.RunCancelled},
		{"the cancel of its task", task.Cancel, task.StopTask, "7", false, task.RunCancelled},
		{"the cancel of its media", task.Cancel, task.StopMedia, "acme", false, task.RunCancelled},
		{"the cancel of an account", task.Cancel, task.StopAccount, "1", false, task.RunPartial},
		{"the cancel of another task", task.Cancel, task.StopTask, "8", false, task.RunPartial},
		{"a pause", task.Pause, task.StopTask, "7", false, task.RunPartial},
		{"a cancel that is complete", task.Cancel, task.StopTask, "7", true, task.RunPartial},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := storetest.New(t)
			l := leading(t, s)
			before := storetest.NewRun(t, s, storetest.Moment.Add(-time.Hour), storetest.Keys(1)...)
			storetest.Apply(t, s, before.Outcome(1, 1, task.Succeeded))
			r := storetest.NewRun(t, s, storetest.Moment.Add(-time.Minute), storetest.Keys(3)...)
			younger := storetest.NewRun(t, s, storetest.Moment.Add(time.Minute), storetest.Keys(2)...)
			if tt.target == "" {
				tt.target = strconv.FormatInt(r.ID, 10)
			}
			storetest.Apply(t, s, r.Outcome(1, 1, task.Succeeded))
			stop := newStop(tt.verb, tt.kind, tt.target)
			addStop(t, s, stop)
			if tt.ended {
				require.NoError(t, s.EndStop(t.Context(), l, stop.ID, storetest.Moment))
			}
			storetest.Apply(t, s, r.Outcome(2, 1, task.Cancelled))
			require.Equal(t, task.RunRunning, countsOf(t, r).State)
			storetest.Apply(t, s, r.Outcome(3, 1, task.Cancelled), younger.Outcome(1, 1, task.Succeeded),
				younger.Outcome(2, 1, task.Failed))
			require.Equal(t, tt.want, countsOf(t, r).State)
			require.EqualValues(t, 2, countsOf(t, r).Cancelled)
			require.Equal(t, task.RunPartial, countsOf(t, younger).State, "it was made after the order")
			require.Equal(t, task.RunSucceeded, countsOf(t, before).State, "it had ended before the order")
			run, err := s.Run(t.Context(), r.ID)
			require.NoError(t, err)
			if tt.want == task.RunCancelled {
				require.Equal(t, stop.Text(), run.ErrorText)
				require.EqualValues(t, stop.ID, storetest.Int(t, s, "SELECT cancel_id FROM run WHERE id = ?", r.ID))
			} else {
				require.Empty(t, run.ErrorText)
			}
		})
	}
}

func TestApplyLeaderOutcomes_NeedsTheLease(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := leading(t, s)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(2)...)
	_, err := s.ApplyLeaderOutcomes(ctx, lease.Lease{Epoch: l.Epoch, Holder: "another"},
		[]ledger.Outcome{r.Outcome(1, 1, task.Cancelled)})
	require.ErrorIs(t, err, lease.ErrStaleLease)
	require.Equal(t, task.Waiting, statusOf(t, r, 1).State)
	stale, err := s.ApplyLeaderOutcomes(ctx, l, []ledger.Outcome{r.Outcome(1, 1, task.Cancelled),
		r.Outcome(2, 9, task.Cancelled)})
	require.NoError(t, err)
	require.Equal(t, 1, stale, "the row holds another delivery")
	requireCountsEqualRows(t, r)
}

func TestOpenSubtasksOf_ReadsByKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, append(storetest.Keys(4), task.Key{AccountID: 2, Part: "e"})...)
	storetest.Apply(t, s, r.Outcome(1, 1, task.Succeeded), r.Outcome(3, 1, task.Retrying), r.Outcome(4, 1, task.Deferred))
	resend(t, r, 4)
	key := func(account int64, part string) task.Key {
		return task.Key{RunID: r.ID, AccountID: account, Part: part}
	}
	open, err := s.OpenSubtasksOf(ctx, r.ID, task.Key{}, 3)
	require.NoError(t, err)
	require.Equal(t, []ledger.OpenSubtask{{Key: key(2, "d"), Delivery: 1}, {Key: key(2, "e"), Delivery: 1},
		{Key: key(3, "d"), Delivery: 1, Attempt: 1}}, open)
	open, err = s.OpenSubtasksOf(ctx, r.ID, open[2].Key, 3)
	require.NoError(t, err)
	require.Equal(t, []ledger.OpenSubtask{{Key: key(4, "d"), Delivery: 2}}, open)
	other := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(2)...)
	open, err = s.OpenSubtasksOfAccount(ctx, []int64{r.ID, other.ID}, 2)
	require.NoError(t, err)
	require.Len(t, open, 3)
	open, err = s.OpenSubtasksOf(ctx, task.FirstRunID("2020-01-01"), task.Key{}, 3)
	require.NoError(t, err, "a day without a table has none")
	require.Empty(t, open)
}

func TestRelease_MakesDueTheSubtasksOfAPause(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	r := storetest.NewRun(t, s, storetest.Moment, storetest.Keys(6)...)
	far := storetest.Moment.Add(24 * time.Hour)
	wait := func(account int64, ref string) {
		o := r.Outcome(account, 1, task.Deferred)
		o.DueAt, o.WaitsFor = far, ref
		storetest.Apply(t, s, o)
	}
	wait(1, task.PauseRef(5))
	wait(2, task.PauseRef(40))
	wait(3, task.PauseRef(5))
	wait(4, task.PauseRef(5))
	wait(5, "run:5")
	wait(6, "")
	ids, err := s.PausesWaitedFor(ctx)
	require.NoError(t, err)
	require.ElementsMatch(t, []int64{5, 40}, ids)
	require.Empty(t, dueAt(t, s, storetest.Moment))

	released, err := s.Release(ctx, task.PauseRef(5), storetest.Moment, 2)
	require.NoError(t, err)
	require.Len(t, released, 2)
	released, err = s.Release(ctx, task.PauseRef(5), storetest.Moment, 2)
	require.NoError(t, err)
	require.Len(t, released, 1)
	released, err = s.Release(ctx, task.PauseRef(5), storetest.Moment, 2)
	require.NoError(t, err)
	require.Empty(t, released)
	require.Equal(t, []int64{1, 3, 4}, dueAt(t, s, storetest.Moment))
	ids, err = s.PausesWaitedFor(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{40}, ids)

	// A subtask that is sent, retried or ended no longer waits for a pause.
	wait(1, task.PauseRef(5))
	storetest.Apply(t, s, r.Outcome(1, 1, task.Retrying), r.Outcome(2, 1, task.Cancelled))
	ids, err = s.PausesWaitedFor(ctx)
	require.NoError(t, err)
	require.Empty(t, ids)
}

// dueAt returns the accounts that are due.
func dueAt(t *testing.T, s *store.Store, now time.Time) (ids []int64) {
	t.Helper()
	due, err := s.DueSubtasks(t.Context(), now, now, 100)
	require.NoError(t, err)
	for _, d := range due {
		ids = append(ids, d.AccountID)
	}
	return ids
}

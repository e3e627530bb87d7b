package ledger_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/sqldb/sqldbtest"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// stubborn is one cut more often than the store retries.
func stubborn(k sqldbtest.Cut) []sqldbtest.Cut { return []sqldbtest.Cut{k, k, k, k} }

// Each write of the engine through each kind of cut: once, which the store's retry covers, and so often that the
// caller must repeat the call. In both cases the tables end as they would without the cut.
func TestWrites_AfterACutWhoseOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	part := ledger.AccountPart{AccountID: 5, Part: "p"}
	type fixture struct {
		s     *store.Store
		l     lease.Lease
		run   ledger.Run // fanning out, with the accounts 1 to 3 in backoff and due
		older ledger.Run // with account 1 open
	}
	for _, tt := range []struct {
		name  string
		write func(ctx context.Context, f fixture) error
		check func(t *testing.T, f fixture)
	}{
		{"ApplyOutcomes", func(ctx context.Context, f fixture) error {
			_, err := f.s.ApplyOutcomes(ctx, []ledger.Outcome{
				{Key: key(f.run, 1), Delivery: 1, State: task.Succeeded, EndedAt: storetest.Moment, Calls: 3},
				{Key: key(f.run, 2), Delivery: 1, State: task.Failed, EndedAt: storetest.Moment},
			})
			return err
		}, func(t *testing.T, f fixture) {
			t.Helper()
			run, err := f.s.Run(t.Context(), f.run.ID)
			require.NoError(t, err)
			require.Equal(t, [2]int64{1, 1}, [2]int64{run.Succeeded, run.Failed})
			require.Equal(t, 1, storetest.Int(t, f.s, "SELECT COUNT(*) FROM subtask_dead"))
			require.Equal(t, 1, storetest.Int(t, f.s, "SELECT COUNT(*) FROM subtask_due"))
			require.Equal(t, 2, storetest.Int(t, f.s, "SELECT COUNT(*) FROM outcome_notice WHERE seq = 1"))
			require.Equal(t, 2, storetest.Int(t, f.s, "SELECT COUNT(*) FROM outcome_notice"))
			require.Equal(t, 3, storetest.Int(t, f.s, "SELECT api_calls FROM "+ledger.LogTable(f.run.ID)+
				" WHERE run_id = ? AND account_id = 1", f.run.ID))
		}},
		{"AddSubtasks", func(ctx context.Context, f fixture) error {
			return storetest.AddSubtasks(ctx, f.s, f.l, f.run.ID, []ledger.AccountPart{part}, storetest.Moment)
		}, func(t *testing.T, f fixture) {
			t.Helper()
			require.Equal(t, 4, storetest.Int(t, f.s, "SELECT COUNT(*) FROM "+ledger.LogTable(f.run.ID)+" WHERE run_id = ?",
				f.run.ID))
		}},
		{"AddQueuedSubtasks", func(ctx context.Context, f fixture) error {
			return f.s.AddQueuedSubtasks(ctx, f.l, &f.run, []ledger.QueuedPart{{AccountPart: part, Behind: f.older.ID}},
				storetest.Moment)
		}, func(t *testing.T, f fixture) {
			t.Helper()
			require.Equal(t, 1, storetest.Int(t, f.s, "SELECT COUNT(*) FROM subtask_due WHERE account_id = 5 AND due_at = ?",
				sqldb.At(storetest.Moment)), "nothing older is open: it is due")
			require.Equal(t, 4, storetest.Int(t, f.s, "SELECT COUNT(*) FROM "+ledger.LogTable(f.run.ID)+" WHERE run_id = ?",
				f.run.ID))
		}},
		{"AdvanceCursor", func(ctx context.Context, f fixture) error {
			run, err := f.s.Run(ctx, f.run.ID) // like a fan-out that continues
			if err != nil || run.Cursor == 7 {
				return err
			}
			return f.s.AdvanceCursor(ctx, f.l, f.run.ID, 0, 7, ledger.Offsets{0: 9}, "note")
		}, func(t *testing.T, f fixture) {
			t.Helper()
			run, err := f.s.Run(t.Context(), f.run.ID)
			require.NoError(t, err)
			require.EqualValues(t, 7, run.Cursor)
			require.Equal(t, ledger.Offsets{0: 9}, run.Offsets)
			require.Equal(t, "note", run.ErrorText)
		}},
		{"FinishFanOut", func(ctx context.Context, f fixture) error {
			run, err := f.s.Run(ctx, f.run.ID)
			if err != nil || run.State != task.RunFanningOut {
				return err
			}
			return f.s.FinishFanOut(ctx, f.l, f.run.ID, task.RunSkipped, "", storetest.Moment)
		}, func(t *testing.T, f fixture) {
			t.Helper()
			run, err := f.s.Run(t.Context(), f.run.ID)
			require.NoError(t, err)
			require.Equal(t, task.RunRunning, run.State)
			require.EqualValues(t, 3, *run.Total)
		}},
		{"NextDeliveries", func(ctx context.Context, f fixture) error {
			due, err := f.s.DueSubtasks(ctx, storetest.Moment, storetest.Moment, 10)
			if err != nil {
				return err
			}
			_, err = f.s.NextDeliveries(ctx, f.l, due, storetest.Moment)
			return err
		}, func(t *testing.T, f fixture) {
			t.Helper()
			due := dueNow(t, f.s, storetest.Moment, storetest.Moment)
			require.Len(t, due, 3, "sent without a recorded place: each will get a message")
			for _, d := range due {
				states, err := f.s.SubtaskStates(t.Context(), []task.Key{d.Key})
				require.NoError(t, err)
				require.Equal(t, ledger.SubtaskStatus{State: task.Waiting, Delivery: d.Delivery, Attempt: 1}, states[d.Key])
			}
		}},
	} {
		for name, plan := range map[string][]sqldbtest.Cut{
			"rolled back": {sqldbtest.Lost}, "answer lost": {sqldbtest.Unseen},
			"rolled back repeatedly":        stubborn(sqldbtest.Lost),
			"answer lost, then rolled back": append([]sqldbtest.Cut{sqldbtest.Unseen}, stubborn(sqldbtest.Lost)[1:]...),
		} {
			t.Run(tt.name+" "+name, func(t *testing.T) {
				t.Parallel()
				s, l, run, _ := waiting(t, 3)
				older := storetest.SomeRun(run.ID-1, storetest.Moment)
				require.NoError(t, s.AddRuns(t.Context(), l, []ledger.Run{older}))
				require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET application = 'shop' WHERE id = ?",
					run.ID).Error)
				f := fixture{s: s, l: l, run: run, older: older}
				c := sqldbtest.CutWrites(s.Data)
				c.Set(plan...)
				err := tt.write(t.Context(), f)
				if len(plan) == 1 {
					require.NoError(t, err, "the store retries")
				} else {
					require.ErrorIs(t, err, mysql.ErrInvalidConn)
					require.NoError(t, tt.write(t.Context(), f), "the caller repeats the call")
				}
				require.Equal(t, len(plan), c.Met, "not every fault occurred")
				tt.check(t, f)
			})
		}
	}
}

// The next deliveries of a try that was committed with a lost answer are returned too. Otherwise they would wait for
// their messages longer than needed.
func TestNextDeliveries_IncludesThoseOfALostAnswer(t *testing.T) {
	t.Parallel()
	s, l, run, now := waiting(t, 2)
	due := dueNow(t, s, now, now)
	c := sqldbtest.CutWrites(s.Data)
	c.Set(sqldbtest.Unseen)
	raised, err := s.NextDeliveries(t.Context(), l, due, now)
	require.NoError(t, err)
	require.Equal(t, 1, c.Met)
	require.Equal(t, []task.Key{key(run, 1), key(run, 2)}, keys(raised))
	require.Equal(t, 2, raised[0].Delivery)
}

// Rows, outcomes and the end of the fan-out in any order, with any cuts between: the run ends with its last subtask,
// and its counts equal the rows.
func TestRunCounts_AnyOrderAndCuts(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	c := sqldbtest.CutWrites(s.Data)
	require.NoError(t, s.EnsureLogTable(t.Context(), task.LogDay(task.NewRunID(storetest.Moment))))
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		c.Set()
		older, run := storetest.SomeRun(task.NewRunID(storetest.Moment), storetest.Moment),
			storetest.SomeRun(task.NewRunID(storetest.Moment)+1<<21, storetest.Moment)
		require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{older, run}))
		n := rapid.Int64Range(0, 5).Draw(t, "subtasks")
		kinds := rapid.SliceOfN(rapid.SampledFrom([]sqldbtest.Cut{sqldbtest.Passes, sqldbtest.Passes, sqldbtest.Passes,
			sqldbtest.Lost, sqldbtest.Unseen}), 0, 30)
		c.Set(kinds.Draw(t, "cuts")...)
		again := func(do func() error) { // like every caller, until it succeeds
			for do() != nil {
			}
		}
		var order []int64 // each account twice, for its row and its outcome; 0 ends the fan-out
		for id := range n {
			order = append(order, id+1, id+1, id+1)
		}
		made := map[int64]int{}
		finished := false
		finish := func() {
			again(func() error {
				got, err := s.Run(ctx, run.ID)
				if err != nil || got.State != task.RunFanningOut {
					return err
				}
				return s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", storetest.Moment)
			})
			finished = true
		}
		end := rapid.IntRange(int(n), 3*int(n)).Draw(t, "the fan-out ends after")
		for i, id := range rapid.Permutation(order).Draw(t, "order") {
			if i >= end && len(made) == int(n) && !finished {
				finish()
			}
			made[id]++
			switch part := (ledger.AccountPart{AccountID: id, Part: "p"}); {
			case made[id] > 1:
				state := rapid.SampledFrom([]task.State{task.Succeeded, task.Failed, task.Expired, task.Superseded, task.Cancelled,
					task.Retrying}).Draw(t, "state")
				again(func() error {
					_, err := s.ApplyOutcomes(ctx, []ledger.Outcome{{Key: key(run, id), Delivery: 1, State: state,
						EndedAt: storetest.Moment, DueAt: storetest.Moment}})
					return err
				})
			case rapid.Bool().Draw(t, "queued"):
				again(func() error {
					return s.AddQueuedSubtasks(ctx, l, &run, []ledger.QueuedPart{{AccountPart: part, Behind: older.ID}},
						storetest.Moment)
				})
			default:
				again(func() error {
					return storetest.AddSubtasks(ctx, s, l, run.ID, []ledger.AccountPart{part}, storetest.Moment)
				})
			}
		}
		if !finished {
			finish()
		}
		c.Set()
		r := storetest.Run{Store: s, ID: run.ID}
		counts := countsOf(t, r)
		require.Equal(t, n, *counts.Total)
		if n == 0 {
			require.Equal(t, task.RunSkipped, counts.State)
			return
		}
		requireCountsEqualRows(t, r)
		for id := range n { // end the subtasks that are still open
			storetest.Apply(t, s, ledger.Outcome{Key: key(run, id+1), Delivery: 1, State: task.Expired,
				EndedAt: storetest.Moment})
		}
		requireCountsEqualRows(t, r)
		require.False(t, countsOf(t, r).State.Open())
	})
}

// The same with all parts working concurrently.
func TestRunCounts_Concurrently(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	ctx := context.Background()
	require.NoError(t, s.EnsureLogTable(ctx, task.LogDay(task.NewRunID(storetest.Moment))))
	older, run := storetest.SomeRun(task.NewRunID(storetest.Moment), storetest.Moment),
		storetest.SomeRun(task.NewRunID(storetest.Moment)+1<<21, storetest.Moment)
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{older, run}))
	const n = 240
	var all []ledger.AccountPart
	for id := range int64(n) {
		all = append(all, ledger.AccountPart{AccountID: id + 1, Part: "p"})
	}
	require.NoError(t, storetest.AddSubtasks(ctx, s, l, older.ID, all, storetest.Moment))
	require.NoError(t, s.FinishFanOut(ctx, l, older.ID, task.RunSkipped, "", storetest.Moment))

	var wg sync.WaitGroup
	fanned := make(chan struct{})
	wg.Go(func() { // the fan-out: half of it is queued behind the older run
		defer close(fanned)
		for i := 0; i < n; i += 20 {
			require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, all[i:i+10], storetest.Moment))
			var queued []ledger.QueuedPart
			for _, p := range all[i+10 : i+20] {
				queued = append(queued, ledger.QueuedPart{AccountPart: p, Behind: older.ID})
			}
			require.NoError(t, s.AddQueuedSubtasks(ctx, l, &run, queued, storetest.Moment))
		}
		require.NoError(t, s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", storetest.Moment))
	})
	for consumer := range int64(4) {
		wg.Go(func() { // consumers of both runs, each with the same accounts in both
			open := map[task.Key]bool{}
			for id := consumer + 1; id <= n; id += 4 {
				open[key(older, id)], open[key(run, id)] = true, true
			}
			for len(open) > 0 {
				var batch []ledger.Outcome
				for k := range open {
					if batch = append(batch, ledger.Outcome{Key: k, State: task.Succeeded,
						EndedAt: storetest.Moment}); len(batch) == 30 {
						break
					}
				}
				var asked []task.Key
				for _, o := range batch {
					asked = append(asked, o.Key)
				}
				states, err := s.SubtaskStates(ctx, asked)
				require.NoError(t, err)
				var known []ledger.Outcome
				for _, o := range batch {
					if status, found := states[o.Key]; found && status.State == task.Waiting {
						o.Delivery = status.Delivery
						known = append(known, o)
						delete(open, o.Key)
					}
				}
				_, err = s.ApplyOutcomes(ctx, known)
				require.NoError(t, err)
			}
		})
	}
	done := make(chan struct{})
	pumped := make(chan error)
	go func() { // sends what is due
		var errs error
		for {
			due, err := s.DueSubtasks(ctx, storetest.Moment, storetest.Moment.AddDate(0, 0, -1), 50)
			errs = errors.Join(errs, err)
			_, err = s.NextDeliveries(ctx, l, due, storetest.Moment)
			errs = errors.Join(errs, err)
			select {
			case <-done:
				pumped <- errs
				return
			default:
			}
		}
	}()
	wg.Wait()
	close(done)
	require.NoError(t, <-pumped)
	for _, r := range []ledger.Run{older, run} {
		got, err := s.Run(ctx, r.ID)
		require.NoError(t, err)
		require.Equal(t, task.RunSucceeded, got.State)
		require.EqualValues(t, n, got.Succeeded)
		require.EqualValues(t, n, *got.Total)
	}
	require.Zero(t, storetest.Int(t, s, "SELECT COUNT(*) FROM subtask_due"), "no subtask waits forever")
}

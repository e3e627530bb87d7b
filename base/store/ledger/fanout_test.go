package ledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

func fanningOut(t *testing.T) (*store.Store, lease.Lease, ledger.Run, time.Time) {
	t.Helper()
	s := storetest.New(t)
	l, run, now := storetest.StartRun(t, s)
	return s, l, run, now
}

func TestFanOutAccounts_OfTheScopeByKey(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	for id, tier := range map[int64]string{1: "active", 2: "inactive", 3: "active", 4: "invalid", 6: "active"} {
		storetest.AddAccount(t, s, id, tier, "")
	}
	storetest.AddAccount(t, s, 5, "active", "asked to stop")
	ids := func(accounts []ledger.FanOutAccount, err error) []int64 {
		require.NoError(t, err)
		var ids []int64
		for _, a := range accounts {
			require.Equal(t, "Asia/Shanghai", a.Timezone)
			ids = append(ids, a.ID)
		}
		return ids
	}
	require.Equal(t, []int64{1, 3}, ids(s.FanOutAccounts(ctx, "tulip", []string{"active"}, 0, 2)))
	require.Equal(t, []int64{6}, ids(s.FanOutAccounts(ctx, "tulip", []string{"active"}, 3, 2)))
	require.Equal(t, []int64{1, 2, 3, 4, 6}, ids(s.FanOutAccounts(ctx, "tulip", nil, 0, 10)))
	require.Empty(t, ids(s.FanOutAccounts(ctx, "other", nil, 0, 10)))
	require.Equal(t, []int64{2, 6}, ids(s.FanOutAccountsOf(ctx, "tulip", []int64{6, 5, 2, 99})))
	require.Empty(t, ids(s.FanOutAccountsOf(ctx, "tulip", nil)))
}

func TestAddSubtasks_TwiceChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := fanningOut(t)
	var parts []ledger.AccountPart
	for id := range int64(600) {
		parts = append(parts, ledger.AccountPart{AccountID: id + 1, Part: "2026-11-20"})
	}
	require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, parts[:300], now))
	_, err := s.ApplyOutcomes(ctx, []ledger.Outcome{
		{Key: task.Key{RunID: run.ID, AccountID: 1, Part: "2026-11-20"}, Delivery: 1, State: task.Succeeded, EndedAt: now},
		{Key: task.Key{RunID: run.ID, AccountID: 2, Part: "2026-11-20"}, Delivery: 1, Attempt: 1, State: task.Retrying,
			DueAt: now, EndedAt: now},
	})
	require.NoError(t, err)
	require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, parts, now))

	unsent, err := s.UnsentSubtasks(ctx, run.ID, ledger.AccountRange{After: 0, Through: 600})
	require.NoError(t, err)
	require.Equal(t, parts[2:], unsent, "the fan-out does not send subtasks that ended or were sent again")
	unsent, err = s.UnsentSubtasks(ctx, run.ID, ledger.AccountRange{After: 100, Through: 110})
	require.NoError(t, err)
	require.Equal(t, parts[100:110], unsent)

	open, err := s.OpenSubtasks(ctx, []int64{run.ID, 1 << 40}, ledger.AccountRange{After: 0, Through: 3})
	require.NoError(t, err, "a run whose day's table is gone has no open subtasks")
	require.Equal(t, map[ledger.AccountPart][]ledger.OpenSubtask{
		parts[1]: {{Key: task.Key{RunID: run.ID, AccountID: 2, Part: "2026-11-20"}, Delivery: 1, Attempt: 1}},
		parts[2]: {{Key: task.Key{RunID: run.ID, AccountID: 3, Part: "2026-11-20"}, Delivery: 1}},
	}, open)
	for name, accounts := range map[string][]int64{"close together": {2, 3}, "far apart": {1, 3, 599}} {
		of, err := s.OpenSubtasksOfAccounts(ctx, []int64{run.ID, 1 << 40}, accounts)
		require.NoError(t, err)
		for _, id := range accounts {
			if id == 1 {
				require.Empty(t, of[parts[0]], "it has ended")
				continue
			}
			require.Len(t, of[parts[id-1]], 1, "%s: %d", name, id)
		}
		require.Len(t, of, 2, name)
	}
}

func TestAdvanceCursor_MovesOnlyFromItsPlace(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := fanningOut(t)
	offsets := ledger.Offsets{}
	offsets.Raise(3, 17)
	offsets.Raise(3, 9)
	offsets.Raise(0, -1)
	offsets.Raise(0, 0)
	require.Equal(t, ledger.Offsets{3: 17, 0: 0}, offsets)
	require.NoError(t, s.AdvanceCursor(ctx, l, run.ID, 0, 100, offsets, "first"))
	require.NoError(t, s.AdvanceCursor(ctx, l, run.ID, 100, 100, offsets, "second"))
	require.NoError(t, s.AdvanceCursor(ctx, l, run.ID, 100, 100, offsets, ""), "nothing to change is no error")
	require.ErrorIs(t, s.AdvanceCursor(ctx, l, run.ID, 50, 200, offsets, ""), ledger.ErrRunChanged)
	got, err := s.Run(ctx, run.ID)
	require.NoError(t, err)
	require.EqualValues(t, 100, got.Cursor)
	require.Equal(t, offsets, got.Offsets)
	require.Equal(t, "first", got.ErrorText)

	require.NoError(t, s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", now))
	require.ErrorIs(t, s.AdvanceCursor(ctx, l, run.ID, 100, 200, offsets, ""), ledger.ErrRunChanged)
	require.ErrorIs(t, s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", now), ledger.ErrRunChanged)
	late := ledger.AccountPart{AccountID: 9, Part: "p"}
	require.ErrorIs(t, storetest.AddSubtasks(ctx, s, l, run.ID, []ledger.AccountPart{late}, now), ledger.ErrRunChanged,
		"it would never be counted")
	require.ErrorIs(t, s.AddQueuedSubtasks(ctx, l, &run, []ledger.QueuedPart{{AccountPart: late, Behind: run.ID - 1}},
		now), ledger.ErrRunChanged)
	require.Zero(t, storetest.Int(t, s, "SELECT COUNT(*) FROM "+ledger.LogTable(run.ID)))
}

func TestFinishFanOut_EndsACompleteRun(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, tt := range []struct {
		name   string
		states []task.State // of the subtasks that have ended before
		open   int
		want   task.RunState
	}{
		{"no subtasks", nil, 0, task.RunSkipped},
		{"some are open", []task.State{task.Succeeded}, 2, task.RunRunning},
		{"all succeeded", []task.State{task.Succeeded, task.Superseded}, 0, task.RunSucceeded},
		{"some failed", []task.State{task.Succeeded, task.Failed}, 0, task.RunPartial},
		{"all failed", []task.State{task.Failed}, 0, task.RunFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, l, run, now := fanningOut(t)
			var parts []ledger.AccountPart
			var outcomes []ledger.Outcome
			for i := range len(tt.states) + tt.open {
				p := ledger.AccountPart{AccountID: int64(i + 1), Part: "p"}
				parts = append(parts, p)
				if i < len(tt.states) {
					outcomes = append(outcomes, ledger.Outcome{Key: task.Key{RunID: run.ID, AccountID: p.AccountID, Part: "p"},
						Delivery: 1, State: tt.states[i], EndedAt: now})
				}
			}
			require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, parts, now))
			_, err := s.ApplyOutcomes(ctx, outcomes)
			require.NoError(t, err)
			require.NoError(t, s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", now))
			got, err := s.Run(ctx, run.ID)
			require.NoError(t, err)
			require.Equal(t, tt.want, got.State)
			require.EqualValues(t, len(parts), *got.Total)
			require.Equal(t, tt.want.Open(), got.EndedAt.IsZero())
			require.Equal(t, now, got.FannedOutAt)
		})
	}
}

// Whichever comes last, the last outcome or the end of the fan-out, the run ends.
func TestFinishFanOut_AgainstTheLastOutcome(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	l := storetest.Lead(t, s, "a")
	now := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	require.NoError(t, s.EnsureLogTable(ctx, task.LogDay(task.NewRunID(now))))
	for range 20 {
		run := storetest.SomeRun(task.NewRunID(now), now)
		require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{run}))
		require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID,
			[]ledger.AccountPart{{AccountID: 1, Part: "a"}, {AccountID: 1, Part: "b"}}, now))
		var wg sync.WaitGroup
		for _, part := range []string{"a", "b"} {
			wg.Go(func() {
				_, err := s.ApplyOutcomes(ctx, []ledger.Outcome{{Key: task.Key{RunID: run.ID, AccountID: 1, Part: part},
					Delivery: 1, State: task.Succeeded, EndedAt: now}})
				require.NoError(t, err)
			})
		}
		wg.Go(func() { require.NoError(t, s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", now)) })
		wg.Wait()
		got, err := s.Run(ctx, run.ID)
		require.NoError(t, err)
		require.Equal(t, task.RunSucceeded, got.State)
		require.EqualValues(t, 2, got.Succeeded)
	}
}

// An INSERT of subtasks that its leader no longer waits for may commit at any time before the run's row is locked:
// its rows are counted.
func TestFinishFanOut_CountsRowsFromBeforeItsLock(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := fanningOut(t)
	require.NoError(t, storetest.AddSubtasks(ctx, s, l, run.ID, []ledger.AccountPart{{AccountID: 1, Part: "p"}}, now))
	held := true
	require.NoError(t, s.Data.Writer(ctx).Callback().Row().Before("gorm:row").Register("held insert", func(tx *gorm.DB) {
		// After the transaction has begun and before it locks the run. The insert runs in the same transaction, since
		// SQLite has one writer.
		if _, inTx := tx.Statement.ConnPool.(gorm.TxCommitter); !inTx || !held {
			return
		}
		held = false
		_, err := tx.Statement.ConnPool.ExecContext(ctx, "INSERT INTO "+ledger.LogTable(run.ID)+
			" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES (?, 2, 'p', 'waiting', 1, 0, ?)", run.ID,
			sqldb.At(now))
		require.NoError(t, err)
	}))
	require.NoError(t, s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", now))
	require.False(t, held)
	got, err := s.Run(ctx, run.ID)
	require.NoError(t, err)
	require.EqualValues(t, 2, *got.Total)
}

func TestFinishFanOut_WithoutSubtasksEndsAsCancelled(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, marked := range []bool{false, true} {
		s, l, run, now := fanningOut(t)
		stop := newStop(task.Cancel, task.StopRun, fmt.Sprint(run.ID))
		addStop(t, s, stop)
		if marked {
			require.NoError(t, s.MarkCancelled(ctx, l, stop.ID, []int64{run.ID}, stop.Text()))
		}
		require.NoError(t, s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", now))
		got, err := s.Run(ctx, run.ID)
		require.NoError(t, err)
		require.Equal(t, task.RunCancelled, got.State)
		require.Equal(t, stop.Text(), got.ErrorText)
	}
}

func TestOlderOpenRuns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, l, run, now := fanningOut(t)
	older, other, ended, newer := storetest.SomeRun(run.ID-2, now), storetest.SomeRun(run.ID-3, now),
		storetest.SomeRun(run.ID-4, now), storetest.SomeRun(run.ID+1, now)
	older.State, other.TaskID, ended.State = task.RunRunning, 99, task.RunSucceeded
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{older, other, ended, newer}))
	ids, err := s.OlderOpenRuns(ctx, run.TaskID, run.ID)
	require.NoError(t, err)
	require.Equal(t, []int64{older.ID}, ids)
}

func TestLoginPart(t *testing.T) {
	t.Parallel()
	require.Equal(t, "login:42", ledger.LoginPart(42))
	id, ok := ledger.LoginOf("login:42")
	require.True(t, ok)
	require.EqualValues(t, 42, id)
	for _, part := range []string{"42", "login:", "login:x", "2026-11-21"} {
		_, ok := ledger.LoginOf(part)
		require.False(t, ok, part)
	}
}

// Rows that were written in another way are read back, and all of them are counted as they are.
func TestAddSubtasks_ReportsWhetherAllWereNew(t *testing.T) {
	t.Parallel()
	s, l, run, now := fanningOut(t)
	part := func(account int64) ledger.AccountPart { return ledger.AccountPart{AccountID: account, Part: "d"} }
	left, err := s.HasSubtasks(t.Context(), run.ID, 0)
	require.NoError(t, err)
	require.False(t, left)
	all, err := s.AddSubtasks(t.Context(), l, run.ID, []ledger.AccountPart{part(1), part(2)}, now)
	require.NoError(t, err)
	require.True(t, all)
	all, err = s.AddSubtasks(t.Context(), l, run.ID, []ledger.AccountPart{part(2), part(3)}, now)
	require.NoError(t, err)
	require.False(t, all)
	for after, want := range map[int64]bool{0: true, 2: true, 3: false} {
		left, err := s.HasSubtasks(t.Context(), run.ID, after)
		require.NoError(t, err)
		require.Equal(t, want, left, "after %d", after)
	}
}

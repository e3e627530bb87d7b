package leader_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/leader"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
	"adsync/base/task"
)

const term = time.Minute

func TestLeadership_OneTermAtATime(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	rows := s.Leadership()

	a, _, err := rows.Campaign(ctx, "a", term)
	require.NoError(t, err)
	require.Equal(t, lease.Lease{Epoch: 1, Holder: "a"}, a)

	none, free, err := rows.Campaign(ctx, "b", term)
	require.NoError(t, err)
	require.Zero(t, none)
	require.Greater(t, free, term/2)
	require.LessOrEqual(t, free, term)

	require.NoError(t, rows.Renew(ctx, a, term))
	require.NoError(t, rows.Renew(ctx, a, term), "also twice within a millisecond")

	again, _, err := rows.Campaign(ctx, "a", term)
	require.NoError(t, err)
	require.Equal(t, lease.Lease{Epoch: 2, Holder: "a"}, again, "a holder that lost its answer begins a new term")
	require.ErrorIs(t, rows.Renew(ctx, a, term), lease.ErrStaleLease)
	require.NoError(t, rows.Resign(ctx, a), "resigning an old term has no effect")

	require.NoError(t, rows.Resign(ctx, again))
	require.ErrorIs(t, rows.Renew(ctx, again, term), lease.ErrStaleLease)
	b, _, err := rows.Campaign(ctx, "b", term)
	require.NoError(t, err)
	require.Equal(t, lease.Lease{Epoch: 3, Holder: "b"}, b)
}

func TestLeadership_AnExpiredTermCanBeTaken(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	a, _, err := s.Leadership().Campaign(ctx, "a", -time.Second)
	require.NoError(t, err)
	require.NoError(t, s.Leadership().Renew(ctx, a, -time.Second), "no other term has followed: it continues")
	b, _, err := s.Leadership().Campaign(ctx, "b", term)
	require.NoError(t, err)
	require.EqualValues(t, 2, b.Epoch)
	require.ErrorIs(t, s.Leadership().Renew(ctx, a, term), lease.ErrStaleLease)
}

func TestLeadership_ManyCampaignOneWins(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	var mu sync.Mutex
	var won []lease.Lease
	var wg sync.WaitGroup
	for _, holder := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		wg.Go(func() {
			l, _, err := s.Leadership().Campaign(ctx, holder, term)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && l != (lease.Lease{}) {
				won = append(won, l)
			}
		})
	}
	wg.Wait()
	require.Len(t, won, 1)
	require.EqualValues(t, 1, won[0].Epoch)
}

func TestGuardedWrites_AreRefusedAfterATakeover(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	old := storetest.Lead(t, s, "old")
	now := time.Now()
	run := storetest.SomeRun(task.NewRunID(now), now)
	require.NoError(t, s.EnsureLogTable(ctx, task.LogDay(run.ID)))
	require.NoError(t, s.AddRuns(ctx, old, []ledger.Run{run}))
	parts := []ledger.AccountPart{{AccountID: 1, Part: "p"}}
	require.NoError(t, storetest.AddSubtasks(ctx, s, old, run.ID, parts, now))
	require.NoError(t, s.AddOrder(ctx, ledger.RunOrder{RunID: 5, TaskID: 1, Request: task.Order{Scope: task.ScopeAll},
		OrderedAt: now}))
	storetest.Lead(t, s, "new")

	tick := ledger.Tick{TaskID: 1, PlannedAt: now, RunID: run.ID, MadeAt: now}
	for name, write := range map[string]func() error{
		"tick":            func() error { return s.AddTicks(ctx, old, []ledger.Tick{tick}) },
		"run":             func() error { return s.AddRuns(ctx, old, []ledger.Run{storetest.SomeRun(run.ID+1, now)}) },
		"an existing run": func() error { return s.AddRuns(ctx, old, []ledger.Run{run}) },
		"subtasks": func() error {
			return storetest.AddSubtasks(ctx, s, old, run.ID, []ledger.AccountPart{{AccountID: 2, Part: "p"}}, now)
		},
		"cursor":         func() error { return s.AdvanceCursor(ctx, old, run.ID, 0, 7, ledger.Offsets{}, "") },
		"end of fan-out": func() error { return s.FinishFanOut(ctx, old, run.ID, task.RunSkipped, "", now) },
		"schedule": func() error {
			return s.PutTaskSchedules(ctx, old, []settings.TaskSchedule{{TaskID: 1, Hash: "h", Since: now}})
		},
		"order": func() error { return s.TakeOrder(ctx, old, 5, "") },
		"due": func() error {
			_, err := s.NextDeliveries(ctx, old, []ledger.Due{{Key: task.Key{RunID: run.ID, AccountID: 1, Part: "p"},
				State: "sent", Delivery: 1}}, now)
			return err
		},
		"bindings": func() error { return s.ApplyBindings(ctx, old, []summaries.BindingChange{{AccountID: 1}}) },
	} {
		require.ErrorIs(t, write(), lease.ErrStaleLease, name)
	}
	after, err := s.Run(ctx, run.ID)
	require.NoError(t, err)
	require.Zero(t, after.Cursor)
	require.Equal(t, task.RunFanningOut, after.State)
	ticks, err := s.LastTicks(ctx, 1, 10)
	require.NoError(t, err)
	require.Empty(t, ticks)
	unsent, err := s.UnsentSubtasks(ctx, run.ID, ledger.AccountRange{Through: 100})
	require.NoError(t, err)
	require.Equal(t, parts, unsent)
}

// rollback keeps a failed test from leaving locks behind; after a commit it does nothing.
func rollback(tx *sql.Tx) { _ = tx.Rollback() }

// onServer skips tests that need several writers at a time.
func onServer(t *testing.T, s *store.Store) {
	t.Helper()
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		t.Skip("SQLite has one writer: needs " + storetest.ServerEnv)
	}
}

// Without a lock on the leader's row a takeover could commit between a guarded statement's check and its commit.
func TestGuardedWrites_BlockATakeoverUntilTheyCommit(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	onServer(t, s)
	ctx := context.Background()
	l := storetest.Lead(t, s, "old")
	now := time.Now()
	run := storetest.SomeRun(task.NewRunID(now), now)
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{run}))
	pool, err := s.Data.SQL()
	require.NoError(t, err)

	for name, write := range map[string]func(tx *sql.Tx) (sql.Result, error){
		"insert": func(tx *sql.Tx) (sql.Result, error) {
			insert, args, _ := leader.GuardedSQL(s.Data, l, 1, sqldb.At(now), 1, sqldb.At(now))
			return tx.Exec(insert, args...)
		},
		"update": func(tx *sql.Tx) (sql.Result, error) {
			_, _, update := leader.GuardedSQL(s.Data, l, 1, sqldb.At(now), 1, sqldb.At(now))
			return tx.Exec(update, l.Epoch, l.Holder, 9, run.ID)
		},
	} {
		writer, err := pool.BeginTx(ctx, nil)
		require.NoError(t, err)
		defer rollback(writer)
		res, err := write(writer)
		require.NoError(t, err)
		n, err := res.RowsAffected()
		require.NoError(t, err)
		require.EqualValues(t, 1, n, name)

		rival, err := pool.Conn(ctx)
		require.NoError(t, err)
		_, err = rival.ExecContext(ctx, "SET SESSION innodb_lock_wait_timeout = 1")
		require.NoError(t, err)
		const takeover = "UPDATE leader SET epoch = epoch + 1, holder = 'new' WHERE id = 1"
		_, err = rival.ExecContext(ctx, takeover)
		var refused *mysql.MySQLError
		require.ErrorAs(t, err, &refused, name)
		require.EqualValues(t, 1205, refused.Number, "%s: the takeover waits", name)

		require.NoError(t, writer.Rollback())
		_, err = rival.ExecContext(ctx, takeover)
		require.NoError(t, err, "it succeeds afterwards")
		_, err = rival.ExecContext(ctx, "SET SESSION innodb_lock_wait_timeout = DEFAULT")
		require.NoError(t, err)
		require.NoError(t, rival.Close())
		l = storetest.Lead(t, s, "old")
	}
}

// A guarded statement during a takeover waits for it, and then sees it.
func TestGuardedWrites_WaitForATakeoverUnderWay(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	onServer(t, s)
	ctx := context.Background()
	l := storetest.Lead(t, s, "old")
	now := time.Now()
	run := storetest.SomeRun(task.NewRunID(now), now)
	require.NoError(t, s.EnsureLogTable(ctx, task.LogDay(run.ID)))
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{run}))
	pool, err := s.Data.SQL()
	require.NoError(t, err)
	rival, err := pool.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer rollback(rival)
	_, err = rival.Exec("UPDATE leader SET epoch = epoch + 1, holder = 'new' WHERE id = 1")
	require.NoError(t, err)

	writes := map[string]func() error{
		"tick": func() error {
			return s.AddTicks(ctx, l, []ledger.Tick{{TaskID: 1, PlannedAt: now, RunID: 1, MadeAt: now}})
		},
		"subtasks": func() error {
			return storetest.AddSubtasks(ctx, s, l, run.ID, []ledger.AccountPart{{AccountID: 2, Part: "p"}}, now)
		},
		"cursor": func() error { return s.AdvanceCursor(ctx, l, run.ID, 0, 7, ledger.Offsets{}, "") },
		"end":    func() error { return s.FinishFanOut(ctx, l, run.ID, task.RunSkipped, "", now) },
	}
	results := make(chan error, len(writes))
	for _, write := range writes {
		go func() { results <- write() }()
	}
	require.Eventually(t, func() bool {
		var waiting int
		err := pool.QueryRow(
			"SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND command = 'Query'" +
				" AND info LIKE '%leader%' AND id <> CONNECTION_ID()").Scan(&waiting)
		return err == nil && waiting == len(writes)
	}, 20*time.Second, 10*time.Millisecond, "all of them wait")
	require.NoError(t, rival.Commit())
	for range writes {
		require.ErrorIs(t, <-results, lease.ErrStaleLease)
	}
	after, err := s.Run(ctx, run.ID)
	require.NoError(t, err)
	require.Zero(t, after.Cursor)
	require.Nil(t, after.Total)
	ticks, err := s.LastTicks(ctx, 1, 10)
	require.NoError(t, err)
	require.Empty(t, ticks)
}

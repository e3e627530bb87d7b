package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// Moment is when the outcomes of Run.Outcome begin, and when most runs of tests are planned.
var Moment = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// Lead makes the holder the leader, whatever the leader before.
func Lead(t testing.TB, s *store.Store, holder string) lease.Lease {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE leader SET expires_at = '1970-01-01 00:00:00.000'").Error)
	l, _, err := s.Leadership().Campaign(ctx, holder, time.Minute)
	require.NoError(t, err)
	require.Equal(t, holder, l.Holder)
	return l
}

// SomeRun returns a run of task 7 that is being fanned out. It is in no table yet.
func SomeRun(id int64, now time.Time) ledger.Run {
	return ledger.Run{
		ID: id, TaskID: 7, TaskName: "daily", Media: "tulip", Handler: "tulip.report_daily", TaskRevision: 3,
		Settings: task.Settings{
			Lane: "normal", Scope: "active", Params: []byte(`{"level":"account"}`), Timeout: time.Minute, TTL: time.Hour,
			RetryMax: 3, RetryBase: time.Second, Overlap: task.OverlapSkip, Concurrency: task.Parallel,
		},
		Timezone: "Asia/Shanghai", Kind: ledger.RunOfTick, PlannedAt: now, State: task.RunFanningOut, CreatedAt: now,
	}
}

// StartRun writes SomeRun, and returns it with the lease of the leader "a" and the time of the run.
func StartRun(t testing.TB, s *store.Store) (lease.Lease, ledger.Run, time.Time) {
	t.Helper()
	ctx := context.Background()
	l := Lead(t, s, "a")
	now := time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC)
	run := SomeRun(task.NewRunID(now), now)
	require.NoError(t, s.EnsureLogTable(ctx, task.LogDay(run.ID)))
	require.NoError(t, s.AddRuns(ctx, l, []ledger.Run{run}))
	return l, run, now
}

// AddSubtasks is Queue.AddSubtasks without its report of whether all rows are new.
func AddSubtasks(
	ctx context.Context, s *store.Store, l lease.Lease, runID int64, parts []ledger.AccountPart, now time.Time,
) error {
	_, err := s.AddSubtasks(ctx, l, runID, parts, now)
	return err
}

// Run is a run in a store.
type Run struct {
	Store *store.Store
	ID    int64
}

// NewRun makes a run of waiting subtasks, one for each key (account and part), whose fan-out has ended.
func NewRun(t require.TestingT, s *store.Store, at time.Time, keys ...task.Key) Run {
	ctx := context.Background()
	r := Run{Store: s, ID: task.NewRunID(at)}
	require.NoError(t, s.EnsureLogTable(ctx, task.LogDay(r.ID)))
	db := s.Data.Writer(ctx)
	require.NoError(t,
		db.Exec(`INSERT INTO run (id, task_id, task_name, media, handler, lane, task_revision, settings, kind,
 planned_at, state, epoch, total, created_at) VALUES (?, 7, 'report', 'acme', 'acme.report', 'normal', 1, '{}',
  'tick', ?, 'running', 1, ?, ?)`,
			r.ID, sqldb.At(at), len(keys), sqldb.At(at)).Error)
	args := make([]any, 0, 7*len(keys))
	for _, k := range keys {
		args = append(args, r.ID, k.AccountID, k.Part, "waiting", 1, 0, sqldb.At(at))
	}
	require.NoError(t, db.Exec("INSERT INTO "+ledger.LogTable(r.ID)+
		" (run_id, account_id, part, state, delivery, attempt, created_at) VALUES "+sqldb.Tuples(len(keys), 7),
		args...).Error)
	return r
}

// Keys returns the keys of part "d" of the accounts 1 to n, for NewRun.
func Keys(n int) []task.Key {
	keys := make([]task.Key, n)
	for i := range keys {
		keys[i] = task.Key{AccountID: int64(i + 1), Part: "d"}
	}
	return keys
}

// Outcome returns an outcome of the account's part "d".
func (r Run) Outcome(account int64, delivery int, state task.State) ledger.Outcome {
	o := ledger.Outcome{
		Key: task.Key{RunID: r.ID, AccountID: account, Part: "d"}, Media: "acme", Lane: "normal", TaskID: 7,
		Delivery: delivery, State: state, Node: "n1", StartedAt: Moment, EndedAt: Moment.Add(time.Second), Rows: 3, Calls: 2,
	}
	if state.Open() {
		o.DueAt = Moment.Add(time.Minute)
	}
	if state == task.Failed || state == task.Retrying {
		o.Attempt, o.ErrorClass, o.ErrorText = 1, "transient", "timeout after 30 s"
	}
	return o
}

// Apply writes outcomes, and returns how many were stale.
func Apply(t require.TestingT, s *store.Store, outcomes ...ledger.Outcome) (stale int) {
	stale, err := s.ApplyOutcomes(context.Background(), outcomes)
	require.NoError(t, err)
	return stale
}

// Died makes a run of subtasks that all failed with a text, a second after each other, and returns its id.
func Died(t testing.TB, s *store.Store, taskID int64, at time.Time, text string, keys ...task.Key) int64 {
	t.Helper()
	r := NewRun(t, s, at, keys...)
	outcomes := make([]ledger.Outcome, len(keys))
	for i, k := range keys {
		o := r.Outcome(k.AccountID, 1, task.Failed)
		o.Part, o.TaskID, o.ErrorText, o.EndedAt = k.Part, taskID, text, at.Add(time.Duration(i)*time.Second)
		if taskID == 8 {
			o.Media, o.ErrorClass = "other", "invalid"
		}
		outcomes[i] = o
	}
	require.Zero(t, Apply(t, s, outcomes...))
	return r.ID
}

// ListDead returns all dead subtasks that a filter chooses.
func ListDead(t testing.TB, s *store.Store, f task.DeadFilter) []dead.DeadSubtask {
	t.Helper()
	all, _, err := s.ListDead(t.Context(), f, dead.DeadPlace{}, 10_000)
	require.NoError(t, err)
	return all
}

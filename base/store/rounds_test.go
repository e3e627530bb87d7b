package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

// What is done a piece at a time must go on after the first piece, and begin where that ended: a page may end between two parts of an account.

func TestPages_MayEndBetweenThePartsOfAnAccount(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	var keys []task.Key
	for account := range int64(3) {
		for _, part := range []string{"a", "b", "c"} {
			keys = append(keys, task.Key{AccountID: account + 1, Part: part})
		}
	}
	open := newRun(t, s, outcomeTime, keys...)
	failed := died(t, s, 7, outcomeTime.Add(time.Hour), "it failed", keys...)
	const redrive = 99
	require.NoError(t, s.Data.Writer(ctx).Exec("UPDATE subtask_dead SET dead_at = ?, redrive_run_id = ?", sqldb.At(outcomeTime), redrive).Error)
	waiting := newRun(t, s, outcomeTime.Add(2*time.Hour), keys...)
	outcomes := make([]ledger.Outcome, len(keys))
	for i, k := range keys {
		outcomes[i] = waiting.outcome(k.AccountID, 1, task.Retrying)
		outcomes[i].Part = k.Part
	}
	apply(t, s, outcomes...)

	type page struct {
		keys []task.Key
		more func() page // nil when there is no other
	}
	var first func(after ledger.AccountPart, limit int) page
	first = func(after ledger.AccountPart, limit int) (p page) {
		found, err := s.FirstDeliveries(ctx, ledger.RunningRun{ID: open.run}, after, limit)
		require.NoError(t, err)
		for _, x := range found {
			p.keys = append(p.keys, x.Key)
			p.more = func() page { return first(ledger.AccountPart{AccountID: x.AccountID, Part: x.Part}, limit) }
		}
		return p
	}
	var stopped func(after task.Key, limit int) page
	stopped = func(after task.Key, limit int) (p page) {
		found, err := s.OpenSubtasksOf(ctx, open.run, after, limit)
		require.NoError(t, err)
		for _, x := range found {
			p.keys = append(p.keys, x.Key)
			p.more = func() page { return stopped(x.Key, limit) }
		}
		return p
	}
	var ofRun func(after ledger.AccountPart, limit int) page
	ofRun = func(after ledger.AccountPart, limit int) (p page) {
		found, next, err := s.RunSubtasks(ctx, open.run, ledger.SubtaskFilter{}, after, limit)
		require.NoError(t, err)
		for i := range found {
			p.keys = append(p.keys, found[i].Key)
		}
		if next != nil {
			p.more = func() page { return ofRun(*next, limit) }
		}
		return p
	}
	var ofAccount func(account int64, after task.Key, limit int) page
	ofAccount = func(account int64, after task.Key, limit int) (p page) {
		found, next, err := s.AccountSubtasks(ctx, settings.Account{ID: account, Media: "acme"}, ledger.SubtaskFilter{}, outcomeTime.Add(-time.Hour), outcomeTime.Add(time.Minute), after, limit)
		require.NoError(t, err)
		for i := range found {
			p.keys = append(p.keys, found[i].Key)
		}
		switch {
		case next != nil:
			p.more = func() page { return ofAccount(account, *next, limit) }
		case account < 3:
			p.more = func() page { return ofAccount(account+1, task.Key{}, limit) }
		}
		return p
	}
	var wait func(after ledger.WaitingPlace, limit int) page
	wait = func(after ledger.WaitingPlace, limit int) (p page) {
		found, next, err := s.WaitingSubtasks(ctx, ledger.WaitingFilter{}, after, limit)
		require.NoError(t, err)
		for i := range found {
			p.keys = append(p.keys, found[i].Key)
		}
		if next != nil {
			p.more = func() page { return wait(*next, limit) }
		}
		return p
	}
	var dying func(after dead.DeadPlace, limit int) page
	dying = func(after dead.DeadPlace, limit int) (p page) {
		found, _, err := s.ListDead(ctx, task.DeadFilter{}, after, limit)
		require.NoError(t, err)
		for i := range found {
			p.keys = append(p.keys, found[i].Key)
			p.more = func() page { return dying(dead.DeadPlace{At: found[i].DeadAt, Key: found[i].Key}, limit) }
		}
		return p
	}
	var marked func(after int64, limit int) page
	marked = func(after int64, limit int) (p page) {
		found, through, last, err := s.MarkedParts(ctx, redrive, after, limit)
		require.NoError(t, err)
		for _, x := range found {
			p.keys = append(p.keys, task.Key{RunID: failed, AccountID: x.AccountID, Part: x.Part})
		}
		if !last {
			p.more = func() page { return marked(through, limit) }
		}
		return p
	}
	for name, walk := range map[string]struct {
		run   int64
		begin func(limit int) page
	}{
		"first deliveries":        {open.run, func(limit int) page { return first(ledger.AccountPart{AccountID: -1}, limit) }},
		"open subtasks":           {open.run, func(limit int) page { return stopped(task.Key{AccountID: -1}, limit) }},
		"subtasks of a run":       {open.run, func(limit int) page { return ofRun(ledger.AccountPart{}, limit) }},
		"subtasks of accounts":    {open.run, func(limit int) page { return ofAccount(1, task.Key{}, limit) }},
		"subtasks that wait":      {waiting.run, func(limit int) page { return wait(ledger.WaitingPlace{}, limit) }},
		"dead subtasks":           {failed, func(limit int) page { return dying(dead.DeadPlace{}, limit) }},
		"what a redrive takes up": {failed, func(limit int) page { return marked(0, limit) }},
	} {
		want := make([]task.Key, len(keys))
		for i, k := range keys {
			want[i] = task.Key{RunID: walk.run, AccountID: k.AccountID, Part: k.Part}
		}
		for limit := 1; limit <= len(keys)+1; limit++ {
			p := walk.begin(limit)
			got := p.keys
			for pages := 0; p.more != nil; pages++ {
				require.Less(t, pages, 2*len(keys), "%s by %d", name, limit)
				p = p.more()
				got = append(got, p.keys...)
			}
			require.ElementsMatch(t, want, got, "%s by %d", name, limit)
		}
	}
}

// many are so many accounts that the second statement has a few of them.
func many(n int) []task.Key { return accounts(n + 3) }

// addRows writes rows of a table, some hundred at a time.
func addRows(t *testing.T, db *sqldb.DB, into string, n int, row func(i int) []any) {
	t.Helper()
	width := len(row(0))
	for start := 0; start < n; start += 200 {
		var args []any
		end := min(start+200, n)
		for i := start; i < end; i++ {
			args = append(args, row(i)...)
		}
		require.NoError(t, db.Writer(t.Context()).Exec("INSERT INTO "+into+" VALUES "+sqldb.Tuples(end-start, width), args...).Error)
	}
}

func TestExpireLogDay_EndsMoreSubtasksThanOneTransactionDoes(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	keys := many(500)
	r := newRun(t, s, outcomeTime, keys...)
	next := newRun(t, s, outcomeTime.AddDate(0, 0, 1).Truncate(24*time.Hour), accounts(1)...)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE run SET id = ? WHERE id = ?", task.FirstRunID(task.LogDay(next.run)), next.run).Error)
	expired, err := s.ExpireLogDay(t.Context(), task.LogDay(r.run))
	require.NoError(t, err)
	require.Equal(t, len(keys), expired)
	require.Equal(t, 1, rowsIn(t, s, fmt.Sprintf("run WHERE id = %d AND state <> 'running' AND expired = %d", r.run, len(keys))))
	require.Equal(t, 1, rowsIn(t, s, "run WHERE state = 'running'"), "the first run of the day after goes on")
}

func TestDead_MoreThanOneTransactionChanges(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storetest.New(t)
	keys := many(250)
	l := lead(t, s, "a")
	old := died(t, s, 7, outcomeTime, "it failed", keys...)
	taken := newRun(t, s, outcomeTime.Add(time.Hour), keys...)
	require.NoError(t, s.MarkDead(ctx, l, task.DeadFilter{RunID: old}, taken.run))
	require.Equal(t, len(keys), rowsIn(t, s, fmt.Sprintf("subtask_dead WHERE redrive_run_id = %d", taken.run)))
	dropped, err := s.DropDead(ctx, task.DeadFilter{}, 10_000)
	require.NoError(t, err)
	require.Zero(t, dropped, "a run is taking them up")

	outcomes := make([]ledger.Outcome, len(keys))
	for i, k := range keys {
		outcomes[i] = taken.outcome(k.AccountID, 1, []task.State{task.Succeeded, task.Superseded, task.Cancelled}[i%3])
	}
	apply(t, s, outcomes...)
	require.NoError(t, s.SettleRedrive(ctx, l, taken.run))
	free := len(keys) / 3
	require.Equal(t, free, rowsIn(t, s, "subtask_dead"), "what was done, or gave way to a newer one, is gone")
	require.Zero(t, rowsIn(t, s, "subtask_dead WHERE redrive_run_id <> 0"))

	more := died(t, s, 7, outcomeTime.Add(2*time.Hour), "it failed", keys...)
	dropped, err = s.DropDead(ctx, task.DeadFilter{RunID: more}, 251)
	require.NoError(t, err)
	require.EqualValues(t, 251, dropped, "as many as were asked for, and no more")
	dropped, err = s.DropDead(ctx, task.DeadFilter{}, 10_000)
	require.NoError(t, err)
	require.EqualValues(t, len(keys)-251+free, dropped)
}

func TestRedrives_AreAllRunsThatTakeUp(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	died(t, s, 7, outcomeTime, "it failed", accounts(6)...)
	require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET redrive_run_id = account_id / 2 * 10").Error)
	if s.Data.Dialect() != sqldb.SQLiteDialect {
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE subtask_dead SET redrive_run_id = account_id DIV 2 * 10").Error)
	}
	runs, err := s.Redrives(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{10, 20, 30}, runs)
}

func TestForgetHoles_OfMoreThanOneStatementAndNoneThatIsYounger(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	before := time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC)
	const old = 1003
	addRows(t, s.Data, "hole (account_id, report, level, day, ordered_at, run_id, tries)", old+1, func(i int) []any {
		at := before.Add(-time.Second)
		if i == old {
			at = before
		}
		return []any{i, "report_daily", "account", today, sqldb.At(at), 1, 1}
	})
	gone, err := s.ForgetHoles(t.Context(), before)
	require.NoError(t, err)
	require.Equal(t, old, gone)
	require.Equal(t, 1, rowsIn(t, s, "hole"))
}

func TestParkDeadLogins_ParksMoreThanOneStatementReads(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	require.NoError(t, s.Config.Writer(t.Context()).Exec(`INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at, refresh_expires_at, state, state_reason)
VALUES (1, 'tulip', 'app', 'one', '', '', '2026-11-21 10:00:00', '2026-12-21 10:00:00', 'reauthorise', 'refused')`).Error)
	const n = 503
	addRows(t, s.Config, "media_account (id, media, external_id, token_id, tier, timezone)", n, func(i int) []any {
		return []any{i + 1, "tulip", fmt.Sprint("e", i), 1, "active", "Asia/Shanghai"}
	})
	parked, err := s.ParkDeadLogins(t.Context(), "tulip", outcomeTime)
	require.NoError(t, err)
	require.Equal(t, n, parked)
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	still, err := s.StillParked(t.Context(), ids)
	require.NoError(t, err)
	require.Len(t, still, n)
}

func TestReleaseQueued_OfAllRunsThatSubtasksAreQueuedBehind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storetest.New(t)
	var older []subtasks
	for i := range 3 {
		older = append(older, newRun(t, s, outcomeTime.Add(time.Duration(i)*time.Minute), accounts(1)...))
		apply(t, s, older[i].outcome(1, 1, task.Succeeded))
	}
	queue := newRun(t, s, outcomeTime.Add(time.Hour), accounts(4)...)
	for i, account := range []int64{1, 2, 3} {
		require.NoError(t, s.Data.Writer(ctx).Exec("INSERT INTO subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt, reason, waits_for) VALUES (?, ?, 'd', 'deferred', 'acme', 'normal', ?, 1, 0, '', ?)",
			queue.run, account, sqldb.At(ledger.Never), ledger.QueuedBehind(older[i].run)).Error)
	}
	released, err := s.ReleaseQueued(ctx, outcomeTime)
	require.NoError(t, err)
	require.Equal(t, 3, released)
	require.Zero(t, rowsIn(t, s, "subtask_due WHERE waits_for <> ''"))
}

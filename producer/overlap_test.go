package producer

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"pgregory.net/rapid"

	"adsync/base/broker"
	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// tick makes the run of a tick planned now, and advances the clock by a minute.
func (t *term) tick(b *bench, taskID int64) int64 {
	b.t.Helper()
	now := t.clock.Now()
	run := ledger.Run{ID: task.NewRunID(now), TaskID: taskID, Kind: ledger.RunOfTick, PlannedAt: now}
	t.fill(&run, t.tasks.Current().Tasks[taskID], nil)
	require.NoError(b.t, t.addRuns(b.t.Context(), []ledger.Run{run}))
	b.clock.add(time.Minute)
	return run.ID
}

func (b *bench) answer(runID, account int64, state task.State) {
	b.t.Helper()
	stale, err := b.store.ApplyOutcomes(b.t.Context(), []ledger.Outcome{{
		Key: task.Key{RunID: runID, AccountID: account, Part: "2026-11-21"}, Delivery: 1, Attempt: 1, State: state,
		DueAt: b.clock.Now().Add(time.Hour), EndedAt: b.clock.Now(),
	}})
	require.NoError(b.t, err)
	require.Zero(b.t, stale)
}

// sentSince returns run, account and delivery of the messages from the n-th on.
func (b *bench) sentSince(n int) [][3]int64 {
	b.t.Helper()
	var all [][3]int64
	for _, e := range b.broker.envelopes(b.t)[n:] {
		all = append(all, [3]int64{e.RunID, e.AccountID, int64(e.Delivery)})
	}
	return all
}

func TestFanOut_QueuesOneBehindWhatIsOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(12)
	id := b.addTask("hourly", "tulip.report", "* * * * *", map[string]any{"overlap": "queue"})
	tm := b.term()
	ctx := t.Context()
	first, second, third := tm.tick(b, id), tm.tick(b, id), tm.tick(b, id)
	require.NoError(t, tm.fan(b, first))
	b.answer(first, 7, task.Succeeded)
	b.answer(first, 8, task.Retrying) // in backoff for an hour

	require.NoError(t, tm.fan(b, second))
	require.EqualValues(t, 12, *b.run(second).Total)
	require.Equal(t, [][3]int64{{second, 7, 1}}, b.sentSince(12), "only what is free is sent")
	require.NoError(t, tm.fan(b, third))
	require.EqualValues(t, 1, *b.run(third).Total, "the others have one waiting already")
	require.Contains(t, b.run(third).ErrorText, "still has open")
	require.NoError(t, tm.pumpDue(ctx))
	require.Len(t, b.broker.log, 13)

	for account := range int64(12) {
		if account+1 != 7 && account+1 != 8 {
			b.answer(first, account+1, task.Succeeded)
		}
	}
	b.answer(second, 7, task.Failed)
	require.NoError(t, tm.scanDue(ctx))
	sent := b.sentSince(13)
	require.Len(t, sent, 11)
	require.Contains(t, sent, [3]int64{third, 7, 2})
	require.Contains(t, sent, [3]int64{second, 1, 2})
	require.NotContains(t, sent, [3]int64{second, 8, 2},
		"its predecessor is in backoff, which holds up this account alone")
	require.Equal(t, task.RunRunning, b.run(first).State)

	// An order runs in any case.
	ordered := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, ordered))
	require.EqualValues(t, 12, *b.run(ordered).Total)
	require.Len(t, b.broker.log, 13+11+12)
}

func TestFanOut_ReplacesWhatIsOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(12)
	id := b.addTask("hourly", "tulip.report", "* * * * *", map[string]any{"overlap": "replace"})
	tm := b.term()
	first, second := tm.tick(b, id), tm.tick(b, id)
	require.NoError(t, tm.fan(b, first))
	b.answer(first, 7, task.Failed)
	b.answer(first, 8, task.Retrying)
	b.exec(b.store.Config, "UPDATE media_account SET tier = 'inactive' WHERE id = 12")

	require.NoError(t, tm.fan(b, second))
	old := b.run(first)
	require.EqualValues(t, 10, old.Superseded)
	require.EqualValues(t, 1, old.Failed)
	require.Equal(t, task.RunRunning, old.State, "account 12 has left the scope: nothing replaces it")
	require.Len(t, b.sentSince(12), 11)
	due, err := b.store.CountDue(t.Context())
	require.NoError(t, err)
	require.Zero(t, due["retrying"], "what was replaced is not tried again")

	stale, err := b.store.ApplyOutcomes(t.Context(), []ledger.Outcome{{
		Key: task.Key{RunID: first, AccountID: 1, Part: "2026-11-21"}, Delivery: 1, State: task.Succeeded,
		EndedAt: b.clock.Now(),
	}})
	require.NoError(t, err)
	require.Equal(t, 1, stale, "what was at work when it was replaced counts no more")
	b.answer(first, 12, task.Succeeded)
	require.Equal(t, task.RunPartial, b.run(first).State)
}

// If a leader dies between writing the rows of a run and ending the rows that they replace, no row has ended without a
// replacement. The next leader finishes this, also for accounts that have left the scope.
func TestFanOut_ReplacesAfterACrash(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(3)
	id := b.addTask("hourly", "tulip.report", "* * * * *", map[string]any{"overlap": "replace"})
	tm := b.term()
	first, second := tm.tick(b, id), tm.tick(b, id)
	require.NoError(t, tm.fan(b, first))
	run := b.run(second)
	_, err := b.store.AddSubtasks(t.Context(), tm.lease, second,
		[]ledger.AccountPart{{AccountID: 1, Part: "2026-11-21"}, {AccountID: 2, Part: "2026-11-21"}}, run.PlannedAt)
	require.NoError(t, err)
	b.exec(b.store.Config, "UPDATE media_account SET tier = 'inactive' WHERE id < 3")
	require.NoError(t, b.term().fan(b, second))
	require.EqualValues(t, 3, b.run(first).Superseded)
	require.Equal(t, task.RunSucceeded, b.run(first).State)
	require.ElementsMatch(t, [][3]int64{{second, 1, 1}, {second, 2, 1}, {second, 3, 1}}, b.sentSince(3))
}

// "Today" pulled late is another day: a subtask that is not sent before its time to live ends is never sent.
func TestDue_ExpiresWhatWasQueuedTooLong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(2)
	id := b.addTask("hourly", "tulip.report", "* * * * *", map[string]any{"overlap": "queue", "ttl_seconds": 600})
	tm := b.term()
	first, second := tm.tick(b, id), tm.tick(b, id)
	require.NoError(t, tm.fan(b, first))
	require.NoError(t, tm.fan(b, second))
	b.clock.add(8 * time.Minute) // the second was planned one minute after the first, and nine minutes ago
	require.NoError(t, tm.scanDue(t.Context()))
	require.Zero(t, b.run(second).Expired)
	b.clock.add(time.Minute)
	require.NoError(t, tm.scanDue(t.Context()))
	run := b.run(second)
	require.EqualValues(t, 2, run.Expired, "though nobody has made it due")
	require.Equal(t, task.RunFailed, run.State)
	require.Len(t, b.broker.log, 2)
}

func TestFanOut_StopsMakingWhenItsRateOutlastsItsTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(25)
	id := b.addTask("slow", "tulip.report", "0 0 * * *", map[string]any{"ttl_seconds": 60})
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	run := b.run(runID)
	f := &fanOut{loop: tm.fanOuts, run: &run, batch: 10}
	f.handler, _ = tm.registry.Get("tulip.report")
	require.NoError(t, tm.prepare(t.Context(), &run))
	last, err := f.step(t.Context())
	require.NoError(t, err)
	require.False(t, last)
	b.clock.add(time.Minute)
	last, err = f.step(t.Context())
	require.NoError(t, err)
	require.True(t, last)
	require.Len(t, b.broker.log, 10)
}

// faults fails statements and writes to the broker, before they are done or after, when only the answer is lost.
type faults struct {
	t    *rapid.T // nil injects nothing
	left int
	// meanwhile is called just before a statement outside a transaction, in place of other processes.
	meanwhile func()
}

var errFault = errors.New("the connection was cut")

func (f *faults) strikes(where string) bool {
	if f.t == nil || f.left == 0 || rapid.IntRange(0, 7).Draw(f.t, "fault "+where) != 0 {
		return false
	}
	f.left--
	return true
}

// install puts the faults into the store's writes. A write within a transaction that fails undoes the transaction.
func (f *faults) install(t *testing.T, db *sqldb.DB) {
	t.Helper()
	raw := db.Writer(t.Context()).Callback().Raw()
	require.NoError(t, raw.Before("gorm:raw").Register("fault before", func(tx *gorm.DB) {
		if _, inTx := tx.Statement.ConnPool.(gorm.TxCommitter); !inTx && f.t != nil {
			f.quiet(f.meanwhile)
		}
		if f.strikes("before a statement") {
			_ = tx.AddError(errFault)
		}
	}))
	require.NoError(t, raw.After("gorm:raw").Register("fault after", func(tx *gorm.DB) {
		if tx.Error == nil && f.strikes("after a statement") {
			_ = tx.AddError(errFault)
		}
	}))
}

// quiet calls a function without faults.
func (f *faults) quiet(do func()) {
	t := f.t
	f.t = nil
	defer func() { f.t = t }()
	do()
}

// world is a task, an older run of it, and a run whose fan-out one leader after another continues while accounts come
// and go and consumers answer.
type world struct {
	*bench
	t        *rapid.T
	faults   *faults
	terms    []*term // the last one leads
	runs     []int64
	read     int            // messages that consumers have read
	everIn   map[int64]bool // accounts that were in the scope at some time
	alwaysIn map[int64]bool
}

const worldAccounts = 7

func (w *world) exec(db *sqldb.DB, sql string, args ...any) {
	require.NoError(w.t, db.Writer(context.Background()).Exec(sql, args...).Error)
}

func (w *world) lead() *term { return w.terms[len(w.terms)-1] }

// somethingHappens makes a random change of the world between two tries.
func (w *world) somethingHappens() {
	switch rapid.IntRange(0, 4).Draw(w.t, "what happens") {
	case 0:
		account := rapid.Int64Range(1, worldAccounts).Draw(w.t, "account")
		tier := rapid.SampledFrom([]string{"active", "inactive"}).Draw(w.t, "tier")
		w.exec(w.store.Config, "UPDATE media_account SET tier = ? WHERE id = ?", tier, account)
		if tier == "active" {
			w.everIn[account] = true
		} else {
			delete(w.alwaysIn, account)
		}
	case 1:
		w.consume(rapid.IntRange(1, 5).Draw(w.t, "messages"), true)
	case 2:
		require.NoError(w.t, w.lead().scanDue(context.Background()))
	case 3:
		w.takeover()
	case 4:
		w.clock.add(time.Second)
	}
}

// takeover ends a term without its knowledge.
func (w *world) takeover() {
	w.exec(w.store.Data, "UPDATE leader SET expires_at = '1970-01-01 00:00:00.000'")
	l, _, err := w.store.Leadership().Campaign(context.Background(), "tester", time.Minute)
	require.NoError(w.t, err)
	w.terms = append(w.terms, newTerm(w.Producer, l))
}

// consume answers messages like a consumer: only for rows that still wait for that delivery.
func (w *world) consume(n int, any bool) {
	log := w.broker.envelopes(w.bench.t)
	for ; n > 0 && w.read < len(log); n-- {
		e := log[w.read]
		w.read++
		states, err := w.store.SubtaskStates(context.Background(), []task.Key{e.Key})
		require.NoError(w.t, err)
		row, found := states[e.Key]
		require.True(w.t, found, "a message without a row: %+v", e.Key)
		if row.State != task.Waiting || row.Delivery != e.Delivery {
			continue
		}
		state := task.Succeeded
		if any {
			state = rapid.SampledFrom([]task.State{task.Succeeded, task.Failed, task.Retrying, task.Deferred}).Draw(w.t,
				"outcome")
		}
		_, err = w.store.ApplyOutcomes(context.Background(), []ledger.Outcome{{
			Key: e.Key, Delivery: e.Delivery, Attempt: 1, State: state, EndedAt: w.clock.Now(),
			DueAt: w.clock.Now().Add(time.Second),
		}})
		require.NoError(w.t, err)
	}
}

type subtaskRow struct {
	AccountID int64
	State     task.State
	Delivery  int
	Due       *string
	WaitsFor  *string
}

func (w *world) rows(runID int64) []subtaskRow {
	var rows []subtaskRow
	require.NoError(w.t,
		w.store.Data.Writer(context.Background()).Raw(
			"SELECT t.account_id, t.state, t.delivery, d.state AS due, d.waits_for FROM "+ledger.LogTable(runID)+
				" t LEFT JOIN subtask_due d ON d.run_id = t.run_id AND d.account_id = t.account_id AND d.part = t.part WHERE "+
				"t.run_id = ? ORDER BY t.account_id", runID).Scan(&rows).Error)
	return rows
}

// fanOut lets leader after leader try until the run is fanned out.
func (w *world) fanOut(runID int64) {
	for {
		run, err := w.store.Run(context.Background(), runID)
		require.NoError(w.t, err)
		if run.State != task.RunFanningOut {
			return
		}
		leads := len(w.terms) - 1
		if w.faults.t != nil && leads > 0 && rapid.IntRange(0, 4).Draw(w.t, "a former leader wakes") == 0 {
			leads = rapid.IntRange(0, leads-1).Draw(w.t, "which")
		}
		stale := leads < len(w.terms)-1
		err = w.terms[leads].fanOut(context.Background(), &run)
		switch {
		case stale:
			require.Error(w.t, err, "a leader of the past can end nothing")
		case err != nil:
			require.True(w.t, errors.Is(err, errFault) || errors.Is(err, errStale), "%v", err)
		}
		w.faults.quiet(w.somethingHappens)
	}
}

func (w *world) check(runID int64, policy task.Overlap) {
	run, err := w.store.Run(context.Background(), runID)
	require.NoError(w.t, err)
	messages := map[int64]map[int]bool{}
	for _, e := range w.broker.envelopes(w.bench.t) {
		if e.RunID == runID {
			if messages[e.AccountID] == nil {
				messages[e.AccountID] = map[int]bool{}
			}
			messages[e.AccountID][e.Delivery] = true
		}
	}
	rows := w.rows(runID)
	var ended int64
	made := map[int64]bool{}
	for _, row := range rows {
		require.True(w.t, w.everIn[row.AccountID], "account %d was never in the scope", row.AccountID)
		made[row.AccountID] = true
		switch {
		case row.State == task.Waiting:
			require.True(w.t, messages[row.AccountID][row.Delivery], "account %d waits for a message that nobody sent",
				row.AccountID)
		case row.State.Open():
			require.NotNil(w.t, row.Due, "account %d waits and is not due", row.AccountID)
		default:
			ended++
			require.Nil(w.t, row.Due)
		}
	}
	for account := range w.alwaysIn {
		if policy == task.OverlapReplace {
			require.True(w.t, made[account], "account %d was left out", account)
		}
	}
	require.EqualValues(w.t, len(rows), *run.Total, "each row is counted once")
	require.Equal(w.t, ended, run.Ended())
}

// A fan-out may be interrupted anywhere, any number of times, and resumed by another leader. Each subtask has one row
// and at least one message, the run's counts are exact, and in the end everything has ended.
func TestFanOut_AnyFaultsAndLeaders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.cfg.BatchSize = 2
	f := &faults{}
	f.install(t, b.store.Data)
	require.NoError(t, b.store.EnsureLogTable(t.Context(), day.Of(start, time.UTC)))
	b.broker.fail = func(int) error {
		switch {
		case f.strikes("before Kafka"):
			return errFault
		case f.strikes("after Kafka"):
			return &broker.WriteError{Err: errFault}
		case f.strikes("in Kafka"):
			return &broker.WriteError{Err: errFault, Failed: []int{0}}
		}
		return nil
	}
	tasks := map[task.Overlap]int64{}
	for _, policy := range []task.Overlap{task.OverlapSkip, task.OverlapQueue, task.OverlapReplace} {
		tasks[policy] = b.addTask(string(policy), "tulip.report", "* * * * *", map[string]any{"overlap": string(policy)})
	}
	b.term()
	rapid.Check(t, func(t *rapid.T) {
		defer func() { f.t = nil }()
		f.t = nil
		for _, table := range []string{"subtask_due", "run", ledger.LogTable(task.NewRunID(start))} {
			require.NoError(t, b.store.Data.Writer(context.Background()).Exec("DELETE FROM "+table).Error)
		}
		require.NoError(t, b.store.Config.Writer(context.Background()).Exec("DELETE FROM media_account").Error)
		b.broker.log = nil
		b.clock.mu.Lock()
		b.clock.now = start
		b.clock.mu.Unlock()
		w := &world{bench: b, t: t, faults: f, everIn: map[int64]bool{}}
		policy := rapid.SampledFrom([]task.Overlap{task.OverlapSkip, task.OverlapQueue, task.OverlapReplace}).Draw(t,
			"overlap")
		for id := int64(1); id <= worldAccounts; id++ {
			tier := "inactive"
			if rapid.IntRange(0, 3).Draw(t, "in scope") > 0 {
				tier, w.everIn[id] = "active", true
			}
			w.exec(b.store.Config,
				"INSERT INTO media_account (id, media, external_id, token_id, tier) VALUES (?, 'tulip', ?, 1, ?)", id,
				strconv.FormatInt(id, 10), tier)
		}
		f.meanwhile = func() {
			if rapid.IntRange(0, 3).Draw(t, "a consumer is faster") == 0 {
				w.consume(1, true)
			}
		}
		w.takeover()
		for n := range 3 {
			now := b.clock.Now()
			run := ledger.Run{ID: task.NewRunID(now), TaskID: tasks[policy], Kind: ledger.RunOfTick, PlannedAt: now}
			w.lead().fill(&run, b.tasks.Current().Tasks[tasks[policy]], nil)
			require.NoError(t, b.store.AddRuns(context.Background(), w.lead().lease, []ledger.Run{run}))
			b.clock.add(time.Second)
			w.alwaysIn = w.inScopeNow()
			f.t, f.left = t, 3*n // the first is fanned out without trouble
			w.fanOut(run.ID)
			f.t = nil
			w.runs = append(w.runs, run.ID)
		}
		require.NoError(t, w.lead().releaseQueued(context.Background()))
		w.check(w.runs[2], policy)

		for range 20 {
			w.consume(len(b.broker.log), false)
			w.clock.add(time.Minute)
			w.lead().scanned, w.lead().sought = time.Time{}, time.Time{}
			require.NoError(t, w.lead().scanDue(context.Background()))
		}
		for _, id := range w.runs {
			run, err := b.store.Run(context.Background(), id)
			require.NoError(t, err)
			require.False(t, run.State.Open(), "run %d of %v is open: %+v", id, w.runs, w.rows(id))
			w.check(id, task.OverlapSkip)
		}
	})
}

func (w *world) inScopeNow() map[int64]bool {
	accounts, err := w.store.FanOutAccounts(context.Background(), "tulip", []string{"active"}, 0, 100)
	require.NoError(w.t, err)
	in := map[int64]bool{}
	for _, a := range accounts {
		in[a.ID] = true
	}
	return in
}

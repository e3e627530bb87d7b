package producer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// stop writes an order as the API does; a pause with a duration expires.
func (b *bench) stop(verb task.StopVerb, kind task.StopKind, target string, d time.Duration) task.Stop {
	b.t.Helper()
	now := b.clock.Now()
	s := task.Stop{ID: task.NewRunID(now), Verb: verb, Kind: kind, Target: target, TargetName: target, Reason: "a test",
		By: "otto", OrderedAt: now}
	if d > 0 {
		s.Until = now.Add(d)
	}
	require.NoError(b.t, b.store.AddStop(b.t.Context(), s))
	return s
}

// obey runs one pass of both loops.
func (t *term) obey(b *bench) {
	b.t.Helper()
	require.NoError(b.t, t.keepStops(b.t.Context()))
	require.NoError(b.t, t.cancelOpen(b.t.Context()))
}

// startAll starts fan-outs as the loop does, and waits until they end or pause.
func (t *term) startAll(b *bench) {
	b.t.Helper()
	group, ctx := errgroup.WithContext(b.t.Context())
	require.NoError(b.t, t.startFanOuts(ctx, group))
	require.NoError(b.t, group.Wait())
}

// afterWrite calls a function once, after a number of writes of a fan-out.
func (b *bench) afterWrite(n int, do func()) {
	writes := 0
	b.broker.block = func(context.Context) {
		if writes++; writes == n {
			do()
		}
	}
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

// rows returns how many subtasks of a run are in each state.
func (b *bench) rows(runID int64) map[task.State]int64 {
	b.t.Helper()
	rows, err := b.store.Data.Writer(b.t.Context()).Raw("SELECT state, COUNT(*) FROM "+ledger.LogTable(runID)+
		" WHERE run_id = ? GROUP BY state", runID).Rows()
	require.NoError(b.t, err)
	defer rows.Close()
	counts := map[task.State]int64{}
	for rows.Next() {
		var state task.State
		var n int64
		require.NoError(b.t, rows.Scan(&state, &n))
		counts[state] = n
	}
	require.NoError(b.t, rows.Err())
	return counts
}

// requireExact checks a run's counts against its rows.
func (b *bench) requireExact(run ledger.Run) {
	b.t.Helper()
	rows := b.rows(run.ID)
	var total int64
	for _, n := range rows {
		total += n
	}
	require.NotNil(b.t, run.Total)
	require.Equal(b.t, total, *run.Total)
	require.Equal(b.t, []int64{rows[task.Succeeded], rows[task.Failed], rows[task.Expired], rows[task.Cancelled],
		rows[task.Superseded]},
		[]int64{run.Succeeded, run.Failed, run.Expired, run.Cancelled, run.Superseded})
}

func TestPause_MakesNoTicksAndLetsThePolicyCatchUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy task.CatchUp
		kind   task.StopKind
		want   int // moments made of the four in the pause
	}{
		{task.CatchUpNone, task.StopTask, 0},
		{task.CatchUpLatest, task.StopTask, 1},
		{task.CatchUpAll, task.StopTask, 4},
		{task.CatchUpLatest, task.StopMedia, 1},
	} {
		t.Run(fmt.Sprint(tt.policy, " ", tt.kind), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			taskID := b.addTask("paused", "tulip.report", "*/5 * * * *", map[string]any{"catch_up": string(tt.policy)})
			b.addTask("other", "system.tidy", "*/5 * * * *", map[string]any{"catch_up": "all"})
			tm := b.term()
			require.NoError(t, tm.planTicks(t.Context()))
			target := map[task.StopKind]string{task.StopTask: id(taskID), task.StopMedia: "tulip"}[tt.kind]
			b.stop(task.Pause, tt.kind, target, 22*time.Minute+30*time.Second)
			made := func(name string) (n int) {
				for range 5 {
					require.NoError(t, tm.planTicks(t.Context()))
				}
				for _, run := range b.runs() {
					if run.TaskName == name {
						n++
					}
				}
				return n
			}
			for range 4 { // until 9:20:30
				tm.obey(b)
				b.clock.add(5 * time.Minute)
				require.Zero(t, made("paused"))
			}
			require.Equal(t, 4, made("other"), "tasks that no order names continue")
			b.clock.add(2*time.Minute + 30*time.Second)
			require.Equal(t, tt.want, made("paused"))
			tm.obey(b)
			active, err := b.store.ActiveStops(t.Context())
			require.NoError(t, err)
			require.Empty(t, active, "the leader has noted its end")
		})
	}
}

func TestPause_HoldsFanOutsUntilItEnds(t *testing.T) {
	t.Parallel()
	for _, kind := range []task.StopKind{task.StopRun, task.StopTask, task.StopMedia} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addAccounts(35)
			taskID := b.addTask("paused", "tulip.report", "0 0 1 1 *", nil)
			other := b.addTask("other", "system.tidy", "0 0 1 1 *", nil)
			tm := b.term()
			runID := tm.order(b, taskID, task.Order{By: "otto"})
			target := map[task.StopKind]string{task.StopRun: id(runID), task.StopTask: id(taskID), task.StopMedia: "tulip"}[kind]
			var pause task.Stop
			b.afterWrite(2, func() {
				pause = b.stop(task.Pause, kind, target, 0)
				require.NoError(t, tm.keepStops(t.Context()))
			})
			tm.startAll(b)
			require.Equal(t, task.RunFanningOut, b.run(runID).State)
			require.Equal(t, ids(1, 20), b.broker.accounts(t), "the step under way was finished")

			later := tm.order(b, other, task.Order{By: "otto"})
			tm.obey(b)
			tm.startAll(b)
			require.Equal(t, task.RunRunning, b.run(later).State, "others are not held")
			require.EqualValues(t, 20, b.rows(runID)[task.Waiting])

			next := b.another()
			b.Producer = next
			tm = b.term()
			require.True(t, tm.awaitStops(t.Context()))
			tm.startAll(b)
			require.EqualValues(t, 20, b.rows(runID)[task.Waiting], "the next leader holds it too")

			lifted, err := b.store.LiftPause(t.Context(), pause.ID, "vera", b.clock.Now())
			require.NoError(t, err)
			require.True(t, lifted)
			tm.obey(b)
			tm.startAll(b)
			require.Equal(t, task.RunRunning, b.run(runID).State)
			require.EqualValues(t, 35, b.rows(runID)[task.Waiting])
			require.EqualValues(t, 35, *b.run(runID).Total)
		})
	}
}

func TestPause_OfARunLetsTheOthersOfItsTaskPass(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(3)
	taskID := b.addTask("report", "tulip.report", "* * * * *", nil)
	tm := b.term()
	runID := tm.order(b, taskID, task.Order{By: "otto"})
	b.stop(task.Pause, task.StopRun, id(runID), 0)
	require.NoError(t, tm.planTicks(t.Context()))
	b.clock.add(30 * time.Second)
	require.NoError(t, tm.planTicks(t.Context()))
	tm.obey(b)
	tm.startAll(b)
	runs := b.runs()
	require.Len(t, runs, 2)
	require.Equal(t, []task.RunState{task.RunFanningOut, task.RunRunning}, []task.RunState{runs[0].State, runs[1].State})

	b.stop(task.Cancel, task.StopRun, id(runID), 0)
	tm.obey(b)
	tm.obey(b)
	active, err := b.store.ActiveStops(t.Context())
	require.NoError(t, err)
	require.Len(t, active, 1, "the pause of a run that has ended is over")
	require.Equal(t, task.Cancel, active[0].Verb)
}

// waits defers an account's subtask of a run until a stop has ended, and for at most a day.
func (b *bench) waits(run ledger.Run, account int64, delivery int, ref string) {
	b.t.Helper()
	stale, err := b.store.ApplyOutcomes(b.t.Context(), []ledger.Outcome{{
		Key: task.Key{RunID: run.ID, AccountID: account, Part: "2026-11-21"}, Media: "tulip", Lane: run.Settings.Lane,
		TaskID:   run.TaskID,
		Delivery: delivery, State: task.Deferred, DueAt: b.clock.Now().Add(24 * time.Hour), WaitsFor: ref,
		EndedAt: b.clock.Now(),
	}})
	require.NoError(b.t, err)
	require.Zero(b.t, stale)
}

func TestPause_MakesDueWhatWaitsForItOnceItHasEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(6)
	taskID := b.addTask("report", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	runID := tm.order(b, taskID, task.Order{By: "otto"})
	require.NoError(t, tm.fan(b, runID))
	run := b.run(runID)
	pause := b.stop(task.Pause, task.StopAccount, "1", time.Hour)
	another := b.stop(task.Pause, task.StopAccount, "2", 0)
	wait := func(account int64, stop task.Stop) { b.waits(run, account, 1, task.PauseRef(stop.ID)) }
	sent := func() []int64 {
		before := len(b.broker.accounts(t))
		tm.obey(b)
		require.NoError(t, tm.pumpDue(t.Context()))
		return b.broker.accounts(t)[before:]
	}
	wait(1, pause)
	wait(2, another)
	require.Empty(t, sent(), "both hold")
	_, err := b.store.LiftPause(t.Context(), another.ID, "vera", b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, []int64{2}, sent(), "it was lifted")
	wait(3, another)
	require.Equal(t, []int64{3}, sent(), "a consumer that had not heard of it")
	require.Empty(t, sent())
	b.clock.add(time.Hour)
	require.Equal(t, []int64{1}, sent(), "its time is over")
	tm = b.term()
	wait(4, pause)
	wait(5, task.Stop{ID: 12345})
	require.Equal(t, []int64{4, 5}, sent(), "the next leader needs nothing but the tables")
	require.EqualValues(t, 6, b.rows(runID)[task.Waiting])
}

func TestPause_IsReleasedBitByBit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tm := b.term()
	const waiting = releaseLots*releaseAtOnce + 200
	soon := start.Add(time.Second) // the end of the time to live of one subtask in a hundred
	for some := range slices.Chunk(ids(1, waiting), 1000) {
		var args []any
		for _, id := range some {
			due := start.Add(24 * time.Hour)
			if id%100 == 0 {
				due = soon
			}
			args = append(args, 1, id, "p", string(task.Deferred), "tulip", "normal", sqldb.At(due), 1, 0, task.PauseRef(7))
		}
		b.exec(b.store.Data,
			"INSERT INTO subtask_due (run_id, account_id, part, state, media, lane, due_at, delivery, attempt, waits_for) "+
				"VALUES "+
				sqldb.Tuples(len(some), 10), args...)
	}
	released := func() (n int, latest time.Time) {
		var at sqldb.Time
		row := b.store.Data.Writer(t.Context()).Raw(
			"SELECT COUNT(*), MAX(due_at) FROM subtask_due WHERE waits_for = ''").Row()
		require.NoError(t, row.Scan(&n, &at))
		return n, at.Time
	}
	require.NoError(t, tm.keepStops(t.Context()))
	n, latest := released()
	lot := n / releaseLots // the rows of one statement
	require.LessOrEqual(t, lot, releaseAtOnce)
	require.Equal(t, releaseLots*lot, n, "a pass is to be quick")
	require.Equal(t, start.Add((releaseLots-1)*releaseSpacing), latest)
	var late int
	row := b.store.Data.Writer(t.Context()).Raw(
		"SELECT COUNT(*) FROM subtask_due WHERE account_id % 100 = 0 AND due_at > ?", sqldb.At(soon)).Row()
	require.NoError(t, row.Scan(&late))
	require.Zero(t, late, "none is looked at later than at the end of its time to live")

	require.NoError(t, tm.keepStops(t.Context()))
	n, _ = released()
	require.Equal(t, releaseLots*lot, n, "the moments of this pass are taken")
	for n < waiting {
		b.clock.add(stopInterval)
		require.NoError(t, tm.keepStops(t.Context()))
		before := n
		n, latest = released()
		require.Equal(t, min(before+4*lot, waiting), n)
	}
	lots := (waiting + lot - 1) / lot
	require.Equal(t, start.Add(time.Duration(lots-1)*releaseSpacing), latest, "one lot after the other, over all passes")
	require.NoError(t, tm.keepStops(t.Context()))
	require.Empty(t, tm.releases)
}

func TestCancel_CutsAFanOutAndEndsWhatItMade(t *testing.T) {
	t.Parallel()
	for _, kind := range []task.StopKind{task.StopRun, task.StopTask, task.StopMedia} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addAccounts(35)
			taskID := b.addTask("report", "tulip.report", "0 0 1 1 *", nil)
			tm := b.term()
			runID := tm.order(b, taskID, task.Order{By: "otto"})
			target := map[task.StopKind]string{task.StopRun: id(runID), task.StopTask: id(taskID), task.StopMedia: "tulip"}[kind]
			var cancel task.Stop
			b.afterWrite(2, func() {
				cancel = b.stop(task.Cancel, kind, target, 0)
				require.NoError(t, tm.keepStops(t.Context()))
				require.Equal(t, task.RunFanningOut, b.run(runID).State, "its fan-out is in the middle of a step")
			})
			tm.startAll(b)
			require.EqualValues(t, 20, b.rows(runID)[task.Waiting])
			b.clock.add(time.Second)
			younger := tm.order(b, taskID, task.Order{By: "otto"})
			b.end(b.run(runID), task.Succeeded)
			require.NoError(t, b.store.Data.Writer(t.Context()).Exec("UPDATE "+ledger.LogTable(runID)+
				" SET state = 'waiting' WHERE account_id > 4").Error)
			require.NoError(t, b.store.Data.Writer(t.Context()).Exec("UPDATE run SET succeeded = 4 WHERE id = ?", runID).Error)

			tm.obey(b)
			run := b.run(runID)
			require.Equal(t, task.RunCancelled, run.State)
			require.Equal(t, "cancelled by otto: a test", run.ErrorText)
			require.Equal(t, []int64{20, 4, 16}, []int64{*run.Total, run.Succeeded, run.Cancelled})
			b.requireExact(run)
			tm.startAll(b)
			b.requireExact(b.run(runID))
			require.Len(t, b.broker.accounts(t), 20+35, "nothing more of it is sent")
			require.Equal(t, task.RunRunning, b.run(younger).State, "what was ordered later continues")

			active := func() int {
				list, err := b.store.ActiveStops(t.Context())
				require.NoError(t, err)
				return len(list)
			}
			require.Equal(t, 1, active(), "consumers are still to see it")
			b.clock.add(cancelLinger)
			tm.obey(b)
			require.Zero(t, active())
			done, err := b.store.Stop(t.Context(), cancel.ID)
			require.NoError(t, err)
			require.Equal(t, b.clock.Now(), done.EndedAt)
			require.Equal(t, task.RunRunning, b.run(younger).State)
		})
	}
}

func TestCancel_TakesARunWhoseFanOutHasNotBegun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(3)
	taskID := b.addTask("report", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	runID := task.NewRunID(b.clock.Now())
	require.NoError(t, b.store.AddOrder(t.Context(),
		ledger.RunOrder{RunID: runID, TaskID: taskID, Request: task.Order{Scope: task.ScopeAll, By: "otto"},
			OrderedAt: b.clock.Now()}))
	b.stop(task.Cancel, task.StopRun, id(runID), 0)
	b.clock.add(2 * cancelLinger)
	tm.obey(b)
	require.NoError(t, tm.takeOrders(t.Context()))
	require.Equal(t, task.RunFanningOut, b.run(runID).State)
	tm.obey(b)
	run := b.run(runID)
	require.Equal(t, task.RunCancelled, run.State, "the cancel waited for the run that was ordered before")
	require.Equal(t, b.clock.Now(), run.EndedAt)
	b.requireExact(run)
	tm.startAll(b)
	require.Empty(t, b.broker.accounts(t))
}

func TestCancel_OfAnAccountEndsItsSubtasksInAllRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(25)
	taskID := b.addTask("report", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	whole, early, late := tm.order(b, taskID, task.Order{By: "otto"}), tm.order(b, taskID, task.Order{By: "otto"}),
		tm.order(b, taskID, task.Order{By: "otto"})
	require.NoError(t, tm.fan(b, whole))
	require.NoError(t, tm.fan(b, early))
	b.end(b.run(early), task.Retrying)
	b.broker.fail = func(int) error { return context.DeadlineExceeded }
	require.Error(t, tm.fan(b, late), "it comes no further than its first accounts")
	b.broker.fail = nil
	b.clock.add(time.Second)
	younger := tm.order(b, taskID, task.Order{By: "otto"})
	require.NoError(t, tm.fan(b, younger))

	b.clock.now = b.clock.now.Add(-time.Second)
	b.stop(task.Cancel, task.StopAccount, "15", 0)
	b.clock.add(time.Second)
	tm.obey(b)
	require.Equal(t, map[task.State]int64{task.Waiting: 24, task.Cancelled: 1}, b.rows(whole))
	require.Equal(t, map[task.State]int64{task.Retrying: 24, task.Cancelled: 1}, b.rows(early))
	require.Equal(t, map[task.State]int64{task.Waiting: 25}, b.rows(younger))
	b.clock.add(cancelLinger)
	tm.obey(b)
	require.NoError(t, tm.fan(b, late))
	tm.obey(b)
	require.Equal(t, map[task.State]int64{task.Waiting: 24, task.Cancelled: 1}, b.rows(late),
		"its fan-out came to the account later")
	tm.obey(b)
	active, err := b.store.ActiveStops(t.Context())
	require.NoError(t, err)
	require.Empty(t, active)
	for _, runID := range []int64{whole, early, late} {
		b.end(b.run(runID), task.Succeeded)
		run := b.run(runID)
		require.Equal(t, task.RunPartial, run.State)
		b.requireExact(run)
	}
}

func TestCancel_IsCarriedOnByTheNextLeader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(30)
	taskID := b.addTask("report", "tulip.report", "0 0 1 1 *", nil)
	first := b.term()
	runID := first.order(b, taskID, task.Order{By: "otto"})
	cut := first.order(b, taskID, task.Order{By: "otto"})
	require.NoError(t, first.fan(b, runID))
	cancel := b.stop(task.Cancel, task.StopTask, id(taskID), 0)
	require.NoError(t, b.store.MarkCancelled(t.Context(), first.lease, cancel.ID, []int64{runID, cut}, cancel.Text()))
	open, err := b.store.OpenSubtasksOf(t.Context(), runID, task.Key{}, 12)
	require.NoError(t, err)
	require.NoError(t, first.cancelSome(t.Context(), cancel, taskID, open))
	require.Equal(t, map[task.State]int64{task.Waiting: 18, task.Cancelled: 12}, b.rows(runID))

	second := b.term()
	require.ErrorIs(t, first.keepStops(t.Context()), errStale)
	require.ErrorIs(t, first.cancelOpen(t.Context()), errStale)
	require.Equal(t, map[task.State]int64{task.Waiting: 18, task.Cancelled: 12}, b.rows(runID),
		"one that was deposed changes nothing")
	second.obey(b)
	for _, run := range []ledger.Run{b.run(runID), b.run(cut)} {
		require.Equal(t, task.RunCancelled, run.State)
		b.requireExact(run)
	}
	require.EqualValues(t, 30, b.run(runID).Cancelled)
	require.Zero(t, *b.run(cut).Total)
}

// Outcomes of any delivery, the pump, takeovers, and a pause may come in between. A cancelled run ends as cancelled,
// its counts equal its rows, no end state changes again, and none of its subtasks stays open.
func TestCancel_AnyInterleaving(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(25)
	taskID := b.addTask("report", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	rapid.Check(t, func(rt *rapid.T) {
		b.clock.add(time.Hour)
		b.broker.block = nil
		runID := tm.order(b, taskID, task.Order{By: "otto"})
		cancelAt := rapid.IntRange(1, 3).Draw(rt, "cancelled in step")
		b.afterWrite(cancelAt, func() {
			b.stop(task.Cancel, rapid.SampledFrom([]task.StopKind{task.StopRun, task.StopTask}).Draw(rt, "kind"), "", 0)
		})
		// A run is named by its id, a task by its own.
		b.broker.block = func(inner func(context.Context)) func(context.Context) {
			return func(ctx context.Context) {
				inner(ctx)
				b.exec(b.store.Data, "UPDATE stop_order SET target = CASE kind WHEN 'run' THEN ? ELSE ? END WHERE target = ''",
					id(runID), id(taskID))
				if rapid.Bool().Draw(rt, "read in the step") {
					require.NoError(t, tm.keepStops(ctx))
				}
			}
		}(b.broker.block)
		tm.startAll(b)
		b.broker.block = nil
		final := map[task.Key]task.State{}
		for range rapid.IntRange(0, 8).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"outcomes", "pump", "takeover", "stops", "cancel", "fan-out"}).Draw(rt, "step") {
			case "outcomes":
				var outcomes []ledger.Outcome
				for range rapid.IntRange(1, 12).Draw(rt, "outcomes") {
					o := ledger.Outcome{
						Key:    task.Key{RunID: runID, AccountID: rapid.Int64Range(1, 25).Draw(rt, "account"), Part: "2026-11-21"},
						TaskID: taskID, Media: "tulip", Lane: "normal", Delivery: rapid.IntRange(1, 3).Draw(rt, "delivery"),
						State: rapid.SampledFrom([]task.State{task.Succeeded, task.Failed, task.Retrying, task.Deferred,
							task.Cancelled}).Draw(rt, "state"),
						DueAt: b.clock.Now(), EndedAt: b.clock.Now(),
					}
					if o.State == task.Deferred {
						o.WaitsFor = task.PauseRef(rand.Int64N(3))
					}
					outcomes = append(outcomes, o)
				}
				_, err := b.store.ApplyOutcomes(t.Context(), outcomes)
				require.NoError(t, err)
			case "pump":
				require.NoError(t, tm.pumpDue(t.Context()))
			case "takeover":
				tm = b.term()
			case "stops":
				require.NoError(t, tm.keepStops(t.Context()))
			case "cancel":
				require.NoError(t, tm.cancelOpen(t.Context()))
			case "fan-out":
				tm.startAll(b)
			}
			b.requireFinal(runID, final)
		}
		tm.obey(b)
		tm.obey(b)
		b.requireFinal(runID, final)
		run := b.run(runID)
		require.Equal(t, task.RunCancelled, run.State)
		b.requireExact(run)
		for state := range b.rows(runID) {
			require.False(t, state.Open(), "%s is left", state)
		}
		waiting, deferred, err := b.store.SubtasksWaiting(t.Context(), runID)
		require.NoError(t, err)
		require.Zero(t, waiting+deferred)
	})
}

// requireFinal checks that ended subtasks keep their end state.
func (b *bench) requireFinal(runID int64, final map[task.Key]task.State) {
	b.t.Helper()
	rows, err := b.store.Data.Writer(b.t.Context()).Raw("SELECT account_id, part, state FROM "+ledger.LogTable(runID)+
		" WHERE run_id = ?", runID).Rows()
	require.NoError(b.t, err)
	defer rows.Close()
	for rows.Next() {
		k, state := task.Key{RunID: runID}, task.State("")
		require.NoError(b.t, rows.Scan(&k.AccountID, &k.Part, &state))
		if was, ok := final[k]; ok {
			require.Equal(b.t, was, state)
		} else if !state.Open() {
			final[k] = state
		}
	}
	require.NoError(b.t, rows.Err())
}

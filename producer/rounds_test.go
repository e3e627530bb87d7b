package producer

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/store/ledger"
	"adsync/base/task"
)

// endRuns ends all open runs of a task as a whole.
func (b *bench) endRuns(name string, state task.RunState) {
	b.t.Helper()
	b.exec(b.store.Data,
		"UPDATE run SET state = ?, ended_at = created_at WHERE task_name = ? AND state IN ('fanning_out', 'running')",
		string(state), name)
}

// planAll runs a pass of the leader that does not skip the search for rounds.
func (t *term) planAll(tb require.TestingT) {
	t.rounds.lookedAt = time.Time{}
	require.NoError(tb, t.planRuns(context.Background()))
}

func (b *bench) runsOf(name string) []ledger.Run {
	return slices.DeleteFunc(b.runs(), func(r ledger.Run) bool { return r.TaskName != name })
}

// answers returns which runs each round of a task answers, by the id of its run.
func (b *bench) answers(t require.TestingT, taskID int64) map[int64][]int64 {
	rows, err := b.store.Data.Writer(context.Background()).Raw(
		"SELECT t.run_id, a.run_id FROM tick_answer a JOIN tick t ON t.task_id = a.task_id AND t.planned_at = a.planned_at "+
			"WHERE a.task_id = ? ORDER BY a.run_id", taskID).Rows()
	require.NoError(t, err)
	defer rows.Close()
	all := map[int64][]int64{}
	for rows.Next() {
		var round, answered int64
		require.NoError(t, rows.Scan(&round, &answered))
		all[round] = append(all[round], answered)
	}
	require.NoError(t, rows.Err())
	return all
}

func TestPlanRounds_StartsAfterBothPredecessors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("a", "tulip.report", "*/10 * * * *", nil)
	b.addTask("b", "tulip.report", "*/20 * * * *", nil)
	after := b.addTask("c", "tulip.report", "", map[string]any{"after_tasks": "a,b"})
	tm := b.term()
	tm.planAll(t)
	b.clock.add(10 * time.Minute) // 9:10: a
	tm.planAll(t)
	b.endRuns("a", task.RunSucceeded)
	tm.planAll(t)
	require.Empty(t, b.runsOf("c"), "b has not run")
	b.clock.add(10 * time.Minute) // 9:20: a and b
	tm.planAll(t)
	b.endRuns("b", task.RunPartial)
	tm.planAll(t)
	rounds := b.runsOf("c")
	require.Len(t, rounds, 1, "a has ended once, b has ended, and that a runs again does not matter")
	require.Equal(t, b.clock.Now(), rounds[0].PlannedAt)
	require.Equal(t, ledger.RunOfTick, rounds[0].Kind)
	require.Equal(t, map[int64][]int64{rounds[0].ID: {b.runsOf("a")[0].ID, b.runsOf("b")[0].ID}}, b.answers(t, after))

	// While the round is open no other begins. After it, one round answers all runs that have ended meanwhile.
	for range 4 { // until 10:00
		b.endRuns("a", task.RunSucceeded)
		b.endRuns("b", task.RunSucceeded)
		b.clock.add(10 * time.Minute)
		tm.planAll(t)
	}
	b.endRuns("a", task.RunSucceeded)
	b.endRuns("b", task.RunSucceeded)
	tm.planAll(t)
	require.Len(t, b.runsOf("c"), 1)
	b.endRuns("c", task.RunFailed)
	tm.planAll(t)
	tm.planAll(t)
	rounds = b.runsOf("c")
	require.Len(t, rounds, 2)
	require.Len(t, b.answers(t, after)[rounds[1].ID], 7, "five of a, two of b")
	b.endRuns("c", task.RunSucceeded)
	tm.planAll(t)
	b.term().planAll(t)
	require.Len(t, b.runsOf("c"), 2, "nothing is left to answer")
}

func TestPlanRounds_WhatDoesNotStartOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.addTask("a", "tulip.report", "*/10 * * * *", nil)
	tm := b.term()
	tm.planAll(t)
	b.clock.add(10 * time.Minute)
	tm.planAll(t)
	b.endRuns("a", task.RunSucceeded)

	// The run ended before the task got its "after".
	b.clock.add(time.Minute)
	b.addTask("c", "tulip.report", "", map[string]any{"after_tasks": "a"})
	require.NoError(t, b.tasks.Reload(t.Context()))
	tm.planAll(t)
	require.Empty(t, b.runsOf("c"))

	// The run did not succeed.
	for _, state := range []task.RunState{task.RunFailed, task.RunCancelled, task.RunSkipped, task.RunExpired} {
		b.clock.add(10 * time.Minute)
		tm.planAll(t)
		b.endRuns("a", state)
		tm.planAll(t)
	}
	require.Len(t, b.runsOf("a"), 5)
	require.Empty(t, b.runsOf("c"))

	// The run was ordered: it may cover only some accounts.
	tm.order(b, a, task.Order{By: "otto"})
	b.endRuns("a", task.RunSucceeded)
	tm.planAll(t)
	require.Empty(t, b.runsOf("c"))

	// The task is paused. The runs that ended meanwhile start one round afterwards.
	paused := true
	tm.paused = func(id int64, _ string) bool { return paused && id != a }
	for range 2 {
		b.clock.add(10 * time.Minute)
		tm.planAll(t)
		b.endRuns("a", task.RunSucceeded)
		tm.planAll(t)
	}
	require.Empty(t, b.runsOf("c"))
	paused = false
	tm.planAll(t)
	require.Len(t, b.runsOf("c"), 1)
}

// A leader may end between a round's tick and its run. The next one makes the run, and no other round. Consumers carry
// out a cancel without the leader, and may end a run before any leader has read it.
func TestPlanRounds_NotAfterACancelThatConsumersCarryOut(t *testing.T) {
	t.Parallel()
	for _, kind := range []task.StopKind{task.StopRun, task.StopTask, task.StopMedia} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addAccounts(3)
			a := b.addTask("a", "tulip.report", "*/10 * * * *", nil)
			b.addTask("c", "tulip.report", "", map[string]any{"after_tasks": "a"})
			tm := b.term()
			tm.planAll(t)
			b.clock.add(10 * time.Minute)
			tm.planAll(t)
			run := b.runsOf("a")[0]
			require.NoError(t, tm.fan(b, run.ID))
			b.answer(run.ID, 1, task.Succeeded)
			cancel := b.stop(task.Cancel, kind, map[task.StopKind]string{task.StopRun: id(run.ID), task.StopTask: id(a),
				task.StopMedia: "tulip"}[kind], 0)
			b.answer(run.ID, 2, task.Cancelled)
			b.answer(run.ID, 3, task.Cancelled)

			run = b.run(run.ID)
			require.Equal(t, task.RunCancelled, run.State, "nobody led meanwhile")
			require.Equal(t, cancel.Text(), run.ErrorText)
			b.requireExact(run)
			b.clock.add(2 * cancelLinger)
			tm = b.term()
			tm.obey(b)
			tm.planAll(t)
			require.Empty(t, b.runsOf("c"))
			require.Equal(t, task.RunCancelled, b.run(run.ID).State)
		})
	}
}

func TestPlanRounds_ALeaderEndsInBetween(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("a", "tulip.report", "*/10 * * * *", nil)
	after := b.addTask("c", "tulip.report", "", map[string]any{"after_tasks": "a"})
	tm := b.term()
	tm.planAll(t)
	b.clock.add(10 * time.Minute)
	tm.planAll(t)
	b.endRuns("a", task.RunSucceeded)
	b.exec(b.store.Data, "ALTER TABLE run RENAME TO away")
	tm.rounds.lookedAt = time.Time{}
	require.Error(t, tm.planRuns(t.Context()))
	b.exec(b.store.Data, "ALTER TABLE away RENAME TO run")
	answered := b.runsOf("a")[0].ID
	now := b.clock.Now()
	lost := ledger.Round{Tick: ledger.Tick{TaskID: after, PlannedAt: now, RunID: task.NewRunID(now), MadeAt: now},
		Answers: map[int64][]int64{1: {answered}}}
	require.NoError(t, b.store.AddRound(t.Context(), tm.lease, lost))
	again := lost
	again.PlannedAt = now.Add(time.Second)
	require.Error(t, b.store.AddRound(t.Context(), tm.lease, again), "a run is answered once")

	next := b.term()
	require.ErrorIs(t, b.store.AddRound(t.Context(), tm.lease, again), errStale)
	next.planAll(t)
	rounds := b.runsOf("c")
	require.Len(t, rounds, 1)
	require.Equal(t, lost.RunID, rounds[0].ID)
	require.Equal(t, map[int64][]int64{lost.RunID: {answered}}, b.answers(t, after))
}

// One predecessor runs often and one rarely: the end of the rare one answers all runs of the other, however many they
// are.
func TestPlanRounds_AnswersAllOfMany(t *testing.T) {
	t.Parallel()
	b := setup(t)
	often := b.addTask("a", "tulip.report", "0 0 1 1 *", nil)
	rarely := b.addTask("b", "tulip.report", "0 0 1 1 *", nil)
	after := b.addTask("c", "tulip.report", "", map[string]any{"after_tasks": "a,b"})
	tm := b.term()
	tm.planAll(t)
	b.clock.add(time.Hour)
	ended := func(taskID int64, n int) []int64 {
		runs := make([]ledger.Run, n)
		ids := make([]int64, n)
		b.clock.add(time.Second) // the ids of two calls must differ
		for i := range runs {
			ids[i] = task.FirstRunIDAt(b.clock.Now()) + int64(i)
			runs[i] = ledger.Run{
				ID: ids[i], TaskID: taskID, TaskName: "ended", Media: "tulip", Timezone: "UTC", Kind: ledger.RunOfTick,
				State: task.RunSucceeded, PlannedAt: b.clock.Now(), CreatedAt: b.clock.Now(),
			}
		}
		require.NoError(t, b.store.AddRuns(t.Context(), tm.lease, runs))
		return ids
	}
	many := ended(often, 2*answersPage+1)
	tm.planAll(t)
	require.Empty(t, b.runsOf("c"))
	want := slices.Concat(many, ended(rarely, 1))
	b.clock.add(time.Second) // the round must be the newest of all runs
	tm.planAll(t)
	rounds := b.runsOf("c")
	require.Len(t, rounds, 1)
	require.Equal(t, want, b.answers(t, after)[rounds[0].ID])
	b.endRuns("c", task.RunSucceeded)
	ended(rarely, 1)
	tm.planAll(t)
	require.Len(t, b.runsOf("c"), 1, "nothing of the other is left")
}

// In whatever order runs end and leaders change, each run that succeeds is answered once, by a round that began after
// it ended. Each round answers both predecessors, and at most one is open.
func TestPlanRounds_ExactOverTakeovers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("a", "tulip.report", "*/10 * * * *", nil)
	b.addTask("b", "tulip.report", "*/15 * * * *", nil)
	after := b.addTask("c", "tulip.report", "", map[string]any{"after_tasks": "a,b"})
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		for _, table := range []string{"tick", "tick_answer", "run", "task_schedule"} {
			require.NoError(t, b.store.Data.Writer(ctx).Exec("DELETE FROM "+table).Error)
		}
		b.clock.set(start)
		tm := b.term()
		tm.planAll(t)
		ended := map[int64]bool{} // the predecessors' runs that succeeded, and whether they ended before the last pass
		rounds := 0
		t.Repeat(map[string]func(*rapid.T){
			"time goes by":   func(*rapid.T) { b.clock.add(5 * time.Minute) },
			"another leader": func(*rapid.T) { tm = b.term() },
			"a run ends": func(t *rapid.T) {
				open := slices.DeleteFunc(b.runs(), func(r ledger.Run) bool { return !r.State.Open() })
				if len(open) == 0 {
					t.Skip("none is open")
				}
				run := open[rapid.IntRange(0, len(open)-1).Draw(t, "run")]
				state := rapid.SampledFrom([]task.RunState{task.RunSucceeded, task.RunPartial, task.RunFailed}).Draw(t, "state")
				require.NoError(t, b.store.Data.Writer(ctx).Exec("UPDATE run SET state = ? WHERE id = ?", string(state),
					run.ID).Error)
				if run.TaskName != "c" && state != task.RunFailed {
					ended[run.ID] = true
				}
			},
			"": func(t *rapid.T) {
				before := b.answers(t, after)
				var open, unanswered int
				for _, run := range b.runsOf("c") {
					if run.State.Open() {
						open++
					}
				}
				answered := map[int64]bool{}
				for _, runs := range before {
					for _, id := range runs {
						answered[id] = true
					}
				}
				waiting := map[string]bool{}
				for _, run := range b.runs() {
					if ended[run.ID] && !answered[run.ID] {
						waiting[run.TaskName] = true
						unanswered++
					}
				}
				tm.planAll(t)
				all := b.answers(t, after)
				if due := open == 0 && waiting["a"] && waiting["b"]; !due {
					require.Equal(t, before, all)
					return
				}
				rounds++
				require.Len(t, all, rounds)
				n := 0
				for round, runs := range all {
					if _, old := before[round]; old {
						continue
					}
					for _, id := range runs {
						require.True(t, ended[id] && !answered[id])
						n++
					}
				}
				require.Equal(t, unanswered, n, "all that waited")
				require.Len(t, b.runsOf("c"), rounds)
			},
		})
	})
}

func TestReload_PredecessorsMustBeThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	db := b.store.Config
	b.addTask("a", "tulip.report", "0 1 * * *", nil)
	b.addTask("c", "tulip.report", "", map[string]any{"after_tasks": "a"})
	b.addTask("d", "tulip.report", "", map[string]any{"after_tasks": "c,gone"})
	all := b.reload()
	require.Empty(t, all["c"].Errors)
	require.Equal(t, []string{"a"}, all["c"].After)
	require.False(t, all["d"].Usable)
	require.Contains(t, all["d"].Errors[0].Want, "none called gone")
	require.Equal(t, "after_tasks", all["d"].Errors[0].Key)
	b.exec(db, "UPDATE cron_task SET after_tasks = 'c' WHERE name = 'd'")
	require.Empty(t, b.reload()["d"].Errors)

	// The tasks form a circle: the edited row is at fault, and keeps its earlier settings.
	b.exec(db, "UPDATE cron_task SET cron = '', after_tasks = 'd' WHERE name = 'a'")
	all = b.reload()
	require.Equal(t, "0 1 * * *", all["a"].Cron)
	require.Contains(t, all["a"].Errors[0].Want, "a after d after c after a")
	require.Empty(t, all["c"].Errors)
	require.Empty(t, all["d"].Errors)
	require.EqualValues(t, 1, testutil.ToFloat64(b.metrics.badTasks))
	b.reload()
	require.EqualValues(t, 1, testutil.ToFloat64(b.metrics.badTasks), "it stays so")

	// Without earlier settings, all rows of the circle are at fault.
	fresh := b.another()
	require.NoError(t, fresh.tasks.Reload(t.Context()))
	require.Len(t, fresh.tasks.Current().Bad, 3)

	b.exec(db, "UPDATE cron_task SET cron = '0 1 * * *', after_tasks = '' WHERE name = 'a'")
	for _, tk := range b.reload() {
		require.Empty(t, tk.Errors)
	}
	// A deleted or renamed predecessor is reported by its name, and its successors keep waiting.
	b.exec(db, "UPDATE cron_task SET name = 'b' WHERE name = 'a'")
	all = b.reload()
	require.Contains(t, all["c"].Errors[0].Want, "none called a")
	require.True(t, all["c"].Usable)
}

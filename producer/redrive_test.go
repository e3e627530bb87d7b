package producer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// deadRun makes a run of the accounts and days whose subtasks all fail, and empties the broker.
func (b *bench) deadRun(tm *term, taskID int64, o task.Order) int64 {
	b.t.Helper()
	runID := tm.order(b, taskID, o)
	require.NoError(b.t, tm.fan(b, runID))
	b.end(b.run(runID), task.Failed)
	b.broker.log, b.broker.sizes = nil, nil
	return runID
}

// dead returns the keys of all dead subtasks and the runs that they are marked for.
func (b *bench) dead() map[task.Key]int64 {
	b.t.Helper()
	list, _, err := b.store.ListDead(b.t.Context(), task.DeadFilter{}, dead.DeadPlace{}, 1000)
	require.NoError(b.t, err)
	all := map[task.Key]int64{}
	for _, d := range list {
		all[d.Key] = d.RedriveRun
	}
	return all
}

// subtasks returns the accounts and parts of a run, ordered by both.
func (b *bench) subtasks(runID int64) []ledger.AccountPart {
	b.t.Helper()
	parts, err := b.store.UnsentSubtasks(b.t.Context(), runID, ledger.AccountRange{After: -1, Through: 1 << 60})
	require.NoError(b.t, err)
	return parts
}

func redrive(f task.DeadFilter) task.Order {
	return task.Order{By: "otto", Redrive: &task.Redrive{Filter: f}}
}

func TestRedrive_MakesJustTheDeadSubtasksAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(25)
	id := b.addTask("daily", "tulip.report", "0 0 1 1 *", nil)
	other := b.addTask("other", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	// The dead subtasks: days that the task would not plan now, two runs that share some days, and another task's
	// subtasks.
	first := b.deadRun(tm, id, task.Order{Accounts: ids(1, 12), From: "2026-11-01", To: "2026-11-02"})
	second := b.deadRun(tm, id, task.Order{Accounts: ids(12, 14), From: "2026-11-02", To: "2026-11-03"})
	b.deadRun(tm, other, task.Order{Accounts: ids(1, 3)})
	b.clock.add(time.Hour)
	b.deadRun(tm, id, task.Order{Accounts: ids(20, 21)})
	b.exec(b.store.Config, "UPDATE media_account SET parked = 'lost' WHERE id = 3")
	b.exec(b.store.Config, "UPDATE media_account SET tier = 'inactive' WHERE id = 4")
	require.NoError(t, tm.keepDead(t.Context()))
	require.InDelta(t, 24+6+3+2, testutil.ToFloat64(b.metrics.dead.WithLabelValues("tulip")), 0)

	order := redrive(task.DeadFilter{Until: start})
	order.Redrive.Rate, order.Redrive.Origin = 500, first
	runID := tm.order(b, id, order)
	require.NoError(t, tm.fan(b, runID))

	var want []ledger.AccountPart
	for _, account := range ids(1, 14) {
		days := []string{"2026-11-01", "2026-11-02"}
		switch {
		case account == 3:
			continue // parked
		case account == 12:
			days = append(days, "2026-11-03")
		case account > 12:
			days = []string{"2026-11-02", "2026-11-03"}
		}
		for _, d := range days {
			want = append(want, ledger.AccountPart{AccountID: account, Part: d})
		}
	}
	require.Equal(t, want, b.subtasks(runID))
	var sent []ledger.AccountPart
	for _, e := range b.broker.envelopes(t) {
		sent = append(sent, ledger.AccountPart{AccountID: e.AccountID, Part: e.Part})
	}
	require.Equal(t, want, sent)
	run := b.run(runID)
	require.EqualValues(t, len(want), *run.Total)
	require.Equal(t, first, run.OriginRunID)
	require.Equal(t, 500, run.Settings.FanOutRate)
	require.Contains(t, run.ErrorText, "parked")

	require.NoError(t, tm.keepDead(t.Context()))
	all := b.dead()
	require.Len(t, all, 24+6+3+2, "none is gone before its run has ended")
	_, err := b.store.DropDead(t.Context(), task.DeadFilter{Until: start, TaskID: id}, 1000)
	require.NoError(t, err)
	require.Len(t, b.dead(), len(all), "nor can be dropped")

	b.end(run, task.Failed)
	require.NoError(t, tm.keepDead(t.Context()))
	left := b.dead()
	require.Len(t, left, 2+3+2+len(want),
		"what was not asked for stays, and what is parked; what fails again is dead again")
	for _, d := range []string{"2026-11-01", "2026-11-02"} {
		require.Contains(t, left, task.Key{RunID: first, AccountID: 3, Part: d})
	}
	for k, mark := range left {
		require.NotEqual(t, second, k.RunID)
		require.Zero(t, mark, "%v is free", k)
	}

	// Only the next redrive redrives that subtask.
	again := tm.order(b, id, redrive(task.DeadFilter{RunID: runID}))
	require.NoError(t, tm.fan(b, again))
	require.Equal(t, want, b.subtasks(again))
	b.end(b.run(again), task.Succeeded)
	require.NoError(t, tm.keepDead(t.Context()))
	require.Len(t, b.dead(), 2+3+2)

	empty := tm.order(b, id, redrive(task.DeadFilter{Print: "no such error"}))
	require.NoError(t, tm.fan(b, empty))
	run = b.run(empty)
	require.Equal(t, task.RunSkipped, run.State)
	require.Equal(t, "no dead subtask was left to redrive", run.ErrorText)
}

func TestRedrive_OfWorkWithoutAccounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 13 {
		b.exec(b.store.Config,
			"INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at, "+
				"refresh_expires_at, state) VALUES (?, 'tulip', 'a', ?, '', '', '2030-01-01 00:00:00', '2030-01-01 00:00:00', "+
				"'ok')",
			n+1, fmt.Sprint(n))
	}
	refresh := b.addTask("refresh", "tulip.token", "0 0 1 1 *", nil)
	tidy := b.addTask("tidy", "system.tidy", "0 0 1 1 *", nil)
	tm := b.term()
	for id, parts := range map[int64]int{refresh: 13, tidy: 2} {
		first := b.deadRun(tm, id, task.Order{})
		want := make([]ledger.AccountPart, 0, parts)
		for k := range b.dead() {
			want = append(want, ledger.AccountPart{Part: k.Part})
		}
		require.Len(t, want, parts)
		runID := tm.order(b, id, redrive(task.DeadFilter{RunID: first}))
		require.NoError(t, tm.fan(b, runID))
		require.ElementsMatch(t, want, b.subtasks(runID))
		require.Len(t, b.broker.envelopes(t), parts)
		b.end(b.run(runID), task.Succeeded)
		require.NoError(t, tm.keepDead(t.Context()))
		require.Empty(t, b.dead())
	}
}

// Wherever a leader dies, each dead subtask is in subtask_dead or made again. In the end each is made once.
func TestRedrive_IsContinuedAfterACrashAnywhere(t *testing.T) {
	t.Parallel()
	dead := errors.New("the process is dead")
	crashes := map[string]func(b *bench, tm *term, runID int64){
		"before it marked any": func(*bench, *term, int64) {},
		"while it marked": func(b *bench, _ *term, runID int64) {
			b.exec(b.store.Data, "UPDATE subtask_dead SET redrive_run_id = ? WHERE account_id IN (2, 3, 12)", runID)
		},
		"after it marked all": func(b *bench, tm *term, runID int64) {
			run := b.run(runID)
			require.NoError(b.t, (&fanOut{loop: tm.fanOuts, run: &run}).markDead(b.t.Context()))
		},
		"before all were sent, unsettled": func(b *bench, tm *term, runID int64) {
			b.broker.fail = func(n int) error { return map[int]error{3: dead}[n] }
			require.ErrorIs(b.t, tm.fan(b, runID), dead)
		},
		"after the fan-out ended": func(b *bench, tm *term, runID int64) {
			require.NoError(b.t, tm.fan(b, runID))
		},
	}
	for write := 1; write <= 3; write++ {
		crashes[fmt.Sprint("before kafka in write ", write)] = func(b *bench, tm *term, runID int64) {
			b.broker.fail = func(n int) error { return map[int]error{write: dead}[n] }
			require.ErrorIs(b.t, tm.fan(b, runID), dead)
		}
		crashes[fmt.Sprint("after kafka in write ", write)] = func(b *bench, tm *term, runID int64) {
			b.broker.fail = func(n int) error {
				if n == write {
					return &broker.WriteError{Err: dead}
				}
				return nil
			}
			require.ErrorIs(b.t, tm.fan(b, runID), dead)
		}
	}
	for name, crash := range crashes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addAccounts(13)
			id := b.addTask("daily", "tulip.report", "0 0 1 1 *", nil)
			first := b.term()
			b.deadRun(first, id, task.Order{Accounts: ids(1, 13), From: "2026-11-01", To: "2026-11-02"})
			b.clock.add(time.Minute)
			b.deadRun(first, id, task.Order{Accounts: ids(1, 13), From: "2026-11-02", To: "2026-11-02"})
			var want []ledger.AccountPart
			for _, account := range ids(1, 13) {
				want = append(want, ledger.AccountPart{AccountID: account, Part: "2026-11-01"},
					ledger.AccountPart{AccountID: account, Part: "2026-11-02"})
			}
			conserved := func(runID int64) {
				have := map[ledger.AccountPart]bool{}
				for k := range b.dead() {
					have[ledger.AccountPart{AccountID: k.AccountID, Part: k.Part}] = true
				}
				for _, p := range b.subtasks(runID) {
					have[p] = true
				}
				require.Len(t, have, len(want), "nothing is lost")
			}

			runID := first.order(b, id, redrive(task.DeadFilter{}))
			crash(b, first, runID)
			conserved(runID)

			second := b.term()
			require.NoError(t, second.keepDead(t.Context()))
			conserved(runID)
			if b.run(runID).State == task.RunFanningOut {
				require.ErrorIs(t, first.fan(b, runID), errStale, "the first one lives after all, and can write nothing")
				require.NoError(t, second.fan(b, runID))
			}
			require.Equal(t, want, b.subtasks(runID))
			require.EqualValues(t, len(want), *b.run(runID).Total)
			sent := map[task.Key]bool{}
			for _, e := range b.broker.envelopes(t) {
				require.Equal(t, runID, e.RunID)
				sent[e.Key] = true
			}
			require.Len(t, sent, len(want))
			b.end(b.run(runID), task.Succeeded)
			require.NoError(t, second.keepDead(t.Context()))
			require.Empty(t, b.dead())
		})
	}
}

// A run that redrives dead subtasks may be stopped early: the subtasks that it did not make stay dead.
func TestRedrive_WhatIsCancelledOrExpiresStaysDead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		columns map[string]any
		stop    func(b *bench, tm *term, runID int64)
		state   task.State
	}{
		"cancelled": {nil, func(b *bench, tm *term, runID int64) {
			b.stop(task.Cancel, task.StopRun, id(runID), 0)
			tm.obey(b)
			require.Equal(b.t, task.RunCancelled, b.run(runID).State)
		}, task.Cancelled},
		"expired": {map[string]any{"ttl_seconds": 600}, func(b *bench, tm *term, runID int64) {
			b.clock.add(time.Hour)
			require.NoError(b.t, tm.pumpDue(b.t.Context()))
		}, task.Expired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addAccounts(13)
			taskID := b.addTask("daily", "tulip.report", "0 0 1 1 *", tt.columns)
			tm := b.term()
			origin := b.deadRun(tm, taskID, task.Order{})
			runID := tm.order(b, taskID, redrive(task.DeadFilter{}))
			require.NoError(t, tm.fan(b, runID))
			require.NoError(t, tm.keepDead(t.Context()))
			require.Len(t, b.dead(), 13, "it is at work on them")
			b.answer(runID, 1, task.Succeeded)
			b.answer(runID, 2, task.Failed)
			b.answer(runID, 3, task.Superseded)
			for account := int64(4); account <= 13; account++ {
				b.answer(runID, account, task.Retrying)
			}
			tt.stop(b, tm, runID)
			require.EqualValues(t, 10, b.rows(runID)[tt.state])
			require.NoError(t, tm.keepDead(t.Context()))
			want := map[task.Key]int64{}
			for k := range b.dead() {
				want[k] = 0
			}
			require.Equal(t, want, b.dead(), "all are free")
			require.Len(t, want, 11)
			for k := range want {
				require.Equal(t, k.AccountID == 2, k.RunID == runID)
				require.True(t, k.AccountID == 2 || k.RunID == origin && k.AccountID > 3, "%v was done", k)
			}
		})
	}
}

// A run that redrives dead subtasks and is cancelled before, or while, it makes them.
func TestRedrive_ACutFanOutLosesNone(t *testing.T) {
	t.Parallel()
	for made := range 2 {
		b := setup(t)
		b.addAccounts(15)
		taskID := b.addTask("daily", "tulip.report", "0 0 1 1 *", nil)
		tm := b.term()
		b.deadRun(tm, taskID, task.Order{})
		runID := tm.order(b, taskID, redrive(task.DeadFilter{}))
		b.afterWrite(made, func() {
			b.stop(task.Cancel, task.StopRun, id(runID), 0)
			require.NoError(t, tm.keepStops(t.Context()))
		})
		if made == 0 {
			b.stop(task.Cancel, task.StopRun, id(runID), 0)
		}
		tm.obey(b)
		tm.startAll(b)
		tm.obey(b)
		require.Equal(t, task.RunCancelled, b.run(runID).State)
		require.EqualValues(t, 10*made, b.rows(runID)[task.Cancelled])
		require.NoError(t, tm.keepDead(t.Context()))
		dead := b.dead()
		require.Len(t, dead, 15)
		for k, mark := range dead {
			require.Zero(t, mark, "%v is free", k)
		}
	}
}

func TestKeepDead_SettlesOnlyRunsThatHaveEnded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		then   func(b *bench, runID int64)
		free   int
		marked int
	}{
		"a run that has ended": {func(b *bench, runID int64) {
			b.exec(b.store.Data, "UPDATE run SET state = 'partial' WHERE id = ?", runID)
		}, 5, 0},
		"a run that was cancelled": {func(b *bench, runID int64) {
			b.exec(b.store.Data, "UPDATE "+ledger.LogTable(runID)+" SET state = 'cancelled' WHERE account_id > 6")
			b.exec(b.store.Data, "UPDATE run SET state = 'cancelled' WHERE id = ?", runID)
		}, 9, 0},
		"a run that is being fanned out": {func(*bench, int64) {}, 0, 15},
		"a run that is fanned out": {func(b *bench, runID int64) {
			b.exec(b.store.Data, "UPDATE run SET state = 'running' WHERE id = ?", runID)
		}, 0, 15},
		"a run that is nowhere": {func(b *bench, runID int64) {
			b.exec(b.store.Data, "DELETE FROM run WHERE id = ?", runID)
		}, 5, 0},
		"a run that is nowhere, nor its log": {func(b *bench, runID int64) {
			b.exec(b.store.Data, "DELETE FROM run WHERE id = ?", runID)
			b.exec(b.store.Data, "DROP TABLE "+ledger.LogTable(runID))
		}, 15, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addAccounts(15)
			id := b.addTask("daily", "tulip.report", "0 0 1 1 *", nil)
			tm := b.term()
			origin := b.deadRun(tm, id, task.Order{})
			runID := tm.order(b, id, redrive(task.DeadFilter{RunID: origin}))
			b.broker.fail = func(n int) error { return map[int]error{2: errors.New("down")}[n] }
			require.Error(t, tm.fan(b, runID))
			b.exec(b.store.Data, "UPDATE "+ledger.LogTable(runID)+" SET state = 'succeeded' WHERE run_id = ?", runID)
			// never made
			b.exec(b.store.Data, "DELETE FROM "+ledger.LogTable(runID)+" WHERE run_id = ? AND account_id > 10", runID)
			test.then(b, runID)
			require.NoError(t, tm.keepDead(t.Context()))
			free, marked := 0, 0
			for _, mark := range b.dead() {
				switch mark {
				case 0:
					free++
				case runID:
					marked++
				}
			}
			require.Equal(t, test.free, free)
			require.Equal(t, test.marked, marked)
		})
	}
}

// Work of a run with params of its own is not repeated with those of the task.
func TestRedrive_KeepsTheParamsOfTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(2)
	id := b.addTask("daily", "tulip.report", "0 0 1 1 *", map[string]any{"params": `{"level":"account"}`})
	tm := b.term()
	own := func(level string) task.Order {
		return task.Order{Accounts: ids(1, 2), By: "otto", Params: json.RawMessage(`{"level":"` + level + `"}`)}
	}
	creatives := b.deadRun(tm, id, own("creative"))
	groups := b.deadRun(tm, id, own("adgroup"))
	b.deadRun(tm, id, task.Order{Accounts: ids(1, 2), By: "otto"})

	found, err := b.store.CountDeadParams(t.Context(), task.DeadFilter{TaskID: id})
	require.NoError(t, err)
	slices.SortFunc(found, func(a, b dead.DeadParams) int { return cmp.Compare(string(b.Params), string(a.Params)) })
	require.Equal(t, []dead.DeadParams{
		{OwnParams: new(own("creative")).OwnParams(), Params: own("creative").Params, Free: 2, OldestRun: creatives,
			NewestRun: creatives},
		{OwnParams: new(own("adgroup")).OwnParams(), Params: own("adgroup").Params, Free: 2, OldestRun: groups,
			NewestRun: groups},
	}, found)

	for _, level := range []string{"creative", "account"} {
		order := redrive(task.DeadFilter{})
		if level != "account" {
			order.Params = own(level).Params
		}
		runID := tm.order(b, id, order)
		require.NoError(t, tm.fan(b, runID))
		require.Len(t, b.subtasks(runID), 2, "only those with these params")
		require.JSONEq(t, `{"level":"`+level+`"}`, string(b.run(runID).Settings.Params))
		marked := 0
		for k, run := range b.dead() {
			if run == runID {
				marked++
				require.Equal(t, level == "creative", k.RunID == creatives)
				require.NotEqual(t, groups, k.RunID)
			}
		}
		require.Equal(t, 2, marked)
	}
}

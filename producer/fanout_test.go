package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

func TestFanOut_SendsEveryAccountOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(25)
	b.exec(b.store.Config, "UPDATE media_account SET tier = 'inactive' WHERE id = 3")
	b.exec(b.store.Config, "UPDATE media_account SET parked = 'asked to' WHERE id = 4")
	b.exec(b.store.Config, "UPDATE media_account SET timezone = 'America/New_York' WHERE id = 5")
	id := b.addTask("daily", "tulip.report", "0 0 * * *", map[string]any{
		"params": `{"level":"account"}`, "ttl_seconds": 3600, "retry_max": 7, "retry_base_seconds": 3, "timeout_seconds": 60,
	})
	b.exec(b.store.Config, "INSERT INTO lane (media, name, pool_size, partitions) VALUES ('tulip', 'normal', 5, 12)")
	tm := b.term()
	b.clock.add(8 * time.Hour) // 01:00 on the 22nd in Shanghai, noon of the 21st in New York
	planned := b.clock.Now()
	runID := tm.order(b, id, task.Order{By: "otto", Compare: true})
	require.NoError(t, tm.fan(b, runID))

	envelopes := b.broker.envelopes(t)
	require.Len(t, envelopes, 23)
	require.Equal(t, append(ids(1, 2), ids(5, 25)...), b.broker.accounts(t))
	for i, e := range envelopes {
		part := "2026-11-22"
		if e.AccountID == 5 {
			part = "2026-11-21"
		}
		require.Equal(t, task.Envelope{
			Key: task.Key{RunID: runID, AccountID: e.AccountID, Part: part}, TaskID: id, TaskName: "daily", Media: "tulip",
			Lane: "normal", Handler: "tulip.report", Compare: true,
			Delivery: 1, PlannedAt: planned, Deadline: planned.Add(time.Hour), Timeout: time.Minute, RetryMax: 7,
			RetryBase:   3 * time.Second,
			Concurrency: task.Parallel, ExclusiveMax: time.Minute, ExclusiveOver: task.OverLane, ExclusiveDrain: time.Minute,
		}, e)
		require.Equal(t, fmt.Sprint(e.AccountID), string(b.broker.log[i].Key))
		require.JSONEq(t, `{"level":"account"}`, string(b.broker.log[i].Value))
		require.Equal(t, "t.tulip.normal", b.broker.log[i].Topic)
	}
	require.Equal(t, map[string]int{"t.tulip.normal": 12}, b.broker.topics)

	run := b.run(runID)
	require.Equal(t, task.RunRunning, run.State)
	require.EqualValues(t, 23, *run.Total)
	highest := ledger.Offsets{}
	for i, m := range b.broker.log {
		highest.Raise(int(m.Key[len(m.Key)-1])%3, int64(i))
	}
	require.Equal(t, highest, run.Offsets)

	b.end(run, task.Succeeded)
	require.Equal(t, task.RunSucceeded, b.run(runID).State)
}

// All work of a serial key goes to one partition, at its first delivery and later.
func TestFanOut_TheSerialKeyIsTheMessagesKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(2)
	id := b.addTask("daily", "tulip.report", "0 0 * * *", map[string]any{
		"params": `{"level":"account"}`, "concurrency": "serial", "serial_key": "cube-{level}",
	})
	byAccount := b.addTask("daily.account", "tulip.report", "0 0 * * *", map[string]any{
		"params": `{"level":"account"}`, "concurrency": "serial", "serial_key": "{level}/{account}",
	})
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))
	require.NoError(t, tm.fan(b, tm.order(b, byAccount, task.Order{})))
	var keys []string
	for _, m := range b.broker.log {
		keys = append(keys, string(m.Key))
	}
	require.Equal(t, []string{"cube-account", "cube-account", "account/1", "account/2"}, keys)
	for i, e := range b.broker.envelopes(t) {
		require.Equal(t, keys[i], e.SerialName())
		require.False(t, e.Outside)
	}

	run := b.run(runID)
	now := b.clock.Now()
	_, err := b.store.ApplyOutcomes(t.Context(), []ledger.Outcome{{
		Key: task.Key{RunID: runID, AccountID: 1, Part: b.broker.envelopes(t)[0].Part}, Media: run.Media, Lane: "normal",
		Delivery: 1, State: task.Deferred, DueAt: now, Outside: true, EndedAt: now,
	}})
	require.NoError(t, err)
	require.NoError(t, tm.pumpDue(t.Context()))
	require.Len(t, b.broker.log, 5)
	require.Equal(t, "cube-account", string(b.broker.log[4].Key))
	require.True(t, b.broker.envelopes(t)[4].Outside)
}

func TestFanOut_OfNothingEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.addTask("daily", "tulip.report", "0 0 * * *", nil)
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))
	run := b.run(runID)
	require.Equal(t, task.RunSkipped, run.State)
	require.EqualValues(t, 0, *run.Total)
	require.False(t, run.EndedAt.IsZero())
	require.Empty(t, b.broker.log)
}

func TestFanOut_OfAnOrderTakesItsAccountsAndDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(40)
	b.exec(b.store.Config, "UPDATE media_account SET tier = 'invalid' WHERE id = 7")
	id := b.addTask("daily", "tulip.report", "0 0 * * *", nil)
	tm := b.term()
	var accounts []int64
	for n := int64(39); n > 0; n -= 2 {
		accounts = append(accounts, n, n)
	}
	runID := tm.order(b, id, task.Order{Accounts: append(accounts, 999), From: "2026-11-18", To: "2026-11-20", By: "otto",
		Confirm: true})
	require.NoError(t, tm.fan(b, runID))
	run := b.run(runID)
	require.EqualValues(t, 20*3, *run.Total, "each account once, whatever its tier")
	require.Equal(t, "left out account 999: it is parked, not bound, or not of tulip", run.ErrorText)
	require.Len(t, b.broker.log, 60)
	for _, e := range b.broker.envelopes(t) {
		require.True(t, e.Confirmed)
	}
	require.Equal(t, ledger.RunOfOrder, run.Kind)

	runID = tm.order(b, id, task.Order{Accounts: []int64{999}, From: "2026-11-18", To: "2026-11-20"})
	require.NoError(t, tm.fan(b, runID))
	run = b.run(runID)
	require.Equal(t, task.RunSkipped, run.State)
	require.Contains(t, run.ErrorText, "left out account 999")

	// Days that the handler refuses leave a failed run with that reason.
	runID = tm.order(b, id, task.Order{Accounts: []int64{1}, From: "2026-01-01", To: "2026-01-02"})
	require.NoError(t, tm.fan(b, runID))
	run = b.run(runID)
	require.Equal(t, task.RunFailed, run.State)
	require.Contains(t, run.ErrorText, "the first day that can be asked for")
	require.Len(t, b.broker.log, 60)
}

func TestFanOut_OverLogins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for n := range 23 {
		b.exec(b.store.Config,
			"INSERT INTO media_token (id, media, app_id, login, access_token, refresh_token, access_expires_at, "+
				"refresh_expires_at, state) VALUES (?, 'tulip', 'a', ?, '', '', '2030-01-01 00:00:00', '2030-01-01 00:00:00', ?)",
			n+1, fmt.Sprint(n), map[bool]string{true: "reauthorise", false: "ok"}[n == 3])
	}
	id := b.addTask("refresh", "tulip.token", "0 * * * *", nil)
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))
	parts := map[string]int{}
	for i, e := range b.broker.envelopes(t) {
		require.Zero(t, e.AccountID)
		require.Equal(t, e.Part, string(b.broker.log[i].Key))
		parts[e.Part]++
	}
	require.Len(t, parts, 22)
	require.NotContains(t, parts, "login:4")
	for part, n := range parts {
		require.Equal(t, 1, n, part)
	}
	require.EqualValues(t, 22, *b.run(runID).Total)
}

func TestFanOut_Once(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.addTask("tidy", "system.tidy", "0 0 * * *", nil)
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))
	require.Len(t, b.broker.log, 2)
	require.EqualValues(t, 2, *b.run(runID).Total)
}

func TestFanOut_OnceListsThePartsThatAreNotNamed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ named, want []string }{{nil, []string{"x", "y"}}, {[]string{"y"}, []string{"y"}}} {
		b := setup(t)
		id := b.addTask("rows", "system.rows", "0 0 * * *", nil)
		tm := b.term()
		runID := tm.order(b, id, task.Order{Parts: test.named})
		require.NoError(t, tm.fan(b, runID))
		var parts []string
		for _, e := range b.broker.envelopes(t) {
			parts = append(parts, e.Part)
		}
		require.ElementsMatch(t, test.want, parts)
	}
}

// Wherever a leader dies, the next one continues the fan-out: each account has one row, and at least one message.
func TestFanOut_IsContinuedAfterACrashAnywhere(t *testing.T) {
	t.Parallel()
	for _, crash := range []string{"before kafka", "after kafka"} {
		for write := 1; write <= 3; write++ {
			t.Run(fmt.Sprint(crash, " in write ", write), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.addAccounts(25)
				id := b.addTask("daily", "tulip.report", "0 0 * * *", nil)
				first := b.term()
				runID := first.order(b, id, task.Order{})
				dead := errors.New("the process is dead")
				b.broker.fail = func(n int) error {
					if n != write {
						return nil
					}
					if crash == "before kafka" {
						return dead
					}
					return &broker.WriteError{Err: dead} // everything is written, and the answer is lost
				}
				require.ErrorIs(t, first.fan(b, runID), dead)
				cursor := b.run(runID).Cursor
				require.EqualValues(t, (write-1)*10, cursor)
				// The accounts of the batch in flight leave the scope. They are still sent because their rows exist.
				b.exec(b.store.Config, "UPDATE media_account SET tier = 'inactive' WHERE id > ?", cursor)

				second := b.term()
				require.ErrorIs(t, first.fan(b, runID), errStale, "the first one lives after all, and can write nothing")
				require.NoError(t, second.fan(b, runID))
				made := min(int64(write*10), 25)
				require.Equal(t, made, *b.run(runID).Total)
				sent := map[int64]int{}
				for _, account := range b.broker.accounts(t) {
					sent[account]++
				}
				for account := int64(1); account <= made; account++ {
					require.Positive(t, sent[account], "account %d", account)
					if account <= cursor {
						require.Equal(t, 1, sent[account], "what the cursor has passed is not repeated")
					}
				}
				require.Len(t, sent, int(made))
			})
		}
	}
}

func TestFanOut_SkipsWhatAnEarlierRunHasOpen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(25)
	id := b.addTask("hourly", "tulip.report", "* * * * *", nil)
	tm := b.term()
	ctx := t.Context()
	require.NoError(t, tm.planTicks(ctx))
	b.clock.add(time.Minute)
	require.NoError(t, tm.planTicks(ctx))
	b.clock.add(time.Minute)
	require.NoError(t, tm.planTicks(ctx))
	runs := b.runs()
	require.Len(t, runs, 2)
	require.NoError(t, tm.fan(b, runs[0].ID))
	_, err := b.store.ApplyOutcomes(ctx, []ledger.Outcome{
		{Key: task.Key{RunID: runs[0].ID, AccountID: 7, Part: "2026-11-21"}, Delivery: 1, State: task.Succeeded,
			EndedAt: start},
		{Key: task.Key{RunID: runs[0].ID, AccountID: 8, Part: "2026-11-21"}, Delivery: 1, State: task.Deferred, DueAt: start,
			EndedAt: start},
	})
	require.NoError(t, err)
	require.NoError(t, tm.fan(b, runs[1].ID))
	second := b.run(runs[1].ID)
	require.EqualValues(t, 1, *second.Total, "only the account that was done is due again")
	require.Contains(t, second.ErrorText, "still has open")
	require.EqualValues(t, 7, b.broker.accounts(t)[25])

	// An order runs in any case.
	ordered := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, ordered))
	require.EqualValues(t, 25, *b.run(ordered).Total)
}

func TestFanOut_AfterTheTimeToLive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(25)
	id := b.addTask("daily", "tulip.report", "0 0 * * *", map[string]any{"ttl_seconds": 60})
	tm := b.term()
	early, late := tm.order(b, id, task.Order{}), tm.order(b, id, task.Order{})
	b.broker.fail = func(n int) error { return map[int]error{2: errors.New("down")}[n] }
	require.Error(t, tm.fan(b, early))
	b.clock.add(time.Minute)
	require.NoError(t, tm.fan(b, early))
	require.NoError(t, tm.fan(b, late))

	run := b.run(early)
	require.EqualValues(t, 20, *run.Total, "nothing new is made, what was made is sent for a consumer to expire it")
	require.Equal(t, ids(1, 20), b.broker.accounts(t))
	require.Equal(t, task.RunRunning, run.State)
	run = b.run(late)
	require.Equal(t, task.RunExpired, run.State)
	require.EqualValues(t, 0, *run.Total)
}

func TestFanOut_OneBadAccountHarmsNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(3)
	b.exec(b.store.Config, "UPDATE media_account SET timezone = 'Mars/Olympus' WHERE id = 2")
	id := b.addTask("daily", "tulip.report", "0 0 * * *", nil)
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))
	require.Equal(t, []int64{1, 3}, b.broker.accounts(t))
	require.Contains(t, b.run(runID).ErrorText, "account 2")
}

func TestFanOut_BatchesFitTheRate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(9)
	id := b.addTask("slow", "tulip.report", "0 0 * * *", map[string]any{"fan_out_rate": 8})
	tm := b.term()
	tm.most = 0                                                                // All places are taken.
	runID := tm.order(b, id, task.Order{From: "2026-10-23", To: "2026-11-21"}) // 30 days: a batch is paced 30 seconds
	require.NoError(t, tm.fan(b, runID))
	require.Equal(t, []int{8 * 30}, b.broker.sizes)
	tm.queue.paced[runID] = time.Now()
	require.NoError(t, tm.fan(b, runID))
	require.Equal(t, []int{8 * 30, 30}, b.broker.sizes)
	require.Equal(t, task.RunRunning, b.run(runID).State)
	require.Empty(t, tm.queue.paced)
}

func TestFanOut_BatchesAreSmallWhilePlacesAreFree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(600)
	slow := b.addTask("slow", "tulip.report", "0 0 * * *", map[string]any{"fan_out_rate": 8})
	fast := b.addTask("fast", "tulip.report", "0 0 * * *", map[string]any{"fan_out_rate": 500})
	tm := b.term()
	tm.batchSize = 500
	require.NoError(t, tm.fan(b, tm.order(b, slow, task.Order{})))
	require.Equal(t, []int{1}, b.broker.sizes, "its next one is due after 125 ms: it leaves its place")

	b.broker.sizes = nil
	require.NoError(t, tm.fan(b, tm.order(b, fast, task.Order{})))
	require.Equal(t, 10, b.broker.sizes[0], "those of 20 ms")
	require.Greater(t, len(b.broker.sizes), 2)

	b.broker.sizes = nil
	late := tm.order(b, fast, task.Order{})
	tm.queue.paced[late] = time.Now().Add(-100 * time.Millisecond)
	require.NoError(t, tm.fan(b, late))
	require.GreaterOrEqual(t, b.broker.sizes[0], 60, "it makes up for the 100 ms")
	require.LessOrEqual(t, slices.Max(b.broker.sizes), pacedMost)

	b.broker.sizes = nil
	late = tm.order(b, slow, task.Order{})
	tm.queue.paced[late] = time.Now().Add(-time.Hour)
	require.NoError(t, tm.fan(b, late))
	require.Equal(t, 8, b.broker.sizes[0])
	require.Equal(t, task.RunFanningOut, b.run(late).State, "it does not make up for an hour")
}

func TestFanOut_WhatWaitsForItsRateTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(9)
	slow := b.addTask("slow", "tulip.report", "0 0 1 1 *", map[string]any{"fan_out_rate": 8})
	fast := b.addTask("fast", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	tm.most = 1
	begun := time.Now()
	month := tm.order(b, slow, task.Order{From: "2026-10-23", To: "2026-11-21"})
	tm.startAll(b)
	require.Len(t, b.broker.log, 8*30)
	wait := 30 * time.Second // for 240 at 8 a second
	require.WithinRange(t, tm.queue.paced[month], begun.Add(wait), time.Now().Add(wait))

	other := tm.order(b, fast, task.Order{})
	tm.startAll(b)
	require.Equal(t, task.RunRunning, b.run(other).State, "the place is free")
	tm.startAll(b)
	require.NoError(t, tm.fan(b, month))
	require.EqualValues(t, 8, b.run(month).Cursor, "to begin again gives it no burst")

	soon := time.Now().Add(fanOutInterval / 2)
	tm.queue.paced[month] = soon
	tm.startAll(b)
	if tm.queue.paced[month].Equal(soon) { // unless half a second has passed
		require.Equal(t, soon, tm.nextLook, "the loop wakes in time")
	}
	tm.queue.paced[month] = time.Now()
	tm.startAll(b)
	require.Equal(t, task.RunRunning, b.run(month).State)
	require.EqualValues(t, 9*30, *b.run(month).Total)
}

// addRuns adds runs, from a moment on, that wait for their fan-out.
func (b *bench) addRuns(tm *term, kind string, taskID int64, n int, from time.Time) {
	b.t.Helper()
	runs := make([]ledger.Run, n)
	for i := range runs {
		at := from.Add(time.Duration(i) * time.Millisecond)
		runs[i] = ledger.Run{ID: task.NewRunID(at), TaskID: taskID, Kind: kind, PlannedAt: at}
		tm.fill(&runs[i], tm.tasks.Current().Tasks[taskID], nil)
	}
	require.NoError(b.t, tm.addRuns(b.t.Context(), runs))
}

func TestStartFanOuts_AGapOfOneTaskHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(3)
	gap := b.addTask("minutely", "tulip.report", "0 0 1 1 *", nil)
	other := b.addTask("other", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	b.addRuns(tm, ledger.RunOfTick, gap, openRunsMax+1, start.Add(-time.Hour))
	b.addRuns(tm, ledger.RunOfTick, other, 1, start)
	ordered := tm.order(b, gap, task.Order{})
	tm.startAll(b)
	states := map[int64]map[task.RunState]int{gap: {}, other: {}}
	for _, run := range b.openRuns() {
		states[run.TaskID][run.State]++
	}
	require.Equal(t, 1, states[other][task.RunRunning])
	require.Equal(t, task.RunRunning, b.run(ordered).State)
	require.Equal(t, openRunsMax, states[gap][task.RunFanningOut], "the first of its ticks is fanned out")

	// The next run follows without another read of the queue, as long as the queue is not empty.
	tm.queue.paced[tm.order(b, other, task.Order{})] = time.Now().Add(time.Hour)
	tm.startAll(b)
	tm.queue.readAt, tm.queue.stale = time.Now().Add(time.Hour), false
	for range 3 {
		tm.startAll(b)
	}
	fanning, err := b.store.CountRunsInState(t.Context(), task.RunFanningOut)
	require.NoError(t, err)
	require.EqualValues(t, openRunsMax-4+1, fanning)
}

// openRuns returns all runs that have not ended.
func (b *bench) openRuns() []ledger.Run {
	b.t.Helper()
	var all []ledger.Run
	for _, state := range []task.RunState{task.RunFanningOut, task.RunRunning} {
		runs, err := b.store.SearchRuns(b.t.Context(), ledger.RunSearch{States: []task.RunState{state}, Limit: 10_000})
		require.NoError(b.t, err)
		all = append(all, runs...)
	}
	return all
}

func TestStartFanOuts_WhatIsPausedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	for _, kind := range []task.StopKind{task.StopTask, task.StopMedia} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.addAccounts(3)
			paused := b.addTask("paused", "tulip.report", "0 0 1 1 *", nil)
			other := b.addTask("other", "system.tidy", "0 0 1 1 *", nil)
			tm := b.term()
			b.addRuns(tm, ledger.RunOfOrder, paused, openRunsMax+1, start.Add(-time.Hour))
			b.stop(task.Pause, kind, map[task.StopKind]string{task.StopTask: id(paused), task.StopMedia: "tulip"}[kind], 0)
			tm.obey(b)
			later := tm.order(b, other, task.Order{})
			tm.startAll(b)
			require.Equal(t, task.RunRunning, b.run(later).State)
			require.Len(t, b.broker.log, 2, "nothing of what is paused")
		})
	}
}

func TestStartFanOuts_AnOrderHoldsUpNoTick(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(9)
	taskID := b.addTask("slow", "tulip.report", "0 0 1 1 *", map[string]any{"fan_out_rate": 8})
	tm := b.term()
	ordered := tm.order(b, taskID, task.Order{From: "2026-10-23", To: "2026-11-20"})
	tm.startAll(b)
	require.Equal(t, task.RunFanningOut, b.run(ordered).State)
	b.clock.add(time.Second)
	tick := ledger.Run{ID: task.NewRunID(b.clock.Now()), TaskID: taskID, Kind: ledger.RunOfTick, PlannedAt: b.clock.Now()}
	tm.fill(&tick, tm.tasks.Current().Tasks[taskID], nil)
	require.NoError(t, tm.addRuns(t.Context(), []ledger.Run{tick}))
	tm.startAll(b)
	require.EqualValues(t, 1, b.run(tick.ID).Cursor)
	require.EqualValues(t, 1, b.run(ordered).Cursor, "it is not done yet")
}

func TestStartFanOuts_TicksOfATaskOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(3)
	b.addTask("minutely", "tulip.report", "* * * * *", nil)
	id := b.addTask("other", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	ctx := t.Context()
	require.NoError(t, tm.planTicks(ctx))
	for range 3 {
		b.clock.add(time.Minute)
		require.NoError(t, tm.planTicks(ctx))
	}
	tm.order(b, id, task.Order{})
	require.Len(t, b.runs(), 4)

	entered, release := make(chan struct{}, 10), make(chan struct{})
	b.broker.block = func(context.Context) {
		entered <- struct{}{}
		<-release
	}
	group := newGroup()
	require.NoError(t, tm.startFanOuts(ctx, group))
	<-entered
	<-entered
	require.Len(t, tm.queue.active, 2, "the first tick and the order")
	close(release)
	require.NoError(t, group.Wait())
	for len(tm.queue.active) > 0 {
		require.NoError(t, group.Wait())
	}
	for range 2 {
		group = newGroup()
		require.NoError(t, tm.startFanOuts(ctx, group))
		require.NoError(t, group.Wait())
	}
	open, err := b.store.CountRunsInState(ctx, task.RunFanningOut)
	require.NoError(t, err)
	require.Zero(t, open)
	require.Len(t, b.broker.log, 6, "the later ticks found everything open")
}

func TestWrite_MakesADeletedTopicAgain(t *testing.T) {
	t.Parallel()
	b, tm, run := retrying(t, 3, nil)
	before := len(b.broker.log)
	delete(b.broker.topics, "t.tulip.normal")
	require.ErrorIs(t, tm.pumpDue(t.Context()), broker.ErrUnknownTopic)
	b.clock.add(sentAgainAfter)
	tm.sought = longAgo
	require.NoError(t, tm.pumpDue(t.Context()))
	require.Len(t, b.broker.log, before+3, "retries")

	delete(b.broker.topics, "t.tulip.normal")
	next := tm.order(b, run.TaskID, task.Order{})
	require.ErrorIs(t, tm.fan(b, next), broker.ErrUnknownTopic)
	require.NoError(t, tm.fan(b, next))
	require.Len(t, b.broker.log, before+6, "first deliveries")
}

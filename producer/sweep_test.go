package producer

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

const sweptTopic = "t.tulip.normal"

// sweeping is a fanned-out run of six subtasks: the messages of accounts 3 and 6 are in partition 0 at 2 and 5, of 1
// and 4 in partition 1 at 0 and 3, of 2 and 5 in partition 2 at 1 and 4.
func sweeping(t *testing.T) (*bench, *term, ledger.Run) {
	t.Helper()
	b := setup(t)
	b.addAccounts(6)
	id := b.addTask("daily", "tulip.report", "0 0 * * *", nil)
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))
	run := b.run(runID)
	require.Equal(t, ledger.Offsets{0: 5, 1: 3, 2: 4}, run.Offsets)
	b.broker.log = nil
	b.broker.offsets = map[string][]broker.PartitionOffsets{}
	return b, tm, run
}

// log sets the offsets of the three partitions.
func (b *bench) log(p ...broker.PartitionOffsets) {
	for i := range p {
		p[i].Topic, p[i].Partition = sweptTopic, i
	}
	b.broker.offsets[sweptTopic] = p
}

func at(start, committed, end int64) broker.PartitionOffsets {
	return broker.PartitionOffsets{Start: start, Committed: committed, End: end}
}

func dayKey(run ledger.Run, account int64) task.Key {
	return task.Key{RunID: run.ID, AccountID: account, Part: "2026-11-21"}
}

// swept runs passes of the sweep and then of the pump, and returns the accounts that were sent again.
func (t *term) swept(b *bench, passes int) []int64 {
	b.t.Helper()
	before := len(b.broker.accounts(b.t))
	for range passes {
		require.NoError(b.t, t.sweep(b.t.Context()))
	}
	t.scanned = longAgo
	require.NoError(b.t, t.pumpDue(b.t.Context()))
	return b.broker.accounts(b.t)[before:]
}

func TestSweep_SendsAgainWhatTheGroupHasPassed(t *testing.T) {
	t.Parallel()
	b, tm, run := sweeping(t)
	ctx := t.Context()
	_, err := b.store.ApplyOutcomes(ctx, []ledger.Outcome{
		{Key: dayKey(run, 1), Delivery: 1, State: task.Succeeded, EndedAt: start},
		{Key: dayKey(run, 2), Delivery: 1, Attempt: 1, State: task.Retrying, DueAt: start.Add(time.Hour), EndedAt: start},
	})
	require.NoError(t, err)
	b.log(at(0, 6, 6), at(0, 4, 4), at(0, 5, 5))
	require.Equal(t, ids(3, 6), tm.swept(b, 1))
	for _, e := range b.broker.envelopes(t) {
		require.Equal(t, 2, e.Delivery)
		require.Zero(t, e.Attempt, "it is nobody's fault")
	}
	require.Equal(t, 4.0, testutil.ToFloat64(tm.metrics.swept.WithLabelValues("tulip", "normal")))

	// A late outcome of the delivery that seemed lost is stale: it changes nothing.
	stale, err := b.store.ApplyOutcomes(ctx, []ledger.Outcome{{Key: dayKey(run, 3), Delivery: 1, State: task.Failed,
		EndedAt: start}})
	require.NoError(t, err)
	require.Equal(t, 1, stale)
	states, err := b.store.SubtaskStates(ctx, []task.Key{dayKey(run, 3)})
	require.NoError(t, err)
	require.Equal(t, ledger.SubtaskStatus{State: task.Waiting, Delivery: 2}, states[dayKey(run, 3)])

	looks := b.broker.looks
	b.exec(b.store.Data,
		"UPDATE subtask_due SET state = 'retrying', topic = '', topic_offset = -1, due_at = '2030-01-01 00:00:00.000'")
	require.Empty(t, tm.swept(b, 3))
	require.Equal(t, looks, b.broker.looks, "a run whose subtasks all wait for retries is not looked at again")
	b.end(run, task.Succeeded)
	require.NoError(t, tm.sweep(ctx))
	require.Empty(t, tm.done, "nor remembered forever")
}

func TestSweep_APassIsOneLineOfTheLog(t *testing.T) {
	t.Parallel()
	b, tm, run := sweeping(t)
	var log bytes.Buffer
	tm.sweeper.logger = slog.New(slog.NewTextHandler(&log, nil))
	for range 4 {
		id := tm.order(b, run.TaskID, task.Order{})
		require.NoError(t, tm.fan(b, id))
	}
	b.broker.log = nil
	b.log(at(0, 900, 900), at(0, 900, 900), at(0, 900, 900))
	require.NoError(t, tm.sweep(t.Context()))
	require.Equal(t, 1, strings.Count(log.String(), "messages were lost"), log.String())
	require.Contains(t, log.String(), "subtasks=30 runs=5 partitions=0")
	require.Equal(t, 3, strings.Count(log.String(), " in tulip:normal: 6"), "the first few stand for all")

	log.Reset()
	b.clock.add(time.Second)
	tm.scanned = longAgo
	require.NoError(t, tm.pumpDue(t.Context()))
	b.log(at(0, 900, 900), at(0, 900, 900), at(0, 900, 900))
	require.NoError(t, tm.sweep(t.Context()))
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "subtasks=30 runs=0 partitions=3")

	log.Reset()
	b.exec(b.store.Data, "DELETE FROM subtask_due")
	require.NoError(t, tm.sweep(t.Context()))
	require.Empty(t, log.String(), "a pass that finds nothing says nothing")
}

// With a backlog of two hours everything is old and nothing is lost.
func TestSweep_AgeAloneSendsNothing(t *testing.T) {
	t.Parallel()
	for name, log := range map[string][]broker.PartitionOffsets{
		"the last message of one partition is still to come": {at(0, 5, 900), at(0, 900, 900), at(0, 900, 900)},
		"nothing was committed":                              {at(0, -1, 6), at(0, -1, 4), at(0, -1, 5)},
		"what was committed belongs to a log that is gone":   {at(0, 999, 6), at(0, 999, 4), at(0, 999, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, tm, run := sweeping(t)
			b.log(log...)
			b.clock.add(2 * time.Hour)
			require.Empty(t, tm.swept(b, 5))
			require.Equal(t, (2 * time.Hour).Seconds(), testutil.ToFloat64(tm.metrics.oldestRun.WithLabelValues("tulip",
				"normal")), "but somebody may be told")
			states, err := b.store.SubtaskStates(t.Context(), []task.Key{dayKey(run, 3)})
			require.NoError(t, err)
			require.Equal(t, 1, states[dayKey(run, 3)].Delivery)
		})
	}
}

func TestSweep_WhatTheLogNoLongerHasIsLost(t *testing.T) {
	t.Parallel()
	for name, log := range map[string][]broker.PartitionOffsets{
		"it was made again":                       {at(0, -1, 2), at(0, -1, 0), at(0, -1, 3)},
		"it was made again and is longer already": {at(0, 6, 9), at(0, -1, 3), at(0, -1, 3)},
		"it was cut off by its retention":         {at(6, -1, 20), at(9, 4, 20), at(5, 2, 20)},
		"it has fewer partitions":                 {at(0, 6, 6), at(0, 4, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, tm, _ := sweeping(t)
			b.log(log...)
			require.Empty(t, tm.swept(b, 1), "one look may be wrong")
			require.Equal(t, ids(1, 6), tm.swept(b, 1))
		})
	}
}

func TestSweep_ASecondLookMayTakeItBack(t *testing.T) {
	t.Parallel()
	b, tm, _ := sweeping(t)
	for range 4 {
		b.log(at(0, 3, 3), at(0, 3, 3), at(0, 3, 3)) // as a new leader of the partitions may report
		require.Empty(t, tm.swept(b, 1))
		b.log(at(0, 3, 6), at(0, 3, 4), at(0, 3, 5))
		require.Empty(t, tm.swept(b, 1))
	}
}

func TestSweep_WaitsForTheEndOfTheFanOut(t *testing.T) {
	t.Parallel()
	b, tm, run := sweeping(t)
	b.exec(b.store.Data, "UPDATE run SET state = 'fanning_out' WHERE id = ?", run.ID)
	b.log(at(0, 6, 6), at(0, 4, 4), at(0, 5, 5))
	require.Empty(t, tm.swept(b, 3))
}

func TestSweep_LaterDeliveriesAreJudgedByTheirOwnPlace(t *testing.T) {
	t.Parallel()
	b, tm, run := sweeping(t)
	ctx := t.Context()
	b.end(run, task.Retrying)
	b.broker.log = make([]broker.Message, 0, 6)
	require.NoError(t, tm.pumpDue(ctx)) // these are at 0 to 5 of the second log
	require.Equal(t, ids(1, 6), b.broker.accounts(t))
	delivery := func(account int64) int {
		states, err := b.store.SubtaskStates(ctx, []task.Key{dayKey(run, account)})
		require.NoError(t, err)
		return states[dayKey(run, account)].Delivery
	}
	b.clock.add(2 * time.Hour)
	// 1 and 4 are in partition 1 at 0 and 3: the group is between them. 2 and 5 at 1 and 4, 3 and 6 at 2 and 5: nothing
	// is committed.
	b.log(at(0, -1, 6), at(0, 3, 6), at(0, -1, 6))
	require.Equal(t, []int64{1}, tm.swept(b, 3))
	require.Equal(t, 3, delivery(1))
	require.Equal(t, 2, delivery(4), "it is still to come")
	// Its outcome has come, although the group has passed it.
	_, err := b.store.ApplyOutcomes(ctx, []ledger.Outcome{{Key: dayKey(run, 4), Delivery: 2, State: task.Succeeded,
		EndedAt: start}})
	require.NoError(t, err)
	// Partition 2 begins after the place of 2, and that of 5; partition 0 ends before the place of 6.
	b.log(at(0, -1, 3), at(0, 4, 4), at(5, -1, 9))
	require.Empty(t, tm.swept(b, 1), "one look may be wrong")
	require.Equal(t, []int64{2, 5, 6}, tm.swept(b, 1))
	require.Equal(t, 2, delivery(3))
	// 1 and 6 were just sent and are beyond the observed ends: they may have been written after these were read.
	require.Empty(t, tm.swept(b, 3))
	b.clock.add(sentAgainAfter + time.Second)
	require.Equal(t, []int64{1, 6}, tm.swept(b, 1))
	b.end(run, task.Succeeded)
	require.Equal(t, task.RunSucceeded, b.run(run.ID).State)
}

func TestSweep_OneLaneThatCannotBeJudgedHarmsNoOther(t *testing.T) {
	t.Parallel()
	b, tm, _ := sweeping(t)
	b.broker.offsetsErr = errors.New("no broker")
	require.ErrorContains(t, tm.sweep(t.Context()), "no broker")
	b.broker.offsetsErr = nil
	b.log(at(0, 6, 6), at(0, 4, 4), at(0, 5, 5))
	require.Equal(t, ids(1, 6), tm.swept(b, 1))
}

func TestSweep_ADeposedLeaderChangesNothing(t *testing.T) {
	t.Parallel()
	b, tm, _ := sweeping(t)
	b.log(at(0, 6, 6), at(0, 4, 4), at(0, 5, 5))
	b.term()
	require.ErrorIs(t, tm.sweep(t.Context()), errStale)
	counts, err := b.store.CountDue(t.Context())
	require.NoError(t, err)
	require.Zero(t, counts["deferred"])
}

// A message counts as lost only if no reader of the group will reach it.
func TestJudge_GivesUpOnlyWhatNobodyReads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Int64Range(0, 30).Draw(t, "start")
		end := rapid.Int64Range(start, 40).Draw(t, "end")
		committed := rapid.Int64Range(-1, 50).Draw(t, "committed")
		offset := rapid.Int64Range(0, 50).Draw(t, "offset")
		got := judge(offset, map[int]broker.PartitionOffsets{3: {Start: start, End: end, Committed: committed}}, 3)
		next := max(committed, start) // where the group continues to read
		if committed > end {
			next = start // from the first message that still exists
		}
		comes := offset >= next && offset < end
		require.Equal(t, comes, got == mayCome, fmt.Sprint(got))
	})
}

func TestSweep_GoesThroughMoreSubtasksThanABatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const n = sweepAtOnce + 1
	b.addAccounts(n)
	tm := b.term()
	tm.batchSize = n
	id := b.addTask("daily", "tulip.report", "0 0 * * *", nil)
	require.NoError(t, b.tasks.Reload(t.Context()))
	require.NoError(t, tm.fan(b, tm.order(b, id, task.Order{})))
	b.broker.offsets = map[string][]broker.PartitionOffsets{}
	b.log(at(0, 900, 900), at(0, 900, 900), at(0, 900, 900))
	require.NoError(t, tm.sweep(t.Context()))
	require.EqualValues(t, n, testutil.ToFloat64(tm.metrics.swept.WithLabelValues("tulip", "normal")))
}

func TestSweep_GoesThroughMoreRunsThanAPage(t *testing.T) {
	t.Parallel()
	b, tm, run := sweeping(t)
	older := make([]ledger.Run, sweepRuns)
	for i := range older {
		older[i] = run
		older[i].ID = run.ID - int64(1+i)
	}
	require.NoError(t, b.store.AddRuns(t.Context(), tm.lease, older))
	b.log(at(0, 6, 6), at(0, 4, 4), at(0, 5, 5))
	require.Equal(t, ids(1, 6), tm.swept(b, 1))
}

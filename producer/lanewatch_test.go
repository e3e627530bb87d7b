package producer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/producer/brake"
)

var (
	important = ledger.LaneName{Media: "tulip", Lane: "important"}
	offline   = ledger.LaneName{Media: "tulip", Lane: "offline"}
)

func TestWatchLanes_SetsBrakesAndTells(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(30)
	id := b.addTask("daily", "tulip.report", "0 0 * * *", map[string]any{"lane": "offline"})
	b.addTask("urgent", "tulip.report", "0 0 * * *", map[string]any{"lane": "important"})
	b.exec(b.store.Config, "INSERT INTO lane (media, name, pool_size, backlog_max) VALUES ('tulip', 'offline', 5, 40)")
	tm := b.term()
	ctx := t.Context()
	b.broker.offsets = map[string][]broker.PartitionOffsets{
		"t.tulip.offline":   {{Committed: 70, End: 100}, {Committed: -1, Start: 5, End: 16}},
		"t.tulip.important": {{Committed: 7, End: 7}},
	}
	require.NoError(t, tm.watchLanes(ctx))
	require.Equal(t, brake.ByBacklog, tm.brakes.Held(offline))
	require.Empty(t, tm.brakes.Held(important))
	require.Equal(t, 41.0, testutil.ToFloat64(tm.metrics.backlog.WithLabelValues("tulip", "offline")))
	require.Zero(t, testutil.ToFloat64(tm.metrics.backlog.WithLabelValues("tulip", "important")))

	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))
	require.Empty(t, b.broker.log, "it rests")
	require.Len(t, tm.brakes.Rested, 1, "its lane is looked at soon")
	require.NoError(t, tm.watchLanes(ctx))
	require.Positive(t, testutil.ToFloat64(tm.metrics.braked.WithLabelValues("tulip", "offline", brake.ByBacklog)))

	b.broker.offsets["t.tulip.offline"][1].Committed = 11
	<-tm.queue.made // when a subtask was made
	require.NoError(t, tm.watchLanes(ctx))
	require.Len(t, tm.queue.made, 1, "it continues at once")
	require.NoError(t, tm.fan(b, runID))
	require.Len(t, b.broker.log, 10, "a brake takes effect after the batch that reaches the bound")
	require.Equal(t, task.RunFanningOut, b.run(runID).State)
	require.EqualValues(t, 10, b.run(runID).Cursor)

	b.broker.offsetsErr = errors.New("no broker")
	require.NoError(t, tm.watchLanes(ctx))
	require.NoError(t, tm.fan(b, runID))
	require.Len(t, b.broker.log, 30, "what cannot be seen holds nobody up")
	require.Equal(t, task.RunRunning, b.run(runID).State)
}

func TestWatchLanes_LooksRarelyAtIdleLanes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("urgent", "tulip.report", "0 0 * * *", map[string]any{"lane": "important"})
	tm := b.term()
	b.broker.offsets = map[string][]broker.PartitionOffsets{"t.tulip.important": {{Committed: 7, End: 7}}}
	for range 3 {
		require.NoError(t, tm.watchLanes(t.Context()))
	}
	require.Equal(t, 1, b.broker.looks)
	tm.brakes.Sent(important, 1)
	require.NoError(t, tm.watchLanes(t.Context()))
	require.Equal(t, 2, b.broker.looks)
}

func TestStartFanOuts_WhatRestsTakesNobodysPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(3)
	slow := b.addTask("slow", "tulip.report", "0 0 1 1 *", map[string]any{"lane": "offline"})
	old := b.addTask("old", "tulip.report", "0 0 1 1 *", map[string]any{"lane": "offline", "ttl_seconds": 60})
	fast := b.addTask("fast", "tulip.report", "0 0 1 1 *", map[string]any{"lane": "important"})
	tm := b.term()
	ctx := t.Context()
	tm.most = 2
	tm.brakes.SetRule(offline, brake.Rule{BacklogMax: 1, Importance: 10})
	tm.brakes.Sent(offline, 1)
	var held []int64
	for range 5 {
		held = append(held, tm.order(b, slow, task.Order{}))
	}
	expired := tm.order(b, old, task.Order{})
	urgent := tm.order(b, fast, task.Order{})
	pass := func() {
		group := newGroup()
		require.NoError(t, tm.startFanOuts(ctx, group))
		require.NoError(t, group.Wait())
	}
	pass()
	require.Equal(t, task.RunRunning, b.run(urgent).State)
	for _, id := range append(held, expired) {
		require.Equal(t, task.RunFanningOut, b.run(id).State, fmt.Sprint(id))
	}
	b.clock.add(time.Minute)
	pass()
	require.Equal(t, task.RunExpired, b.run(expired).State, "its time to live ends what waits too long")
	require.Equal(t, task.RunFanningOut, b.run(held[0]).State)
	tm.brakes.SetRule(offline, brake.Rule{BacklogMax: 1000, Importance: 10})
	for range 3 {
		pass()
	}
	for _, id := range held {
		require.Equal(t, task.RunRunning, b.run(id).State)
	}
}

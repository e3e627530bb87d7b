package producer

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/store"
	"adsync/base/task"
)

// figures is a Watcher that counts.
type figures struct {
	passes    chan []task.Task
	looks     chan struct{}
	forgotten atomic.Int32
}

func (f *figures) Pass(ctx context.Context, tasks []task.Task) error {
	select {
	case f.passes <- tasks:
	case <-ctx.Done():
	}
	return nil
}

func (f *figures) LookForHoles(ctx context.Context) error {
	select {
	case f.looks <- struct{}{}:
	case <-ctx.Done():
	}
	return nil
}

func (f *figures) Forget() { f.forgotten.Add(1) }

func TestLead_HasFiguresToldWhileItLeadsAndByNobodyElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	told := &figures{passes: make(chan []task.Task), looks: make(chan struct{})}
	b.watcher = told
	b.addTask("daily", "tencent.report", "0 0 1 1 *", nil)
	b.addTask("off", "tencent.report", "0 0 1 1 *", map[string]any{"enabled": 0})
	tm := b.term()
	b.metrics.dead.WithLabelValues("tencent").Set(3)
	ctx, stop := context.WithCancel(t.Context())
	returned := make(chan error)
	go func() { returned <- b.lead(ctx, tm.lease) }()
	tasks := <-told.passes
	<-told.looks // though the next pass waits
	require.Len(t, tasks, 1)
	require.Equal(t, "daily", tasks[0].Name)
	stop()
	require.NoError(t, <-returned)
	require.EqualValues(t, 1, told.forgotten.Load())
	require.Zero(t, testutil.CollectAndCount(b.metrics.dead), "nor does it tell its other gauges")
}

func TestPace_RestsInProportionAndNotForEver(t *testing.T) {
	t.Parallel()
	for took, rest := range map[time.Duration]time.Duration{time.Second: time.Minute, 20 * time.Second: 3 * time.Minute, time.Hour: 10 * time.Minute} {
		require.Equal(t, rest, (&pace{interval: time.Minute, times: 9, took: took}).rest(), took)
	}
}

func TestKeepDifferences_TellsWhatStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("daily", "tencent.report", "@daily", nil)
	tm := b.term()
	const row = "INSERT INTO reconciliation (account_id, day, level, metric, media, account_value, sum_value, first_seen_at, last_seen_at, confirmed_at, state)" +
		" VALUES (?, '2026-11-20', 'adgroup', 'cost', 'tencent', 2, 1, ?, ?, ?, ?)"
	at := store.At(start)
	b.exec(b.store.Data, row, 1, at, at, at, "open")
	b.exec(b.store.Data, row, 2, at, at, nil, "open")
	b.exec(b.store.Data, row, 3, at, at, at, "mended")
	require.NoError(t, tm.keepDifferences(t.Context()))
	require.Equal(t, 1.0, testutil.ToFloat64(b.metrics.differing.WithLabelValues("tencent")))
	b.exec(b.store.Data, "UPDATE reconciliation SET state = 'mended'")
	require.NoError(t, tm.keepDifferences(t.Context()))
	require.Zero(t, testutil.ToFloat64(b.metrics.differing.WithLabelValues("tencent")))
}

package producer

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// fakeWatcher is a Watcher that counts.
type fakeWatcher struct {
	passes    chan []task.Task
	looks     chan struct{}
	forgotten atomic.Int32
}

func (f *fakeWatcher) Pass(ctx context.Context, tasks []task.Task) error {
	select {
	case f.passes <- tasks:
	case <-ctx.Done():
	}
	return nil
}

func (f *fakeWatcher) LookForHoles(ctx context.Context) error {
	select {
	case f.looks <- struct{}{}:
	case <-ctx.Done():
	}
	return nil
}

func (f *fakeWatcher) Forget() { f.forgotten.Add(1) }

func TestLead_HasFiguresToldWhileItLeadsAndByNobodyElse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	told := &fakeWatcher{passes: make(chan []task.Task), looks: make(chan struct{})}
	b.watcher = told
	b.addTask("daily", "tulip.report", "0 0 1 1 *", nil)
	b.addTask("off", "tulip.report", "0 0 1 1 *", map[string]any{"enabled": 0})
	tm := b.term()
	b.metrics.dead.WithLabelValues("tulip").Set(3)
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
	for took, rest := range map[time.Duration]time.Duration{time.Second: time.Minute, 20 * time.Second: 3 * time.Minute,
		time.Hour: 6 * time.Minute} {
		require.Equal(t, rest, (&pace{interval: time.Minute, times: 9, took: took}).rest(), took)
	}
}

func TestKeepDifferences_TellsWhatStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("daily", "tulip.report", "@daily", nil)
	tm := b.term()
	const row = "INSERT INTO reconciliation (account_id, day, level, metric, media, account_value, sum_value, " +
		"first_seen_at, last_seen_at, confirmed_at, state)" +
		" VALUES (?, '2026-11-20', 'adgroup', 'cost', 'tulip', 2, 1, ?, ?, ?, ?)"
	at := sqldb.At(start)
	b.exec(b.store.Data, row, 1, at, at, at, "open")
	b.exec(b.store.Data, row, 2, at, at, nil, "open")
	b.exec(b.store.Data, row, 3, at, at, at, "mended")
	require.NoError(t, tm.keepDifferences(t.Context()))
	require.Equal(t, 1.0, testutil.ToFloat64(b.metrics.differing.WithLabelValues("tulip")))
	b.exec(b.store.Data, "UPDATE reconciliation SET state = 'mended'")
	require.NoError(t, tm.keepDifferences(t.Context()))
	require.Zero(t, testutil.ToFloat64(b.metrics.differing.WithLabelValues("tulip")))
}

func TestKeepUp_DoesEachOfItsParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.addTask("daily", "tulip.report", "@daily", nil)
	tm := b.term()
	require.NoError(t, tm.keepUp(t.Context()))
	b.exec(b.store.Config, "UPDATE cron_task SET cron = '@hourly'")
	tm.lookedAt = time.Time{}
	b.exec(b.store.Data,
		`INSERT INTO subtask_dead (run_id, account_id, part, task_id, media, attempt, error_class,
  error_print, error_text, dead_at)
VALUES (1, 1, 'a', ?, 'tulip', 5, 'invalid', 'x', 'x', ?)`, id, sqldb.At(start))
	b.exec(b.store.Data,
		"INSERT INTO reconciliation (account_id, day, level, metric, media, account_value, sum_value, first_seen_at, "+
			"last_seen_at, confirmed_at, state)"+
			" VALUES (1, '2026-11-20', 'adgroup', 'cost', 'tulip', 2, 1, ?, ?, ?, 'open')", sqldb.At(start), sqldb.At(start),
		sqldb.At(start))
	require.NoError(t, tm.keepUp(t.Context()))
	require.Equal(t, 1.0, testutil.ToFloat64(b.metrics.dead.WithLabelValues("tulip")))
	require.Equal(t, 1.0, testutil.ToFloat64(b.metrics.differing.WithLabelValues("tulip")))
	good, err := b.store.GoodTaskRows(t.Context())
	require.NoError(t, err)
	require.Contains(t, good, id)
	edits, err := b.store.ListAudit(t.Context(), settings.AuditFilter{Limit: 10})
	require.NoError(t, err)
	require.NotEmpty(t, edits)
	require.Contains(t, edits[0].After, "@hourly")
}

func TestLead_RunsEachOfItsLoops(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.addTask("daily", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	b.stop(task.Cancel, task.StopTask, strconv.FormatInt(id, 10), 0)
	for _, table := range []string{"run", "manual_order", "subtask_due"} {
		b.exec(b.store.Data, "DROP TABLE "+table)
	}
	ctx, stop := context.WithCancel(t.Context())
	returned := make(chan error)
	go func() { returned <- b.lead(ctx, tm.lease) }()
	want := []string{"cancel", "due", "fan_out", "parked", "plan", "queued", "stops", "sweep", "upkeep"}
	var failing []string
	require.Eventually(t, func() bool {
		failing = b.troubles.Failing()
		b.broker.mu.Lock()
		defer b.broker.mu.Unlock()
		return len(failing) == len(want) && b.broker.looks > 0 // A table that cannot be read does not fail the brake.
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, want, failing)
	for _, loop := range want {
		require.Positive(t, testutil.ToFloat64(b.metrics.loopErrors.WithLabelValues(loop)), loop)
	}
	stop()
	require.NoError(t, <-returned)
}

// noticed reports whether a text was written.
type noticed struct {
	text string
	seen atomic.Bool
}

func (n *noticed) Write(p []byte) (int, error) {
	if strings.Contains(string(p), n.text) {
		n.seen.Store(true)
	}
	return len(p), nil
}

func TestLead_BeginsNothingBeforePausesAreKnown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	paused := b.addTask("paused", "tulip.report", "*/5 * * * *", map[string]any{"catch_up": "all"})
	b.addTask("other", "system.tidy", "*/5 * * * *", map[string]any{"catch_up": "all"})
	unread := &noticed{text: "stop_order"}
	b.logger = slog.New(slog.NewTextHandler(unread, nil))
	tm := b.term()
	require.NoError(t, tm.planTicks(t.Context()))
	b.stop(task.Pause, task.StopTask, strconv.FormatInt(paused, 10), 0)
	b.clock.add(5 * time.Minute)
	b.exec(b.store.Data, "ALTER TABLE stop_order RENAME TO stop_away")
	ctx, stop := context.WithCancel(t.Context())
	returned := make(chan error)
	go func() { returned <- b.lead(ctx, tm.lease) }()
	require.Eventually(t, unread.seen.Load, 10*time.Second, 10*time.Millisecond)
	b.exec(b.store.Data, "ALTER TABLE stop_away RENAME TO stop_order")
	require.Eventually(t, func() bool { return len(b.runs()) > 0 }, 10*time.Second, 10*time.Millisecond,
		"the loop continues")
	stop()
	require.NoError(t, <-returned)
	for _, run := range b.runs() {
		require.Equal(t, "other", run.TaskName)
	}
}

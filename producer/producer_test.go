package producer

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/config"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

const patience = 20 * time.Second

func TestConfig_Validate(t *testing.T) {
	t.Parallel()
	require.NoError(t, DefaultConfig().Validate())
	for key, change := range map[string]func(*Config){
		"batch_size":       func(c *Config) { c.BatchSize = 0 },
		"max_fan_outs":     func(c *Config) { c.MaxFanOuts = 0 },
		"reload_interval":  func(c *Config) { c.ReloadInterval = time.Hour },
		"figures_interval": func(c *Config) { c.FiguresInterval = time.Second },
		"lease_ttl":        func(c *Config) { c.LeaseTTL = time.Second },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		var field *config.FieldError
		require.ErrorAs(t, cfg.Validate(), &field)
		require.Equal(t, key, field.Key)
	}
}

func TestProducer_StopBeforeStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Stop()
	b.Stop()
}

// eventually polls until a running producer meets a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, 20*time.Millisecond, what)
}

func TestProducer_FromTheRowToTheMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Producer.clock = clock.NewScaled(start, 1, false) // After midnight the accounts would be sent again.
	b.addAccounts(25)
	require.NoError(t, b.Start(t.Context()))
	defer b.Stop()
	eventually(t, "it leads", b.Leading)
	// The lead is taken a moment before the term begins. The gauge shows the term.
	eventually(t, "and says so", func() bool { return testutil.ToFloat64(b.metrics.leader) == 1 })
	require.NoError(t, b.Ready(t.Context()))

	// A new row is noticed when another producer got a reload request, without waiting for the next reload here.
	b.addTask("secondly", "tulip.report", "* * * * * *", nil)
	require.NoError(t, b.store.OrderReload(t.Context(), "x"))
	eventually(t, "25 messages of its first tick", func() bool { return len(b.broker.accounts(t)) >= 25 })
	eventually(t, "several ticks, the later ones skipped", func() bool {
		runs := b.runs()
		return len(runs) >= 3 && runs[0].State == task.RunRunning && runs[1].State == task.RunSkipped
	})
	b.Stop()
	require.Zero(t, testutil.ToFloat64(b.metrics.leader))
	require.Len(t, b.broker.accounts(t), 25)
	runs := b.runs()
	for i := 1; i < len(runs); i++ {
		require.Equal(t, time.Second, runs[i].PlannedAt.Sub(runs[i-1].PlannedAt), "no second is missing, none is there twice")
	}
}

func TestProducer_WithoutScheduleOnlyOrdersRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Producer.clock = clock.System{}
	b.cfg.Schedule = false
	b.addAccounts(3)
	id := b.addTask("secondly", "tulip.report", "* * * * * *", nil)
	require.NoError(t, b.Start(t.Context()))
	defer b.Stop()
	now := time.Now()
	require.NoError(t, b.store.AddOrder(t.Context(),
		ledger.RunOrder{RunID: task.NewRunID(now), TaskID: id, Request: task.Order{Scope: task.ScopeAll}, OrderedAt: now}))
	b.Wake()
	eventually(t, "the order runs", func() bool { return len(b.broker.accounts(t)) == 3 })
	b.Stop()
	require.Len(t, b.runs(), 1)
}

// The lead passes between two producers while they work: the ledger has each second once, and each account has each
// part once.
func TestProducer_AnotherTakesOverAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(30)
	b.addTask("secondly", "tulip.report", "* * * * * *", nil)
	producers := make([]*Producer, 3)
	running := clock.NewScaled(start, 1, false) // After midnight the accounts would be sent again.
	for i := range producers {
		producers[i] = b.another()
		producers[i].clock = running
		require.NoError(t, producers[i].Start(t.Context()))
		defer producers[i].Stop()
	}
	for range 2 {
		var leader *Producer
		eventually(t, "one leads", func() bool {
			i := slices.IndexFunc(producers, (*Producer).Leading)
			if i >= 0 {
				leader = producers[i]
			}
			return leader != nil
		})
		made := len(b.runs())
		eventually(t, "ticks continue", func() bool { return len(b.runs()) > made+1 })
		leader.Stop()
		require.False(t, leader.Leading())
	}
	made := len(b.runs())
	eventually(t, "the last one leads", func() bool { return len(b.runs()) > made+1 })
	for _, p := range producers {
		p.Stop()
	}
	epochs := map[int64]bool{}
	runs := b.runs()
	for i, r := range runs {
		epochs[r.Epoch] = true
		if i > 0 {
			require.Equal(t, time.Second, r.PlannedAt.Sub(runs[i-1].PlannedAt))
			require.GreaterOrEqual(t, r.Epoch, runs[i-1].Epoch)
		}
	}
	require.Len(t, epochs, 3)
	sent := b.broker.accounts(t)
	slices.Sort(sent)
	require.Equal(t, ids(1, 30), sent)
}

func TestLead_FinishesTheBatchInFlight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addAccounts(25)
	id := b.addTask("daily", "tulip.report", "0 0 1 1 *", nil)
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	entered, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.broker.block = func(ctx context.Context) {
		once.Do(func() { close(entered) })
		select {
		case <-release:
		case <-ctx.Done():
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	returned := make(chan error)
	go func() { returned <- b.lead(ctx, tm.lease) }()
	<-entered
	stop()
	close(release)
	require.NoError(t, <-returned)
	run := b.run(runID)
	require.EqualValues(t, 10, run.Cursor, "the batch is finished, and no other begun")
	require.Equal(t, task.RunFanningOut, run.State)
	require.Equal(t, ids(1, 10), b.broker.accounts(t))
}

func TestLead_EndsWhenAnotherTookOver(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("secondly", "tulip.report", "* * * * * *", nil)
	b.Producer.clock = clock.System{}
	old := b.term()
	b.term()
	require.ErrorIs(t, b.lead(t.Context(), old.lease), errStale)
}

func TestKeepUp_MakesTablesAndTopicsAhead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.addTask("daily", "tulip.report", "0 0 1 1 *", nil)
	b.addTask("tidy", "system.tidy", "0 0 1 1 *", map[string]any{"lane": "offline"})
	tm := b.term()
	require.NoError(t, tm.keepUp(t.Context()))
	days, err := b.store.LogDays(t.Context())
	require.NoError(t, err)
	require.Len(t, days, 2)
	require.EqualValues(t, "2026-11-21", days[0])
	require.Equal(t, map[string]int{"t.tulip.normal": 0, "t.system.offline": 0}, b.broker.topics)
}

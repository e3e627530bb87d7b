package producer

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/store"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// careless finishes every message, but writes the outcomes of only some.
type careless struct {
	store *store.Store
	loses func(account int64, delivery int) bool
	holds int64 // the account whose first message stays unfinished

	mu   sync.Mutex
	held *broker.Delivery
	seen map[int64]int // the newest delivery of each account
}

func (c *careless) take(ctx context.Context, d *broker.Delivery) {
	e, err := new(task.Envelopes).Parse(func(name string) []byte {
		for _, h := range d.Headers {
			if h.Key == name {
				return h.Value
			}
		}
		return nil
	})
	if err != nil {
		d.Abandon()
		return
	}
	if !c.loses(e.AccountID, e.Delivery) {
		outcome := ledger.Outcome{Key: e.Key, Delivery: e.Delivery, State: task.Succeeded, EndedAt: start}
		if _, err := c.store.ApplyOutcomes(ctx, []ledger.Outcome{outcome}); err != nil {
			d.Abandon()
			return
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[e.AccountID] = max(c.seen[e.AccountID], e.Delivery)
	if e.AccountID == c.holds && e.Delivery == 1 {
		c.held = d
		return
	}
	d.Done()
}

// saw reports whether each account's message has come with a delivery, or a later one.
func (c *careless) saw(accounts []int64, delivery int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range accounts {
		if c.seen[id] < delivery {
			return false
		}
	}
	return true
}

// On a Kafka with a group: a message that was read and lost is found after the group has passed it, and not before.
func TestSweep_OnKafka(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	kafka := brokertest.New(t)
	client := kafka.Client(t, func(c *broker.Config) { c.Prefix = kafka.Topic("sweep") })
	b := setup(t)
	b.Producer.broker = client
	b.addAccounts(20)
	id := b.addTask("daily", "tulip.report", "0 0 * * *", nil)
	tm := b.term()
	runID := tm.order(b, id, task.Order{})
	require.NoError(t, tm.fan(b, runID))

	c := &careless{
		store: b.store, seen: map[int64]int{}, holds: 20,
		loses: func(account int64, delivery int) bool { return account%2 == 0 && delivery == 1 },
	}
	group := client.NewGroup(broker.GroupConfig{
		Group: client.GroupName("tulip", "normal"), Topics: []string{client.TopicName("tulip", "normal")},
	}, c.take)
	require.NoError(t, group.Start(ctx))
	defer group.Stop()
	behind := func() (n int64) {
		offsets, err := client.Offsets(ctx, client.GroupName("tulip", "normal"), client.TopicName("tulip", "normal"))
		if err != nil {
			return -1
		}
		for _, o := range offsets {
			n += o.Lag()
		}
		return n
	}
	require.Eventually(t, func() bool { return c.saw(ids(1, 20), 1) }, time.Minute, 20*time.Millisecond)
	b.clock.add(2 * time.Hour)
	for range 3 {
		require.NoError(t, tm.sweep(ctx))
	}
	require.NoError(t, tm.scanDue(ctx))
	require.Positive(t, behind(), "one is under way still")
	require.False(t, c.saw([]int64{2}, 2))
	run := b.run(runID)
	require.EqualValues(t, 10, run.Succeeded)

	c.held.Done()
	require.Eventually(t, func() bool { return behind() == 0 }, time.Minute, 20*time.Millisecond)
	require.NoError(t, tm.sweep(ctx))
	require.NoError(t, tm.scanDue(ctx))
	require.Eventually(t, func() bool { return c.saw([]int64{2, 4, 6, 8, 10, 12, 14, 16, 18, 20}, 2) }, time.Minute,
		20*time.Millisecond)
	require.Eventually(t, func() bool { return b.run(runID).State == task.RunSucceeded }, time.Minute, 20*time.Millisecond)
	require.False(t, c.saw([]int64{1}, 2), "what had its outcome was not sent again")

	require.NoError(t, tm.watchLanes(ctx))
	require.Empty(t, tm.brakes.HeldLanes())
	require.True(t, tm.brakes.Known()[ledger.LaneName{Media: "tulip", Lane: "normal"}])
}

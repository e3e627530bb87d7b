package broker_test

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
)

func TestGroup_RollingRestartUnderLoadRepeatsNothing(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	topic, group := b.Topic("jobs"), b.Topic("g")
	in := newInbox()
	member := func() *broker.Group { return join(t, b.Client(t, nil), group, topic, in.finish) }
	members := []*broker.Group{member(), member(), member()}
	c := b.Client(t, nil)
	total := 0
	load := func() {
		write(t, c, numbered(topic, total, 40, 60))
		total += 40
	}
	for len(in.all()) == 0 {
		load()
	}
	for i := range members {
		load()
		members[i].Stop()
		load()
		members[i] = member()
		load()
		in.waitValues(t, total)
	}
	waitCommitted(t, c, group, topic, int64(total))
	require.Len(t, in.all(), total, "all work was finished before partitions moved, so nothing came twice")
}

// This tests the times of a deployment on a real broker. The session, the rebalance and the drain of a member that
// works as long as it may must together fit into 30 s. TestTiming tests them on the clock of the broker in memory.
func TestGroup_AKilledMembersPartitionsMoveWithin30Seconds(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	if !b.Real() {
		t.Skip("takes half a minute, which only a real broker is worth")
	}
	deployed := func(dial dialFunc) *broker.Client {
		return b.Client(t, func(cfg *broker.Config) {
			d := broker.DefaultConfig()
			cfg.SessionTimeout, cfg.RebalanceTimeout, cfg.DrainTimeout, cfg.Dial = d.SessionTimeout, d.RebalanceTimeout,
				d.DrainTimeout, dial
		})
	}
	topic, group := b.Topic("jobs"), b.Topic("g")
	lost, in := newInbox(), newInbox()
	var dead deadNetwork
	doomed := deployed(dead.dialer((&net.Dialer{}).DialContext)).NewGroup(broker.GroupConfig{Group: group,
		Topics: []string{topic}}, lost.keep)
	require.NoError(t, doomed.Start(testContext(t)))
	t.Cleanup(doomed.Stop)
	var work sync.WaitGroup
	t.Cleanup(work.Wait)
	survivor := deployed(nil).NewGroup(broker.GroupConfig{Group: group, Topics: []string{topic}},
		func(ctx context.Context, d *broker.Delivery) {
			in.put(d)
			work.Go(func() { // Works until almost the end of its drain.
				<-ctx.Done()
				select {
				case <-time.After(9500 * time.Millisecond):
				case <-t.Context().Done():
				}
				d.Done()
			})
		})
	require.NoError(t, survivor.Start(testContext(t)))
	t.Cleanup(survivor.Stop)
	c := b.Client(t, nil)
	n := 0
	for len(lost.all()) == 0 || len(in.all()) == 0 {
		write(t, c, numbered(topic, n, 60, 60))
		n += 60
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(3 * time.Second)
	place := lost.all()[0].Partition
	dead.die()
	died := time.Now()
	moved := in.waitFor(t, "a message of the killed member's partition", func(got []*broker.Delivery) bool {
		return slices.ContainsFunc(got, func(d *broker.Delivery) bool { return d.Partition == place })
	})
	require.NotEmpty(t, moved)
	t.Log("moved after", time.Since(died))
	require.Less(t, time.Since(died), 30*time.Second)
}

// hooks records the events of a group's partitions, and passes on its messages.
type hooks struct {
	mu     sync.Mutex
	events []string
	given  []broker.Assignment
}

func (h *hooks) note(event string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.events) == 0 || h.events[len(h.events)-1] != event {
		h.events = append(h.events, event)
	}
}

func (h *hooks) recorded() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

func (h *hooks) config(group, topic string) broker.GroupConfig {
	return broker.GroupConfig{
		Group: group, Topics: []string{topic}, Span: 100,
		Assigned: func(_ context.Context, given []broker.Assignment) func(context.Context) {
			h.note("assigned")
			h.mu.Lock()
			defer h.mu.Unlock()
			h.given = given
			return func(context.Context) { h.note("released") }
		},
	}
}

func TestGroup_ReportsItsPartitions(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, nil)
	topic, group := b.Topic("jobs"), b.Topic("g")
	write(t, c, numbered(topic, 0, 100, 1))
	take := func() (*hooks, *inbox) {
		h, in := &hooks{}, newInbox()
		g := c.NewGroup(h.config(group, topic), func(_ context.Context, d *broker.Delivery) {
			h.note("message")
			d.Done()
			in.put(d)
		})
		require.NoError(t, g.Start(testContext(t)))
		in.wait(t, 100)
		g.Stop()
		return h, in
	}
	h, in := take()
	require.Equal(t, []string{"assigned", "message", "released"}, h.recorded())
	require.Len(t, h.given, brokertest.Partitions)
	for _, a := range h.given {
		require.Equal(t, broker.Assignment{Topic: topic, Partition: a.Partition, Committed: -1, Reach: 100}, a)
	}
	write(t, c, numbered(topic, 100, 100, 1))
	h, _ = take()
	for _, a := range h.given {
		if a.Partition == in.all()[0].Partition {
			require.Equal(t, []int64{100, 200}, []int64{a.Committed, a.Reach})
		}
	}
}

func TestTiming_AMemberWithoutItsNetworkStillReleases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, _ := deployed(t)
		cfg := b.Config()
		var dead deadNetwork
		cfg.Dial = dead.dialer(cfg.Dial)
		c, err := broker.New(cfg, brokertest.Logger(t), prometheus.NewRegistry())
		require.NoError(t, err)
		var h hooks
		g := c.NewGroup(h.config("g", "jobs"), func(context.Context, *broker.Delivery) {})
		require.NoError(t, g.Start(t.Context()))
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"assigned"}, h.recorded())
		dead.die()
		time.Sleep(time.Minute)
		require.Equal(t, []string{"assigned", "released"}, h.recorded(), "the process continues without its network")
		g.Stop()
		require.NoError(t, c.Close())
	})
}

func TestTiming_WorkThatOutlastsTheDrainIsNotReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, _ := deployed(t)
		write(t, c, numbered("jobs", 0, 1, 1))
		var h hooks
		in := newInbox()
		g := c.NewGroup(h.config("g", "jobs"), in.keep)
		require.NoError(t, g.Start(t.Context()))
		in.wait(t, 1)
		g.Stop()
		require.Equal(t, []string{"assigned"}, h.recorded(), "the drain has taken all the time")
	})
}

// Slow hooks delay their own partitions and cost no member its membership.
func TestTiming_SlowHooksDoNotCostTheMembership(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, r := deployed(t)
		in := newInbox()
		write(t, c, numbered("jobs", 0, 50, 10))
		slow := func(ctx context.Context) {
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
			}
		}
		cfg := broker.GroupConfig{Group: "g", Topics: []string{"jobs"},
			Assigned: func(ctx context.Context, _ []broker.Assignment) func(context.Context) {
				slow(ctx)
				return slow
			}}
		g1, g2 := c.NewGroup(cfg, in.finish), c.NewGroup(cfg, in.finish)
		require.NoError(t, g1.Start(t.Context()))
		time.Sleep(10 * time.Second)
		require.NoError(t, g2.Start(t.Context()))
		time.Sleep(30 * time.Second)
		generations := counter(t, r, "adsync_broker_rebalances_total")
		write(t, c, numbered("jobs", 50, 50, 10))
		in.waitValues(t, 100)
		require.Len(t, in.all(), 100)
		time.Sleep(time.Minute)
		require.Equal(t, generations, counter(t, r, "adsync_broker_rebalances_total"))
		g1.Stop()
		g2.Stop()
		require.EqualValues(t, 100, committed(t, c, "g", "jobs"))
	})
}

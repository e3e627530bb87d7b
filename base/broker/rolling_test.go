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

func TestGroup_ARollingRestartUnderLoadDeliversNothingTwice(t *testing.T) {
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
	require.Len(t, in.all(), total, "all work ends before its partition moves, so no message is delivered twice")
}

// This test uses the timeouts of a deployment on a real broker. The killed member's session, the rebalance and a drain
// that lasts as long as it may must together end within 30 s.
// TestTiming_AKilledMembersPartitionsMoveAfterTheSession has a broker in memory and virtual time.
func TestGroup_AKilledMembersPartitionsMoveWithin30Seconds(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	if !b.Real() {
		t.Skip("takes half a minute: it runs on a real broker only")
	}
	deployed := func(dial dialFunc) *broker.Client {
		return b.Client(t, func(cfg *broker.Config) {
			d := broker.DefaultConfig()
			cfg.SessionTimeout, cfg.RebalanceTimeout, cfg.DrainTimeout, cfg.Dial = d.SessionTimeout, d.RebalanceTimeout,
				d.DrainTimeout, dial
		})
	}
	topic, group := b.Topic("jobs"), b.Topic("g")
	killedInbox, survivorInbox := newInbox(), newInbox()
	var network deadNetwork
	killed := deployed(network.dialer((&net.Dialer{}).DialContext)).NewGroup(broker.GroupConfig{Group: group,
		Topics: []string{topic}}, killedInbox.keep)
	require.NoError(t, killed.Start(testContext(t)))
	t.Cleanup(killed.Stop)
	var work sync.WaitGroup
	t.Cleanup(work.Wait)
	survivor := deployed(nil).NewGroup(broker.GroupConfig{Group: group, Topics: []string{topic}},
		func(ctx context.Context, d *broker.Delivery) {
			survivorInbox.put(d)
			work.Go(func() { // It ends shortly before the drain's timeout of 10 s.
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
	for len(killedInbox.all()) == 0 || len(survivorInbox.all()) == 0 {
		write(t, c, numbered(topic, n, 60, 60))
		n += 60
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(3 * time.Second)
	partition := killedInbox.all()[0].Partition
	network.die()
	died := time.Now()
	moved := survivorInbox.waitFor(t, "a message of the killed member's partition", func(got []*broker.Delivery) bool {
		return slices.ContainsFunc(got, func(d *broker.Delivery) bool { return d.Partition == partition })
	})
	require.NotEmpty(t, moved)
	t.Log("moved after", time.Since(died))
	require.Less(t, time.Since(died), 30*time.Second)
}

// hooks records the events of a member: partitions are assigned to it, it gets messages, it releases its partitions.
type hooks struct {
	mu     sync.Mutex
	events []string
	given  []broker.Assignment // of the last assignment
}

// note records an event. Consecutive equal events count as one.
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

// config returns the settings of a member whose assignments and releases are recorded.
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

func TestGroup_AssignedGetsThePartitionsAndTheirOffsets(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, nil)
	topic, group := b.Topic("jobs"), b.Topic("g")
	write(t, c, numbered(topic, 0, 100, 1))
	readHundred := func() (*hooks, *inbox) {
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
	h, in := readHundred()
	require.Equal(t, []string{"assigned", "message", "released"}, h.recorded())
	require.Len(t, h.given, brokertest.Partitions)
	for _, a := range h.given {
		require.Equal(t, broker.Assignment{Topic: topic, Partition: a.Partition, Committed: -1, Reach: 100}, a)
	}
	write(t, c, numbered(topic, 100, 100, 1))
	h, _ = readHundred()
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
		var network deadNetwork
		cfg.Dial = network.dialer(cfg.Dial)
		c, err := broker.New(cfg, brokertest.Logger(t), prometheus.NewRegistry())
		require.NoError(t, err)
		var h hooks
		g := c.NewGroup(h.config("g", "jobs"), func(context.Context, *broker.Delivery) {})
		require.NoError(t, g.Start(t.Context()))
		time.Sleep(5 * time.Second)
		require.Equal(t, []string{"assigned"}, h.recorded())
		network.die()
		time.Sleep(time.Minute)
		require.Equal(t, []string{"assigned", "released"}, h.recorded(), "the process still runs, so released is called")
		g.Stop()
		require.NoError(t, c.Close())
	})
}

func TestTiming_WorkThatOutlastsTheDrainPreventsReleased(t *testing.T) {
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
		require.Equal(t, []string{"assigned"}, h.recorded(), "the drain timed out, so released is not called")
	})
}

// Hooks that take 3 s delay messages only. No member is removed from the group.
func TestTiming_SlowHooksCauseNoRebalance(t *testing.T) {
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
		rebalances := counter(t, r, "adsync_broker_rebalances_total")
		write(t, c, numbered("jobs", 50, 50, 10))
		in.waitValues(t, 100)
		require.Len(t, in.all(), 100)
		time.Sleep(time.Minute)
		require.Equal(t, rebalances, counter(t, r, "adsync_broker_rebalances_total"))
		g1.Stop()
		g2.Stop()
		require.EqualValues(t, 100, committed(t, c, "g", "jobs"))
	})
}

package broker_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
)

func TestGroup_ReadsInOrderAndContinuesWhereItStopped(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, nil)
	topic, group := b.Topic("jobs"), b.Topic("g")
	write(t, c, numbered(topic, 0, 300, 30))
	in := newInbox()
	g := join(t, c, group, topic, in.finish)
	write(t, c, numbered(topic, 300, 300, 30))
	got := in.wait(t, 600)
	next := make(map[int]int64)
	for _, d := range got {
		require.Equal(t, next[d.Partition], d.Offset, "each offset once and in order")
		next[d.Partition]++
	}
	g.Stop()
	require.EqualValues(t, 600, committed(t, c, group, topic), "the last commit covers all finished messages")

	write(t, c, numbered(topic, 600, 50, 30))
	again := newInbox()
	join(t, c, group, topic, again.finish)
	again.wait(t, 50)
	require.Len(t, again.values(), 50)
	require.Equal(t, "600", again.values()[0], "no earlier message is read again")
}

func TestGroup_CommitsNothingPastAnUnfinishedMessage(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, func(cfg *broker.Config) { cfg.DrainTimeout = 0 })
	topic, group := b.Topic("jobs"), b.Topic("g")
	write(t, c, numbered(topic, 0, 10, 1))
	in := newInbox()
	g := join(t, c, group, topic, in.keep)
	got := in.wait(t, 10)
	for _, i := range []int{9, 0, 1, 4, 3, 5} {
		got[i].Done()
		got[i].Done()
	}
	waitCommitted(t, c, group, topic, 2)
	g.Stop()
	require.EqualValues(t, 2, committed(t, c, group, topic))
	got[2].Done() // Too late: its partition was revoked.

	again := newInbox()
	join(t, c, group, topic, again.keep)
	require.Equal(t, "2", string(again.wait(t, 8)[0].Value), "the unfinished message comes first")
}

func TestGroup_SpanHoldsReadingBack(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, func(cfg *broker.Config) { cfg.DrainTimeout = 0 })
	topic := b.Topic("jobs")
	write(t, c, numbered(topic, 0, 30, 1))
	in := newInbox()
	g := c.NewGroup(broker.GroupConfig{Group: b.Topic("g"), Topics: []string{topic}, Span: 5}, in.keep)
	require.NoError(t, g.Start(testContext(t)))
	defer g.Stop()
	got := in.wait(t, 5)
	for _, d := range got[1:] {
		d.Done()
	}
	require.Len(t, in.all(), 5, "the first one is unfinished and holds the span")
	got[0].Done()
	in.wait(t, 10)
	require.Len(t, in.all(), 10)
}

func TestGroup_ASecondMemberTakesOverWithoutLoss(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, nil)
	topic, group := b.Topic("jobs"), b.Topic("g")
	first, second, both := newInbox(), newInbox(), newInbox()
	handler := func(in *inbox) broker.Handler {
		return func(_ context.Context, d *broker.Delivery) {
			in.put(d)
			both.put(d)
			d.Done()
		}
	}
	g1 := join(t, c, group, topic, handler(first))
	join(t, b.Client(t, nil), group, topic, handler(second))
	total := 0
	writeSome := func() {
		write(t, c, numbered(topic, total, 50, 60))
		total += 50
	}
	for len(first.all()) == 0 || len(second.all()) == 0 {
		writeSome()
	}
	g1.Stop()
	for range 10 {
		writeSome()
	}
	both.waitValues(t, total)
	waitCommitted(t, c, group, topic, int64(total))
	require.Len(t, both.all(), total, "all work was finished before partitions moved, so nothing came twice")
}

// The first owner finishes work in flight at a rebalance, and only unfinished work is repeated.
func TestGroup_OnlyUnfinishedWorkIsRepeated(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, func(cfg *broker.Config) { cfg.DrainTimeout = 500 * time.Millisecond })
	topic, group := b.Topic("jobs"), b.Topic("g")
	write(t, c, numbered(topic, 0, 40, 1))
	in := newInbox()
	g := join(t, c, group, topic, in.keep)
	got := in.wait(t, 40)
	for _, d := range got[:25] {
		d.Done()
	}
	g.Stop()
	again := newInbox()
	join(t, c, group, topic, again.finish)
	require.Equal(t, "25", string(again.wait(t, 15)[0].Value))
	require.Len(t, again.all(), 15)
}

func TestGroup_ARevokedPartitionEndsTheHandlersContext(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, nil)
	topic := b.Topic("jobs")
	write(t, c, numbered(topic, 0, 5, 1))
	var cause atomic.Value
	entered := make(chan struct{}, 1)
	g := join(t, c, b.Topic("g"), topic, func(ctx context.Context, d *broker.Delivery) {
		entered <- struct{}{}
		<-ctx.Done() // It holds reading back, like a handler with a full pool.
		cause.Store(context.Cause(ctx))
		d.Abandon()
	})
	<-entered
	g.Stop()
	require.ErrorIs(t, cause.Load().(error), broker.ErrRevoked)
	require.Zero(t, committed(t, c, b.Topic("g"), topic))
}

func TestGroup_StartAndStop(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, nil)
	cfg := broker.GroupConfig{Group: b.Topic("g"), Topics: []string{b.Topic("jobs")}}
	none := func(context.Context, *broker.Delivery) {}

	g := c.NewGroup(cfg, none)
	g.Stop()
	require.ErrorIs(t, g.Start(testContext(t)), broker.ErrStopped)

	g = c.NewGroup(cfg, none)
	require.NoError(t, g.Start(testContext(t)))
	require.ErrorContains(t, g.Start(testContext(t)), "already started")
	var group sync.WaitGroup
	for range 3 {
		group.Go(g.Stop)
	}
	group.Wait()
	g.Stop()

	cfg.Topics = append(cfg.Topics, "nowhere")
	g = c.NewGroup(cfg, none)
	err := g.Start(testContext(t))
	require.ErrorIs(t, err, broker.ErrUnknownTopic)
	require.ErrorContains(t, err, "nowhere")
	g.Stop()
}

func TestGroup_SurvivesJoinErrors(t *testing.T) {
	t.Parallel()
	faults := map[string]kfake.Fault{
		"no coordinator yet":   {Keys: []kmsg.Key{kmsg.FindCoordinator}, Err: kerr.CoordinatorNotAvailable, Count: 2},
		"coordinator loading":  {Keys: []kmsg.Key{kmsg.JoinGroup}, Err: kerr.CoordinatorLoadInProgress, Count: 2},
		"sync refused":         {Keys: []kmsg.Key{kmsg.SyncGroup}, Err: kerr.RebalanceInProgress, Count: 2},
		"offsets refused":      {Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.NotCoordinator},
		"heartbeat refused":    {Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.UnknownMemberID},
		"commit refused":       {Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.NotCoordinator, Count: 3},
		"fetch without leader": {Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 3},
		"bounds refused":       {Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.NotLeaderForPartition, Count: 8},
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := brokertest.NewVirtual(t, "jobs")
				c := b.Client(t, nil)
				struck := b.Cluster(t).Fault(fault)
				in := newInbox()
				join(t, c, "g", "jobs", in.finish)
				write(t, c, numbered("jobs", 0, 60, 30))
				in.waitValues(t, 60)
				require.NoError(t, struck.Wait(testContext(t), 1))
				waitCommitted(t, c, "g", "jobs", 60)
			})
		})
	}
}

func TestGroup_CutConnections(t *testing.T) {
	t.Parallel()
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.OffsetCommit, kmsg.Heartbeat, kmsg.JoinGroup, kmsg.SyncGroup} {
		t.Run(key.Name(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := brokertest.NewVirtual(t, "jobs")
				c := b.Client(t, nil)
				var cut atomic.Bool
				b.Cluster(t).ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
					cut.Store(true)
					return nil, errors.New("cut"), true
				})
				in := newInbox()
				join(t, c, "g", "jobs", in.finish)
				for i := range 10 {
					write(t, c, numbered("jobs", 10*i, 10, 10))
				}
				in.waitValues(t, 100)
				waitCommitted(t, c, "g", "jobs", 100)
				require.Eventually(t, cut.Load, patience, 10*time.Millisecond)
			})
		})
	}
}

func TestGroup_MessagesDeletedBeforeTheyWereRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t, "jobs")
		registry := prometheus.NewRegistry()
		c, err := broker.New(b.Config(), brokertest.Logger(t), registry)
		require.NoError(t, err)
		defer c.Close()
		p := write(t, c, numbered("jobs", 0, 10, 1))[0]
		in := newInbox()
		g := join(t, c, "g", "jobs", in.finish)
		in.wait(t, 10)
		g.Stop()
		write(t, c, numbered("jobs", 10, 10, 1))
		require.NoError(t, b.Cluster(t).DeleteRecords("jobs", int32(p.Partition), 17))

		again := newInbox()
		join(t, c, "g", "jobs", again.finish)
		require.Equal(t, "17", string(again.wait(t, 3)[0].Value))
		waitCommitted(t, c, "g", "jobs", 20)
		require.EqualValues(t, 7, counter(t, registry, "adsync_broker_messages_lost_total"))
		require.Zero(t, counter(t, registry, "adsync_broker_log_resets_total"))
	})
}

func TestGroup_AReplacedLogIsReadFromItsStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t, "jobs")
		registry := prometheus.NewRegistry()
		c, err := broker.New(b.Config(), brokertest.Logger(t), registry)
		require.NoError(t, err)
		defer c.Close()
		recreate := func() {
			require.NoError(t, b.Cluster(t).DeleteTopic("jobs"))
			require.NoError(t, b.Cluster(t).CreateTopic("jobs", brokertest.Partitions, nil))
		}
		write(t, c, numbered("jobs", 0, 100, 1))
		in := newInbox()
		g := join(t, c, "g", "jobs", in.finish)
		in.wait(t, 100)
		g.Stop()
		recreate()
		p := write(t, c, numbered("jobs", 100, 5, 1))[0]
		commitOffset(t, b, "g", p, 100)

		again := newInbox()
		join(t, c, "g", "jobs", again.finish)
		require.Equal(t, "100", string(again.wait(t, 5)[0].Value))
		waitCommitted(t, c, "g", "jobs", 5)
		require.EqualValues(t, 1, counter(t, registry, "adsync_broker_log_resets_total"))
	})
}

// commitOffset commits for a group without members, like an operator's tool.
func commitOffset(t testing.TB, b *brokertest.Broker, group string, p broker.Position, offset int64) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.Dialer(b.Config().Dial),
		kgo.MaxVersions(kversion.V2_0_0()))
	require.NoError(t, err)
	defer client.Close()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = group
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = p.Topic
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Partition, partition.Offset = int32(p.Partition), offset
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	res, err := req.RequestWith(testContext(t), client)
	require.NoError(t, err)
	require.Zero(t, res.Topics[0].Partitions[0].ErrorCode)
}

func TestGroup_NumbersOfTheMetrics(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	registry := prometheus.NewRegistry()
	cfg := b.Config()
	cfg.DrainTimeout = 0
	c, err := broker.New(cfg, brokertest.Logger(t), registry)
	require.NoError(t, err)
	defer c.Close()
	topic := b.Topic("jobs")
	write(t, c, numbered(topic, 0, 10, 1))
	in := newInbox()
	g := c.NewGroup(broker.GroupConfig{Group: b.Topic("g"), Topics: []string{topic}, Span: 4}, in.keep)
	require.NoError(t, g.Start(testContext(t)))
	defer g.Stop()
	got := in.wait(t, 4)
	got[0].Done()
	in.wait(t, 5)
	waitCommitted(t, c, b.Topic("g"), topic, 1)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.EqualValues(t, 9, counter(t, registry, "adsync_broker_lag_messages"), "unread messages count, too")
		require.EqualValues(t, 4, counter(t, registry, "adsync_broker_unfinished_messages"))
		require.EqualValues(t, brokertest.Partitions, counter(t, registry, "adsync_broker_partitions_held"))
		require.Positive(t, counter(t, registry, "adsync_broker_oldest_unfinished_seconds"))
		require.EqualValues(t, 5, counter(t, registry, "adsync_broker_messages_read_total"))
		require.EqualValues(t, 10, counter(t, registry, "adsync_broker_messages_written_total"))
		require.EqualValues(t, 1, counter(t, registry, "adsync_broker_rebalances_total"))
	}, patience, 20*time.Millisecond)
	g.Stop()
	require.Zero(t, counter(t, registry, "adsync_broker_lag_messages"), "partitions that are gone leave no numbers")
	require.EqualValues(t, 4, counter(t, registry, "adsync_broker_drain_unfinished_total"))
}

// counter sums a metric over its labels; a missing metric is zero.
func counter(t require.TestingT, registry *prometheus.Registry, name string) float64 {
	families, err := registry.Gather()
	require.NoError(t, err)
	var sum float64
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	cfg := broker.DefaultConfig()
	_, err := broker.New(cfg, brokertest.Logger(t), prometheus.NewRegistry())
	require.ErrorContains(t, err, "brokers: want at least one host:port")
	cfg.Brokers = []string{"127.0.0.1:9092"}
	registry := prometheus.NewRegistry()
	c, err := broker.New(cfg, brokertest.Logger(t), registry)
	require.NoError(t, err, "no network is used yet")
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	_, err = broker.New(cfg, brokertest.Logger(t), registry)
	require.ErrorContains(t, err, "metrics")
	require.Equal(t, "adsync.tulip.important", c.TopicName("tulip", "important"))
	require.Equal(t, "adsync.tulip.important", c.GroupName("tulip", "important"))
}

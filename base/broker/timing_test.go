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
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/service"
)

// deployed returns a broker in memory and a client with the settings of a deployment. In a bubble a sleep takes no
// time, and durations are exact.
func deployed(t *testing.T) (*brokertest.Broker, *broker.Client, *prometheus.Registry) {
	t.Helper()
	b := brokertest.NewVirtual(t, "jobs")
	cfg := broker.DefaultConfig()
	cfg.Brokers, cfg.Dial = b.Config().Brokers, b.Config().Dial
	cfg.Replication, cfg.MinInsync = 1, 1
	registry := prometheus.NewRegistry()
	c, err := broker.New(cfg, brokertest.Logger(t), registry)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return b, c, registry
}

func started(t *testing.T, c *broker.Client, h broker.Handler) *broker.Group {
	t.Helper()
	g := c.NewGroup(broker.GroupConfig{Group: "g", Topics: []string{"jobs"}}, h)
	require.NoError(t, g.Start(t.Context()))
	t.Cleanup(g.Stop)
	return g
}

func TestTiming_CommitsOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, _ := deployed(t)
		in := newInbox()
		g := started(t, c, in.finish)
		time.Sleep(5300 * time.Millisecond) // Between two commits: one now might cover only half of the messages.
		before := committed(t, c, "g", "jobs")
		write(t, c, numbered("jobs", 0, 10, 10))
		start := time.Now()
		for committed(t, c, "g", "jobs") == before {
			time.Sleep(10 * time.Millisecond)
		}
		require.InDelta(t, 0.7, time.Since(start).Seconds(), 0.02)
		require.EqualValues(t, 10, committed(t, c, "g", "jobs"))
		g.Stop()
	})
}

// What a broker has lost of the commits is committed again, also without new messages.
func TestTiming_CommitsAgainWhatTheBrokerLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c, _ := deployed(t)
		in := newInbox()
		g := started(t, c, in.finish)
		write(t, c, numbered("jobs", 0, 10, 10))
		in.waitValues(t, 10)
		waitCommitted(t, c, "g", "jobs", 10)
		var commits atomic.Int64
		b.Cluster(t).ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
			b.Cluster(t).KeepControl()
			commits.Add(1)
			return nil, nil, false
		})
		time.Sleep(5 * time.Minute)
		require.EqualValues(t, 10, committed(t, c, "g", "jobs"))
		require.InDelta(t, 10, commits.Load(), 1, "each half minute")
		g.Stop()
	})
}

func TestTiming_DrainLastsAsLongAsTheWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, _ := deployed(t)
		var work sync.WaitGroup
		in := newInbox()
		g := started(t, c, func(_ context.Context, d *broker.Delivery) {
			in.put(d)
			work.Go(func() {
				time.Sleep(7 * time.Second)
				d.Done()
				d.Done() // Counts once.
				d.Abandon()
			})
		})
		write(t, c, numbered("jobs", 0, 20, 20))
		in.wait(t, 20)
		start := time.Now()
		g.Stop()
		require.InDelta(t, 7, time.Since(start).Seconds(), 1, "not shorter than the work, not as long as drain_timeout")
		require.EqualValues(t, 20, committed(t, c, "g", "jobs"), "work that ended during the drain is committed")
		work.Wait()
	})
}

func TestTiming_DrainEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, r := deployed(t)
		in := newInbox()
		g := started(t, c, in.keep)
		write(t, c, numbered("jobs", 0, 10, 1))
		got := in.wait(t, 10)
		time.Sleep(5300 * time.Millisecond) // Between two of the commits that come every second.
		got[0].Done()
		start := time.Now()
		var stop sync.WaitGroup
		stop.Go(g.Stop)
		time.Sleep(time.Millisecond)
		require.EqualValues(t, 1, committed(t, c, "g", "jobs"), "earlier work is committed first, whatever the drain brings")
		stop.Wait()
		require.InDelta(t, 10, time.Since(start).Seconds(), 0.6)
		require.EqualValues(t, 1, committed(t, c, "g", "jobs"))
		require.EqualValues(t, 9, counter(t, r, "adsync_broker_drain_unfinished_total"))
	})
}

func TestTiming_TheDrainDoesNotWaitForAbandonedWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, _ := deployed(t)
		var work sync.WaitGroup
		in := newInbox()
		g := started(t, c, func(ctx context.Context, d *broker.Delivery) {
			in.put(d)
			work.Go(func() { // Waits in a queue of the consumer until its context ends.
				<-ctx.Done()
				d.Abandon()
			})
		})
		write(t, c, numbered("jobs", 0, 20, 20))
		in.wait(t, 20)
		start := time.Now()
		g.Stop()
		require.Less(t, time.Since(start), time.Second)
		require.Zero(t, committed(t, c, "g", "jobs"))
		work.Wait()
	})
}

func TestTiming_AMemberThatHoldsReadingBackStaysAMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, r := deployed(t)
		release := make(chan struct{})
		in := newInbox()
		g := started(t, c, func(ctx context.Context, d *broker.Delivery) {
			in.put(d)
			select {
			case <-release:
			case <-ctx.Done():
			}
			d.Done()
		})
		write(t, c, numbered("jobs", 0, 10, 1))
		in.wait(t, 1)
		time.Sleep(10 * time.Minute)
		require.EqualValues(t, 1, counter(t, r, "adsync_broker_rebalances_total"), "the member never left the group")
		require.InDelta(t, 600, counter(t, r, "adsync_broker_oldest_unfinished_seconds"), 5)
		require.EqualValues(t, 10, counter(t, r, "adsync_broker_lag_messages"))
		write(t, c, numbered("jobs", 10, 90, 1))
		time.Sleep(time.Minute)
		require.EqualValues(t, 100, counter(t, r, "adsync_broker_lag_messages"),
			"the log's growth is seen although nothing is read")
		close(release)
		in.waitValues(t, 100)
		g.Stop()
		require.EqualValues(t, 100, committed(t, c, "g", "jobs"))
	})
}

func TestTiming_AHandlerThatNeverReturnsDoesNotHoldTheGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, _ := deployed(t)
		release := make(chan struct{})
		in := newInbox()
		g := started(t, c, func(_ context.Context, d *broker.Delivery) {
			in.put(d)
			<-release
		})
		write(t, c, numbered("jobs", 0, 1, 1))
		in.wait(t, 1)
		start := time.Now()
		g.Stop()
		require.LessOrEqual(t, time.Since(start), service.StopTimeoutDefault-time.Second,
			"a consumer writes its last outcomes after it")
		close(release)
	})
}

func TestTiming_StopDoesNotWaitForASilentBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c, _ := deployed(t)
		in := newInbox()
		g := started(t, c, in.keep)
		write(t, c, numbered("jobs", 0, 5, 1))
		in.wait(t, 5)[0].Done()
		cluster := b.Cluster(t)
		cluster.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			return nil, nil, true
		})
		start := time.Now()
		g.Stop()
		require.LessOrEqual(t, time.Since(start), service.StopTimeoutDefault-time.Second,
			"a consumer writes its last outcomes after it")
		time.Sleep(time.Minute) // Requests that still wait for answers time out.
	})
}

func TestTiming_NewPartitionsAreRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, c, r := deployed(t)
		in := newInbox()
		g1, g2 := started(t, c, in.finish), started(t, c, in.finish)
		time.Sleep(10 * time.Second)
		generations := counter(t, r, "adsync_broker_rebalances_total")
		require.NoError(t, c.EnsureTopics(t.Context(), []broker.Topic{{Name: "jobs", Partitions: 12}}))
		write(t, c, numbered("jobs", 0, 600, 200))
		time.Sleep(25 * time.Second)
		require.Len(t, in.values(), 600)
		used := make(map[int]bool)
		for _, d := range in.all() {
			used[d.Partition] = true
		}
		require.Len(t, used, 12)
		require.EqualValues(t, 12, counter(t, r, "adsync_broker_partitions_held"))
		require.LessOrEqual(t, counter(t, r, "adsync_broker_rebalances_total"), generations+4,
			"one rebalance of two members, which may take two steps")
		time.Sleep(5 * time.Minute)
		require.LessOrEqual(t, counter(t, r, "adsync_broker_rebalances_total"), generations+4, "no further rebalance")
		g1.Stop()
		g2.Stop()
	})
}

func TestTiming_ALogReplacedUnderAReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c, r := deployed(t)
		in := newInbox()
		g := started(t, c, in.finish)
		write(t, c, numbered("jobs", 0, 100, 1))
		in.waitValues(t, 100)
		time.Sleep(5 * time.Second)
		require.NoError(t, b.Cluster(t).DeleteTopic("jobs"))
		require.NoError(t, b.Cluster(t).CreateTopic("jobs", brokertest.Partitions, nil))
		write(t, c, numbered("jobs", 100, 7, 1))
		time.Sleep(time.Minute)
		require.Len(t, in.values(), 107)
		require.EqualValues(t, 1, counter(t, r, "adsync_broker_log_resets_total"))
		require.EqualValues(t, 7, committed(t, c, "g", "jobs"))
		g.Stop()
	})
}

func TestTiming_AKilledMembersPartitionsMoveAfterTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c, _ := deployed(t)
		in := newInbox()
		g := started(t, c, in.finish)
		time.Sleep(5 * time.Second)
		cfg := b.Config()
		cfg.SessionTimeout = 15 * time.Second
		var dead deadNetwork
		cfg.Dial = dead.dialer(cfg.Dial)
		doomed, err := broker.New(cfg, brokertest.Logger(t), prometheus.NewRegistry())
		require.NoError(t, err)
		lost := newInbox()
		g2 := started(t, doomed, lost.keep)
		time.Sleep(5 * time.Second)
		write(t, c, numbered("jobs", 0, 60, 60))
		lost.wait(t, 1)
		dead.die()
		time.Sleep(30 * time.Second)
		require.Len(t, in.values(), 60, "the other member reads what the killed one had read")
		g.Stop()
		g2.Stop()
		require.NoError(t, doomed.Close())
	})
}

// A new leader may at first answer with an end that is too low. That must not be taken for a new log: a new start
// would drop the messages in flight, and the commits would pass them.
func TestTiming_AnEndThatIsBrieflyTooLowChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c, r := deployed(t)
		in := newInbox()
		g := started(t, c, in.keep)
		write(t, c, numbered("jobs", 0, 10, 1))
		got := in.wait(t, 10)
		place := broker.Position{Topic: "jobs", Partition: got[0].Partition, Offset: 10}

		cluster := b.Cluster(t)
		lies := 0
		cluster.ControlKey(int16(kmsg.ListOffsets), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			req := kreq.(*kmsg.ListOffsetsRequest)
			partition := req.Topics[0].Partitions[0]
			if int(partition.Partition) != place.Partition || partition.Timestamp != -1 || lies == 2 {
				return nil, nil, false
			}
			cluster.KeepControl()
			lies++
			return listOffsetsAnswer(req, 3), nil, true
		})
		cut := 0
		cluster.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			if kreq.(*kmsg.FetchRequest).Topics[0].Partitions[0].Partition != int32(place.Partition) {
				return nil, nil, false
			}
			cut++
			return nil, errors.New("cut"), true // The reader restarts, and requests the end.
		})
		time.Sleep(10 * time.Second)
		synctest.Wait() // The cluster's goroutines have counted.
		require.Equal(t, 1, cut)
		require.Equal(t, 2, lies)
		write(t, c, numbered("jobs", 10, 5, 1))
		got = in.wait(t, 15)
		for _, d := range got[1:] {
			d.Done()
		}
		time.Sleep(5 * time.Second)
		require.Zero(t, committed(t, c, "g", "jobs"), "the first message is still in flight")
		require.Zero(t, counter(t, r, "adsync_broker_log_resets_total"))
		got[0].Done()
		g.Stop()
		require.EqualValues(t, 15, committed(t, c, "g", "jobs"))
	})
}

// If a reader beyond the end of its log gets no error, the watch over the ends of logs notices.
func TestTiming_AReplacedLogThatTheReaderDoesNotNotice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, c, r := deployed(t)
		in := newInbox()
		g := started(t, c, in.finish)
		write(t, c, numbered("jobs", 0, 10, 1))
		place := in.wait(t, 10)[0].Partition

		// The broker reports that the log ends at 3, and has nothing at offset 10.
		resets := func() float64 { return counter(t, r, "adsync_broker_log_resets_total") }
		cluster := b.Cluster(t)
		cluster.ControlKey(int16(kmsg.ListOffsets), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			req := kreq.(*kmsg.ListOffsetsRequest)
			partition := req.Topics[0].Partitions[0]
			if int(partition.Partition) != place || partition.Timestamp != -1 || resets() > 0 {
				return nil, nil, false
			}
			cluster.KeepControl()
			return listOffsetsAnswer(req, 3), nil, true
		})
		cluster.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			req := kreq.(*kmsg.FetchRequest)
			partition := req.Topics[0].Partitions[0]
			if int(partition.Partition) != place || partition.FetchOffset != 10 || resets() > 0 {
				return nil, nil, false
			}
			cluster.KeepControl()
			cluster.SleepControl(func() { time.Sleep(400 * time.Millisecond) })
			res := req.ResponseKind().(*kmsg.FetchResponse)
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic = "jobs"
			answer := kmsg.NewFetchResponseTopicPartition()
			answer.Partition, answer.HighWatermark, answer.RecordBatches = partition.Partition, 10, []byte{}
			topic.Partitions = append(topic.Partitions, answer)
			res.Topics = append(res.Topics, topic)
			return res, nil, true
		})
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, resets())
		require.Len(t, in.all(), 20, "the log is read from its start")
		g.Stop()
	})
}

func listOffsetsAnswer(req *kmsg.ListOffsetsRequest, offset int64) kmsg.Response {
	res := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	topic := kmsg.NewListOffsetsResponseTopic()
	topic.Topic = req.Topics[0].Topic
	answer := kmsg.NewListOffsetsResponseTopicPartition()
	answer.Partition, answer.Offset = req.Topics[0].Partitions[0].Partition, offset
	topic.Partitions = append(topic.Partitions, answer)
	res.Topics = append(res.Topics, topic)
	return res
}

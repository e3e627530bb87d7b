package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
)

func TestWrite_PositionsAreWhereMessagesAreRead(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		t.Run(compression, func(t *testing.T) {
			t.Parallel()
			b := brokertest.New(t, "jobs", "other")
			c := b.Client(t, func(cfg *broker.Config) { cfg.Compression = compression })
			jobs, other := b.Topic("jobs"), b.Topic("other")
			stamp := time.Date(2026, 11, 21, 8, 30, 0, 5e6, time.UTC)
			msgs := numbered(jobs, 0, 200, 40)
			msgs[3].Headers = []broker.Header{{Key: "run", Value: []byte("r1")}, {Key: "empty", Value: []byte{}}}
			msgs[3].Time = stamp
			msgs[7].Topic = other

			positions := write(t, c, msgs)
			in := newInbox()
			join(t, c, b.Topic("g"), jobs, in.finish)
			join(t, c, b.Topic("h"), other, in.finish)
			read := make(map[broker.Position]*broker.Delivery)
			for _, d := range in.wait(t, len(msgs)) {
				read[broker.Position{Topic: d.Topic, Partition: d.Partition, Offset: d.Offset}] = d
			}
			for i, p := range positions {
				require.Contains(t, read, p)
				require.Equal(t, string(msgs[i].Value), string(read[p].Value))
				require.Equal(t, string(msgs[i].Key), string(read[p].Key))
			}
			require.Equal(t, "r1", string(read[positions[3]].Headers[0].Value))
			require.Equal(t, "empty", read[positions[3]].Headers[1].Key)
			require.Equal(t, stamp, read[positions[3]].Time)
			require.Equal(t, other, positions[7].Topic)
			require.False(t, read[positions[4]].Time.IsZero(), "a message without a time gets one")
		})
	}
}

func TestWrite_KeysHaveTheirJavaClientsPartitions(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	c := b.Client(t, nil)
	topic := b.Topic("keys")
	require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: topic, Partitions: 24}}))
	// The hashes are those of Kafka's own UtilsTest.
	hashes := map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	}
	for key, hash := range hashes {
		positions := write(t, c, []broker.Message{{Topic: topic, Key: []byte(key)}, {Topic: topic, Key: []byte(key)}})
		require.EqualValues(t, (hash&0x7fffffff)%24, positions[0].Partition, key)
		require.Equal(t, positions[0].Partition, positions[1].Partition)
		require.Equal(t, positions[0].Offset+1, positions[1].Offset, "messages of one key keep their order")
	}
}

func TestWrite_NothingToWrite(t *testing.T) {
	t.Parallel()
	positions, err := brokertest.New(t).Client(t, nil).Write(testContext(t), nil)
	require.NoError(t, err)
	require.Empty(t, positions)
}

func TestWrite_OneRequestPerBroker(t *testing.T) {
	t.Parallel()
	b := brokertest.NewFake(t, []string{"jobs"})
	c := b.Client(t, nil)
	allCopies := func(req kmsg.Request) bool { return req.(*kmsg.ProduceRequest).Acks == -1 }
	seen := b.Cluster(t).Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Observe: true, Count: -1, When: allCopies})
	write(t, c, numbered("jobs", 0, 100, 50))
	require.Equal(t, 1, seen.Hits())
}

func TestWrite_TooLargeMessageFailsAlone(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, nil)
	msgs := numbered(b.Topic("jobs"), 0, 3, 1)
	msgs[1].Value = make([]byte, 2_000_000)
	positions, err := c.Write(testContext(t), msgs)
	require.ErrorIs(t, err, broker.ErrTooLarge)
	failed, ok := errors.AsType[*broker.WriteError](err)
	require.True(t, ok)
	require.Equal(t, []int{1}, failed.Failed)
	require.Empty(t, failed.Unknown)
	require.EqualValues(t, 0, positions[0].Offset)
	require.EqualValues(t, -1, positions[1].Offset)
	require.EqualValues(t, 1, positions[2].Offset)
}

func TestWrite_SplitsWhatExceedsABatch(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, func(cfg *broker.Config) { cfg.Compression = "none" })
	msgs := numbered(b.Topic("jobs"), 0, 9, 1)
	for i := range msgs {
		msgs[i].Value = bytes.Repeat([]byte{byte('a' + i)}, 400_000)
	}
	var batches *kfake.FaultHandle
	if !b.Real() {
		batches = b.Cluster(t).Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Observe: true, Count: -1})
	}
	for i, p := range write(t, c, msgs) {
		require.EqualValues(t, i, p.Offset)
	}
	if batches != nil {
		require.Equal(t, 5, batches.Hits(), "two fit into a batch, and no batch was sent twice")
	}
}

func TestWrite_SplitsForBrokersThatTakeLess(t *testing.T) {
	t.Parallel()
	b := brokertest.NewFake(t, []string{"jobs"}, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "5000"}))
	c := b.Client(t, func(cfg *broker.Config) { cfg.Compression = "none" })
	msgs := numbered("jobs", 0, 20, 1)
	for i := range msgs {
		msgs[i].Value = make([]byte, 1000)
	}
	msgs[4].Value = make([]byte, 6000)
	positions, err := c.Write(testContext(t), msgs)
	require.ErrorIs(t, err, broker.ErrTooLarge)
	failed, _ := errors.AsType[*broker.WriteError](err)
	require.Equal(t, []int{4}, failed.Failed)
	require.EqualValues(t, 18, positions[19].Offset)
}

func TestWrite_UnknownTopic(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, func(cfg *broker.Config) { cfg.WriteTimeout = 5 * time.Second })
	msgs := numbered(b.Topic("jobs"), 0, 3, 1)
	msgs[1].Topic = b.Topic("nowhere")
	positions, err := c.Write(testContext(t), msgs)
	require.ErrorIs(t, err, broker.ErrUnknownTopic)
	require.ErrorContains(t, err, "nowhere")
	failed, _ := errors.AsType[*broker.WriteError](err)
	require.Equal(t, []int{1}, failed.Failed)
	require.Equal(t, broker.Position{Topic: b.Topic("nowhere"), Partition: -1, Offset: -1}, positions[1])
	require.EqualValues(t, 1, positions[2].Offset, "the other topic's messages are written")
}

func TestWrite_WaitsForATopicThatIsBeingCreated(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	writer, maker := b.Client(t, nil), b.Client(t, nil)
	var group sync.WaitGroup
	group.Go(func() { write(t, writer, numbered(b.Topic("late"), 0, 3, 3)) })
	require.NoError(t, maker.EnsureTopics(testContext(t), []broker.Topic{{Name: b.Topic("late")}}))
	group.Wait()
}

func TestWrite_Faults(t *testing.T) {
	t.Parallel()
	produce := []kmsg.Key{kmsg.Produce}
	tests := []struct {
		name    string
		fault   kfake.Fault
		copies  int64 // of the one message; in the log
		failed  bool
		unknown bool
	}{
		{name: "a timeout after the batch was stored is repeated and leaves two copies",
			fault: kfake.Fault{Err: kerr.RequestTimedOut}, copies: 2},
		{name: "too few copies after the batch was stored are repeated too",
			fault: kfake.Fault{Err: kerr.NotEnoughReplicasAfterAppend}, copies: 2},
		{name: "a leader that moved is waited for", fault: kfake.Fault{Err: kerr.NotLeaderForPartition, Count: 3}, copies: 1},
		{name: "too few copies before it is stored is waited for", fault: kfake.Fault{Err: kerr.NotEnoughReplicas, Count: 2},
			copies: 1},
		{name: "a storage error is waited for", fault: kfake.Fault{Err: kerr.KafkaStorageError}, copies: 1},
		{name: "a missing permission fails at once", fault: kfake.Fault{Err: kerr.TopicAuthorizationFailed, Count: -1},
			failed: true},
		{name: "a refused record fails at once", fault: kfake.Fault{Err: kerr.InvalidRecord, Count: -1}, failed: true},
		{name: "a permanent refusal before storing means not written",
			fault: kfake.Fault{Err: kerr.NotEnoughReplicas, Count: -1}, failed: true},
		{name: "a permanent doubt stays unknown", fault: kfake.Fault{Err: kerr.NotLeaderForPartition, Count: -1},
			unknown: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := brokertest.NewVirtual(t, "jobs")
				c := b.Client(t, func(cfg *broker.Config) {
					if test.failed || test.unknown {
						// The pauses double from 20 ms on: the end falls into one of them, not into a request.
						cfg.WriteTimeout = time.Second
					}
				})
				test.fault.Keys = produce
				fault := b.Cluster(t).Fault(test.fault)
				positions, err := c.Write(testContext(t), numbered("jobs", 0, 1, 1))
				require.Positive(t, fault.Hits(), "the fault occurred")
				if test.failed || test.unknown {
					failed, ok := errors.AsType[*broker.WriteError](err)
					require.True(t, ok)
					require.Equal(t, test.failed, len(failed.Failed) == 1)
					require.Equal(t, test.unknown, len(failed.Unknown) == 1)
					require.EqualValues(t, -1, positions[0].Offset)
					return
				}
				require.NoError(t, err)
				var stored int64
				offsets, err := c.Offsets(testContext(t), "", "jobs")
				require.NoError(t, err)
				for _, o := range offsets {
					stored += o.End
				}
				require.Equal(t, test.copies, stored)
				require.Equal(t, test.copies-1, positions[0].Offset, "the last copy's position is returned")
			})
		})
	}
}

func TestWrite_AFaultOfOnePartitionDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t, "jobs")
		c := b.Client(t, func(cfg *broker.Config) { cfg.WriteTimeout = time.Second })
		b.Cluster(t).Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "jobs", Partitions: []int32{2},
			Err: kerr.NotEnoughReplicas, Count: -1})
		positions, err := c.Write(testContext(t), numbered("jobs", 0, 60, 60))
		failed, ok := errors.AsType[*broker.WriteError](err)
		require.True(t, ok)
		require.Empty(t, failed.Unknown)
		require.NotEmpty(t, failed.Failed)
		for i, p := range positions {
			if p.Partition == 2 {
				require.Contains(t, failed.Failed, i)
				require.EqualValues(t, -1, p.Offset)
			} else {
				require.GreaterOrEqual(t, p.Offset, int64(0))
			}
		}
	})
}

func TestWrite_ConnectionClosedMidWrite(t *testing.T) {
	t.Parallel()
	b := brokertest.NewFake(t, []string{"jobs"})
	c := b.Client(t, nil)
	var cuts atomic.Int32
	cluster := b.Cluster(t)
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		if cuts.Add(1) > 5 {
			return nil, nil, false
		}
		cluster.KeepControl()
		return nil, errors.New("cut"), true // The connection is closed without an answer.
	})
	write(t, c, numbered("jobs", 0, 50, 10))
	require.EqualValues(t, 6, cuts.Load())
}

func TestWrite_FindsALeaderThatMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t, "jobs")
		c := b.Client(t, func(cfg *broker.Config) { cfg.WriteTimeout = time.Second })
		for round := range int32(4) {
			for partition := range int32(brokertest.Partitions) {
				require.NoError(t, b.Cluster(t).MoveTopicPartition("jobs", partition, (partition+round)%3))
			}
			// The cached layout would be wrong for up to four more seconds.
			write(t, c, numbered("jobs", 0, 50, 50))
		}
	})
}

func TestWrite_SilentBrokerLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t, "jobs")
		c := b.Client(t, nil)
		ctx, cancel := context.WithCancel(testContext(t))
		cluster := b.Cluster(t)
		cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			cancel()
			return nil, nil, true // No answer ever comes.
		})
		_, err := c.Write(ctx, numbered("jobs", 0, 2, 2))
		require.ErrorIs(t, err, context.Canceled)
		failed, ok := errors.AsType[*broker.WriteError](err)
		require.True(t, ok)
		require.Equal(t, []int{0, 1}, failed.Unknown)
		require.Empty(t, failed.Failed)
	})
}

func TestWrite_NoBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t, "jobs")
		c := b.Client(t, func(cfg *broker.Config) { cfg.WriteTimeout = 200 * time.Millisecond })
		b.Close()
		_, err := c.Write(testContext(t), numbered("jobs", 0, 2, 2))
		failed, ok := errors.AsType[*broker.WriteError](err)
		require.True(t, ok)
		require.Equal(t, []int{0, 1}, failed.Failed, "nothing was sent, so nothing is unknown")
		require.Error(t, c.Ping(testContext(t)))
	})
}

func TestWrite_ManyAtOnce(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs")
	c := b.Client(t, nil)
	var group sync.WaitGroup
	var mu sync.Mutex
	places := make(map[broker.Position]bool)
	for n := range 8 {
		group.Go(func() {
			for i := range 10 {
				positions, err := c.Write(testContext(t), numbered(b.Topic("jobs"), 1000*n+10*i, 10, 100))
				mu.Lock()
				for _, p := range positions {
					places[p] = true
				}
				if err != nil {
					t.Error(err)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	require.Len(t, places, 800, "every message has its own position")
}

func BenchmarkWrite(b *testing.B) {
	br := brokertest.New(b)
	c := br.Client(b, nil)
	topic := br.Topic("bench")
	require.NoError(b, c.EnsureTopics(testContext(b), []broker.Topic{{Name: topic, Partitions: 24}}))
	for _, n := range []int{1, 100, 1000} {
		msgs := numbered(topic, 0, n, n)
		for i := range msgs {
			msgs[i].Value = make([]byte, 200)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				_, err := c.Write(context.Background(), msgs)
				require.NoError(b, err)
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

package broker_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
)

func partitionsOf(t testing.TB, c *broker.Client, topic string) int {
	t.Helper()
	offsets, err := c.Offsets(testContext(t), "", topic)
	require.NoError(t, err)
	return len(offsets)
}

func TestEnsureTopics(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	c := b.Client(t, nil)
	topic := b.Topic("jobs")
	ensure := func(partitions int) {
		t.Helper()
		require.NoError(t, c.EnsureTopics(testContext(t),
			[]broker.Topic{{Name: topic, Partitions: partitions, Retention: 2 * time.Hour}}))
	}
	ensure(0)
	require.Equal(t, brokertest.Partitions, partitionsOf(t, c, topic), "no number means the configured one")
	write(t, c, numbered(topic, 0, 10, 10))
	ensure(0)
	require.Equal(t, brokertest.Partitions, partitionsOf(t, c, topic), "a repetition changes nothing")
	ensure(12)
	require.Equal(t, 12, partitionsOf(t, c, topic), "partitions are added")
	ensure(3)
	require.Equal(t, 12, partitionsOf(t, c, topic), "none is removed")
	offsets, err := c.Offsets(testContext(t), "", topic)
	require.NoError(t, err)
	var messages int64
	for _, o := range offsets {
		messages += o.End - o.Start
	}
	require.EqualValues(t, 10, messages, "messages stay")
	require.NoError(t, c.EnsureTopics(testContext(t), nil))
}

func TestEnsureTopics_SeveralAtOnce(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	topics := []broker.Topic{{Name: b.Topic("a"), Partitions: 3}, {Name: b.Topic("b")},
		{Name: b.Topic("a"), Partitions: 8}}
	var group sync.WaitGroup
	for range 4 {
		c := b.Client(t, nil)
		group.Go(func() {
			if err := c.EnsureTopics(testContext(t), topics); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.Equal(t, 8, partitionsOf(t, b.Client(t, nil), b.Topic("a")), "the larger of two numbers for one topic counts")
}

func TestEnsureTopics_ImpossibleReplication(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	c := b.Client(t, func(cfg *broker.Config) { cfg.Replication, cfg.MinInsync = 3, 2 })
	err := c.EnsureTopics(testContext(t), []broker.Topic{{Name: b.Topic("jobs")}})
	require.ErrorContains(t, err, "too few brokers for 3 copies: set broker.replication")
}

func TestEnsureTopics_BrokersOwnDefaults(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t)
	c := b.Client(t, func(cfg *broker.Config) { cfg.Replication, cfg.MinInsync = -1, 0 })
	if !b.Real() {
		c = brokertest.NewFake(t, nil).Client(t, func(cfg *broker.Config) { cfg.Replication, cfg.MinInsync = -1, 0 })
	}
	require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: b.Topic("jobs")}}))
}

func TestEnsureTopics_RefusedName(t *testing.T) {
	t.Parallel()
	err := brokertest.New(t).Client(t, nil).EnsureTopics(testContext(t), []broker.Topic{{Name: "no spaces"}})
	require.ErrorContains(t, err, `ensure topic "no spaces"`)
}

// refuse makes the broker answer requests for topics with an error each, in the order of codes, and the rest itself.
func refuse(t *testing.T, b *brokertest.Broker, codes ...int16) (asked *int) {
	t.Helper()
	asked = new(int)
	answer := func() (code int16, end bool) {
		b.Cluster(t).KeepControl()
		if *asked++; *asked > len(codes) {
			return 0, true
		}
		return codes[*asked-1], false
	}
	b.Cluster(t).ControlKey(int16(kmsg.CreateTopics), func(r kmsg.Request) (kmsg.Response, error, bool) {
		code, end := answer()
		if end {
			return nil, nil, false
		}
		req := r.(*kmsg.CreateTopicsRequest)
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		for _, topic := range req.Topics {
			resp.Topics = append(resp.Topics, kmsg.CreateTopicsResponseTopic{Topic: topic.Topic, ErrorCode: code})
		}
		return resp, nil, true
	})
	b.Cluster(t).ControlKey(int16(kmsg.CreatePartitions), func(r kmsg.Request) (kmsg.Response, error, bool) {
		code, end := answer()
		if end {
			return nil, nil, false
		}
		req := r.(*kmsg.CreatePartitionsRequest)
		resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
		for _, topic := range req.Topics {
			resp.Topics = append(resp.Topics, kmsg.CreatePartitionsResponseTopic{Topic: topic.Topic, ErrorCode: code})
		}
		return resp, nil, true
	})
	return asked
}

// A busy cluster does not create topics in time, and one that elects its controller does not create them at all.
func TestEnsureTopics_RepeatsWhatTheClusterCannotDoNow(t *testing.T) {
	t.Parallel()
	timedOut, notController, invalid := kerr.RequestTimedOut.Code, kerr.NotController.Code,
		kerr.InvalidReplicationFactor.Code
	for name, topic := range map[string]string{"new": "new", "more partitions": "jobs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, c, _ := deployed(t)
				topics := []broker.Topic{{Name: topic, Partitions: brokertest.Partitions + 1}}
				asked := refuse(t, b, timedOut, notController)
				require.NoError(t, c.EnsureTopics(t.Context(), topics))
				require.Equal(t, 3, *asked)
				require.Equal(t, brokertest.Partitions+1, partitionsOf(t, c, topic))
			})
		})
	}
	t.Run("what it refuses for good is an error at once", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, c, _ := deployed(t)
			asked := refuse(t, b, timedOut, invalid)
			require.ErrorContains(t, c.EnsureTopics(t.Context(), []broker.Topic{{Name: "new"}}), "too few brokers")
			require.Equal(t, 2, *asked)
		})
	})
	t.Run("half a minute at most", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			b, c, _ := deployed(t)
			refuse(t, b, slices.Repeat([]int16{timedOut}, 1000)...)
			began := time.Now()
			err := c.EnsureTopics(t.Context(), []broker.Topic{{Name: "new"}})
			require.ErrorContains(t, err, "create topic new: ")
			require.InDelta(t, 30, time.Since(began).Seconds(), 1)
		})
	})
}

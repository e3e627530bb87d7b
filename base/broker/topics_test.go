package broker_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

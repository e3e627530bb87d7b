package broker_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
)

// floors are the lowest versions of requests that Kafka 4.0.0 accepts, if they are above 0. Later releases have
// raised none of them.
var floors = map[kmsg.Key]int16{
	kmsg.Produce: 3, kmsg.Fetch: 4, kmsg.ListOffsets: 1, kmsg.OffsetCommit: 2, kmsg.OffsetFetch: 1,
	kmsg.JoinGroup: 2, kmsg.CreateTopics: 2, kmsg.DeleteTopics: 1, kmsg.DescribeConfigs: 1,
}

// The library has fixed the versions of many requests, some of them right at the floor. A release of Kafka that
// raises one would stop all consumers.
func TestFloorsOfKafka4(t *testing.T) {
	t.Parallel()
	b := brokertest.NewFake(t, nil)
	cluster := b.Cluster(t)
	admin, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	require.NoError(t, err)
	defer admin.Close()
	offered, err := kmsg.NewPtrApiVersionsRequest().RequestWith(testContext(t), admin)
	require.NoError(t, err)

	var mu sync.Mutex
	used := make(map[kmsg.Key]int16)
	var refused []string
	cluster.Control(func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		key := kmsg.Key(req.Key())
		used[key] = req.GetVersion()
		if floor := floors[key]; req.GetVersion() < floor {
			refused = append(refused, fmt.Sprintf("%s version %d, floor %d", key.Name(), req.GetVersion(), floor))
			return nil, errors.New("below the floor"), true
		}
		if key != kmsg.ApiVersions {
			return nil, nil, false
		}
		res := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		for _, k := range offered.ApiKeys {
			k.MinVersion = max(k.MinVersion, floors[kmsg.Key(k.ApiKey)])
			res.ApiKeys = append(res.ApiKeys, k)
		}
		return res, nil, true
	})

	c := b.Client(t, nil)
	require.NoError(t, c.Ping(testContext(t)))
	require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: "jobs", Partitions: 3}}))
	require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: "jobs", Partitions: 6}}))
	in := newInbox()
	g := join(t, c, "g", "jobs", in.finish)
	write(t, c, numbered("jobs", 0, 100, 50))
	in.wait(t, 100)
	waitCommitted(t, c, "g", "jobs", 100)
	heartbeats := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Observe: true, Count: -1})
	require.NoError(t, heartbeats.Wait(testContext(t), 1))
	g.Stop()

	mu.Lock()
	defer mu.Unlock()
	require.Empty(t, refused)
	for _, key := range []kmsg.Key{
		kmsg.Produce, kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.FindCoordinator,
		kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup, kmsg.CreateTopics, kmsg.CreatePartitions,
	} {
		require.Contains(t, used, key, key.Name())
	}
}

package broker_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
)

func TestOffsets(t *testing.T) {
	t.Parallel()
	b := brokertest.New(t, "jobs", "other")
	c := b.Client(t, nil)
	jobs, other, group := b.Topic("jobs"), b.Topic("other"), b.Topic("g")
	ends := make([]int64, brokertest.Partitions)
	for _, p := range write(t, c, numbered(jobs, 0, 60, 30)) {
		ends[p.Partition] = max(ends[p.Partition], p.Offset+1)
	}
	offsets, err := c.Offsets(testContext(t), group, other, jobs)
	require.NoError(t, err)
	require.Len(t, offsets, 2*brokertest.Partitions)
	for i, o := range offsets {
		want := broker.PartitionOffsets{Topic: other, Partition: i, Committed: -1}
		if i >= brokertest.Partitions {
			want.Topic, want.Partition = jobs, i-brokertest.Partitions
			want.End = ends[want.Partition]
		}
		require.Equal(t, want, o)
		require.Equal(t, want.End, o.Lag())
	}

	in := newInbox()
	g := join(t, c, group, jobs, in.finish)
	in.wait(t, 60)
	g.Stop()
	offsets, err = c.Offsets(testContext(t), group, jobs)
	require.NoError(t, err)
	for i, o := range offsets {
		require.Equal(t, ends[i], o.Committed)
		require.Zero(t, o.Lag())
	}
	require.Equal(t, int64(7), broker.PartitionOffsets{Start: 3, End: 10, Committed: 1}.Lag(),
		"deleted messages cannot be read any longer")
}

func TestOffsets_StartMovesWithRetention(t *testing.T) {
	t.Parallel()
	b := brokertest.NewFake(t, []string{"jobs"})
	c := b.Client(t, nil)
	p := write(t, c, numbered("jobs", 0, 10, 1))[0]
	require.NoError(t, b.Cluster(t).DeleteRecords("jobs", int32(p.Partition), 4))
	offsets, err := c.Offsets(testContext(t), "", "jobs")
	require.NoError(t, err)
	require.Equal(t, broker.PartitionOffsets{Topic: "jobs", Partition: p.Partition, Start: 4, End: 10, Committed: -1},
		offsets[p.Partition])
}

func TestOffsets_UnknownTopic(t *testing.T) {
	t.Parallel()
	_, err := brokertest.New(t).Client(t, nil).Offsets(testContext(t), "g", "nowhere")
	require.ErrorIs(t, err, broker.ErrUnknownTopic)
}

func TestOffsets_ErrorsAreRetriedAndNeverBecomeNumbers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault kfake.Fault
	}{
		{"no leader while listing", kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "jobs",
			Err: kerr.NotLeaderForPartition}},
		{"end not known yet", kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: "jobs", Err: kerr.OffsetNotAvailable}},
		{"coordinator moving", kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.NotCoordinator}},
		{"coordinator loading", kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Err: kerr.CoordinatorLoadInProgress}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := brokertest.NewVirtual(t, "jobs")
				c := b.Client(t, nil)
				write(t, c, numbered("jobs", 0, 10, 1))
				test.fault.Count = 2
				once := b.Cluster(t).Fault(test.fault)
				offsets, err := c.Offsets(testContext(t), "g", "jobs")
				require.NoError(t, err)
				require.Positive(t, once.Hits(), "the fault occurred")
				var end int64
				for _, o := range offsets {
					require.EqualValues(t, -1, o.Committed)
					end += o.End
				}
				require.EqualValues(t, 10, end)

				test.fault.Count = -1
				b.Cluster(t).Fault(test.fault)
				_, err = c.Offsets(testContext(t), "g", "jobs")
				require.Error(t, err, "a lasting fault is an error")
			})
		})
	}
}

// After a restart of the broker the pooled connections are dead, and the library reports a partition whose request
// used one of them as -1 without an error.
func TestOffsets_SurviveABrokersRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := brokertest.NewFake(t, []string{"jobs"}, kfake.DataDir(dir))
	c := first.Client(t, nil)
	write(t, c, numbered("jobs", 0, 30, 30))
	_, err := c.Offsets(testContext(t), "g", "jobs")
	require.NoError(t, err)
	first.Close()
	brokertest.NewFake(t, nil, kfake.DataDir(dir), kfake.Ports(portOf(t, first.Addr())))

	require.NoError(t, c.Ping(testContext(t)))
	offsets, err := c.Offsets(testContext(t), "g", "jobs")
	require.NoError(t, err)
	var end int64
	for _, o := range offsets {
		end += o.End
	}
	require.EqualValues(t, 30, end)
	write(t, c, numbered("jobs", 30, 30, 30))
}

package broker_test

import (
	"context"
	"sync"
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

func TestReady_ReportsTheErrorsOfTheLastWrites(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   *kerr.Error
		after time.Duration // when it is reported at the latest
		not   time.Duration // until when it is not
		want  string
	}{
		{"too few copies in sync, at once", kerr.NotEnoughReplicas, 100 * time.Millisecond, 0,
			"writes to topic jobs fail for 0s: fewer copies are in sync than the topic's min.insync.replicas requires: start " +
				"the brokers that are away, or lower it: [19]"},
		{"too few copies after the write, at once", kerr.NotEnoughReplicasAfterAppend, 100 * time.Millisecond, 0,
			"writes to topic jobs fail for 0s: fewer copies"},
		{"a right that is missing, at once", kerr.TopicAuthorizationFailed, 100 * time.Millisecond, 0,
			"writes to topic jobs fail for 0s: the user lacks the right Write on the topic jobs (kafka-acls.sh " +
				"--bootstrap-server"},
		{"a leader that moves, when it lasts", kerr.NotLeaderForPartition, 7 * time.Second, 4 * time.Second,
			"writes to topic jobs fail for 7s: [6]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := brokertest.NewVirtual(t, "jobs")
				c := b.Client(t, nil)
				require.NoError(t, c.Ready(t.Context()))
				fault := b.Cluster(t).Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: tt.err, Count: -1})
				ctx, cancel := context.WithCancel(t.Context())
				var writes sync.WaitGroup
				writes.Go(func() { _, _ = c.Write(ctx, numbered("jobs", 0, 1, 1)) })
				time.Sleep(tt.not)
				if tt.not > 0 {
					require.NoError(t, c.Ready(t.Context()), "it may pass")
				}
				time.Sleep(tt.after - tt.not)
				require.ErrorContains(t, c.Ready(t.Context()), tt.want)
				cancel()
				writes.Wait()

				fault.Remove()
				write(t, c, numbered("jobs", 0, 1, 1))
				require.NoError(t, c.Ready(t.Context()), "the next write passed")
			})
		})
	}
}

func TestReady_ForgetsWhatIsNotRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t, "jobs")
		c := b.Client(t, func(cfg *broker.Config) { cfg.WriteTimeout = time.Second })
		b.Cluster(t).Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.NotEnoughReplicas, Count: -1})
		_, err := c.Write(t.Context(), numbered("jobs", 0, 1, 1))
		require.ErrorContains(t, err, "start the brokers that are away")
		time.Sleep(15 * time.Second)
		require.Error(t, c.Ready(t.Context()))
		time.Sleep(10 * time.Second)
		require.NoError(t, c.Ready(t.Context()), "a producer that no longer leads no longer writes")
	})
}

func TestReady_ARefusedMessageIsNoTroubleOfTheCluster(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t, "jobs")
		c := b.Client(t, nil)
		b.Cluster(t).Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidRecord, Count: 1})
		_, err := c.Write(t.Context(), numbered("jobs", 0, 1, 1))
		require.Error(t, err)
		require.NoError(t, c.Ready(t.Context()))
	})
}

func TestReady_ReportsAGroupThatMayNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := brokertest.NewVirtual(t, "jobs")
		c := b.Client(t, nil)
		fault := b.Cluster(t).Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Err: kerr.GroupAuthorizationFailed,
			Count: -1})
		in := newInbox()
		g := c.NewGroup(broker.GroupConfig{Group: "g", Topics: []string{"jobs"}}, in.finish)
		require.NoError(t, g.Start(testContext(t)))
		defer g.Stop()
		time.Sleep(3 * time.Second)
		require.ErrorContains(t, c.Ready(t.Context()), "reads of group g fail for ")
		require.ErrorContains(t, c.Ready(t.Context()), "the user lacks the right Read on the group g (kafka-acls.sh")
		fault.Remove()
		time.Sleep(10 * time.Second)
		require.NoError(t, c.Ready(t.Context()))
	})
}

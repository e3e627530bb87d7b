package local

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/stretchr/testify/require"
)

// rigEnv is set by make test-rig. The tests that lose servers one after the other take two minutes.
const rigEnv = "ADSYNC_TEST_RIG"

// deployment is a set of servers that work together.
type deployment interface {
	Launch(ctx context.Context, dir string, ports *Ports, stderr io.Writer) error
	Await(ctx context.Context) error
	Servers() []*Server
	Stop() error
}

// launch starts a deployment for the time of a test.
func launch(t *testing.T, d deployment) {
	t.Helper()
	if os.Getenv(rigEnv) == "" {
		t.Skip("not set: make test-rig sets " + rigEnv)
	}
	ports := NewPorts()
	t.Cleanup(ports.Release)
	var printed bytes.Buffer
	begin := time.Now()
	err := d.Launch(t.Context(), t.TempDir(), ports, &printed)
	t.Cleanup(func() {
		require.NoError(t, d.Stop())
		for _, s := range d.Servers() {
			if t.Failed() {
				t.Logf("the log of %s:\n%s", s.Name(), logTail(s.log))
			}
		}
	})
	require.NoError(t, err, printed.String())
	t.Logf("ready after %s", time.Since(begin).Round(time.Millisecond))
}

// restart starts a lost server again, and waits until the deployment is complete.
func restart(t *testing.T, d deployment, s *Server) {
	t.Helper()
	require.NoError(t, s.Start())
	require.NoError(t, d.Await(t.Context()))
}

func TestRedisSentinel_PromotesAReplica(t *testing.T) {
	t.Parallel()
	d := &RedisSentinel{}
	launch(t, d)
	ctx := t.Context()

	first, err := d.Master(ctx)
	require.NoError(t, err)
	replicas, err := d.Replicas(ctx)
	require.NoError(t, err)
	require.Len(t, replicas, 2)
	require.NotContains(t, replicas, first)
	require.Len(t, d.Addrs(), 3)

	require.NoError(t, first.Kill())
	second, err := d.AwaitMaster(ctx, first)
	require.NoError(t, err)
	require.Contains(t, replicas, second)
	restart(t, d, first)

	require.NoError(t, second.Pause())
	third, err := d.AwaitMaster(ctx, second)
	require.NoError(t, err)
	require.NoError(t, second.Continue())
	require.NoError(t, d.Await(ctx))

	require.NoError(t, d.Failover(ctx))
	fourth, err := d.AwaitMaster(ctx, third)
	require.NoError(t, err)
	require.NotEqual(t, third, fourth)
	require.NoError(t, d.Await(ctx))

	// Two sentinels are enough.
	require.NoError(t, d.Sentinels()[0].Kill())
	require.NoError(t, fourth.Kill())
	_, err = d.AwaitMaster(ctx, fourth)
	require.NoError(t, err)
}

func TestRedisCluster_PromotesAReplica(t *testing.T) {
	t.Parallel()
	d := &RedisCluster{Settings: []string{"cluster-require-full-coverage no"}}
	launch(t, d)
	ctx := t.Context()

	masters, err := d.Masters(ctx)
	require.NoError(t, err)
	require.Len(t, masters, 3)
	const key = "{foo}"
	first, err := d.Owner(ctx, key)
	require.NoError(t, err)
	require.Contains(t, masters, first)
	replica, err := d.Replica(ctx, first)
	require.NoError(t, err)

	require.NoError(t, first.Kill())
	second, err := d.AwaitOwner(ctx, key, first)
	require.NoError(t, err)
	require.Equal(t, replica, second)
	restart(t, d, first)

	require.NoError(t, d.Failover(ctx, second))
	third, err := d.AwaitOwner(ctx, key, second)
	require.NoError(t, err)
	require.Equal(t, first, third, "the lost server follows, and is the master again")
	require.NoError(t, d.Await(ctx))

	const other = "{bar}"
	first, err = d.Owner(ctx, other)
	require.NoError(t, err)
	require.NotEqual(t, third, first, "the keys are on one node")
	replica, err = d.Replica(ctx, first)
	require.NoError(t, err)
	require.NoError(t, first.Pause())
	second, err = d.AwaitOwner(ctx, other, first)
	require.NoError(t, err)
	require.Equal(t, replica, second)
	require.NoError(t, first.Continue())
	require.NoError(t, d.Await(ctx))
}

func TestKafkaCluster_ElectsAnotherLeader(t *testing.T) {
	t.Parallel()
	d := &KafkaCluster{Version: KafkaNewest}
	launch(t, d)
	ctx := t.Context()
	require.Len(t, d.Addrs(), 3)

	// The brokers made it at the first check whether they are ready.
	const topic = "__consumer_offsets"
	partitions, err := d.Partitions(ctx, topic)
	require.NoError(t, err)
	require.Equal(t, map[string]int{topic: 5}, partitions)

	first, err := d.Leader(ctx, topic, 0)
	require.NoError(t, err)
	require.NoError(t, first.Kill())
	_, err = d.AwaitLeader(ctx, topic, 0, first)
	require.NoError(t, err)
	restart(t, d, first)

	controller, err := d.Controller(ctx)
	require.NoError(t, err)
	require.NoError(t, controller.Pause())
	var next *Server
	require.NoError(t, AwaitReady(ctx, "another controller", func(ctx context.Context) (err error) {
		if next, err = d.Controller(ctx); err == nil && next == controller {
			err = errors.New("the same")
		}
		return err
	}, nil))
	require.NotEqual(t, controller, next)
	require.NoError(t, controller.Continue())
	require.NoError(t, d.Await(ctx))

	leader, err := d.Leader(ctx, topic, 0)
	require.NoError(t, err)
	require.NoError(t, leader.Stop(), "it passes its partitions on before it ends")
	_, err = d.AwaitLeader(ctx, topic, 0, leader)
	require.NoError(t, err)
	restart(t, d, leader)
}

func TestOldestKafka_IsThatRelease(t *testing.T) {
	t.Parallel()
	d := &OldestKafka{}
	launch(t, d)
	client, done := KafkaAt(d.Addrs()[0]).client()
	defer done()
	answer, err := client.ApiVersions(t.Context(), &kafka.ApiVersionsRequest{})
	require.NoError(t, err)
	keys := map[int]bool{}
	for _, k := range answer.ApiKeys {
		keys[k.ApiKey] = true
	}
	require.True(t, keys[47], "since 2.4 brokers delete the offsets of groups")
	require.False(t, keys[48], "since 2.6 they describe the quotas of clients")
}

func TestMariaDBPair_PromotesTheReplica(t *testing.T) {
	t.Parallel()
	d := &MariaDBPair{}
	launch(t, d)
	ctx := t.Context()
	first, second := d.Writer(), d.Replica()
	require.NoError(t, mariadbOf(first).CreateDatabases(ctx, "adsync"))
	require.NoError(t, mariadbOf(first).exec(ctx, "CREATE TABLE adsync.note (id INT PRIMARY KEY)", "CREATE USER tester",
		"GRANT SELECT, INSERT ON adsync.* TO tester", "INSERT INTO adsync.note VALUES (1)"))
	// An account like adsync's, because root may always write.
	write := func(s *Server, id int) error {
		db, err := sql.Open("mysql", "tester@tcp("+mariadbOf(s).Addr()+")/adsync")
		require.NoError(t, err)
		defer db.Close()
		_, err = db.ExecContext(ctx, "INSERT INTO note VALUES (?)", id)
		return err
	}
	requireNotes := func(s *Server, want int) {
		t.Helper()
		var notes int
		require.NoError(t, mariadbOf(s).query(ctx, "SELECT COUNT(*) FROM adsync.note", &notes))
		require.Equal(t, want, notes, s.Name())
	}
	require.NoError(t, d.Await(ctx))
	requireNotes(second, 1)
	require.ErrorContains(t, write(second, 2), "read-only")

	require.NoError(t, d.Promote(ctx))
	require.Equal(t, second, d.Writer())
	require.NoError(t, write(second, 2))
	require.ErrorContains(t, write(first, 3), "read-only")
	require.NoError(t, d.Await(ctx))
	requireNotes(first, 2)

	require.NoError(t, second.Kill())
	require.NoError(t, d.Promote(ctx))
	require.Equal(t, first, d.Writer())
	require.NoError(t, write(first, 3))
	require.NoError(t, second.Start())
	require.NoError(t, d.Follow(ctx))
	requireNotes(second, 3)
	require.ErrorContains(t, write(second, 4), "read-only")

	require.NoError(t, first.Pause())
	require.NoError(t, d.Promote(ctx))
	require.NoError(t, write(second, 4))
	require.NoError(t, first.Continue())
	require.NoError(t, d.Follow(ctx))
	requireNotes(first, 4)
}

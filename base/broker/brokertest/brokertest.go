// Package brokertest gives tests a Kafka broker.
//
// By default the broker runs inside the process. If the environment variable ADSYNC_TEST_KAFKA holds the address of a
// real broker, New uses that, so that the same tests show whether Kafka itself behaves alike. Tests that order faults
// are skipped then.
package brokertest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"adsync/base/broker"
)

// Partitions is how many partitions the topics of tests have.
const Partitions = 6

// Broker is a broker for one test. It ends with the test.
type Broker struct {
	cluster *kfake.Cluster
	network *kfake.VirtualNetwork
	addr    string
	suffix  string
}

// New returns a broker that has the topics, reachable over the loopback interface (or the one of ADSYNC_TEST_KAFKA).
func New(t testing.TB, topics ...string) *Broker {
	t.Helper()
	if addr := os.Getenv("ADSYNC_TEST_KAFKA"); addr != "" {
		b := &Broker{addr: addr, suffix: "-" + strings.ToLower(rand.Text()[:10])}
		b.createTopics(t, topics)
		return b
	}
	return NewFake(t, topics)
}

// NewFake returns a broker inside the process, also where New would use a real one.
func NewFake(t testing.TB, topics []string, opts ...kfake.Opt) *Broker {
	t.Helper()
	return start(t, &Broker{}, topics, opts...)
}

// NewVirtual returns a cluster of three brokers inside the process that is reached over memory alone, so that it can
// run in a bubble of testing/synctest. Call it inside the bubble, with the bubble's t: the bubble can end only when
// all clients are stopped and closed.
func NewVirtual(t testing.TB, topics ...string) *Broker {
	t.Helper()
	network := &kfake.VirtualNetwork{}
	// In order, answers that are held back directly after each other are a data race of the fake.
	return start(t, &Broker{network: network}, topics, kfake.ListenFn(network.Listen), kfake.Ports(9092, 9093, 9094),
		kfake.SleepOutOfOrder())
}

func start(t testing.TB, b *Broker, topics []string, opts ...kfake.Opt) *Broker {
	t.Helper()
	opts = append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(Partitions, topics...)}, opts...)
	cluster, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	b.cluster = cluster
	b.addr = cluster.ListenAddrs()[0]
	t.Cleanup(b.Close)
	return b
}

// Close stops a broker inside the process before the end of the test; it may be called twice.
func (b *Broker) Close() {
	if b.cluster != nil {
		b.cluster.Close()
	}
}

// Addr is the broker's address, host:port.
func (b *Broker) Addr() string { return b.addr }

// Real reports whether the broker is a real Kafka.
func (b *Broker) Real() bool { return b.cluster == nil }

// Cluster returns the broker inside the process, for ordering faults. It skips the test on a real one.
func (b *Broker) Cluster(t testing.TB) *kfake.Cluster {
	t.Helper()
	if b.cluster == nil {
		t.Skip("needs a broker inside the process")
	}
	return b.cluster
}

// Topic returns the name of a topic or a group on this broker. On a real one, which outlives the test, the name has a
// unique suffix.
func (b *Broker) Topic(name string) string { return name + b.suffix }

// Config returns the settings of a client of this broker, with short times.
func (b *Broker) Config() broker.Config {
	cfg := broker.DefaultConfig()
	cfg.Brokers = []string{b.addr}
	cfg.Partitions, cfg.Replication, cfg.MinInsync = Partitions, 1, 1
	cfg.SessionTimeout = 6 * time.Second
	cfg.RebalanceTimeout = 10 * time.Second
	cfg.DrainTimeout = 2500 * time.Millisecond
	cfg.CommitInterval = 50 * time.Millisecond
	if b.network != nil {
		cfg.Dial = b.network.DialContext
	}
	return cfg
}

// Client returns a client of this broker that logs to the test. Change, which may be nil, alters its settings. The
// client is closed with the test.
func (b *Broker) Client(t testing.TB, change func(*broker.Config)) *broker.Client {
	t.Helper()
	cfg := b.Config()
	if change != nil {
		change(&cfg)
	}
	client, err := broker.New(cfg, Logger(t), prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func (b *Broker) createTopics(t testing.TB, names []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	topics := make([]broker.Topic, len(names))
	for i, name := range names {
		topics[i] = broker.Topic{Name: b.Topic(name)}
	}
	require.NoError(t, b.Client(t, nil).EnsureTopics(ctx, topics))
}

// Logger logs to the test.
func Logger(t testing.TB) *slog.Logger {
	t.Helper()
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

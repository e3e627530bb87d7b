package embedded_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/base/broker"
	"adsync/base/broker/brokertest"
	"adsync/base/broker/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, dir string) *embedded.Broker {
	t.Helper()
	b, err := embedded.Start(dir)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

func connect(t *testing.T, b *embedded.Broker) *broker.Client {
	t.Helper()
	cfg := broker.DefaultConfig()
	cfg.Brokers, cfg.Partitions, cfg.Replication, cfg.MinInsync = []string{b.Addr()}, 6, 1, 1
	c, err := broker.New(cfg, brokertest.Logger(t), prometheus.NewRegistry())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func write(t *testing.T, c *broker.Client, from, n int) {
	t.Helper()
	msgs := make([]broker.Message, n)
	for i := range msgs {
		msgs[i] = broker.Message{Topic: "jobs", Key: fmt.Append(nil, i), Value: fmt.Append(nil, from+i)}
	}
	_, err := c.Write(testContext(t), msgs)
	require.NoError(t, err)
}

// read finishes messages until n values have come and returns how often each came.
func read(t *testing.T, c *broker.Client, n int) map[string]int {
	t.Helper()
	var mu sync.Mutex
	values := make(map[string]int)
	enough := make(chan struct{})
	g := c.NewGroup(broker.GroupConfig{Group: "g", Topics: []string{"jobs"}}, func(_ context.Context, d *broker.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		values[string(d.Value)]++
		if len(values) == n {
			close(enough)
		}
		d.Done()
	})
	require.NoError(t, g.Start(testContext(t)))
	select {
	case <-enough:
	case <-testContext(t).Done():
	}
	g.Stop()
	require.Len(t, values, n)
	return values
}

func TestStart_ContinuesWhereItStopped(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by", "start")
	first := start(t, dir)
	c := connect(t, first)
	require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: "jobs"}}))
	write(t, c, 0, 100)
	read(t, c, 100)
	write(t, c, 100, 50)
	require.NoError(t, c.Close())
	first.Close()
	first.Close()

	c = connect(t, start(t, dir))
	values := read(t, c, 50)
	require.Contains(t, values, "149", "a written and unread message is available")
	require.NotContains(t, values, "99", "committed messages are not read again")
}

// The files are copied while the broker works, which is what a killed process leaves behind.
func TestStart_AfterAKill(t *testing.T) {
	t.Parallel()
	dir, left := t.TempDir(), t.TempDir()
	c := connect(t, start(t, dir))
	require.NoError(t, c.EnsureTopics(testContext(t), []broker.Topic{{Name: "jobs"}}))
	write(t, c, 0, 100)
	read(t, c, 100)
	write(t, c, 100, 50)
	require.NoError(t, os.CopyFS(left, os.DirFS(dir)))

	c = connect(t, start(t, left))
	values := read(t, c, 50)
	require.Contains(t, values, "149")
	require.NotContains(t, values, "99")
}

func TestStart_TwoSideBySide(t *testing.T) {
	t.Parallel()
	a, b := start(t, t.TempDir()), start(t, t.TempDir())
	require.NotEqual(t, a.Addr(), b.Addr())
}

func TestStart_Refuses(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := embedded.Start(file)
	require.ErrorContains(t, err, file)
}

func BenchmarkWrite(b *testing.B) {
	br, err := embedded.Start(b.TempDir())
	require.NoError(b, err)
	defer br.Close()
	cfg := broker.DefaultConfig()
	cfg.Brokers, cfg.Partitions, cfg.Replication, cfg.MinInsync = []string{br.Addr()}, 6, 1, 1
	c, err := broker.New(cfg, brokertest.Logger(b), prometheus.NewRegistry())
	require.NoError(b, err)
	defer c.Close()
	require.NoError(b, c.EnsureTopics(b.Context(), []broker.Topic{{Name: "jobs"}}))
	msgs := make([]broker.Message, 100)
	for i := range msgs {
		msgs[i] = broker.Message{Topic: "jobs", Key: fmt.Append(nil, i), Value: make([]byte, 300)}
	}
	for b.Loop() {
		_, err := c.Write(b.Context(), msgs)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(len(msgs)*b.N)/b.Elapsed().Seconds(), "msg/s")
}

package broker_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"adsync/base/broker"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("adsync/test/services/local.runStarts"))
}

// patience bounds what a test waits for. A passing test does not depend on its value.
const patience = 30 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// numbered returns n messages with the values from, from+1 …. Those of one account share a key.
func numbered(topic string, from, n, accounts int) []broker.Message {
	msgs := make([]broker.Message, n)
	for i := range msgs {
		msgs[i] = broker.Message{Topic: topic, Key: account((from + i) % accounts), Value: fmt.Appendf(nil, "%d", from+i)}
	}
	return msgs
}

func account(n int) []byte { return fmt.Appendf(nil, "account-%d", n) }

// inbox collects what a handler receives.
type inbox struct {
	mu      sync.Mutex
	got     []*broker.Delivery
	changed chan struct{}
}

func newInbox() *inbox { return &inbox{changed: make(chan struct{}, 1)} }

func (b *inbox) put(d *broker.Delivery) {
	b.mu.Lock()
	b.got = append(b.got, d)
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// keep is a handler that leaves every message unfinished.
func (b *inbox) keep(_ context.Context, d *broker.Delivery) { b.put(d) }

// finish is a handler that finishes every message.
func (b *inbox) finish(_ context.Context, d *broker.Delivery) {
	b.put(d)
	d.Done()
}

func (b *inbox) all() []*broker.Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got)
}

// values returns the distinct received values, sorted.
func (b *inbox) values() []string {
	var out []string
	for _, d := range b.all() {
		out = append(out, string(d.Value))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// wait returns after n deliveries.
func (b *inbox) wait(t testing.TB, n int) []*broker.Delivery {
	t.Helper()
	return b.waitFor(t, fmt.Sprintf("%d deliveries", n), func(got []*broker.Delivery) bool { return len(got) >= n })
}

// waitValues returns after n distinct values.
func (b *inbox) waitValues(t testing.TB, n int) {
	t.Helper()
	b.waitFor(t, fmt.Sprintf("%d values", n), func([]*broker.Delivery) bool { return len(b.values()) >= n })
}

func (b *inbox) waitFor(t testing.TB, what string, enough func([]*broker.Delivery) bool) []*broker.Delivery {
	t.Helper()
	timeout := time.After(patience)
	for {
		if got := b.all(); enough(got) {
			return got
		}
		select {
		case <-b.changed:
		case <-timeout:
			require.Failf(t, "waited in vain", "for %s; got %d deliveries", what, len(b.all()))
		}
	}
}

// join starts a member and stops it with the test.
func join(t testing.TB, c *broker.Client, group string, topic string, h broker.Handler) *broker.Group {
	t.Helper()
	g := c.NewGroup(broker.GroupConfig{Group: group, Topics: []string{topic}}, h)
	require.NoError(t, g.Start(testContext(t)))
	t.Cleanup(g.Stop)
	return g
}

func write(t testing.TB, c *broker.Client, msgs []broker.Message) []broker.Position {
	t.Helper()
	positions, err := c.Write(testContext(t), msgs)
	require.NoError(t, err)
	require.Len(t, positions, len(msgs))
	return positions
}

// committed returns the sum of a group's committed offsets; partitions without one count as 0.
func committed(t testing.TB, c *broker.Client, group, topic string) int64 {
	t.Helper()
	offsets, err := c.Offsets(testContext(t), group, topic)
	require.NoError(t, err)
	var sum int64
	for _, o := range offsets {
		sum += max(o.Committed, 0)
	}
	return sum
}

func waitCommitted(t testing.TB, c *broker.Client, group, topic string, want int64) {
	t.Helper()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		offsets, err := c.Offsets(context.Background(), group, topic)
		require.NoError(t, err)
		var sum int64
		for _, o := range offsets {
			sum += max(o.Committed, 0)
		}
		require.Equal(t, want, sum)
	}, patience, 20*time.Millisecond)
}

func portOf(t testing.TB, addr string) int {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	n, err := strconv.Atoi(port)
	require.NoError(t, err)
	return n
}

// deadNetwork is the network of a process that can be killed: its connections close and no new ones open.
type deadNetwork struct {
	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func (n *deadNetwork) dialer(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.dead {
			return nil, &net.OpError{Op: "dial", Err: net.ErrClosed}
		}
		conn, err := dial(ctx, network, address)
		if err == nil {
			n.conns = append(n.conns, conn)
		}
		return conn, err
	}
}

func (n *deadNetwork) die() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
	for _, conn := range n.conns {
		_ = conn.Close()
	}
}

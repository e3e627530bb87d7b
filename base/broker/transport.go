package broker

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"adsync/base/clock"
)

// transport is a kafka.RoundTripper over pooled connections that keeps the layout of a growing list of topics.
//
// The library's own transport keeps the layout either of a fixed list of topics or of all topics. On a shared cluster
// the latter can be megabytes every few seconds. So a new topic needs a new library transport, and the old one closes
// when its last request has ended. If it closed earlier, a late request would silently open it again, and nothing
// would close it.
type transport struct {
	make func(topics []string) *kafka.Transport

	mu     sync.Mutex
	topics []string // sorted
	pool   *pool
	closed bool
}

// poolAgeMin is how long a pool is kept at least, so that many callers that fail at the same moment replace it once.
const poolAgeMin = 200 * time.Millisecond

type pool struct {
	kafka   *kafka.Transport
	born    time.Time
	users   int
	retired bool
}

var errClosed = errors.New("broker client is closed")

func newTransport(newPool func(topics []string) *kafka.Transport) *transport {
	// An empty list requests no topic; nil would request all.
	topics := []string{}
	return &transport{make: newPool, topics: topics, pool: &pool{kafka: newPool(topics), born: clock.Mark()}}
}

// RoundTrip implements kafka.RoundTripper.
func (t *transport) RoundTrip(ctx context.Context, addr net.Addr, req kafka.Request) (kafka.Response, error) {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, errClosed
	}
	p := t.pool
	p.users++
	t.mu.Unlock()

	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		p.users--
		p.closeIfUnused()
	}()
	return p.kafka.RoundTrip(ctx, addr, req)
}

// watch adds topics to those whose layout is kept.
func (t *transport) watch(topics []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := len(t.topics)
	for _, topic := range topics {
		if i, ok := slices.BinarySearch(t.topics, topic); !ok {
			t.topics = slices.Insert(slices.Clone(t.topics), i, topic)
		}
	}
	if len(t.topics) != known {
		t.renewLocked()
	}
}

// refresh drops the connections and the layout after a failure, unless that was done a moment ago. All pooled
// connections to a broker die with its restart, and each would fail one more request. A leader that moved is found at
// once instead of when the layout has expired.
func (t *transport) refresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if clock.Since(t.pool.born) > poolAgeMin {
		t.renewLocked()
	}
}

// forget makes the next request read the layout again.
func (t *transport) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renewLocked()
}

func (t *transport) renewLocked() {
	if t.closed {
		return
	}
	old := t.pool
	t.pool = &pool{kafka: t.make(t.topics), born: clock.Mark()}
	old.retired = true
	old.closeIfUnused()
}

func (t *transport) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.pool.retired = true
	t.pool.closeIfUnused()
}

func (p *pool) closeIfUnused() {
	if p.retired && p.users == 0 {
		p.kafka.CloseIdleConnections()
	}
}

package consumer

import (
	"sync"

	"adsync/base/task"
)

// recentMax is how many deliveries are remembered: more than the unfinished span of all partitions that a
// consumer may hold, which is what can come again after a rebalance.
const recentMax = 1 << 16

type sent struct {
	task.Key
	delivery int
}

// recent remembers the deliveries that ask for no work any more, the latest ones only: their outcome is written, or
// their row has gone past them. It saves asking the row about a message that comes again; it never decides that one is
// wanted.
type recent struct {
	mu   sync.Mutex
	ring []sent
	next int
	set  map[sent]struct{}
}

func newRecent(size int) *recent {
	return &recent{ring: make([]sent, 0, size), set: make(map[sent]struct{})}
}

func (r *recent) add(s sent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.set[s]; known {
		return
	}
	r.set[s] = struct{}{}
	if len(r.ring) < cap(r.ring) {
		r.ring = append(r.ring, s)
		return
	}
	delete(r.set, r.ring[r.next])
	r.ring[r.next] = s
	r.next = (r.next + 1) % len(r.ring)
}

func (r *recent) has(s sent) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.set[s]
	return known
}

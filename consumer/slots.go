package consumer

import (
	"context"
	"sync"
)

// slots bounds how many subtasks run at a time. The bound can change while they run, and whoever waits for a slot
// gets it in the order of asking.
type slots struct {
	mu      sync.Mutex
	size    int
	used    int
	waiters []chan struct{} // closed when the slot is given
}

func newSlots(size int) *slots { return &slots{size: size} }

// acquire waits for a slot until ctx ends.
func (s *slots) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.used < s.size && len(s.waiters) == 0 {
		s.used++
		s.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	s.waiters = append(s.waiters, ready)
	s.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.waiters {
		if w == ready {
			s.waiters = append(s.waiters[:i], s.waiters[i+1:]...)
			return ctx.Err()
		}
	}
	// The slot was given in the same moment: it goes to the next.
	s.used--
	s.give()
	return ctx.Err()
}

// release gives a slot back.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.give()
}

// resize changes the bound. When it shrinks, work above it ends by itself and no new work begins until then.
func (s *slots) resize(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = size
	s.give()
}

// give hands free slots to those who wait. The caller holds mu.
func (s *slots) give() {
	for s.used < s.size && len(s.waiters) > 0 {
		s.used++
		close(s.waiters[0])
		s.waiters = s.waiters[1:]
	}
}

// state returns how many slots are in use and how many there are.
func (s *slots) state() (used, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.size
}

package consumer

import (
	"context"
	"sync"
)

// slots bounds how many subtasks of a lane run at a time. Callers wait with a context, in the order of acquire. The
// bound can change while subtasks run. While the slots are shut, nothing new begins. The size of the lane's worker pool
// follows: see capacity.
type slots struct {
	tune func(capacity int) // sets how many workers there may be; called under mu

	mu      sync.Mutex
	size    int
	used    int
	lent    int             // of used: slots that others may use, because their owners wait for a call limit
	hung    int             // of used: slots whose handlers ignore the end of their context
	seized  int             // of used: slots that were taken beyond the bound
	shut    int             // the number of close calls without an open call
	waiters []chan struct{} // each closed when its slot is granted
	idle    []chan struct{} // closed when only hung subtasks run
}

func newSlots(size int, tune func(capacity int)) *slots { return &slots{size: size, tune: tune} }

// capacity returns how many workers the subtasks need: one for each slot, and one for each subtask that has a worker
// while its slot is lent, hung or beyond the bound. The caller holds mu.
func (s *slots) capacity() int { return s.size + s.lent + s.hung + s.seized }

// changed sets the new capacity of the worker pool and then grants free slots to the waiters. The caller holds mu.
func (s *slots) changed() {
	s.tune(s.capacity())
	s.give()
}

// acquire waits for a slot until ctx ends.
func (s *slots) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.used-s.lent < s.size && s.shut == 0 && len(s.waiters) == 0 {
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
	// The slot was granted at the same moment: pass it to the next waiter.
	s.used--
	s.give()
	return ctx.Err()
}

// seize takes a slot beyond the bound. The caller has made sure that only hung subtasks run. The returned function
// releases the slot.
func (s *slots) seize() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used++
	s.seized++
	s.changed()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.used--
		s.seized--
		s.changed()
	}
}

// release returns a slot of acquire.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.give()
}

// lend lets others use a slot while its owner waits for a call limit. The owner's work still counts as running.
func (s *slots) lend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent++
	s.changed()
}

// takeBack ends a loan. The owner does not wait, because its grant expires soon. For a while more subtasks may run than
// there are slots.
func (s *slots) takeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent--
	s.changed()
}

// isShut reports whether nothing new may begin.
func (s *slots) isShut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut > 0
}

// resize changes the bound. Work above a smaller bound continues, and no new work begins until enough has ended.
func (s *slots) resize(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = size
	s.changed()
}

// hang adds n to the number of hung handlers; a negative n subtracts.
func (s *slots) hang(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung += n
	s.changed()
}

// close keeps new work from beginning until open was called as often as close.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut++
}

func (s *slots) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut--
	s.give()
}

// whenIdle returns a channel that is closed when only hung subtasks run.
func (s *slots) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := make(chan struct{})
	s.idle = append(s.idle, idle)
	s.give()
	return idle
}

// give grants free slots to the waiters. The caller holds mu.
func (s *slots) give() {
	for s.used-s.lent < s.size && s.shut == 0 && len(s.waiters) > 0 {
		s.used++
		close(s.waiters[0])
		s.waiters = s.waiters[1:]
	}
	if s.used == s.hung {
		for _, idle := range s.idle {
			close(idle)
		}
		s.idle = nil
	}
}

// busy reports whether a subtask runs that is not hung.
func (s *slots) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used != s.hung
}

// state returns how many slots are in use, lent ones included, and the bound.
func (s *slots) state() (used, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.size
}

// waiting returns how many slots are lent.
func (s *slots) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lent
}

package consumer

import (
	"context"
	"sync"
)

// slots bounds how many subtasks of a lane run at a time, and can be waited for with a context, in the order of asking.
// The bound can change while subtasks run. While the slots are shut nothing new begins. The lane's pool of workers
// follows them: see capacity.
type slots struct {
	tune func(capacity int) // sets how many workers there may be; called under mu

	mu      sync.Mutex
	size    int
	used    int
	lent    int             // of used: those that others may use, because their owners wait for a call limit
	hung    int             // of used: those whose handlers ignore the end of their context
	seized  int             // of used: those that were taken beyond the bound
	shut    int             // for how many reasons nothing new may begin
	waiters []chan struct{} // closed when the slot is given
	idle    []chan struct{} // closed when nothing runs but what hangs
}

func newSlots(size int, tune func(capacity int)) *slots { return &slots{size: size, tune: tune} }

// capacity returns how many workers the subtasks need: one for each slot, and one for each subtask that keeps a worker
// while its slot serves another, hangs, or is beyond the bound. The caller holds mu.
func (s *slots) capacity() int { return s.size + s.lent + s.hung + s.seized }

// changed gives free slots to those who wait, after the pool of workers has its new capacity. The caller holds mu.
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
	// The slot was given in the same moment: it goes to the next.
	s.used--
	s.give()
	return ctx.Err()
}

// seize takes a slot beyond the bound, for a caller who has made sure that nothing runs but what hangs. It returns what
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

// release returns a slot that acquire gave.
func (s *slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used--
	s.give()
}

// lend lets others use a slot while its owner waits for a call limit. The owner's work counts as running all the same.
func (s *slots) lend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent++
	s.changed()
}

// takeBack ends what lend began. A grant expires soon, so the owner does not wait: for a while more may run than
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

// resize changes the bound. When it shrinks, the work above it continues, and no new work begins until enough has
// ended.
func (s *slots) resize(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = size
	s.changed()
}

// hang notes that n more handlers hang in their slots.
func (s *slots) hang(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung += n
	s.changed()
}

// close keeps new work from beginning, until open was called as often.
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

// whenIdle returns a channel that is closed when nothing runs but what hangs.
func (s *slots) whenIdle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := make(chan struct{})
	s.idle = append(s.idle, idle)
	s.give()
	return idle
}

// give hands free slots to those who wait. The caller holds mu.
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

// busy reports whether anything runs but what hangs.
func (s *slots) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used != s.hung
}

// state returns how many slots are in use, those that are lent included, and how many there are.
func (s *slots) state() (used, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.size
}

// waiting returns how many of the slots in use are lent.
func (s *slots) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lent
}

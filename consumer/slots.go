package consumer

import (
	"context"
	"sync"
)

// slots bounds how many subtasks run at a time. The bound can change while they run, and whoever waits for a slot
// gets it in the order of asking. While the slots are shut nothing new begins.
type slots struct {
	mu      sync.Mutex
	size    int
	used    int
	lent    int             // of used: those that others may use, since who has them waits for a call limit
	hung    int             // of used: those whose handlers ignore that their time is over
	shut    int             // for how many reasons nothing new may begin
	waiters []chan struct{} // closed when the slot is given
	idle    []chan struct{} // closed when nothing runs but what hangs
}

func newSlots(size int) *slots { return &slots{size: size} }

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

// seize takes a slot whatever the bound says, for one who has made sure that nothing else runs.
func (s *slots) seize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used++
}

// release gives a slot back.
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
	s.give()
}

// takeBack ends what lend began. A grant does not last, so the owner waits for nobody: for a while more may run than there are slots.
func (s *slots) takeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent--
}

// isShut tells whether nothing new may begin.
func (s *slots) isShut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shut > 0
}

// resize changes the bound. When it shrinks, work above it ends by itself and no new work begins until then.
func (s *slots) resize(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size = size
	s.give()
}

// hang notes that n more handlers hang in their slots.
func (s *slots) hang(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hung += n
	s.give()
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

// busy tells whether anything runs but what hangs.
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

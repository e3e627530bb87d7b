package consumer

import (
	"context"
	"slices"
	"sync"
)

// slots bounds how many subtasks of a lane run at a time. Callers wait with a context, in the order of acquire. The
// bound can change while subtasks run. The size of the lane's worker pool follows: see capacity. While the slots are
// shared, a free slot alone is not enough: waiters also need grant.
type slots struct {
	tune func(capacity int) // sets how many workers there may be; called under mu

	mu      sync.Mutex
	shared  func() // called under mu after each change of demand; nil if the slots are not shared
	size    int
	used    int
	lent    int // of used: slots that others may use, because their owners wait for a call limit
	hung    int // of used: slots whose handlers ignore the end of their context
	seized  int // of used: slots that were taken beyond the bound
	waiters []slotWaiter
}

// slotWaiter is a subtask that waits for a slot.
type slotWaiter struct {
	partition int           // of its message
	ready     chan struct{} // closed when its slot is granted
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

// acquire waits for a slot until ctx ends, for a subtask whose message is of a partition.
func (s *slots) acquire(ctx context.Context, partition int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.shared == nil && s.room() > 0 && len(s.waiters) == 0 {
		s.used++
		s.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	s.waiters = append(s.waiters, slotWaiter{partition: partition, ready: ready})
	s.tell()
	s.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.waiters, func(w slotWaiter) bool { return w.ready == ready }); i >= 0 {
		s.waiters = slices.Delete(s.waiters, i, i+1)
		s.tell()
		return ctx.Err()
	}
	// The slot was granted at the same moment: pass it to the next waiter.
	s.used--
	s.give()
	return ctx.Err()
}

// seize takes a slot beyond the bound, for a subtask that holds a floor. The returned function releases the slot.
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

// share makes waiters wait for grant as well as for a free slot, and calls changed after each change of demand. A nil
// changed ends that, and the waiters get the free slots. changed is called under a lock and must not block.
func (s *slots) share(changed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared = changed
	s.give()
}

// demand returns how many subtasks run, those that wait for a call limit not counted, how many more may begin, and the
// partitions whose subtasks wait, without doubles, in the order of their first ones.
func (s *slots) demand() (running, room int, partitions []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.waiters {
		if !slices.Contains(partitions, w.partition) {
			partitions = append(partitions, w.partition)
		}
	}
	return s.used - s.lent, s.room(), partitions
}

// grant gives a free slot to the subtask of a partition that has waited longest. Without a free slot or such a subtask
// it does nothing.
func (s *slots) grant(partition int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.waiters, func(w slotWaiter) bool { return w.partition == partition })
	if i < 0 || s.room() == 0 {
		return
	}
	s.used++
	close(s.waiters[i].ready)
	s.waiters = slices.Delete(s.waiters, i, i+1)
	s.tell()
}

// room returns how many more subtasks may begin. The caller holds mu.
func (s *slots) room() int {
	return max(0, s.size-(s.used-s.lent))
}

// tell reports a change of demand. The caller holds mu.
func (s *slots) tell() {
	if s.shared != nil {
		s.shared()
	}
}

// give grants free slots to the waiters, unless the slots are shared. The caller holds mu.
func (s *slots) give() {
	for s.shared == nil && s.room() > 0 && len(s.waiters) > 0 {
		s.used++
		close(s.waiters[0].ready)
		s.waiters = s.waiters[1:]
	}
	s.tell()
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

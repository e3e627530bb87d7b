package producer

import (
	"sync"
	"time"

	"adsync/base/store"
)

// fanOutQueue holds the runs to fan out as last read, without those whose fan-out has ended since; the next tick of a task
// has taken the place of the one that ended. When thousands of tasks are due at once, reading all of them again after each
// would cost more than all the fan-outs.
type fanOutQueue struct {
	made chan struct{} // wakes the loop: runs were made, or a place is free

	mu     sync.Mutex // guards what is below
	runs   []store.Run
	readAt time.Time           // by this process's clock
	stale  bool                // runs were made since
	active map[int64]bool      // runs being fanned out
	retry  map[int64]time.Time // by run: when a fan-out that failed is tried again
	paced  map[int64]time.Time // by run: when its rate allows its next batch; as retry by this process's clock
}

func newFanOutQueue() *fanOutQueue {
	return &fanOutQueue{
		made: make(chan struct{}, 1), active: map[int64]bool{}, retry: map[int64]time.Time{}, paced: map[int64]time.Time{},
	}
}

// wake has the fan-outs looked at now.
func (q *fanOutQueue) wake() {
	select {
	case q.made <- struct{}{}:
	default:
	}
}

// reread has the queue read again now: it lacks runs that were made, or that rested.
func (q *fanOutQueue) reread() {
	q.mu.Lock()
	q.stale = true
	q.mu.Unlock()
	q.wake()
}

// begin takes a run's place, unless its fan-out is under way.
func (q *fanOutQueue) begin(runID int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	busy := q.active[runID]
	q.active[runID] = true
	return !busy
}

// end frees the place of a run that is not fanned out any further.
func (q *fanOutQueue) end(runID int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.active, runID)
	delete(q.paced, runID)
}

// unpace forgets the pace of a run whose fan-out has ended.
func (q *fanOutQueue) unpace(runID int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.paced, runID)
}

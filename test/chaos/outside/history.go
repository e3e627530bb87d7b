package outside

import (
	"fmt"
	"sync"
	"time"
)

// attempt is an attempt of a subtask.
type attempt struct {
	run     int64
	part    string
	attempt int // failures before it
}

func (a attempt) String() string {
	return fmt.Sprintf("attempt %d of %s in run %d", a.attempt, a.part, a.run)
}

// delivery is an answer with a job. began is when it was asked for, and at when it arrived.
type delivery struct {
	attempt
	claim     int64
	began, at time.Time
	state     string // that of the release before
}

type verb string

// What workers do with a claim.
const (
	ack     verb = "acknowledged"
	nack    verb = "refused"
	release verb = "released"
)

type result int

// What is known of a request of a worker.
const (
	unknown result = iota // it was not answered, or by an error of the server
	done
	refused // the server knew no such claim
)

// end is a worker's request to end a claim.
type end struct {
	verb         verb
	text         string // why it was refused, or what was kept with it
	rows         int64
	began, ended time.Time // ended is zero for one of an unknown result
	result       result
}

// history is what the workers were answered.
type history struct {
	mu         sync.Mutex
	deliveries map[string][]delivery // by job
	requests   map[string][]*end
	unseen     int // requests for jobs whose answer is not known: they may have claimed some
	deleted    int // how often people deleted the jobs that were ready
	odd        []string
}

func newHistory() *history {
	return &history{deliveries: map[string][]delivery{}, requests: map[string][]*end{}}
}

func (h *history) delivers(id string, d delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deliveries[id] = append(h.deliveries[id], d)
}

// ends notes that a worker sends a request, and returns a function for its result.
func (h *history) ends(id string, e end) (note func(result)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests[id] = append(h.requests[id], &e)
	return func(r result) {
		h.mu.Lock()
		defer h.mu.Unlock()
		e.result, e.ended = r, time.Now()
	}
}

func (h *history) unanswered() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unseen++
}

func (h *history) deletes() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.deleted++
}

func (h *history) puzzles(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.odd = append(h.odd, fmt.Sprintf(format, args...))
}

// again returns how many deliveries were of jobs that had been delivered before.
func (h *history) again() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, all := range h.deliveries {
		n += len(all) - 1
	}
	return n
}

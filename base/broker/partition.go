package broker

import (
	"sync"
	"time"

	"adsync/base/clock"
)

// partition is one partition of one generation: which of its messages are in flight and what may be committed. Its
// reading is in reader.go.
type partition struct {
	topic string
	id    int
	work  *inFlight
	room  chan struct{} // has a token after a message was finished

	mu        sync.Mutex
	mark      *Watermark
	began     map[int64]time.Time // by offset, of those in flight
	start     int64               // the log's first offset at the beginning
	committed int64               // -1 if nothing is committed
	end       int64               // the last known end of the log
}

// newPartition returns a partition that starts at offset next. Committed is the broker's offset, or -1.
func newPartition(topic string, id int, next, committed, end int64, span int, work *inFlight) *partition {
	return &partition{
		topic: topic, id: id, work: work,
		room:  make(chan struct{}, 1),
		mark:  NewWatermark(next, span),
		began: make(map[int64]time.Time),
		start: next, committed: committed, end: end,
	}
}

// begin records that a message is passed to the handler. It returns whether the message is new and how many before it
// are missing. It must not be called while the span is full.
func (p *partition) begin(offset, highWater int64) (fresh bool, missing int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	expected := p.mark.Position()
	if !p.mark.Begin(offset) {
		return false, 0
	}
	p.began[offset] = clock.Mark()
	p.end = max(p.end, highWater, offset+1)
	p.work.add()
	return true, offset - expected
}

// finish ends the work on a message that was begun. Done means that its offset may be committed.
func (p *partition) finish(offset int64, done bool) {
	p.mu.Lock()
	if done {
		p.mark.Done(offset)
		delete(p.began, offset)
	}
	p.mu.Unlock()
	p.work.finish()
	select {
	case p.room <- struct{}{}:
	default:
	}
}

func (p *partition) full() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mark.Full()
}

// position returns the offset that is read next.
func (p *partition) position() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mark.Position()
}

// toCommit returns the offset to commit, and whether it differs from the committed one. It is below the committed one
// after a log was replaced.
func (p *partition) toCommit() (int64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.mark.Next()
	return next, next != p.committed
}

func (p *partition) wasCommitted(offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.committed = offset
}

func (p *partition) sawEnd(end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = max(p.end, end)
}

type partitionState struct {
	lag        int64
	unfinished int
	oldest     time.Duration
}

func (p *partition) state() partitionState {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Before the first commit, and after a log was replaced, the committed offset does not describe this log.
	from := min(max(p.committed, p.start), p.mark.Next())
	state := partitionState{lag: max(p.end-from, 0), unfinished: len(p.began)}
	// The lowest unfinished offset was begun first, so it is the oldest.
	if began, ok := p.began[p.mark.Next()]; ok {
		state.oldest = clock.Since(began)
	}
	return state
}

// inFlight counts the messages of a generation that are being worked on.
type inFlight struct {
	mu    sync.Mutex
	count int
	empty chan struct{} // created by a waiting goroutine; closed when count reaches zero
}

func (f *inFlight) add() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
}

func (f *inFlight) finish() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count--
	if f.count == 0 && f.empty != nil {
		close(f.empty)
		f.empty = nil
	}
}

// wait returns when nothing is in flight or the time is over, and how many messages are left then.
func (f *inFlight) wait(timeout <-chan time.Time) int {
	f.mu.Lock()
	if f.count == 0 {
		f.mu.Unlock()
		return 0
	}
	if f.empty == nil {
		f.empty = make(chan struct{})
	}
	empty := f.empty
	f.mu.Unlock()
	select {
	case <-empty:
		return 0
	case <-timeout:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

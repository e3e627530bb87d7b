package ratelimit

import (
	"slices"
	"sync"
	"time"

	"adsync/base/clock"
)

// trust is how long a process believes what it was told about when to come back. A limit that is raised, or a pause that
// is ended, is noticed within it.
const trust = 5 * time.Second

// queues hold the calls of this process that wait, one queue per limit that holds calls back. A ticket is in at most one
// queue at a time.
type queues struct {
	mu    sync.Mutex
	byKey map[Key]*queue // per Key.id; an empty queue is dropped
}

type queue struct {
	id      Key       // Key.id of the limit
	key     Key       // the limit as last told
	tickets []*ticket // in order of coming; the first is the head, the only one that asks
	opens   time.Time // when a call under key could be granted at the earliest, as last told
	told    time.Time // when that was told
}

// ticket is a call's place in a queue.
type ticket struct {
	queue *queue
	head  chan struct{} // closed when the ticket has become the head
}

func newQueues() *queues { return &queues{byKey: map[Key]*queue{}} }

// join takes a place behind those who already wait for one of keys: in the queue that opens last. It returns nil
// when nobody waits.
func (q *queues) join(keys []Key) *ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	var last *queue
	for _, k := range keys {
		if of := q.byKey[k.id()]; of != nil && (last == nil || of.opens.After(last.opens)) {
			last = of
		}
	}
	if last == nil {
		return nil
	}
	return last.append()
}

// stand takes a place in the queue for key, which opens after d.
func (q *queues) stand(key Key, d time.Duration) *ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.byKey[key.id()]
	if of == nil {
		of = &queue{id: key.id()}
		q.byKey[key.id()] = of
	}
	of.tell(key, d)
	return of.append()
}

// move takes the head of a queue over to another limit of its call that is known to be shut, of these to the one that
// opens last: to ask would be in vain, and to stay would hold up those behind it. It returns the ticket in place of t, or t itself.
func (q *queues) move(t *ticket, keys []Key) *ticket {
	q.mu.Lock()
	now := clock.Mark()
	var last *queue
	for _, k := range keys {
		of := q.byKey[k.id()]
		if of == nil || of == t.queue || now.Sub(of.told) >= trust || !of.opens.After(now) {
			continue
		}
		if last == nil || of.opens.After(last.opens) {
			last = of
		}
	}
	if last == nil {
		q.mu.Unlock()
		return t
	}
	next := last.append()
	q.mu.Unlock()
	q.leave(t)
	return next
}

// tell notes that calls under key can be granted after d, if anybody waits for them.
func (q *queues) tell(key Key, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if of := q.byKey[key.id()]; of != nil {
		of.tell(key, d)
	}
}

// leave gives up the ticket's place; the next one may become the head.
func (q *queues) leave(t *ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := t.queue
	i := slices.Index(of.tickets, t)
	if i < 0 {
		return
	}
	of.tickets = slices.Delete(of.tickets, i, i+1)
	switch {
	case len(of.tickets) == 0:
		delete(q.byKey, of.id)
	case i == 0:
		close(of.tickets[0].head)
	}
}

// outlook is what is known of a ticket's future.
type outlook struct {
	key Key
	// at is the moment before which the call cannot be granted: if this process is alone it comes then, later otherwise.
	at time.Time
	// fresh says that at rests on news, and not on what was so some time ago.
	fresh bool
}

func (q *queues) outlook(t *ticket) outlook {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := clock.Mark()
	of := t.queue
	at := of.opens
	if at.Before(now) {
		at = now
	}
	ahead := slices.Index(of.tickets, t)
	at = at.Add(time.Duration(ahead) * microseconds(paceOf(of.key, 0, 1).every))
	return outlook{key: of.key, at: at, fresh: now.Sub(of.told) < trust}
}

func (of *queue) tell(key Key, d time.Duration) {
	of.key = key
	of.told = clock.Mark()
	of.opens = of.told.Add(d)
}

func (of *queue) append() *ticket {
	t := &ticket{queue: of, head: make(chan struct{})}
	of.tickets = append(of.tickets, t)
	if len(of.tickets) == 1 {
		close(t.head)
	}
	return t
}

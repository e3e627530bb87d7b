package ratelimit

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"adsync/base/clock"
)

// trust is how long a process believes what it was told about when to come back. A limit that is raised, or a pause that
// is ended, is noticed within it.
const trust = 5 * time.Second

// floorEvery is the part of a limit that is left to less important calls while more important ones wait: every so many grants one is
// theirs.
const floorEvery = 8

// queues hold the calls of this process that wait, one queue per limit that holds calls back. A ticket is in at most one
// queue at a time.
type queues struct {
	mu    sync.Mutex
	byKey map[Key]*queue // per Key.id; an empty queue is dropped
}

type queue struct {
	id      Key       // Key.id of the limit
	key     Key       // the limit as last told
	head    *ticket   // the only one that asks
	classes []*class  // of those behind it, the most important first
	opens   time.Time // when a call under key could be granted at the earliest, as last told
	told    time.Time // when that was told
}

// class are the tickets of one importance, in the order of their turns; those of the same turn as they came.
type class struct {
	importance int
	tickets    []*ticket
	passed     int // how often a more important one has become the head since one of these did
}

// ticket is a call's place in a queue.
type ticket struct {
	queue      *queue
	importance int
	turn       Turn
	head       chan struct{} // closed when the ticket has become the head
}

func newQueues() *queues { return &queues{byKey: map[Key]*queue{}} }

// join takes a place behind those who already wait for one of keys: in the queue that opens last. It returns nil
// when nobody waits.
func (q *queues) join(keys []Key, importance int, turn Turn) *ticket {
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
	return last.append(importance, turn)
}

// stand takes a place in the queue for key, which opens after d.
func (q *queues) stand(key Key, d time.Duration, importance int, turn Turn) *ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	of := q.byKey[key.id()]
	if of == nil {
		of = &queue{id: key.id()}
		q.byKey[key.id()] = of
	}
	of.tell(key, d)
	return of.append(importance, turn)
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
	next := last.append(t.importance, t.turn)
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
	if of.head != t {
		of.remove(t)
		return
	}
	if of.head = of.next(); of.head == nil {
		delete(q.byKey, of.id)
		return
	}
	close(of.head.head)
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
	at = at.Add(time.Duration(of.ahead(t)) * microseconds(paceOf(of.key, 0, 1).every))
	return outlook{key: of.key, at: at, fresh: now.Sub(of.told) < trust}
}

func (of *queue) tell(key Key, d time.Duration) {
	of.key = key
	of.told = clock.Mark()
	of.opens = of.told.Add(d)
}

func (of *queue) append(importance int, turn Turn) *ticket {
	t := &ticket{queue: of, importance: importance, turn: turn, head: make(chan struct{})}
	if of.head == nil {
		of.head = t
		close(t.head)
		return t
	}
	i, found := of.class(importance)
	if !found {
		of.classes = slices.Insert(of.classes, i, &class{importance: importance})
	}
	c := of.classes[i]
	behind, _ := slices.BinarySearchFunc(c.tickets, turn, func(t *ticket, turn Turn) int { return cmp.Or(t.turn.compare(turn), -1) })
	c.tickets = slices.Insert(c.tickets, behind, t)
	return t
}

// next takes the ticket out that is to be the head: of the most important ones the first to come, and now and then one of the others.
// It returns nil when nobody waits.
func (of *queue) next() *ticket {
	of.classes = slices.DeleteFunc(of.classes, func(c *class) bool { return len(c.tickets) == 0 })
	if len(of.classes) == 0 {
		return nil
	}
	from := of.classes[0]
	for _, c := range of.classes[1:] {
		if c.passed >= floorEvery-1 {
			from = c // the least important one of these
		}
	}
	for _, c := range of.classes {
		if c.importance < from.importance {
			c.passed++
		}
	}
	from.passed = 0
	t := from.tickets[0]
	from.tickets = slices.Delete(from.tickets, 0, 1)
	return t
}

// class returns where the class of an importance is, or belongs.
func (of *queue) class(importance int) (at int, found bool) {
	return slices.BinarySearchFunc(of.classes, importance, func(c *class, n int) int { return n - c.importance })
}

func (of *queue) remove(t *ticket) {
	at, found := of.class(t.importance)
	if !found {
		return
	}
	c := of.classes[at]
	if i := slices.Index(c.tickets, t); i >= 0 {
		c.tickets = slices.Delete(c.tickets, i, i+1)
	}
}

// ahead is how many go before a ticket at the least, if nobody leaves.
func (of *queue) ahead(t *ticket) int {
	at, found := of.class(t.importance)
	if of.head == t || !found {
		return 0
	}
	more := 0 // that are more important
	for _, c := range of.classes[:at] {
		more += len(c.tickets)
	}
	c := of.classes[at]
	i := slices.Index(c.tickets, t)
	return 1 + i + min(more, max(0, (i+1)*(floorEvery-1)-c.passed))
}

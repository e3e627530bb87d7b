package ratelimit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/ratelimit/grant"
)

const (
	// callsMax is the most calls of a line that one ask names, and callsFirst where it is not known how many may be granted.
	callsMax   = 500
	callsFirst = 100
	// callsPerAsk is about how many calls are granted by one ask where calls wait, and askEvery the longest time between two such asks.
	callsPerAsk = 80
	askEvery    = 2 * time.Second
	askSoonest  = 100 * time.Millisecond
	// touchEvery is how long after its last ask a process asks for nothing, if it has nothing to ask.
	touchEvery = askEvery + askEvery/10
	// askApart is how long after an ask those wait that come meanwhile, to be asked for together. The first call after a rest waits for nobody.
	askApart = 20 * time.Millisecond
	// Calls that are expected are asked for ahead where others want what is left. A moment that nobody takes in time passes unused, and calls come in heaps:
	// so their moments begin expectedAfter from the ask, and are fewer than calls by expectedPart. With fewer than expectedLeast within the horizon more
	// would pass unused than is saved. How many come is the mean of about cameForgotten.
	expectedAfter = 250 * time.Millisecond
	expectedPart  = 0.8
	expectedLeast = 4
	cameForgotten = 2 * grant.Horizon
	// roundCalls is how many more calls than others an account may have before they go first, and roundsForgotten how long it takes until about two
	// thirds of that are forgotten.
	roundCalls      = 10
	roundsForgotten = 30 * time.Second
	// settleWithin is how long it takes at most to tell the others that calls matched more rows than was thought, and handBackWithin that granted ones
	// will not be made. Those that could start in handBackAhead are kept for who comes.
	settleWithin   = 250 * time.Millisecond
	handBackWithin = 100 * time.Millisecond
	handBackAhead  = 50 * time.Millisecond
	// standMost is how far away a grant may be for which a caller keeps a place that others need, and comeBackMost how much later it comes back at
	// the most. comeBackSooner has some wait again when there is room for them, lest it passes unused.
	standMost      = 2 * time.Second
	comeBackMost   = 10 * time.Minute
	comeBackSooner = 0.9
	// trust is how long a process believes that a pause goes on.
	trust = 5 * time.Second
	// calendarLook is how long what holds calls back is believed where it may end with a calendar's window.
	calendarLook = time.Minute
)

// desk is where the calls of one media wait in this process. One goroutine asks the ledger for all of them, and lives while any waits.
type desk struct {
	w     *Waiter
	media string
	wake  chan struct{} // the goroutine looks again

	taken  prometheus.Counter
	waited prometheus.Observer

	mu       sync.Mutex
	asking   bool // the goroutine lives
	waiting  int  // tickets in all lines
	lines    map[lineID]*line
	pauses   map[grant.Key]time.Time // in force, and until when; of limits, until when they are tightened
	refused  map[grant.Key]time.Time // when limits were tightened last
	pausings int                     // how often this process has paused
	asked    time.Time               // when it was asked last
	phase    float64                 // of the time between two asks, by which the first one was early; 0 before it
	synced   time.Time               // when pauses were read last
	ahead    time.Duration           // the ledger's clock is so far ahead of ours; it tells a calendar's windows
	owed     map[grant.Key]int       // rows that calls matched and the ledger does not know of
	tell     time.Time               // when that, and what is not used, is told at the latest; zero where there is nothing to tell
	matched  map[rowsID]matched
}

func newDesk(w *Waiter, media string) *desk {
	return &desk{
		w: w, media: media, wake: make(chan struct{}, 1), lines: map[lineID]*line{}, pauses: map[grant.Key]time.Time{}, refused: map[grant.Key]time.Time{},
		owed: map[grant.Key]int{}, matched: map[rowsID]matched{},
		taken: w.metrics.taken.WithLabelValues(media), waited: w.metrics.wait.WithLabelValues(media),
	}
}

// stand waits for a slot for a call, which may lie ahead. Whoever does not use it gives it back.
func (d *desk) stand(ctx context.Context, c grant.Call) (*ticket, slot, error) {
	t := &ticket{call: c, turn: TurnOf(ctx), yield: termsOf(ctx), got: make(chan outcome, 1)}
	if left, ok := clock.Left(ctx); ok {
		t.deadline = d.w.now().Add(left)
	}
	d.join(t, Importance(ctx))
	select {
	case o := <-t.got:
		return t, o.slot, o.err
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var late error = &WaitError{Call: c, Key: grant.Key{Media: d.media, Endpoint: c.Endpoint}}
	if t.waits {
		late = t.line.late(t, max(0, slices.Index(t.line.inOrder(), t)), d.w.now())
		d.end(t, outcome{})
		d.look()
	} else if o := <-t.got; o.err == nil {
		d.takeBack(t.line, o.slot)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, slot{}, late
	}
	return nil, slot{}, ctx.Err()
}

// join takes a place in line, and what is to spare at once.
func (d *desk) join(t *ticket, importance int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.w.now()
	id := lineOf(t.call, importance)
	l := d.lines[id]
	if l == nil {
		l = &line{id: id, served: map[string]*tally{}}
		d.lines[id] = l
	}
	l.comes(t.call, now)
	t.line, t.waits = l, true
	if l.served[t.call.Account] == nil {
		l.served[t.call.Account] = &tally{calls: l.least, at: now}
	}
	l.insert(t)
	d.waiting++
	d.w.metrics.waiting.WithLabelValues(d.media).Inc()
	l.serve(d)
	switch {
	case !t.waits:
	case l.hopeless(t, 0):
		d.end(t, outcome{err: l.late(t, 0, now)})
	case l.goesAway(t, len(l.waiting)-1, now):
		d.end(t, outcome{err: l.comeBack(t, len(l.waiting)-1, now)})
	}
	if t.waits {
		d.begin()
	}
}

// begin has the goroutine live, and look what there is to ask.
func (d *desk) begin() {
	if !d.asking {
		d.asking = true
		d.w.begin(d)
	}
	d.look()
}

// end ends a ticket's wait.
func (d *desk) end(t *ticket, o outcome) {
	l := t.line
	if i := slices.Index(l.waiting, t); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.held = slices.DeleteFunc(l.held, func(x *ticket) bool { return x == t })
	}
	t.waits = false
	if d.waiting--; d.waiting == 0 {
		d.look() // ask ends.
	}
	d.w.metrics.waiting.WithLabelValues(d.media).Dec()
	t.got <- o
}

// look has the goroutine look again at what there is to ask.
func (d *desk) look() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// ask asks for those who wait, and tells what there is to tell, until there is neither.
func (d *desk) ask(ctx context.Context) {
	for {
		at, ok := d.askAt()
		if !ok {
			return
		}
		if wait := at.Sub(d.w.now()); wait > 0 {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-d.wake:
			}
			timer.Stop()
			continue
		}
		d.askOnce(ctx)
	}
}

// askAt is when an ask has a use. Without anybody who waits, and anything to tell, it has none, and the asking is over.
func (d *desk) askAt() (at time.Time, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == 0 && d.tell.IsZero() {
		d.asking = false
		return time.Time{}, false
	}
	next := d.w.now().Add(trust)
	note := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	if !d.tell.IsZero() {
		note(d.tell)
	}
	for _, l := range d.lines {
		if len(l.waiting) > 0 {
			note(l.askAt)
		}
		for _, t := range l.held {
			note(t.opens)
			if t.point != (grant.Key{}) {
				note(d.synced.Add(trust)) // A pause may be ended before its time.
			}
		}
	}
	return clock.Later(next, d.asked.Add(askApart)), true
}

// askOnce asks once for all who wait, and gives out what comes.
func (d *desk) askOnce(ctx context.Context) {
	a := d.compose()
	got, err := d.w.ledger.Ask(ctx, d.media, a.Ask)
	d.deliver(a, got, err)
}

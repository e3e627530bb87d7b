package ratelimit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/ratelimit/grant"
)

const (
	// callsMax is the maximum number of calls of a line in one request, and callsFirst the maximum while it is unknown
	// how many may be granted.
	callsMax   = 500
	callsFirst = 100
	// callsPerRequest is about how many calls one request grants where calls wait, and requestEvery the longest time
	// between two such requests.
	callsPerRequest = 80
	requestEvery    = 2 * time.Second
	requestSoonest  = 100 * time.Millisecond
	// keepAliveEvery is how long after its last request a process without calls sends an empty one.
	keepAliveEvery = requestEvery + requestEvery/10
	// collectFor is the time after a request for which new calls are collected for the next one. The first call after a
	// rest is requested at once.
	collectFor = 20 * time.Millisecond
	// Expected calls are requested ahead where others want what is left. A moment that nobody takes in time is lost, and
	// calls come in bursts. So the requested moments begin expectedAfter from the request, and are fewer than the
	// expected calls by expectedPart. With fewer than expectedLeast calls within the horizon more would be lost than
	// saved. The number of expected calls is the mean of about the last recentFor.
	expectedAfter = 250 * time.Millisecond
	expectedPart  = 0.8
	expectedLeast = 4
	recentFor     = 2 * grant.Horizon
	// roundCalls is how many more calls than others an account may have before the others go first. After
	// roundsForgotten about two thirds of that lead are forgotten.
	roundCalls      = 10
	roundsForgotten = 30 * time.Second
	// settleWithin is the longest time until the others learn that calls matched more rows than estimated, and
	// returnWithin the longest until they get unused grants back. Grants that start within returnAhead are kept for
	// new calls.
	settleWithin = 250 * time.Millisecond
	returnWithin = 100 * time.Millisecond
	returnAhead  = 50 * time.Millisecond
	// keepPlaceMost is how far away a grant may be for which a caller keeps a place that others need, and comeBackMost the
	// longest time until a caller that yielded comes back. comeBackSooner shortens these times, so that some callers are
	// waiting when a grant becomes free and it is not lost.
	keepPlaceMost  = 2 * time.Second
	comeBackMost   = 10 * time.Minute
	comeBackSooner = 0.9
	// pauseTrust is how long a process relies on a pause without a new answer.
	pauseTrust = 5 * time.Second
	// calendarRecheck is how long a limit of a calendar's window is taken to hold calls back, because the window may end
	// earlier.
	calendarRecheck = time.Minute
)

// dispatcher holds the calls of one media that wait in this process. One goroutine requests grants for all of them, and
// ends when no call waits.
type dispatcher struct {
	w     *Waiter
	media string
	wake  chan struct{} // wakes the goroutine

	taken  prometheus.Counter
	waited prometheus.Observer
	inTime atomic.Int64 // calls that could begin before their grants ended

	mu         sync.Mutex
	requesting bool // the goroutine runs
	waiting    int  // tickets in all lines
	lines      map[lineID]*line
	pauses     map[grant.Key]time.Time // in force, by their ends; for limits, when they are whole again
	refused    map[grant.Key]time.Time // when limits were last tightened
	pausings   int                     // the number of pauses of this process
	requested  time.Time               // when the last request was sent
	phase      float64                 // part of requestEvery by which the first request was shortened; 0 before it
	synced     time.Time               // when pauses were last read
	ahead      time.Duration           // how far the ledger's clock is ahead of ours; it determines calendar windows
	unsettled  map[grant.Key]int       // matched rows that the ledger does not know of
	// When unsettled and unused grants are reported at the latest; zero if there are none.
	reportBy  time.Time
	estimates map[rowsID]rowEstimate
}

func newDispatcher(w *Waiter, media string) *dispatcher {
	return &dispatcher{
		w: w, media: media, wake: make(chan struct{}, 1), lines: map[lineID]*line{}, pauses: map[grant.Key]time.Time{},
		refused:   map[grant.Key]time.Time{},
		unsettled: map[grant.Key]int{}, estimates: map[rowsID]rowEstimate{},
		taken: w.metrics.taken.WithLabelValues(media), waited: w.metrics.wait.WithLabelValues(media),
	}
}

// awaitSlot waits for a slot for a call. The slot may lie ahead. A caller that does not use it calls returnSlot.
func (d *dispatcher) awaitSlot(ctx context.Context, c grant.Call) (*ticket, slot, error) {
	t := &ticket{call: c, rank: RankOf(ctx), yield: termsOf(ctx), got: make(chan outcome, 1)}
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
		d.wakeUp()
	} else if o := <-t.got; o.err == nil {
		d.reuseSlot(t.line, o.slot)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, slot{}, late
	}
	return nil, slot{}, ctx.Err()
}

// join adds a ticket to its line, and serves it at once from spare slots.
func (d *dispatcher) join(t *ticket, importance int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.w.now()
	id := lineOf(t.call, importance)
	l := d.lines[id]
	if l == nil {
		l = &line{id: id, served: map[string]*tally{}}
		d.lines[id] = l
	}
	l.noteCall(t.call, now)
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
	case l.yields(len(l.waiting)-1, now) && t.yield.isWanted():
		d.endWaits(l, now)
	}
	if t.waits {
		d.start()
	}
}

// start starts the goroutine if it does not run, and wakes it.
func (d *dispatcher) start() {
	if !d.requesting {
		d.requesting = true
		d.w.start(d)
	}
	d.wakeUp()
}

// end ends a ticket's wait.
func (d *dispatcher) end(t *ticket, o outcome) {
	l := t.line
	if i := slices.Index(l.waiting, t); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.held = slices.DeleteFunc(l.held, func(x *ticket) bool { return x == t })
	}
	t.waits = false
	if d.waiting--; d.waiting == 0 {
		d.wakeUp() // So that requestUntilIdle returns.
	}
	d.w.metrics.waiting.WithLabelValues(d.media).Dec()
	t.got <- o
}

// wakeUp wakes the goroutine, so that it computes its next request.
func (d *dispatcher) wakeUp() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// requestUntilIdle sends requests until no call waits and nothing is left to report.
func (d *dispatcher) requestUntilIdle(ctx context.Context) {
	for {
		at, ok := d.requestAt()
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
		d.requestOnce(ctx)
	}
}

// requestAt returns when the next request is due. It returns false, and the goroutine ends, if no call waits and
// nothing is to be reported.
func (d *dispatcher) requestAt() (at time.Time, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == 0 && d.reportBy.IsZero() {
		d.requesting = false
		return time.Time{}, false
	}
	next := d.w.now().Add(pauseTrust)
	note := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	if !d.reportBy.IsZero() {
		note(d.reportBy)
	}
	for _, l := range d.lines {
		if len(l.waiting) > 0 {
			note(l.requestAt)
		}
		for _, t := range l.held {
			note(t.opens)
			if t.point != (grant.Key{}) {
				note(d.synced.Add(pauseTrust)) // A pause may end early.
			}
		}
	}
	return clock.Later(next, d.requested.Add(collectFor)), true
}

// requestOnce sends one request for all lines and distributes the answer.
func (d *dispatcher) requestOnce(ctx context.Context) {
	a := d.compose()
	got, err := d.w.ledger.Request(ctx, d.media, a.Request)
	d.deliver(a, got, err)
}

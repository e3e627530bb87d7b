package ratelimit

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
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
	cameForgotten = 2 * grant.HorizonTime
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

// rowsID says of which calls it is known how many rows they match: those of an account, or of all, without an account.
type rowsID struct{ endpoint, app, rows, account string }

// matched is how many rows calls match: of an account the last one, of all the mean, and by how much they are apart.
type matched struct{ rows, apart float64 }

const (
	// matchedFirst is how many rows a call is thought to match before any was answered: rather many, for the first answers may tell of few.
	matchedFirst = 3000
	// matchedNew is how much the last call tells of the next.
	matchedNew = 0.2
)

// likely is how many rows a call is thought to match.
func (d *desk) likely(c grant.Call) int {
	if c.Rows == "" {
		return 0
	}
	id := rowsOf(c)
	m, known := d.matched[id]
	if !known {
		id.account = ""
		if m, known = d.matched[id]; !known {
			m.rows = matchedFirst
		}
	}
	return max(1, int(math.Ceil(m.rows+m.apart)))
}

func rowsOf(c grant.Call) rowsID {
	return rowsID{grant.PlainEndpoint(c.Endpoint), c.App, c.Rows, c.Account}
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

// takeSpare takes a slot that is to spare and begun already, and tells whether there was one.
func (d *desk) takeSpare(c grant.Call, importance int, now time.Time) (slot, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.lines[lineOf(c, importance)]
	if l == nil || len(l.spare) == 0 || d.paused(c, now) {
		return slot{}, false
	}
	for i, s := range l.spare {
		if s.from.After(now) {
			return slot{}, false
		}
		if !s.until.Before(now) && (s.account == "" || s.account == c.Account) {
			if i == 0 {
				l.spare = l.spare[1:]
			} else {
				l.spare = slices.Delete(l.spare, i, i+1)
			}
			l.comes(c, now)
			return s, true
		}
	}
	return slot{}, false
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

// asked are the tickets of an ask: for each of its wants those whose calls it names, in their order.
type asked struct {
	grant.Ask
	lines    []*line
	tickets  [][]*ticket
	pausings int // of the desk, when it was asked
}

// askOnce asks once for all who wait, and gives out what comes.
func (d *desk) askOnce(ctx context.Context) {
	a := d.compose()
	got, err := d.w.ledger.Ask(ctx, d.media, a.Ask)
	d.deliver(a, got, err)
}

// deliver gives out what an ask was answered.
func (d *desk) deliver(a asked, got grant.Answer, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.w.now()
	if err != nil {
		// Only a ledger without a fallback fails.
		for _, tickets := range a.tickets {
			for _, t := range tickets {
				if t.waits {
					d.end(t, outcome{err: err})
				}
			}
		}
		return
	}
	switch {
	case got.Pauses == nil:
	case a.pausings == d.pausings:
		d.pauses = got.Pauses
	default:
		// It was asked before this process paused something: the next answer tells all.
		maps.Copy(d.pauses, got.Pauses)
	}
	d.synced = now
	if !got.Clock.IsZero() {
		d.ahead = got.Clock.Sub(now)
	}
	for i, g := range got.Wants {
		d.give(a, i, g, got)
	}
	d.w.metrics.asks.WithLabelValues(d.media).Inc()
	for i, l := range a.lines {
		l.askAt = time.Time{}
		l.serve(d) // Those who came meanwhile have what was granted ahead.
		if slices.ContainsFunc(a.tickets[i], func(t *ticket) bool { return t.waits && !slices.Contains(l.held, t) }) {
			l.askAt = d.askAgain(got)
		}
		l.forget(now)
		before := 0
		for _, t := range l.inOrder() {
			switch {
			case l.hopeless(t, before):
				d.end(t, outcome{err: l.late(t, before, now)})
			case l.goesAway(t, before, now):
				d.end(t, outcome{err: l.comeBack(t, before, now)})
			default:
				before++
			}
		}
		for _, t := range slices.Clone(l.held) {
			if t.opens.Sub(now) > standMost && t.yield.isWanted() {
				d.end(t, outcome{err: &WaitError{Call: t.call, Key: t.heldBy(), After: t.opens.Sub(now)}})
			}
		}
	}
	for id, l := range d.lines {
		d.release(l, now)
		if l.isOver(now) {
			delete(d.lines, id)
		}
	}
}

// compose makes an ask for all lines in which somebody waits and for which it is time. Calls that are paused wait on.
func (d *desk) compose() asked {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := asked{Ask: grant.Ask{Process: d.w.process}, pausings: d.pausings}
	now := d.w.now()
	d.asked = now
	known := map[grant.Key]int{}
	index := func(k grant.Key) int {
		at, ok := known[k.ID()] // Whatever its number: rules may change meanwhile.
		if !ok {
			at = len(a.Limits)
			known[k.ID()] = at
			a.Limits = append(a.Limits, grant.Limit{Key: k, Part: grant.Tightened(d.pauses[k.AnyWindow()], now)})
		}
		return at
	}
	charged := func(charges []grant.Charge, rows int) (limits, costs []int) {
		for _, x := range charges {
			limits, costs = append(limits, index(x.Key)), append(costs, cmp.Or(x.Cost, rows))
		}
		return limits, costs
	}
	for k, rows := range d.owed {
		a.Settled = append(a.Settled, grant.Settled{Limit: index(k), More: rows})
	}
	clear(d.owed)
	d.tell = time.Time{}
	rules := d.w.rules.Of(d.media)
	lines := slices.SortedFunc(maps.Values(d.lines), func(a, b *line) int {
		return cmp.Or(b.id.importance-a.id.importance, cmp.Compare(a.id.endpoint, b.id.endpoint), cmp.Compare(a.id.app, b.id.app))
	})
	for _, l := range lines {
		d.release(l, now)
		l.spare = slices.DeleteFunc(l.spare, func(s slot) bool {
			if s.at == 0 || s.from.Before(now.Add(handBackAhead)) || s.ahead && l.askAt.After(now) {
				return false
			}
			common, own := rules.Cover(s.call, now.Add(d.ahead))
			u := grant.Unused{At: s.at}
			u.Limits, u.Costs = charged(slices.Concat(common, own), s.rows)
			a.Unused = append(a.Unused, u)
			if s.ahead && len(l.granted) > 0 {
				l.granted[len(l.granted)-1].n--
			}
			return true
		})
		if l.askAt.After(now) {
			continue
		}
		group := l.id.app + " " + l.id.endpoint
		if l.id.rows != "" {
			group += " " + l.id.rows
		}
		if !l.id.ofAccount {
			group += " of none"
		}
		granted := l.grantedLately(now)
		want := grant.Want{Importance: l.id.importance, Group: group, Demand: len(l.waiting) + granted}
		var tickets []*ticket
		for _, t := range l.inOrder() {
			if len(tickets) == min(callsMax, max(callsFirst, 2*granted)) {
				break
			}
			if d.holdPaused(t, now) {
				continue
			}
			common, own := rules.Cover(t.call, now.Add(d.ahead))
			if len(tickets) == 0 {
				want.Common, want.Costs = charged(common, 0)
			}
			call := grant.Wanted{Rows: d.likely(t.call)}
			call.Own, want.OwnCosts = charged(own, 0)
			want.Rows += call.Rows
			want.Calls = append(want.Calls, call)
			tickets = append(tickets, t)
		}
		want.Rows /= max(1, len(tickets))
		if e := l.expects(now); e.Calls > 0 && !d.paused(l.call, now) {
			common, own := rules.Cover(l.call, now.Add(d.ahead))
			if len(own) == 0 && !slices.ContainsFunc(common, func(x grant.Charge) bool { return x.HasBurst() }) {
				want.Common, want.Costs = charged(common, 0)
				want.Expected = e
			}
		}
		if len(tickets)+want.Expected.Calls > 0 {
			a.Wants, a.lines, a.tickets = append(a.Wants, want), append(a.lines, l), append(a.tickets, tickets)
		}
	}
	return a
}

// give gives out what was granted of a want.
func (d *desk) give(a asked, want int, g grant.Given, got grant.Answer) {
	l, w := a.lines[want], a.Wants[want]
	now := d.w.now()
	l.by, l.every, l.each, l.opens = grant.Key{}, 0, 0, time.Time{}
	if g.Rate > 0 {
		l.each = time.Duration(min(float64(comeBackMost), comeBackSooner*float64(time.Second)/g.Rate))
	}
	if g.Opens > 0 {
		l.opens = got.Asked.Add(grant.Microseconds(g.Opens))
	}
	if g.By != grant.None {
		l.by = a.Limits[g.By].Key
		if soon := now.Add(calendarLook); l.by.Window != "" && l.opens.After(soon) {
			l.opens = soon // The next window may begin before.
		}
		l.every = grant.Microseconds(grant.PaceOf(l.by, 0, 1).Every) // About: how tight it is may change meanwhile.
	}
	waits := map[int]bool{}
	for i := range a.tickets[want] {
		waits[i] = true
	}
	for _, s := range g.Starts {
		x := slot{from: got.Answered.Add(grant.Microseconds(s.At)), until: got.Asked.Add(grant.Microseconds(s.At) + d.w.spread), call: l.call, rows: w.Call(s.Call).Rows}
		if !got.Clock.IsZero() {
			x.at = got.Clock.UnixMicro() + s.At
		}
		if s.Call >= len(a.tickets[want]) { // Nobody waits for it yet.
			x.ahead = true
			l.keep(x)
			continue
		}
		t := a.tickets[want][s.Call]
		delete(waits, s.Call)
		x.call = t.call
		if len(w.Calls[s.Call].Own) > 0 {
			x.account = t.call.Account
		}
		switch {
		case !t.waits:
			d.takeBack(l, x)
		case !d.holdPaused(t, now):
			if t.yield != nil {
				l.begins = append(l.begins, x.from)
			}
			if x := l.served[t.call.Account]; x != nil {
				x.calls++
				x.at = now
			}
			d.end(t, outcome{slot: x})
		}
	}
	l.granted = append(l.granted, batch{now, len(g.Starts)})
	l.scarce = g.Scarce && g.By == grant.None && !got.Clock.IsZero()
	if g.By == grant.None || slices.Contains(w.Common, g.By) {
		return
	}
	// Their own limits hold them back, and nobody else.
	opens := l.opens.Add(-got.Horizon)
	if soonest := now.Add(askSoonest); opens.Before(soonest) {
		opens = soonest
	}
	for i := range waits {
		if t := a.tickets[want][i]; t.waits {
			d.hold(t, opens)
		}
	}
	l.by, l.every, l.opens = grant.Key{}, 0, time.Time{}
}

// askAgain is when to ask again for a line that was not granted all it asked for: together with the others.
func (d *desk) askAgain(got grant.Answer) time.Time {
	granted := 0 // of all lines
	for _, l := range d.lines {
		granted += l.grantedLately(got.Answered)
	}
	every := min(askEvery, got.Horizon)
	if granted > 0 {
		every = min(every, max(askSoonest, grant.HorizonTime*callsPerAsk/time.Duration(granted)))
	}
	if d.phase == 0 && every == askEvery {
		// Processes that began together ask one after the other: so what is granted reaches further ahead at any moment, for when Redis goes.
		d.phase = phaseOf(d.w.process)
		every = time.Duration(float64(every) * d.phase)
	}
	at := got.Answered.Add(every)
	for _, l := range d.lines {
		if len(l.waiting) > 0 && l.askAt.After(got.Answered) && l.askAt.Before(at) {
			at = l.askAt
		}
	}
	return at
}

// phaseOf is a part of 1 that is another one for each process.
func phaseOf(process string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(process))
	return 1 - rand.New(rand.NewPCG(uint64(h.Sum32()), 0)).Float64()
}

// holdPaused puts a ticket aside if its call is paused, or ends its wait if that is for too long.
func (d *desk) holdPaused(t *ticket, now time.Time) bool {
	var point grant.Key
	var until time.Time
	for _, p := range grant.Points(t.call) {
		if at := d.pauses[p]; at.After(now) && at.After(until) {
			point, until = p, at
		}
	}
	if until.IsZero() {
		return false
	}
	if !t.deadline.IsZero() && until.After(t.deadline) {
		d.end(t, outcome{err: &WaitError{Call: t.call, Key: point, After: until.Sub(now)}})
		return true
	}
	t.point = point
	d.hold(t, until)
	return true
}

// hold puts a ticket aside.
func (d *desk) hold(t *ticket, until time.Time) {
	l := t.line
	if i := slices.Index(l.waiting, t); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.held = append(l.held, t)
	}
	t.opens = until
}

// release takes those back in line that need not be held any more.
func (d *desk) release(l *line, now time.Time) {
	l.held = slices.DeleteFunc(l.held, func(t *ticket) bool {
		_, paused := d.pauses[t.point]
		if t.opens.After(now) && (paused || t.point == (grant.Key{})) {
			return false
		}
		t.point = grant.Key{}
		l.insert(t)
		return true
	})
}

// pause notes a pause before an answer tells of it. Calls that were granted and are not made yet wait again.
func (d *desk) pause(point grant.Key, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pausings++
	if until.After(d.w.now()) {
		if until.After(d.pauses[point]) {
			d.pauses[point] = until
		}
	} else {
		delete(d.pauses, point)
		for _, l := range d.lines {
			d.release(l, d.w.now())
		}
	}
	d.look()
}

// isPaused tells whether a call is paused.
func (d *desk) isPaused(c grant.Call) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paused(c, d.w.now())
}

func (d *desk) paused(c grant.Call, now time.Time) bool {
	if len(d.pauses) == 0 {
		return false
	}
	return slices.ContainsFunc(grant.Points(c), func(p grant.Key) bool { return d.pauses[p].After(now) })
}

// giveBack takes back a slot that is not used.
func (d *desk) giveBack(t *ticket, s slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.takeBack(t.line, s)
}

// takeBack gives a slot that is not used to who waits in its line, else to the other processes.
func (d *desk) takeBack(l *line, s slot) {
	l.keep(s)
	l.serve(d)
	at := d.w.now().Add(handBackWithin)
	if slices.Contains(l.spare, s) && s.at != 0 && !s.ahead && s.from.After(at.Add(handBackAhead)) {
		d.tellBy(at)
	}
}

// touch asks for nothing if nothing was asked for a while. That it is asked is how a common ledger knows that it can be reached: after a time in which
// nobody did, it reckons with processes that go on with their own parts.
func (d *desk) touch() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.w.now(); now.Sub(d.asked) >= touchEvery {
		d.tellBy(now)
	}
}

// tellBy has the ledger be told by a moment.
func (d *desk) tellBy(at time.Time) {
	if d.tell.IsZero() || at.Before(d.tell) {
		d.tell = at
	}
	d.begin()
}

// settle notes how many rows a call has matched that was thought to match another number.
func (d *desk) settle(c grant.Call, thought, rows int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := rowsOf(c)
	d.matched[id] = matched{rows: float64(rows)}
	id.account = ""
	all, known := d.matched[id]
	if !known {
		all.rows = matchedFirst // The first ones may match few, and those that follow very many.
	}
	off := float64(rows) - all.rows
	d.matched[id] = matched{all.rows + matchedNew*off, all.apart + matchedNew*(math.Abs(off)-all.apart)}
	if rows <= thought {
		return
	}
	common, own := d.w.rules.Cover(c, d.w.now().Add(d.ahead))
	for _, x := range slices.Concat(common, own) {
		if x.Cost == 0 {
			d.owed[x.Key] += rows - thought
			d.tellBy(d.w.now().Add(settleWithin))
		}
	}
}

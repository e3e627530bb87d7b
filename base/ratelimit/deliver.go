package ratelimit

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"adsync/base/ratelimit/grant"
)

// deliver distributes the answer to a request.
func (d *dispatcher) deliver(a composed, got grant.Answer, err error) {
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
		// The request is older than this process's last pause. The next answer names all pauses.
		maps.Copy(d.pauses, got.Pauses)
	}
	d.synced = now
	if !got.Clock.IsZero() {
		d.ahead = got.Clock.Sub(now)
	}
	for i, g := range got.Wants {
		d.distribute(a, i, g, got)
	}
	d.w.metrics.requests.WithLabelValues(d.media).Inc()
	for i, l := range a.lines {
		l.requestAt = time.Time{}
		l.serve(d) // New calls are served with what was granted ahead.
		if slices.ContainsFunc(a.tickets[i], func(t *ticket) bool { return t.waits && !slices.Contains(l.held, t) }) {
			l.requestAt = d.nextRequest(got)
		}
		l.forget(now)
		d.endWaits(l, now)
		for _, t := range slices.Clone(l.held) {
			if t.opens.Sub(now) > keepPlaceMost && t.yield.isWanted() {
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

// endWaits ends the waits of a line that are hopeless, and those whose places others need.
func (d *dispatcher) endWaits(l *line, now time.Time) {
	order := l.inOrder()
	wanted := make([]bool, len(order))
	if l.yields(len(order)-1, now) { // Otherwise none of them does.
		wanted = wantedPlaces(order)
	}
	before := 0
	for i, t := range order {
		switch {
		case l.hopeless(t, before):
			d.end(t, outcome{err: l.late(t, before, now)})
		case wanted[i] && l.yields(before, now):
			d.end(t, outcome{err: l.yieldError(t, before, now)})
		default:
			before++
		}
	}
}

// distribute distributes the grants of one want.
func (d *dispatcher) distribute(a composed, want int, g grant.Given, got grant.Answer) {
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
		if soon := now.Add(calendarRecheck); l.by.Window != "" && l.opens.After(soon) {
			l.opens = soon // The next window may begin earlier.
		}
		l.every = grant.Apart(l.by) // Approximate: the limit's tightness may change meanwhile.
	}
	waits := map[int]bool{}
	for i := range a.tickets[want] {
		waits[i] = true
	}
	for _, s := range g.Starts {
		x := slot{from: got.Answered.Add(grant.Microseconds(s.At)),
			until: got.Asked.Add(grant.Microseconds(s.At) + d.w.spread), call: l.call, rows: w.Call(s.Call).Rows}
		if !got.Clock.IsZero() {
			x.at = got.Clock.UnixMicro() + s.At
		}
		if s.Call >= len(a.tickets[want]) { // No call waits for it yet.
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
			d.reuseSlot(l, x)
		case !d.holdPaused(t, now):
			if t.yield != nil {
				l.upcoming = append(l.upcoming, x.from)
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
	// Limits of single accounts hold these calls back, and no others.
	opens := l.opens.Add(-got.Horizon)
	if soonest := now.Add(requestSoonest); opens.Before(soonest) {
		opens = soonest
	}
	for i := range waits {
		if t := a.tickets[want][i]; t.waits {
			d.hold(t, opens)
		}
	}
	l.by, l.every, l.opens = grant.Key{}, 0, time.Time{}
}

// nextRequest returns when to send the next request for a line that was not granted all its calls. All lines share one
// request.
func (d *dispatcher) nextRequest(got grant.Answer) time.Time {
	granted := 0 // in all lines
	for _, l := range d.lines {
		granted += l.grantedLately(got.Answered)
	}
	every := min(requestEvery, got.Horizon)
	if granted > 0 {
		every = min(every, max(requestSoonest, grant.Horizon*callsPerRequest/time.Duration(granted)))
	}
	if d.phase == 0 && every == requestEvery {
		// Processes that started together send their requests at different times. So at any moment more is granted ahead
		// for when Redis is lost.
		d.phase = phaseOf(d.w.process)
		every = time.Duration(float64(every) * d.phase)
	}
	at := got.Answered.Add(every)
	for _, l := range d.lines {
		if len(l.waiting) > 0 && l.requestAt.After(got.Answered) && l.requestAt.Before(at) {
			at = l.requestAt
		}
	}
	return at
}

// phaseOf returns a number above 0 up to 1 that differs between processes.
func phaseOf(process string) float64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(process))
	return 1 - rand.New(rand.NewPCG(uint64(h.Sum32()), 0)).Float64()
}

package ratelimit

import (
	"slices"
	"time"

	"adsync/base/ratelimit/grant"
)

// pause records a pause before an answer names it. Calls that are granted and not made yet wait again.
func (d *dispatcher) pause(point grant.Key, until time.Time) {
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
	d.wakeUp()
}

// isPaused reports whether a call is paused.
func (d *dispatcher) isPaused(c grant.Call) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paused(c, d.w.now())
}

func (d *dispatcher) paused(c grant.Call, now time.Time) bool {
	if len(d.pauses) == 0 {
		return false
	}
	return slices.ContainsFunc(grant.Points(c), func(p grant.Key) bool { return d.pauses[p].After(now) })
}

// holdPaused holds a ticket whose call is paused, or ends its wait if the pause is longer than its deadline. It
// reports whether it did either.
func (d *dispatcher) holdPaused(t *ticket, now time.Time) bool {
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

// hold moves a ticket from the waiting ones to those that are held.
func (d *dispatcher) hold(t *ticket, until time.Time) {
	l := t.line
	if i := slices.Index(l.waiting, t); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.held = append(l.held, t)
	}
	t.opens = until
}

// release puts held tickets back in line whose reason is over.
func (d *dispatcher) release(l *line, now time.Time) {
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

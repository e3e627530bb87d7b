package ratelimit

import (
	"slices"
	"time"

	"adsync/base/ratelimit/grant"
)

// takeSpare takes a spare slot that has begun, and reports whether there was one.
func (d *dispatcher) takeSpare(c grant.Call, importance int, now time.Time) (slot, bool) {
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
			l.noteCall(c, now)
			return s, true
		}
	}
	return slot{}, false
}

// returnSlot returns a slot that is not used.
func (d *dispatcher) returnSlot(t *ticket, s slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reuseSlot(t.line, s)
}

// reuseSlot gives an unused slot to a call that waits in its line, otherwise to the other processes.
func (d *dispatcher) reuseSlot(l *line, s slot) {
	l.keep(s)
	l.serve(d)
	at := d.w.now().Add(returnWithin)
	if slices.Contains(l.spare, s) && s.at != 0 && !s.ahead && s.from.After(at.Add(returnAhead)) {
		d.requestBy(at)
	}
}

// keepAlive sends an empty request if none was sent for a while. It shows the common ledger that it can be reached.
// After a time without requests the ledger assumes that processes use their own parts.
func (d *dispatcher) keepAlive() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.w.now(); now.Sub(d.requested) >= keepAliveEvery {
		d.requestBy(now)
	}
}

// requestBy has a request sent at a time at the latest.
func (d *dispatcher) requestBy(at time.Time) {
	if d.reportBy.IsZero() || at.Before(d.reportBy) {
		d.reportBy = at
	}
	d.start()
}

// serve gives spare slots to waiting calls.
func (l *line) serve(d *dispatcher) {
	now := d.w.now()
	l.spare = slices.DeleteFunc(l.spare, func(s slot) bool {
		if s.until.Before(now) {
			return true
		}
		for _, t := range l.waiting {
			if s.account == "" || s.account == t.call.Account {
				d.end(t, outcome{slot: s})
				return true
			}
		}
		return false
	})
}

// keep stores a slot for a later call.
func (l *line) keep(s slot) {
	i, _ := slices.BinarySearchFunc(l.spare, s, func(a, b slot) int { return a.from.Compare(b.from) })
	l.spare = slices.Insert(l.spare, i, s)
}

package ratelimit

import (
	"slices"
	"time"

	"adsync/base/ratelimit/grant"
)

// takeSpare takes a spare slot that has begun, and reports whether there was one.
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

// giveBack returns a slot that is not used.
func (d *desk) giveBack(t *ticket, s slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.takeBack(t.line, s)
}

// takeBack gives an unused slot to a call that waits in its line, or else to the other processes.
func (d *desk) takeBack(l *line, s slot) {
	l.keep(s)
	l.serve(d)
	at := d.w.now().Add(handBackWithin)
	if slices.Contains(l.spare, s) && s.at != 0 && !s.ahead && s.from.After(at.Add(handBackAhead)) {
		d.tellBy(at)
	}
}

// touch sends an empty request if none was sent for a while. It shows the common ledger that it can be reached. After
// a time without requests the ledger assumes that processes use their own parts.
func (d *desk) touch() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.w.now(); now.Sub(d.asked) >= touchEvery {
		d.tellBy(now)
	}
}

// tellBy has a request sent at a time at the latest.
func (d *desk) tellBy(at time.Time) {
	if d.tell.IsZero() || at.Before(d.tell) {
		d.tell = at
	}
	d.begin()
}

// serve gives spare slots to waiting calls.
func (l *line) serve(d *desk) {
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

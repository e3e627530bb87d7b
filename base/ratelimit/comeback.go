package ratelimit

import (
	"slices"
	"time"

	"adsync/base/clock"
)

// goesAway reports whether a ticket with that many before it yields its place to others.
func (l *line) goesAway(t *ticket, before int, now time.Time) bool {
	return t.yield != nil && l.each > 0 && l.turn(before, now).Sub(now) > standMost && t.yield.isWanted()
}

func (l *line) forgetBegun(now time.Time) {
	l.begins = slices.DeleteFunc(l.begins, func(at time.Time) bool { return !at.After(now) })
}

// turn estimates when a ticket with that many before it starts.
func (l *line) turn(before int, now time.Time) time.Time {
	next := now
	for _, at := range l.begins {
		next = clock.Later(next, at)
	}
	return clock.Later(next, l.opens).Add(time.Duration(before) * l.each)
}

// comeBack returns the error of a ticket that yields its place.
func (l *line) comeBack(t *ticket, before int, now time.Time) error {
	l.booked = clock.Later(l.booked, l.turn(before, now)).Add(l.each)
	return &WaitError{Call: t.call, Key: l.by, After: min(comeBackMost, l.booked.Sub(now))}
}

package ratelimit

import (
	"slices"
	"time"

	"adsync/base/clock"
)

// yields reports whether a ticket with that many before it yields its place to others.
func (l *line) yields(t *ticket, before int, now time.Time) bool {
	return t.yield != nil && l.each > 0 && l.expectedStart(before, now).Sub(now) > keepPlaceMost && t.yield.isWanted()
}

func (l *line) forgetStarted(now time.Time) {
	l.upcoming = slices.DeleteFunc(l.upcoming, func(at time.Time) bool { return !at.After(now) })
}

// expectedStart estimates when a ticket with that many before it starts.
func (l *line) expectedStart(before int, now time.Time) time.Time {
	next := now
	for _, at := range l.upcoming {
		next = clock.Later(next, at)
	}
	return clock.Later(next, l.opens).Add(time.Duration(before) * l.each)
}

// yieldError returns the error of a ticket that yields its place.
func (l *line) yieldError(t *ticket, before int, now time.Time) error {
	l.lastComeBack = clock.Later(l.lastComeBack, l.expectedStart(before, now)).Add(l.each)
	return &WaitError{Call: t.call, Key: l.by, After: min(comeBackMost, l.lastComeBack.Sub(now))}
}

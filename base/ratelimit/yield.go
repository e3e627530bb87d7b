package ratelimit

import (
	"slices"
	"time"

	"adsync/base/clock"
)

// wantedPlaces reports for each ticket whether others need its place. The last is asked first: others may come while
// this asks. If only the tickets behind yielded then, they would come back after those in front of them, which yield a
// moment later and come back later still, and the limit would be unused meanwhile.
func wantedPlaces(order []*ticket) []bool {
	wanted := make([]bool, len(order))
	for i, t := range slices.Backward(order) {
		wanted[i] = t.yield.isWanted()
	}
	return wanted
}

// yields reports whether a ticket with that many before it yields its place to others that need it.
func (l *line) yields(before int, now time.Time) bool {
	return l.each > 0 && l.expectedStart(before, now).Sub(now) > keepPlaceMost
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

// Package clock tells the time that is compared with other processes' times.
//
// Nothing else in adsync may call time.Now for anything but measuring how long something took: a process's own
// clock can be minutes off, and times of two processes only compare when both come from the database.
package clock

import "time"

// Clock tells a time that all processes of a deployment agree on.
type Clock interface {
	// Now is the present in UTC, cut to milliseconds.
	Now() time.Time
	// Until is how long to wait, in real time, until the clock shows t; zero or less when it already has.
	Until(t time.Time) time.Duration
}

// System is the process's own clock, for tests and single-process use.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return Mark().UTC().Truncate(time.Millisecond) }

// Until implements Clock.
func (System) Until(t time.Time) time.Duration { return Until(t) }

var _ Clock = System{}

// Later returns the later of two moments.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

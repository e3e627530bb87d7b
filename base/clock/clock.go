// Package clock provides the time that is compared with other processes' times.
//
// Nothing else in adsync may call time.Now, except to measure durations: a process's own clock can be minutes off,
// and times of two processes are only comparable if both come from the database.
package clock

import "time"

// Clock provides a time that all processes of a deployment agree on.
type Clock interface {
	// Now returns the current time in UTC, truncated to milliseconds.
	Now() time.Time
	// Until returns how long to wait, in real time, until the clock shows t; zero or less if t has passed.
	Until(t time.Time) time.Duration
}

// System is the process's own clock, for tests and single-process use.
type System struct{}

// Now implements Clock.
func (System) Now() time.Time { return Mark().UTC().Truncate(time.Millisecond) }

// Until implements Clock.
func (System) Until(t time.Time) time.Duration { return Until(t) }

var _ Clock = System{}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

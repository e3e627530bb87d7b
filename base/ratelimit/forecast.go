package ratelimit

import (
	"math"
	"time"

	"adsync/base/ratelimit/grant"
)

// noteCall records that a call has come.
func (l *line) noteCall(c grant.Call, now time.Time) {
	l.recentCalls, l.lastCallAt, l.call = l.recentCallsAt(now)+1, now, c
}

// recentCallsAt returns how many calls came in about the last recentFor.
func (l *line) recentCallsAt(now time.Time) float64 {
	return l.recentCalls * math.Exp(-now.Sub(l.lastCallAt).Seconds()/recentFor.Seconds())
}

// forecast returns the calls that will come within the horizon, to be requested ahead. While the limits suffice for
// all, it returns none.
func (l *line) forecast(now time.Time) grant.Expected {
	if !l.scarce || l.id.rows != "" {
		return grant.Expected{}
	}
	n := min(callsMax, int(expectedPart*l.recentCallsAt(now)*grant.Horizon.Seconds()/recentFor.Seconds()))
	if n < expectedLeast {
		return grant.Expected{}
	}
	return grant.Expected{Calls: n, After: expectedAfter.Microseconds(),
		Every: (grant.Horizon - expectedAfter).Microseconds() / int64(n)}
}

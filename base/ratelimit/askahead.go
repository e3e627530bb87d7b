package ratelimit

import (
	"math"
	"time"

	"adsync/base/ratelimit/grant"
)

// comes records that a call has come.
func (l *line) comes(c grant.Call, now time.Time) {
	l.came, l.cameAt, l.call = l.cameBy(now)+1, now, c
}

// cameBy returns how many calls came in about the last cameForgotten.
func (l *line) cameBy(now time.Time) float64 {
	return l.came * math.Exp(-now.Sub(l.cameAt).Seconds()/cameForgotten.Seconds())
}

// expects returns the calls that will come within the horizon, to be requested ahead. While the limits suffice for
// all, it returns none.
func (l *line) expects(now time.Time) grant.Expected {
	if !l.scarce || l.id.rows != "" {
		return grant.Expected{}
	}
	n := min(callsMax, int(expectedPart*l.cameBy(now)*grant.Horizon.Seconds()/cameForgotten.Seconds()))
	if n < expectedLeast {
		return grant.Expected{}
	}
	return grant.Expected{Calls: n, After: expectedAfter.Microseconds(), Every: (grant.Horizon - expectedAfter).Microseconds() / int64(n)}
}

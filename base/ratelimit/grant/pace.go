package grant

import (
	"math"
	"time"
)

// countedFrom is the shortest period with a burst that ulule/limiter also counts. Calls under a shorter one wait for
// each other's moments.
const countedFrom = time.Hour

// burstDivisor defines the burst: this part of the allowed calls. For rows the burst is as many as one call may
// match: a platform that counts rows lets a call match a quarter of what it allows.
const (
	burstDivisor     = 20
	rowsBurstDivisor = 4
)

// pace is the distance between the calls under one key. All times of pacing are microseconds.
type pace struct {
	Every     int64 // between two calls, in the long run; 0 means no limit
	tolerance int64 // how early a call may be: a burst of 1 + tolerance/every; 0 for a limit that has a calendar
}

// paceOf returns the pace of a key for one of several processes that share its limit evenly. The package comment
// derives the numbers.
func paceOf(k Key, spread time.Duration, members int) pace {
	if k.Limit <= 0 {
		return pace{}
	}
	period := k.Period.Microseconds()
	limit, cost := int64(k.Limit/members), int64(max(1, k.Cost))
	if limit < cost {
		// There are fewer calls than processes. Each gets one in so many periods that together they keep the mean.
		return pace{Every: ceilDiv((k.Period+spread).Microseconds()*int64(members), int64(k.Limit))}
	}
	// The small term keeps 20 × 0.95 from becoming 18.
	allowed := max(cost, int64(float64(limit)*k.Share+1e-9))
	burst := cost
	switch {
	case k.Unit == UnitRows:
		burst = max(1, allowed/rowsBurstDivisor)
	case k.Period >= countedFrom:
		burst = max(cost, allowed/burstDivisor)
	}
	every := max(
		ceilDiv(period, allowed-burst+1),
		ceilDiv((k.Period+spread).Microseconds(), limit-burst+1),
		// For a limit of one the share is a part of the time, because a call cannot be divided.
		int64(math.Ceil(float64(period)/(float64(limit)*k.Share))),
	)
	if !k.HasBurst() {
		return pace{Every: every} // Every already accounts for the cost that a call may take at once.
	}
	return pace{Every: every, tolerance: (burst - 1) * every}
}

// limitOf returns a key's limit as plans use it. Limits of accounts are many, so their windows are not counted when
// they are lowered.
func limitOf(k Key, spread time.Duration, members int) Limit {
	l := Limit{Key: k, pace: paceOf(k, spread, members), bursts: k.HasBurst(), window: (k.Period + spread).Microseconds()}
	l.ahead = l.tolerance + l.Every
	if k.Unit == UnitRows {
		l.ahead += settledAhead * l.window // Calls may have matched more rows than estimated.
	}
	if k.Scope != ScopeAccount {
		l.calls = int64(max(1, k.Limit/members))
	}
	return l
}

// of completes a limit of a request, which has only a key and a part, for a plan.
func (l Limit) of(spread time.Duration, members int) Limit {
	full := limitOf(l.Key, spread, members)
	if l.Part > 0 && l.Part < 1 {
		full.Part = l.Part
		full.Every = int64(math.Ceil(float64(full.Every) / l.Part))
		full.tolerance = int64(float64(full.tolerance) * l.Part)
		full.ahead = int64(math.Ceil(float64(full.ahead) / l.Part))
		if full.calls > 0 {
			full.calls = max(1, int64(float64(full.calls)*l.Part))
		}
	}
	return full
}

// settledAhead is the number of windows for which calls that were made may use up a limit of rows.
const settledAhead = 6

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// Apart returns the approximate distance between calls under a limit, in the long run.
func Apart(k Key) time.Duration { return Microseconds(paceOf(k, 0, 1).Every) }

// Microseconds returns n microseconds as a duration.
func Microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

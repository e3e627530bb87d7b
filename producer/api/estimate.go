package api

import (
	"math"

	"adsync/base/store/dead"
)

// estimate returns how many calls and seconds n subtasks take at a pace, and at a rate if that is not 0. nil = unknown.
func estimate(n int64, rate int, pace dead.Pace) (calls, seconds *int64) {
	if pace.Calls >= 0 {
		calls = new(int64(math.Ceil(float64(n) * pace.Calls)))
	}
	took := 0.0
	if rate > 0 {
		took = float64(n) / float64(rate)
	}
	if pace.PerSecond > 0 {
		took = max(took, float64(n)/pace.PerSecond)
	}
	if took > 0 {
		seconds = new(int64(math.Ceil(took)))
	}
	return calls, seconds
}

// sum adds two estimated numbers of calls; nil = unknown.
func sum(x, y *int64) *int64 {
	if x == nil || y == nil {
		return nil
	}
	return new(*x + *y)
}

// longer returns the longer of two estimated times of work that runs at the same time; nil = unknown.
func longer(x, y *int64) *int64 {
	if x == nil || y == nil {
		return nil
	}
	return new(max(*x, *y))
}

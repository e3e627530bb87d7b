package api

import (
	"adsync/base/store"
	"math"
)

// estimate tells what n subtasks cost at a pace, and at a rate if that is not 0; nil = unknown.
func estimate(n int64, rate int, pace store.Pace) (calls, seconds *int64) {
	if pace.Calls >= 0 {
		calls = new(int64)
		*calls = int64(math.Ceil(float64(n) * pace.Calls))
	}
	took := 0.0
	if rate > 0 {
		took = float64(n) / float64(rate)
	}
	if pace.PerSecond > 0 {
		took = max(took, float64(n)/pace.PerSecond)
	}
	if took > 0 {
		seconds = new(int64)
		*seconds = int64(math.Ceil(took))
	}
	return calls, seconds
}

func sum(a, b int64) int64 { return a + b }

func longer(a, b int64) int64 { return max(a, b) }

// together puts two figures together; nothing is known of them when one is not known.
func together(a, b *int64, with func(a, b int64) int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	both := with(*a, *b)
	return &both
}

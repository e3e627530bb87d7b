package api

import (
	"math"

	"adsync/base/store/dead"
)

// estimateJSON is what work costs; null = unknown.
type estimateJSON struct {
	Calls   *int64 `json:"estimated_calls"`
	Seconds *int64 `json:"estimated_seconds"`
}

// estimate tells what n subtasks cost at a pace, and at a rate if that is not 0.
func estimate(n int64, rate int, pace dead.Pace) (e estimateJSON) {
	if pace.Calls >= 0 {
		e.Calls = new(int64(math.Ceil(float64(n) * pace.Calls)))
	}
	took := 0.0
	if rate > 0 {
		took = float64(n) / float64(rate)
	}
	if pace.PerSecond > 0 {
		took = max(took, float64(n)/pace.PerSecond)
	}
	if took > 0 {
		e.Seconds = new(int64(math.Ceil(took)))
	}
	return e
}

// noWork is the estimate of nothing, to which others are added.
func noWork() estimateJSON { return estimateJSON{Calls: new(int64), Seconds: new(int64)} }

// and is the estimate of two pieces of work that go at the same time; nothing is known of them when one is not known.
func (e estimateJSON) and(other estimateJSON) (both estimateJSON) {
	if e.Calls != nil && other.Calls != nil {
		both.Calls = new(*e.Calls + *other.Calls)
	}
	if e.Seconds != nil && other.Seconds != nil {
		both.Seconds = new(max(*e.Seconds, *other.Seconds))
	}
	return both
}

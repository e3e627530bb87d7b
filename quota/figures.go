package quota

import (
	"math"
	"slices"
	"time"
)

// Limit is a platform's limit that all calls of a scenario share: so many calls in any period.
type Limit struct {
	Calls  int
	Period time.Duration
}

// perSecond is how many calls a second can be had without a refusal where calls are up to spread longer on their way than others: those that
// arrive within a period were sent within the period and the spread.
func (l Limit) perSecond(spread time.Duration) float64 {
	return float64(l.Calls) / (l.Period + spread).Seconds()
}

// Figures are what a scenario came to, counted by the platform.
type Figures struct {
	Name      string `json:"name"`
	Processes int    `json:"processes"`
	Calls     int    `json:"calls"` // while it was measured
	// UseRatio is the calls that arrived, of those that could be had without a refusal.
	UseRatio float64 `json:"use_ratio"`
	// Refused is how many calls a platform refuses that counts each sliding window.
	Refused int `json:"refused"`
	// Overspent is how many calls the fullest window held above its limit.
	Overspent int `json:"overspent"`
	// FairnessError is the largest distance from a max-min share within 10 s, in calls.
	FairnessError float64 `json:"fairness_error"`
	// ConvergenceSeconds is how long it took after a disturbance until 95 % of what could be had was used again, and on; 0 without one.
	ConvergenceSeconds float64 `json:"convergence_seconds"`
	// RoundTripsPerCall is how often Redis was asked for a call.
	RoundTripsPerCall float64 `json:"redis_round_trips_per_call"`
	// RoundTripsPerProcess is how often a process asked in 2 s.
	RoundTripsPerProcess float64 `json:"redis_round_trips_per_process_2s"`
	// SpreadSeconds is the largest difference between calls in the time from their sending to their arrival.
	SpreadSeconds float64 `json:"spread_seconds"`
}

type calls []Arrival // in the order of their arrival

// between are those from one moment up to another.
func (c calls) between(from, to time.Duration) calls {
	at := func(t time.Duration) int {
		i, _ := slices.BinarySearchFunc(c, t, func(x Arrival, t time.Duration) int { return int(x.At - t) })
		return i
	}
	return c[at(from):at(to)]
}

// byApp are those of each app.
func (c calls) byApp() map[string]calls {
	of := map[string]calls{}
	for _, x := range c {
		of[x.App] = append(of[x.App], x)
	}
	return of
}

// refused is how many calls a strict ledger refuses: those that find a full window of calls that were not refused.
func (c calls) refused(limits []Limit) (n int) {
	taken := make([][]time.Duration, len(limits))
	for _, x := range c {
		full := slices.ContainsFunc(limits, func(l Limit) bool {
			t := taken[slices.Index(limits, l)]
			return len(t) >= l.Calls && t[len(t)-l.Calls] > x.At-l.Period
		})
		if full {
			n++
			continue
		}
		for i := range limits {
			taken[i] = append(taken[i], x.At)
		}
	}
	return n
}

// overspent is how many calls the fullest window holds above its limit.
func (c calls) overspent(limits []Limit) (most int) {
	for _, l := range limits {
		first := 0
		for i, x := range c {
			for c[first].At <= x.At-l.Period {
				first++
			}
			most = max(most, i+1-first-l.Calls)
		}
	}
	return most
}

// converged is how long after a moment, until the end, it takes until each 2 s have 95 % of the calls that could be had.
func (c calls) converged(from, to time.Duration, perSecond float64) time.Duration {
	const window, step = 2 * time.Second, 100 * time.Millisecond
	last := from
	for at := from; at+window <= to; at += step {
		if float64(len(c.between(at, at+window))) < math.Floor(0.95*perSecond*window.Seconds()) {
			last = at + step
		}
	}
	return last - from
}

// fairnessError is the largest distance of a kind of call from its share, over each 10 s: kind names a call's, and shares says how the calls of that time are
// to be shared out.
func (c calls) fairnessError(from, to time.Duration, kind func(Arrival) string, shares func(total int) map[string]float64) (most float64) {
	const window = 10 * time.Second
	for at := from; at+window <= to; at += window {
		part := c.between(at, at+window)
		had := map[string]float64{}
		for _, x := range part {
			had[kind(x)]++
		}
		for k, share := range shares(len(part)) {
			most = max(most, math.Abs(had[k]-share))
		}
	}
	return most
}

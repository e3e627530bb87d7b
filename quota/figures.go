package quota

import (
	"math"
	"slices"
	"time"
)

// Limit is a platform's limit that all calls of a scenario share: Calls in any Period.
type Limit struct {
	Calls  int
	Period time.Duration
}

// perSecond returns how many calls a second are available without a refusal if calls are up to spread longer on their
// way than others: calls that arrive within a period were sent within the period and the spread.
func (l Limit) perSecond(spread time.Duration) float64 {
	return float64(l.Calls) / (l.Period + spread).Seconds()
}

// Figures are the results of a scenario, counted by the platform.
type Figures struct {
	Name      string `json:"name"`
	Processes int    `json:"processes"`
	Calls     int    `json:"calls"` // during the measurement
	// UseRatio is the part of the calls available without a refusal that arrived.
	UseRatio float64 `json:"use_ratio"`
	// Refused is how many calls a platform refuses that counts each sliding window.
	Refused int `json:"refused"`
	// Overspent is how many calls the fullest window held above its limit.
	Overspent int `json:"overspent"`
	// FairnessError is the largest distance from a max-min share within 10 s, in calls.
	FairnessError float64 `json:"fairness_error"`
	// ConvergenceSeconds is how long it took after a disturbance until 95 % of the available calls were used again,
	// permanently; 0 without one.
	ConvergenceSeconds float64 `json:"convergence_seconds"`
	// RoundTripsPerCall is the number of requests to Redis per call.
	RoundTripsPerCall float64 `json:"redis_round_trips_per_call"`
	// RoundTripsPerProcess is the number of requests per process in 2 s.
	RoundTripsPerProcess float64 `json:"redis_round_trips_per_process_2s"`
	// SpreadSeconds is the largest difference between calls in the time from their sending to their arrival.
	SpreadSeconds float64 `json:"spread_seconds"`
}

type calls []Arrival // in the order of their arrival

// between returns the calls from one time up to another.
func (c calls) between(from, to time.Duration) calls {
	at := func(t time.Duration) int {
		i, _ := slices.BinarySearchFunc(c, t, func(x Arrival, t time.Duration) int { return int(x.At - t) })
		return i
	}
	return c[at(from):at(to)]
}

// byApp returns the calls of each app.
func (c calls) byApp() map[string]calls {
	of := map[string]calls{}
	for _, x := range c {
		of[x.App] = append(of[x.App], x)
	}
	return of
}

// refused returns how many calls a strict ledger refuses: those that find a window full of calls that were not
// refused.
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

// overspent returns how many calls the fullest window holds above its limit.
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

// converged returns how long after a time, until the end, it takes until every 2 s have 95 % of the available calls.
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

// fairnessError returns the largest distance of a kind of call from its share, over every 10 s. kind returns a call's
// kind, and shares how the calls of that time should be divided.
func (c calls) fairnessError(from, to time.Duration, kind func(Arrival) string,
	shares func(total int) map[string]float64) (most float64) {
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

package ratelimit

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

const testSpread = 100 * time.Millisecond

var (
	quiet  = slog.New(slog.DiscardHandler)
	perDay = Key{Media: "m", Endpoint: "day", Scope: ScopePlatform, Period: 24 * time.Hour, Limit: 1000, Share: ShareDefault}
)

// keysOf are the limits that cover a call.
func keysOf(r *Rules, c Call) (keys []Key) {
	common, own := r.cover(c, time.Now())
	for _, x := range slices.Concat(common, own) {
		keys = append(keys, x.Key)
	}
	return keys
}

// one asks for one call under some limits.
func one(keys ...Key) ask {
	a := ask{process: "p", wants: []want{{importance: 20, group: "g", demand: 1, calls: []wanted{{}}}}}
	for i, k := range keys {
		a.limits = append(a.limits, limit{key: k})
		a.wants[0].common = append(a.wants[0].common, i)
	}
	return a
}

// some asks for n calls under some limits.
func some(n int, keys ...Key) ask {
	a := one(keys...)
	a.wants[0].demand, a.wants[0].calls = n, make([]wanted, n)
	return a
}

// arrivals is the platform's own book: when calls arrived, per what they are counted under.
type arrivals struct {
	mu sync.Mutex
	at map[Key][]int64 // microseconds
}

func newArrivals() *arrivals { return &arrivals{at: map[Key][]int64{}} }

func (l *arrivals) note(k Key, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[k.id()] = append(l.at[k.id()], at)
}

// undo takes one back.
func (l *arrivals) undo(k Key, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.at[k.id()]
	i := slices.Index(all, at)
	l.at[k.id()] = slices.Delete(all, i, i+1)
}

func (l *arrivals) count(k Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.at[k.id()])
}

// worst is the largest number of arrivals in any window of the key's period, wherever it begins.
func (l *arrivals) worst(k Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return worstWindow(l.at[k.id()], k.Period)
}

func worstWindow(arrivals []int64, period time.Duration) int {
	sorted := slices.Sorted(slices.Values(arrivals))
	worst, from := 0, 0
	for to, at := range sorted {
		for sorted[from] <= at-period.Microseconds() {
			from++
		}
		worst = max(worst, to-from+1)
	}
	return worst
}

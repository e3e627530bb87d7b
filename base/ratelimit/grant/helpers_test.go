package grant

import (
	"log/slog"
	"slices"
	"sync"
	"time"
)

const testSpread = 100 * time.Millisecond

var (
	quiet  = slog.New(slog.DiscardHandler)
	perDay = Key{Media: "m", Endpoint: "day", Scope: ScopePlatform, Period: 24 * time.Hour, Limit: 1000,
		Share: ShareDefault}
)

// keysOf returns the limits that cover a call.
func keysOf(r *Rules, c Call) (keys []Key) {
	common, own := r.Cover(c, time.Now())
	for _, x := range slices.Concat(common, own) {
		keys = append(keys, x.Key)
	}
	return keys
}

// one requests one call under some limits.
func one(keys ...Key) Request {
	a := Request{Process: "p", Wants: []Want{{Importance: 20, Group: "g", Demand: 1, Calls: []Wanted{{}}}}}
	for i, k := range keys {
		a.Limits = append(a.Limits, Limit{Key: k})
		a.Wants[0].Common = append(a.Wants[0].Common, i)
	}
	return a
}

// some requests n calls under some limits.
func some(n int, keys ...Key) Request {
	a := one(keys...)
	a.Wants[0].Demand, a.Wants[0].Calls = n, make([]Wanted, n)
	return a
}

// arrivals records when calls arrived at the platform, by what they are counted under.
type arrivals struct {
	mu sync.Mutex
	at map[Key][]int64 // microseconds
}

func newArrivals() *arrivals { return &arrivals{at: map[Key][]int64{}} }

func (l *arrivals) note(k Key, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[k.ID()] = append(l.at[k.ID()], at)
}

// undo removes one arrival.
func (l *arrivals) undo(k Key, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.at[k.ID()]
	i := slices.Index(all, at)
	l.at[k.ID()] = slices.Delete(all, i, i+1)
}

// worst returns the largest number of arrivals in any window of the key's period.
func (l *arrivals) worst(k Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return worstWindow(l.at[k.ID()], k.Period)
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

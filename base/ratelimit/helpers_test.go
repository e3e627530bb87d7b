package ratelimit

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"adsync/base/ratelimit/grant"
)

const testSpread = 100 * time.Millisecond

var (
	quiet  = slog.New(slog.DiscardHandler)
	perDay = grant.Key{Media: "m", Endpoint: "day", Scope: grant.ScopePlatform, Period: 24 * time.Hour, Limit: 1000,
		Share: grant.ShareDefault}
)

// keysOf returns the limits that cover a call.
func keysOf(r *grant.Rules, c grant.Call) (keys []grant.Key) {
	common, own := r.Cover(c, time.Now())
	for _, x := range slices.Concat(common, own) {
		keys = append(keys, x.Key)
	}
	return keys
}

// one requests one call under some limits.
func one(keys ...grant.Key) grant.Request {
	a := grant.Request{Process: "p", Wants: []grant.Want{{Importance: 20, Group: "g", Demand: 1,
		Calls: []grant.Wanted{{}}}}}
	for i, k := range keys {
		a.Limits = append(a.Limits, grant.Limit{Key: k})
		a.Wants[0].Common = append(a.Wants[0].Common, i)
	}
	return a
}

// some requests n calls under some limits.
func some(n int, keys ...grant.Key) grant.Request {
	a := one(keys...)
	a.Wants[0].Demand, a.Wants[0].Calls = n, make([]grant.Wanted, n)
	return a
}

// arrivals records when calls arrived at the platform, by what they are counted under.
type arrivals struct {
	mu sync.Mutex
	at map[grant.Key][]int64 // microseconds
}

func newArrivals() *arrivals { return &arrivals{at: map[grant.Key][]int64{}} }

func (l *arrivals) note(k grant.Key, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at[k.ID()] = append(l.at[k.ID()], at)
}

func (l *arrivals) count(k grant.Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.at[k.ID()])
}

// worst returns the largest number of arrivals in any window of the key's period.
func (l *arrivals) worst(k grant.Key) int {
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

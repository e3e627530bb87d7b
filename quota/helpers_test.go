package quota

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
)

// keysOf returns the limits that cover a call.
func keysOf(r *grant.Rules, c grant.Call) (keys []grant.Key) {
	common, own := r.Cover(c, time.Now())
	for _, x := range slices.Concat(common, own) {
		keys = append(keys, x.Key)
	}
	return keys
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

// witnesses is a Witness in memory.
type witnesses struct {
	mu      sync.Mutex
	now     func() time.Time
	seen    map[ratelimit.Reach]time.Time // without Ago
	servers map[string]string
	away    error // if set, Read and Move fail with it
}

func newWitnesses(now func() time.Time) *witnesses {
	return &witnesses{now: now, seen: map[ratelimit.Reach]time.Time{}, servers: map[string]string{}}
}

func (w *witnesses) Reached(_ context.Context, process string, media []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range media {
		w.seen[ratelimit.Reach{Process: process, Media: m}] = w.now()
	}
	return w.away
}

func (w *witnesses) Read(context.Context) (ratelimit.Records, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := ratelimit.Records{Servers: maps.Clone(w.servers)}
	for r, at := range w.seen {
		r.Ago = w.now().Sub(at)
		s.Reached = append(s.Reached, r)
	}
	return s, w.away
}

func (w *witnesses) Move(_ context.Context, media, from, to string) (string, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away != nil {
		return "", false, w.away
	}
	if w.servers[media] != from {
		return w.servers[media], false, nil
	}
	w.servers[media] = to
	return to, true, nil
}

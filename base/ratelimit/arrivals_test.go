package ratelimit

import (
	"slices"
	"sync"
	"time"
)

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

package ratelimit

import (
	"slices"
	"sync"
	"time"
)

// ledger is the platform's own book: when calls arrived, per what they are counted under.
type ledger struct {
	mu       sync.Mutex
	arrivals map[Key][]int64 // microseconds
}

func newLedger() *ledger { return &ledger{arrivals: map[Key][]int64{}} }

func (l *ledger) note(k Key, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrivals[k.id()] = append(l.arrivals[k.id()], at)
}

func (l *ledger) count(k Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.arrivals[k.id()])
}

// worst is the largest number of arrivals in any window of the key's period, wherever it begins.
func (l *ledger) worst(k Key) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return worstWindow(l.arrivals[k.id()], k.Period)
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

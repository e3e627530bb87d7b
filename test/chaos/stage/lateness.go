package stage

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Lateness measures, second by second, how late this machine wakes a sleeping process. A problem found in a second in
// which no process got the CPU may come from the machine, not from adsync.
type Lateness struct {
	mu    sync.Mutex
	worst map[int64]int64 // in milliseconds, by second of real time
}

const (
	latenessInterval = 10 * time.Millisecond
	// latenessReported is how late a wake-up must be to be reported.
	latenessReported = 100 * time.Millisecond
)

// NewLateness returns a Lateness that has measured nothing yet.
func NewLateness() *Lateness { return &Lateness{worst: map[int64]int64{}} }

// Run measures until the context ends.
func (l *Lateness) Run(ctx context.Context) {
	for {
		asked := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-time.After(latenessInterval):
		}
		if late := time.Since(asked) - latenessInterval; late >= latenessReported {
			l.mu.Lock()
			second := asked.Unix()
			l.worst[second] = max(l.worst[second], late.Milliseconds())
			l.mu.Unlock()
		}
	}
}

// List returns how late the machine was, in milliseconds, by second of real time.
func (l *Lateness) List() map[int64]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.worst)
}

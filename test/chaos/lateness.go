package main

import (
	"context"
	"maps"
	"sync"
	"time"
)

// lateness measures, second by second, how late this machine wakes a sleeping process. A problem found in a second in
// which no process got the CPU may come from the machine, not from adsync.
type lateness struct {
	mu    sync.Mutex
	worst map[int64]int64 // in milliseconds, by second of real time
}

const (
	latenessInterval = 10 * time.Millisecond
	// latenessReported is how late a wake-up must be to be reported.
	latenessReported = 100 * time.Millisecond
)

func (l *lateness) run(ctx context.Context) {
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

func (l *lateness) list() map[int64]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.worst)
}

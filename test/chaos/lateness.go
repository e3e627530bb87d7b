package main

import (
	"context"
	"maps"
	"sync"
	"time"
)

// lateness measures how late this machine wakes a process that asked for it, second by second. What a scenario found in
// a second in which nothing got its turn says as much about the machine as about adsync: people should know.
type lateness struct {
	mu    sync.Mutex
	worst map[int64]int64 // in milliseconds, by second of real time
}

const (
	latenessInterval = 10 * time.Millisecond
	// latenessTold is how late a wake-up must be to be told.
	latenessTold = 100 * time.Millisecond
)

func (l *lateness) run(ctx context.Context) {
	for {
		asked := time.Now()
		select {
		case <-ctx.Done():
			return
		case <-time.After(latenessInterval):
		}
		if late := time.Since(asked) - latenessInterval; late >= latenessTold {
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

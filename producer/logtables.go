package producer

import (
	"context"
	"sync"

	"adsync/base/day"
)

// logTables makes each day's log table before it is used.
type logTables struct {
	store logTableStore
	ready onceEach[day.Day]
}

// logTableStore makes log tables.
type logTableStore interface {
	EnsureLogTable(ctx context.Context, d day.Day) error
}

// ensure makes the log table of a day, unless it has done so before.
func (t *logTables) ensure(ctx context.Context, d day.Day) error {
	return t.ready.do(d, func() error { return t.store.EnsureLogTable(ctx, d) })
}

// onceEach does something once for each key. A failed call is repeated.
type onceEach[K comparable] struct {
	mu   sync.Mutex
	done map[K]bool
}

func (o *onceEach[K]) do(key K, do func() error) error {
	o.mu.Lock()
	done := o.done[key]
	o.mu.Unlock()
	if done {
		return nil
	}
	if err := do(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == nil {
		o.done = map[K]bool{}
	}
	o.done[key] = true
	return nil
}

// forget makes everything be done again.
func (o *onceEach[K]) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	clear(o.done)
}

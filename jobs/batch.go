package jobs

import (
	"context"
	"sync"
	"time"

	"adsync/base/sqldb"
)

// writeTimeout bounds a shared write: its callers may have gone.
const writeTimeout = 10 * time.Second

// batch joins the items of concurrent callers into shared writes: while some are under way, others gather. A caller
// alone does not wait for others.
type batch[T any] struct {
	write func(ctx context.Context, items []T) error
	size  func(T) int // in bytes

	writers sync.WaitGroup
	mu      sync.Mutex
	waiting []entry[T]
	running int
}

const (
	batchItems   = 500
	batchBytes   = 4 << 20
	batchWriters = 2
)

type entry[T any] struct {
	items []T
	bytes int
	done  chan error
}

// do writes items and returns when they are committed, or with the error of the write that they were in. It does not
// wait longer than ctx, and the items are written all the same.
func (b *batch[T]) do(ctx context.Context, items ...T) error {
	e := entry[T]{items: items, done: make(chan error, 1)}
	for _, item := range items {
		e.bytes += b.size(item)
	}
	b.mu.Lock()
	b.waiting = append(b.waiting, e)
	if b.running < batchWriters {
		b.running++
		b.writers.Go(func() { b.run(context.WithoutCancel(ctx)) })
	}
	b.mu.Unlock()
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait waits for the writes under way.
func (b *batch[T]) wait() { b.writers.Wait() }

// run writes until nothing waits.
func (b *batch[T]) run(ctx context.Context) {
	for {
		taken := b.take()
		if len(taken) == 0 {
			return
		}
		err := b.writeAll(ctx, taken...)
		for _, e := range taken {
			if len(taken) > 1 && sqldb.IsTooLarge(err) {
				e.done <- b.writeAll(ctx, e) // Nothing was written, and one is to blame.
				continue
			}
			e.done <- err
		}
	}
}

func (b *batch[T]) writeAll(ctx context.Context, entries ...entry[T]) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var items []T
	for _, e := range entries {
		items = append(items, e.items...)
	}
	return b.write(ctx, items)
}

// take returns what the next write holds. If nothing waits, the writer ends.
func (b *batch[T]) take() []entry[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, items, bytes := 0, 0, 0
	for n < len(b.waiting) && (n == 0 || items+len(b.waiting[n].items) <= batchItems &&
		bytes+b.waiting[n].bytes <= batchBytes) {
		items, bytes = items+len(b.waiting[n].items), bytes+b.waiting[n].bytes
		n++
	}
	taken := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	if n == 0 {
		b.running--
		b.waiting = nil
	}
	return taken
}

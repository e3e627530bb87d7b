package consumer

import (
	"context"
	"errors"
	"sync"
	"time"

	"adsync/base/task"
)

// errDrained ends work that has not finished within the drain timeout after its partition was taken away or its
// consumer began to stop.
var errDrained = errors.New("the time to finish work in flight is over")

// interruption ends a subtask by a stop order, before or during its work, with a verdict. It is also the cause of the
// context's end, where handlers can read it.
type interruption struct{ verdict verdict }

func (i *interruption) Error() string { return i.verdict.text }

// work runs one subtask on a slot of the pool. Ctx is the partition's.
func (p *pool) work(ctx context.Context, s subtask) {
	defer func() { s.leave() }()
	if !p.wanted(ctx, s) {
		return
	}
	begun := p.mayBegin(ctx)
	if begun == nil {
		p.abandon(s.message)
		return
	}
	defer begun()
	if p.interrupted(ctx, s) { // An order may have come during the wait.
		return
	}
	var ok bool
	if s, ok = p.lock(ctx, s); !ok {
		return
	}
	switch may, err := p.c.floors.mayStill(ctx, s.Envelope); {
	case err != nil:
		p.abandon(s.message)
		return
	case !may:
		p.deferFor(ctx, s, floorWait, "an exclusive subtask began while its consumer was paused")
		return
	}
	if s.careful != nil && !p.mayStart(ctx, s) {
		return
	}
	newFlight(p, s, begun).run(p.drains.of(ctx, p.c.cfg.DrainTimeout))
}

// wanted reports whether a subtask's work may begin. If not, it has ended the message.
func (p *pool) wanted(ctx context.Context, s subtask) bool {
	if !s.Deadline.IsZero() {
		if now := p.c.deps.Clock.Now(); !now.Before(s.Deadline) {
			v := verdict{state: task.Expired, attempt: s.Attempt, text: "its time to live ended " +
				s.Deadline.UTC().Format(time.RFC3339) + ", before work on it began"}
			p.finish(ctx, v.outcome(s.Envelope, now), now, s.message)
			return false
		}
	}
	// The wait comes first, so that the row is read right before the work begins.
	if err := p.c.stops.await(ctx); err != nil {
		p.abandon(s.message)
		return false
	}
	status, found, err := p.c.checker.ask(ctx, s.Key)
	switch {
	case err != nil:
		p.abandon(s.message)
		return false
	case !found:
		// Rows are written before messages, so the row existed and its day was dropped.
		p.skip(s.Envelope, endMissing, s.message)
		return false
	case status.State != task.Waiting || status.Delivery != s.Delivery:
		// This delivery is over: the subtask has ended, waits for its retry, or was sent again.
		p.skip(s.Envelope, endRepeated, s.message)
		return false
	}
	return !p.interrupted(ctx, s)
}

// interrupted ends a subtask that an order stops before it begins, and reports whether it did.
func (p *pool) interrupted(ctx context.Context, s subtask) bool {
	i := p.c.interrupted(s.Envelope)
	if i == nil {
		return false
	}
	now := p.c.deps.Clock.Now()
	p.finish(ctx, i.verdict.outcome(s.Envelope, now), now, s.message)
	return true
}

// drains holds the contexts of work, by partition. Each outlives its partition's context by the drain timeout. All work
// of a partition shares one.
type drains struct {
	mu          sync.Mutex
	byPartition map[context.Context]context.Context // keyed by the partition's context, until that ends
}

// of returns the context of a partition's work, which ends grace after the partition's context.
func (d *drains) of(ctx context.Context, grace time.Duration) context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	if work, known := d.byPartition[ctx]; known {
		return work
	}
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	if d.byPartition == nil {
		d.byPartition = map[context.Context]context.Context{}
	}
	d.byPartition[ctx] = work //nolint:fatcontext // It is kept by its partition, not wrapped again.
	context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.byPartition, ctx)
		time.AfterFunc(grace, func() { cancel(errDrained) })
	})
	return work
}

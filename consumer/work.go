package consumer

import (
	"context"
	"errors"
	"sync"
	"time"

	"adsync/base/task"
)

// errDrained ends work whose partition was taken away, or whose consumer stops, when its time to finish is over.
var errDrained = errors.New("the time to finish work in flight is over")

// interruption ends a subtask by an order from outside, before or during its work: verdict is what becomes of it. As
// the cause of the work's context it tells handlers, too, why they are to end.
type interruption struct{ verdict verdict }

func (i *interruption) Error() string { return i.verdict.text }

// work does one subtask on a slot of the pool. Ctx is the partition's.
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
	if p.interrupted(ctx, s) { // While it waited.
		return
	}
	var ok bool
	if s, ok = p.lock(ctx, s); !ok {
		return
	}
	if s.careful != nil && !p.mayStart(ctx, s) {
		return
	}
	newFlight(p, s, begun).run(p.drains.of(ctx, p.c.cfg.DrainTimeout))
}

// wanted tells whether a subtask's work may begin; if not, its message was ended.
func (p *pool) wanted(ctx context.Context, s subtask) bool {
	if !s.Deadline.IsZero() {
		if now := p.c.deps.Clock.Now(); !now.Before(s.Deadline) {
			v := verdict{state: task.Expired, attempt: s.Attempt, text: "its time to live ended " +
				s.Deadline.UTC().Format(time.RFC3339) + ", before work on it began"}
			p.finish(ctx, v.outcome(s.Envelope, now), now, s.message)
			return false
		}
	}
	// First, so that the row is not old when it is judged.
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
		// Rows are written before messages, so the row is gone: its day was dropped.
		p.skip(s.Envelope, endMissing, s.message)
		return false
	case status.State != task.Waiting || status.Delivery != s.Delivery:
		// Answered already: it has ended, waits for its retry, or was sent again.
		p.skip(s.Envelope, endRepeated, s.message)
		return false
	}
	return !p.interrupted(ctx, s)
}

// interrupted ends a subtask that an order from outside says not to begin.
func (p *pool) interrupted(ctx context.Context, s subtask) bool {
	i := p.c.interrupted(s.Envelope)
	if i == nil {
		return false
	}
	now := p.c.deps.Clock.Now()
	p.finish(ctx, i.verdict.outcome(s.Envelope, now), now, s.message)
	return true
}

// drains are the contexts in which work goes on after that of its partition has ended, for the time that it may take
// to finish. All work of a partition shares one.
type drains struct {
	mu          sync.Mutex
	byPartition map[context.Context]context.Context // by the partition's, while that has not ended
}

// of returns the one of a partition's context, which ends a grace after that.
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

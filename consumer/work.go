package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"adsync/base/task"
	"adsync/media"

	"adsync/base/clock"
)

// timeoutDefault is how long a subtask may take when its task sets no limit: a handler must not keep its slot for ever.
const timeoutDefault = 5 * time.Minute

// errDrained ends work whose partition was taken away, or whose consumer stops, when its time to finish is over.
var errDrained = errors.New("the time to finish work in flight is over")

// work does one subtask on a slot of the pool. Ctx is the partition's.
func (p *pool) work(ctx context.Context, s subtask) {
	began := p.c.deps.Clock.Now()
	if !s.Deadline.IsZero() && !began.Before(s.Deadline) {
		v := verdict{state: task.Expired, attempt: s.Attempt, text: "its time to live ended " + s.Deadline.UTC().Format(time.RFC3339) + ", before work on it began"}
		p.finish(ctx, v.outcome(s.Envelope, began), began, s.message)
		return
	}
	status, found, err := p.c.checker.ask(ctx, s.Key)
	switch {
	case err != nil:
		p.abandon(s.message)
		return
	case !found:
		// Rows are written before messages, so the row is gone: its day was dropped.
		p.skip(s.Envelope, endMissing, s.message)
		return
	case status.State != task.Waiting || status.Delivery != s.Delivery:
		// Answered already: it has ended, waits for its retry, or was sent again.
		p.skip(s.Envelope, endRepeated, s.message)
		return
	}

	drained, end := drainContext(ctx, p.c.cfg.DrainTimeout)
	defer end()
	began = p.c.deps.Clock.Now()
	result, err := p.run(drained, s)
	if err != nil && !errors.Is(err, media.ErrSuperseded) && drained.Err() != nil {
		// Cut off: whatever the error says, it says it of us and not of the subtask.
		p.abandon(s.message)
		return
	}
	v := judge(s.Envelope, err, p.c.cfg.BackoffCap, p.c.jitter)
	o := v.outcome(s.Envelope, p.c.deps.Clock.Now())
	o.Rows, o.Calls = result.Rows, result.Calls
	// What is done is done: its outcome is kept also when the time to finish has just ended.
	p.finish(context.WithoutCancel(ctx), o, began, s.message)
}

// run calls the handler, for the subtask's timeout and not beyond its time to live. A panic is an error of class Bug.
func (p *pool) run(ctx context.Context, s subtask) (result media.Result, err error) {
	timeout := s.Timeout
	if timeout <= 0 {
		timeout = timeoutDefault
	}
	if !s.Deadline.IsZero() {
		timeout = min(timeout, p.c.deps.Clock.Until(s.Deadline))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := clock.Mark()
	defer func() {
		p.c.metrics.seconds.WithLabelValues(p.name.media, s.Handler).Observe(clock.Since(began).Seconds())
		stack := ""
		if cause := recover(); cause != nil {
			p.c.metrics.panics.WithLabelValues(s.Handler).Inc()
			result, err = media.Result{}, &media.Error{Class: media.Bug, Message: fmt.Sprintf("panic: %v", cause)}
			stack = string(debug.Stack())
		}
		if m, ok := errors.AsType[*media.Error](err); ok && m.Class == media.Bug {
			p.c.log.Error("a handler has a bug", "handler", s.Handler, "run_id", s.RunID, "account_id", s.AccountID, "part", s.Part,
				"err", err, "stack", stack)
		}
	}()
	result, err = s.handler.Run(ctx, media.Work{
		Key: s.Key, TaskName: s.TaskName, Delivery: s.Delivery, Attempt: s.Attempt, PlannedAt: s.PlannedAt, Params: s.params,
	})
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = fmt.Errorf("not done within %s: %w", timeout.Round(time.Millisecond), err)
	}
	return result, err
}

// drainContext lives on after ctx has ended, for the time that work in flight may take to finish. The function
// returned frees it.
func drainContext(ctx context.Context, grace time.Duration) (context.Context, func()) {
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(grace, func() { cancel(errDrained) })
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func() {
		stop()
		cancel(nil)
	}
}

package consumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"adsync/base/clock"
	"adsync/base/failpoint"
	"adsync/base/ratelimit"
	"adsync/base/telemetry"
	"adsync/media"
)

const (
	// timeoutDefault is how long a subtask may take if its task sets no limit, so that no handler keeps its slot forever.
	timeoutDefault = 5 * time.Minute
	// hangGrace is how long a handler may take to return after its context has ended. Then its subtask ends without it.
	hangGrace = 5 * time.Second
	// cutGrace replaces hangGrace at the end of a drain, where another consumer waits for the partition.
	cutGrace = 300 * time.Millisecond
)

// flight is a subtask whose handler runs. It ends once: when the handler returns, or some time after the end of the
// context if the handler ignores it. Such a handler keeps its slot until it returns, and its result is dropped.
type flight struct {
	p         *pool
	s         subtask
	began     time.Time
	timeout   time.Duration
	begun     func()                  // says that the subtask is no longer beginning; may be called again
	interrupt context.CancelCauseFunc // ends the work with a cause: an *interruption

	waits    atomic.Int32 // of those for call limits: while which its slot is lent
	ended    atomic.Bool
	returned chan struct{}
}

func newFlight(p *pool, s subtask, begun func()) *flight {
	f := &flight{p: p, s: s, begun: begun, began: p.c.deps.Clock.Now(), timeout: s.Timeout, returned: make(chan struct{})}
	if f.timeout <= 0 {
		f.timeout = timeoutDefault
	}
	if !s.Deadline.IsZero() {
		f.timeout = min(f.timeout, p.c.deps.Clock.Until(s.Deadline))
	}
	return f
}

// run calls the handler, for at most the subtask's timeout and not beyond its time to live. Drained ends when the time
// to finish is over.
func (f *flight) run(drained context.Context) {
	work, interrupt := context.WithCancelCause(drained)
	defer interrupt(nil)
	f.interrupt = interrupt
	f.p.c.flights.add(f)
	defer f.p.c.flights.remove(f)
	ctx, cancel := context.WithTimeout(f.calling(work), f.timeout)
	defer cancel()
	unwatch := context.AfterFunc(ctx, func() { f.watch(ctx, drained) })
	defer unwatch()
	defer close(f.returned)

	result, err := f.call(ctx)
	if !f.ended.CompareAndSwap(false, true) {
		f.returnsLate(err)
		return
	}
	f.end(ctx, result, err)
}

// calling returns a context that orders the subtask's calls among those that wait for a limit. Subtasks that began in
// one minute go in the order of their accounts, which is the same at each tick, and all calls of a subtask go with its
// first one. So an account's figures arrive at even intervals, however long the whole run takes.
func (f *flight) calling(ctx context.Context) context.Context {
	importance := int(f.p.importance.Load())
	if f.s.Spare {
		importance = ratelimit.ImportanceSpare
	}
	return ratelimit.With(ctx, ratelimit.Terms{
		Importance: importance, Rank: ratelimit.Rank{At: f.began.Truncate(time.Minute), Number: f.s.AccountID},
		AroundWait: f.wait, Yield: f.yields,
	})
}

// yields reports whether others need the subtask's place while it waits.
func (f *flight) yields() bool { return f.s.message.HoldsUp() || f.p.c.floors.drains(f.s.Envelope) }

// lendAfter is how long a call may wait for its limit before the subtask's slot is lent. A call that no limit holds
// back waits for less, and its subtask counts as running. Otherwise the bound of the pool would not hold.
const lendAfter = 500 * time.Millisecond

// wait lends the slot while a call waits for its limit, so that other subtasks can run. The caller calls after when the
// wait is over. A subtask may make several calls at a time.
func (f *flight) wait() (after func()) {
	f.begun()
	var mu sync.Mutex
	over, lent := false, false
	timer := time.AfterFunc(lendAfter, func() {
		mu.Lock()
		defer mu.Unlock()
		if lent = !over; lent && f.waits.Add(1) == 1 {
			f.p.slots.lend()
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		over = true
		if lent && f.waits.Add(-1) == 0 {
			f.p.slots.takeBack()
		}
	}
}

// call calls the handler. A panic is an error of class Bug.
func (f *flight) call(ctx context.Context) (result media.Result, err error) {
	c, s := f.p.c, f.s
	began := clock.Mark()
	ctx, span := c.deps.Tracer.Receive(ctx, s.Trace, s.Handler)
	span.Subtask(s.Envelope)
	defer func() {
		c.metrics.seconds.WithLabelValues(f.p.name.media, s.Handler).Observe(clock.Since(began).Seconds())
		stack := ""
		if cause := recover(); cause != nil {
			c.metrics.panics.WithLabelValues(s.Handler).Inc()
			result, err = media.Result{}, &media.Error{Class: media.Bug, Message: fmt.Sprintf("panic: %v", cause)}
			stack = string(debug.Stack())
		}
		if m, ok := errors.AsType[*media.Error](err); ok && m.Class == media.Bug {
			c.causes.Report(slog.LevelError, "bug/"+s.Handler, "a handler panicked; its subtask has failed",
				telemetry.OneCause(err),
				"handler", s.Handler, "run_id", s.RunID, "account_id", s.AccountID, "part", s.Part, "stack", stack)
		}
		span.End(err)
	}()
	failpoint.Hit("consumer.handling")
	result, err = s.handler.Run(ctx, media.Work{
		Key: s.Key, TaskID: s.TaskID, TaskName: s.TaskName, Delivery: s.Delivery, Attempt: s.Attempt,
		PlannedAt: s.PlannedAt, Deadline: s.Deadline, Trace: s.Trace, Params: s.params, Confirmed: s.Confirmed,
		Compare: s.Compare,
	})
	failpoint.Hit("consumer.handled")
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = fmt.Errorf("not done within %s: %w", f.timeout.Round(time.Millisecond), err)
	}
	return result, err
}

// end decides the subtask's outcome; ctx is the work's. Only the goroutine that has set ended may call it.
func (f *flight) end(ctx context.Context, result media.Result, err error) {
	c, s, cause := f.p.c, f.s, context.Cause(ctx)
	v := judge(s.Envelope, err, c.cfg.BackoffCap, c.jitter)
	// Finished work keeps its outcome, also if the context has ended since.
	if done := err == nil || errors.Is(err, media.ErrSuperseded); !done && cause != nil {
		// The work was interrupted: the error is about the interruption, not about the subtask.
		if errors.Is(cause, errDrained) {
			s.hold.keep() // for its next delivery, since the handler may have begun work outside
			f.p.abandon(s.message)
			return
		}
		if i, ok := errors.AsType[*interruption](cause); ok {
			v = i.verdict
		}
		v.timedOut = errors.Is(cause, context.DeadlineExceeded)
	}
	o := v.outcome(s.Envelope, c.deps.Clock.Now())
	if o.Outside {
		s.hold.keep()
	}
	o.Rows, o.Calls, o.Files = result.Rows, result.Calls, result.Files
	f.p.finish(context.WithoutCancel(ctx), o, f.began, s.message)
}

// watch waits for the handler to return after the work's context has ended. If it does not return in time, watch ends
// the subtask without it.
func (f *flight) watch(ctx, drained context.Context) {
	patience := hangGrace
	if _, ordered := errors.AsType[*interruption](context.Cause(ctx)); ordered {
		patience = interruptGrace
	}
	grace := time.NewTimer(patience)
	defer grace.Stop()
	select {
	case <-f.returned:
		return
	case <-grace.C:
	case <-drained.Done():
		cut := time.NewTimer(cutGrace)
		defer cut.Stop()
		select {
		case <-f.returned:
			return
		case <-cut.C:
		}
	}
	if !f.ended.CompareAndSwap(false, true) {
		return
	}
	f.begun()
	c, s := f.p.c, f.s
	f.p.slots.hang(1)
	c.metrics.hung.WithLabelValues(f.p.name.media, s.Handler).Inc()
	c.log.Error("a handler has not returned after its timeout and keeps its slot", "handler", s.Handler, "media",
		f.p.name.media, "lane", f.p.name.lane,
		"run_id", s.RunID, "account_id", s.AccountID, "part", s.Part, "timeout", f.timeout)
	f.end(ctx, media.Result{}, fmt.Errorf("did not return within its timeout of %s: %w", f.timeout.Round(time.Millisecond),
		context.Cause(ctx)))
	s.leave()
}

// returnsLate records that a handler has returned whose subtask has already ended.
func (f *flight) returnsLate(err error) {
	s := f.s
	f.p.slots.hang(-1)
	f.p.c.metrics.hung.WithLabelValues(f.p.name.media, s.Handler).Dec()
	f.p.c.log.Warn("a handler returned late; its result is dropped", "handler", s.Handler,
		"run_id", s.RunID, "account_id", s.AccountID, "part", s.Part, "after", f.p.c.deps.Clock.Now().Sub(f.began), "err",
		err)
}

// flights are the subtasks whose handlers run now.
type flights struct {
	mu  sync.Mutex
	set map[*flight]struct{}
}

func (l *flights) add(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set == nil {
		l.set = map[*flight]struct{}{}
	}
	l.set[f] = struct{}{}
}

func (l *flights) remove(f *flight) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.set, f)
}

// of returns how many flights a pool has now, and the names of their handlers.
func (l *flights) of(p *pool) (n int, handlers []string) {
	for _, f := range l.all() {
		if f.p == p {
			n++
			handlers = append(handlers, f.s.Handler)
		}
	}
	slices.Sort(handlers)
	return n, slices.Compact(handlers)
}

// all returns the present flights.
func (l *flights) all() []*flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*flight, 0, len(l.set))
	for f := range l.set {
		out = append(out, f)
	}
	return out
}

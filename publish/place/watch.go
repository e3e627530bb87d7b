package place

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// stalledError means that an operation was without progress for the time that is allowed.
type stalledError struct{ after time.Duration }

func (e *stalledError) Error() string {
	return fmt.Sprintf("no progress for %s: check the network, or raise timeout_seconds", e.after)
}

// watch ends the context of an operation that makes no progress.
type watch struct {
	ctx   context.Context // of the operation, for libraries whose dial functions have no parameter for it
	after time.Duration
	timer *time.Timer
}

// watched returns a context that also ends, with a *stalledError as its cause, when the watch is not touched for the
// given time. The caller must call stop.
func watched(ctx context.Context, after time.Duration) (_ context.Context, w *watch, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w = &watch{after: after, timer: time.AfterFunc(after, func() { cancel(&stalledError{after: after}) })}
	w.ctx = context.WithValue(ctx, watchKey{}, w)
	return w.ctx, w, func() {
		w.timer.Stop()
		cancel(nil)
	}
}

// watchKey is the key of a context's watch.
type watchKey struct{}

// touch notes progress. It has no effect on nil.
func (w *watch) touch() {
	if w != nil {
		w.timer.Reset(w.after)
	}
}

// why returns why an operation failed: err, or why ctx has ended if it has. The error of a connection that was closed
// then means nothing to the reader.
func why(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if stalled, ok := errors.AsType[*stalledError](context.Cause(ctx)); ok {
		return stalled
	}
	return ctx.Err()
}

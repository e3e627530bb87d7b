package producer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/lease"
)

// passPause is how long a loop rests after a failed pass, beside its own interval: what is due does not become less
// due, and must not be tried without a pause.
const passPause = 500 * time.Millisecond

// turns has a loop's passes follow each other, and reports those that fail under its name.
type turns struct {
	name     string // in the metrics, the log and readiness
	failed   *prometheus.CounterVec
	troubles *troubles
	logger   *slog.Logger
}

// run runs a pass again and again; wait returns when the next one is to begin. A failed pass is tried again at the next
// turn; only a stale lease ends the loop with an error, and with it the term.
func (t turns) run(ctx context.Context, pass func(context.Context) error, wait func(context.Context)) error {
	var told time.Time // when the present trouble was logged, by this process's clock; zero = there is none
	for ctx.Err() == nil {
		err := pass(ctx)
		switch {
		case errors.Is(err, lease.ErrStaleLease):
			return err
		case ctx.Err() != nil:
			return nil //nolint:nilerr // What failed because the term ended is no failure.
		case err != nil:
			t.failed.WithLabelValues(t.name).Inc()
			t.troubles.set(t.name, err)
			// Not at each turn, nor by the text: that of a broken connection is another one each time.
			if told.IsZero() || clock.Since(told) >= time.Minute {
				t.logger.Error("the leader's work fails, trying again", "loop", t.name, "err", err)
				told = clock.Mark()
			}
			waitFor(ctx, passPause, nil)
		case !told.IsZero():
			t.troubles.set(t.name, nil)
			t.logger.Info("the leader's work goes on", "loop", t.name)
			told = time.Time{}
		}
		wait(ctx)
	}
	return nil
}

// every waits for a fixed time.
func every(interval time.Duration) func(context.Context) {
	return func(ctx context.Context) { waitFor(ctx, interval, nil) }
}

// waitFor waits for a time, a wake-up or the end of ctx, whichever is first.
func waitFor(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

// handoverTime is how long the batch in flight may still take when the producer stops.
const handoverTime = 5 * time.Second

// finishing returns a context for work that is not to be broken off when ctx ends, but may go on for handoverTime.
func finishing(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(handoverTime)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-work.Done():
		}
	})
	return work, func() {
		stop()
		cancel()
	}
}

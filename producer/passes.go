package producer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"adsync/base/clock"
	"adsync/base/lease"
	"adsync/producer/trouble"
)

// passPause is how long a loop rests after a failed pass, in addition to its interval, so that failing work is not
// retried without a pause.
const passPause = 500 * time.Millisecond

// passes runs the passes of a loop one after the other, and reports failed ones under the loop's name.
type passes struct {
	name     string // in the metrics, the log and readiness
	failed   *prometheus.CounterVec
	troubles *trouble.Loops
	logger   *slog.Logger
}

// run repeats pass until ctx ends; wait returns when the next pass is due. A failed pass is retried. Only a stale
// lease is returned as an error, which ends the lead.
func (t passes) run(ctx context.Context, pass func(context.Context) error, wait func(context.Context)) error {
	var logged time.Time // when the present failure was last logged, by this process's clock; zero = no failure
	for ctx.Err() == nil {
		err := pass(ctx)
		switch {
		case errors.Is(err, lease.ErrStaleLease):
			return err
		case ctx.Err() != nil:
			return nil //nolint:nilerr // The end of the lead is not a failure.
		case err != nil:
			t.failed.WithLabelValues(t.name).Inc()
			t.troubles.Set(t.name, err)
			// Once a minute, whatever the text: that of a broken connection differs each time.
			if logged.IsZero() || clock.Since(logged) >= time.Minute {
				t.logger.Error("a loop of the leader fails; retrying", "loop", t.name, "err", err)
				logged = clock.Mark()
			}
			waitFor(ctx, passPause, nil)
		case !logged.IsZero():
			t.troubles.Set(t.name, nil)
			t.logger.Info("a loop of the leader works again", "loop", t.name)
			logged = time.Time{}
		}
		wait(ctx)
	}
	return nil
}

// repeated is a loop that repeats one pass.
type repeated struct {
	passes   passes
	pass     func(ctx context.Context) error
	interval time.Duration
}

// Run repeats the pass until ctx ends.
func (r repeated) Run(ctx context.Context) error { return r.passes.run(ctx, r.pass, every(r.interval)) }

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

// finishing returns a context for work that may continue for handoverTime after the end of ctx.
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

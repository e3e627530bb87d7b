package watch

import (
	"context"

	"adsync/base/task"
)

// readOutcomes reads for how long the notices to applications wait.
func (w *Watch) readOutcomes(ctx context.Context, _ []task.Task) (metrics, error) {
	var m metrics
	// The notice is read before the clock, so that a later one does not appear to be in the future.
	oldest, err := w.Store.OldestNotice(ctx)
	if err != nil {
		return m, err
	}
	now, err := w.Store.Data.Now(ctx)
	if err != nil {
		return m, err
	}
	age := 0.0
	if !oldest.IsZero() {
		age = max(now.Sub(oldest).Seconds(), 0)
	}
	m.gauge(oldestOutcome, age)
	return m, nil
}

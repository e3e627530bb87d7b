package producer

import (
	"context"
	"log/slog"
	"time"

	"adsync/base/clock"
)

// releaseInterval is how often queued subtasks are looked for that nobody made due.
const releaseInterval = 30 * time.Second

// queuedRelease is the loop that finds subtasks which wait behind an earlier run's that have ended: see overlap.go.
type queuedRelease struct {
	turns   turns
	store   queuedStore
	waiting clock.Clock
	logger  *slog.Logger
}

// queuedStore releases what waits behind what has ended.
type queuedStore interface {
	ReleaseQueued(ctx context.Context, now time.Time) (int, error)
}

// Run releases until ctx ends.
func (r *queuedRelease) Run(ctx context.Context) error {
	return r.turns.run(ctx, r.releaseQueued, every(releaseInterval))
}

// releaseQueued makes queued subtasks due that nobody made due when the one before them ended: a leader may have died
// right after it had queued them.
func (r *queuedRelease) releaseQueued(ctx context.Context) error {
	n, err := r.store.ReleaseQueued(ctx, r.waiting.Now())
	if n > 0 {
		r.logger.Info("queued subtasks were made due whose predecessors had ended unnoticed", "subtasks", n)
	}
	return err
}

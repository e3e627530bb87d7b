package producer

import (
	"context"
	"errors"

	"adsync/base/lease"
	"adsync/base/store"
	"adsync/producer/tasklist"
)

// redrives is the loop that lets go of the dead subtasks whose redrive has ended.
type redrives struct {
	turns   turns
	store   redriveStore
	lease   lease.Lease
	tasks   *tasklist.Set
	metrics *metrics
}

// redriveStore is dead subtasks and their redrives.
type redriveStore interface {
	Redrives(ctx context.Context) ([]int64, error)
	Run(ctx context.Context, id int64) (store.Run, error)
	SettleRedrive(ctx context.Context, l lease.Lease, runID int64) error
	CountDeadByMedia(ctx context.Context) (map[string]int64, error)
}

// Run settles until ctx ends.
func (r *redrives) Run(ctx context.Context) error {
	return r.turns.run(ctx, r.keepDead, every(upkeepInterval))
}

// keepDead settles redrives, and counts what is dead.
func (r *redrives) keepDead(ctx context.Context) error {
	if err := r.settleRedrives(ctx); err != nil {
		return err
	}
	counts, err := r.store.CountDeadByMedia(ctx)
	if err != nil {
		return err
	}
	setByMedia(r.metrics.dead, counts, r.tasks.Current())
	return nil
}

// settleRedrives lets go of the dead subtasks of runs that have ended, or are gone. Not before: what a run has made may
// still be cancelled or expire, and is dead then as it was.
func (r *redrives) settleRedrives(ctx context.Context) error {
	runs, err := r.store.Redrives(ctx)
	if err != nil {
		return err
	}
	for _, id := range runs {
		run, err := r.store.Run(ctx, id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil && run.State.Open() {
			continue
		}
		if err := r.store.SettleRedrive(ctx, r.lease, id); err != nil {
			return err
		}
	}
	return nil
}

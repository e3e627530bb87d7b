package producer

import (
	"context"
	"log/slog"
	"time"

	"adsync/base/clock"
	"adsync/base/task"
)

// parkedInterval is how often it is looked whether accounts are back that subtasks wait for.
const parkedInterval = 15 * time.Second

// parkedRelease is the loop that releases what waits for accounts.
type parkedRelease struct {
	turns   turns
	store   parkedStore
	waiting clock.Clock
	release releaser
	logger  *slog.Logger
}

// parkedStore is the accounts that are waited for.
type parkedStore interface {
	AccountsWaitedFor(ctx context.Context) ([]int64, error)
	StillParked(ctx context.Context, ids []int64) (map[int64]bool, error)
}

// Run releases until ctx ends.
func (r *parkedRelease) Run(ctx context.Context) error {
	return r.turns.run(ctx, r.releaseParked, every(parkedInterval))
}

// releaseParked makes due what waits for accounts that are not parked any more, whoever has taken them back, or are
// not bound any more: then it ends by what the platform says. A consumer may still believe that an account is parked:
// then it waits again, and is found by a later pass.
func (r *parkedRelease) releaseParked(ctx context.Context) error {
	ids, err := r.store.AccountsWaitedFor(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	parked, err := r.store.StillParked(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if parked[id] {
			continue
		}
		released := 0
		for {
			list, err := r.release.lot(ctx, task.ParkedRef(id), r.waiting.Now())
			if err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			released += len(list)
		}
		if released > 0 {
			r.logger.Info("subtasks go on whose account was parked", "account_id", id, "subtasks", released)
		}
	}
	return nil
}

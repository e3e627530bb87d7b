package producer

import (
	"context"
	"log/slog"
	"time"

	"adsync/base/clock"
	"adsync/base/task"
)

// parkedInterval is how often to check whether the accounts that subtasks wait for have returned.
const parkedInterval = 15 * time.Second

// parkedRelease is the loop that releases subtasks that wait for accounts.
type parkedRelease struct {
	passes  passes
	store   parkedStore
	waiting clock.Clock
	release releaser
	logger  *slog.Logger
}

// parkedStore reads the accounts that subtasks wait for.
type parkedStore interface {
	AccountsWaitedFor(ctx context.Context) ([]int64, error)
	StillParked(ctx context.Context, ids []int64) (map[int64]bool, error)
}

// releaseParked makes subtasks due that wait for accounts which are no longer parked, or no longer bound; the
// platform's answer ends the latter. If a consumer still considers an account parked, the subtask waits again, and a
// later pass finds it.
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
			r.logger.Info("released subtasks of an account that was parked", "account_id", id, "subtasks", released)
		}
	}
	return nil
}

package producer

import (
	"context"
	"time"

	"adsync/base/task"
)

// parkedInterval is how often it is looked whether accounts are back that subtasks wait for.
const parkedInterval = 15 * time.Second

// releaseParked makes due what waits for accounts that are not parked any more, whoever has taken them back, or are not bound any more: then it ends by
// what the platform says. A consumer may still believe that an account is parked: then it waits again, and is found by a later pass.
func (t *term) releaseParked(ctx context.Context) error {
	ids, err := t.store.AccountsWaitedFor(ctx)
	if err != nil || len(ids) == 0 {
		return err
	}
	parked, err := t.store.StillParked(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if parked[id] {
			continue
		}
		released := 0
		for {
			list, err := t.release(ctx, task.ParkedRef(id), t.waiting.Now())
			if err != nil {
				return err
			}
			if len(list) == 0 {
				break
			}
			released += len(list)
		}
		if released > 0 {
			t.logger.Info("subtasks go on whose account was parked", "account_id", id, "subtasks", released)
		}
	}
	return nil
}

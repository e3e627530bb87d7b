package producer

import (
	"context"
	"time"

	"adsync/base/store/ledger"
	"adsync/base/timer"
)

// releaser makes waiting subtasks due.
type releaser struct {
	store releaseStore
	timer Timer // may be nil
}

// releaseStore makes waiting subtasks due.
type releaseStore interface {
	Release(ctx context.Context, ref string, due time.Time, limit int) ([]ledger.Due, error)
}

// lot makes a batch of the subtasks that wait for ref due, and returns it.
func (r releaser) lot(ctx context.Context, ref string, due time.Time) ([]ledger.Due, error) {
	list, err := r.store.Release(ctx, ref, due, releaseAtOnce)
	if err == nil {
		addToTimer(ctx, r.timer, list)
	}
	return list, err
}

// addToTimer stores the due times of subtasks in the timer, if any.
func addToTimer(ctx context.Context, t Timer, due []ledger.Due) {
	if t == nil || len(due) == 0 {
		return
	}
	entries := make([]timer.Entry, len(due))
	for i, d := range due {
		entries[i] = timer.Entry{Key: d.Key, Delivery: d.Delivery, DueAt: d.DueAt}
	}
	t.Add(ctx, entries)
}

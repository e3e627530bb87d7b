package producer

import (
	"context"
	"time"

	"adsync/base/clock"
)

// sqlEdits is the loop that notices edits by SQL.
type sqlEdits struct {
	turns    turns
	store    sqlEditStore
	interval time.Duration

	lookedAt time.Time // by this process's clock
	next     int64     // the account after which the next look goes on
}

// sqlEditStore notes edits.
type sqlEditStore interface {
	RecordSQLEdits(ctx context.Context, after int64) (next int64, err error)
}

// Run looks until ctx ends.
func (e *sqlEdits) Run(ctx context.Context) error {
	return e.turns.run(ctx, e.note, every(upkeepInterval))
}

// note has the audit log tell of what was edited by SQL.
func (e *sqlEdits) note(ctx context.Context) error {
	if !e.lookedAt.IsZero() && clock.Since(e.lookedAt) < e.interval {
		return nil
	}
	begun := clock.Mark()
	next, err := e.store.RecordSQLEdits(ctx, e.next)
	if err != nil {
		return err
	}
	e.lookedAt, e.next = begun, next
	return nil
}

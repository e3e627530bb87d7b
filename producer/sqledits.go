package producer

import (
	"context"
	"time"

	"adsync/base/clock"
)

// sqlEdits is the loop that detects edits by SQL.
type sqlEdits struct {
	passes   passes
	store    sqlEditStore
	interval time.Duration

	lookedAt time.Time // by this process's clock
	next     int64     // the account after which the next pass continues
}

// sqlEditStore records edits.
type sqlEditStore interface {
	RecordSQLEdits(ctx context.Context, after int64) (next int64, err error)
}

// note writes edits by SQL to the audit log.
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

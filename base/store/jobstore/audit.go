package jobstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"adsync/base/sqldb"
)

// Change is something that a person or a program changed besides jobs.
type Change struct {
	ID        int64     `json:"id"`
	At        time.Time `json:"at"`
	Namespace string    `json:"namespace"`
	Actor     string    `json:"actor"` // the first letters of a token, or the user of the admin port
	Action    string    `json:"action"`
	Target    string    `json:"target"` // a queue, or the first letters of a token
	Detail    string    `json:"detail"`
}

// Audit is what was changed, and by whom.
type Audit struct{ rows }

// KeepChanges is for how long changes are kept.
const KeepChanges = 365 * 24 * time.Hour

const detailMax = 1000 // letters

// Note adds a change.
func (s Audit) Note(ctx context.Context, c Change) error {
	if letters := []rune(c.Detail); len(letters) > detailMax {
		c.Detail = string(letters[:detailMax-1]) + "…"
	}
	err := s.db.Writer(ctx).Exec("INSERT INTO job_audit (at, namespace, actor, action, target, detail) "+
		"VALUES (?, ?, ?, ?, ?, ?)", sqldb.At(c.At), c.Namespace, c.Actor, c.Action, c.Target, c.Detail).Error
	if err != nil {
		return fmt.Errorf("note a change: %w", err)
	}
	return nil
}

// Changes returns changes of a namespace, or of all for "", the newest first, up to limit before an id; 0 is none.
func (s Audit) Changes(ctx context.Context, namespace string, before int64, limit int) ([]Change, error) {
	where, args := "1 = 1", []any{}
	if namespace != "" {
		where, args = "namespace = ?", []any{namespace}
	}
	if before > 0 {
		where, args = where+" AND id < ?", append(args, before)
	}
	all, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT id, at, namespace, actor, action, target, detail FROM job_audit "+
		"WHERE "+where+" ORDER BY id DESC LIMIT ?", append(args, limit)...), func(rows *sql.Rows, c *Change) error {
		var at sqldb.Time
		err := rows.Scan(&c.ID, &at, &c.Namespace, &c.Actor, &c.Action, &c.Target, &c.Detail)
		c.At = at.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	return all, nil
}

// PruneChanges deletes changes that were kept long enough.
func (s Audit) PruneChanges(ctx context.Context, now time.Time) error {
	return s.prune(ctx, "job_audit", "at", now.Add(-KeepChanges))
}

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
	ID        int64       `json:"id"`
	At        time.Time   `gorm:"serializer:time" json:"at"` // when it began
	Namespace string      `json:"namespace"`
	Actor     string      `json:"actor"` // the first letters of a token, or the user of the admin port
	Action    string      `json:"action"`
	Target    string      `json:"target"` // a queue, or the first letters of a token
	Detail    string      `json:"detail"`
	State     ChangeState `json:"state"`
	Failure   string      `json:"failure"` // why it failed
}

// TableName implements schema.Tabler.
func (Change) TableName() string { return "job_audit" }

// ChangeState is how far a change has come.
type ChangeState string

// The states of changes. One stays begun if its process ended before it was known how the change ended.
const (
	ChangeBegun  ChangeState = "begun"
	ChangeDone   ChangeState = "done"
	ChangeFailed ChangeState = "failed"
)

// Audit is what was changed, and by whom.
type Audit struct{ rows }

// KeepChanges is for how long changes are kept.
const KeepChanges = 365 * 24 * time.Hour

const (
	detailMax  = 1000 // letters
	failureMax = 512
)

// Begin adds a change that is about to be made, and returns its id.
func (s Audit) Begin(ctx context.Context, c Change) (int64, error) {
	c.Detail, c.State = sqldb.Cut(c.Detail, detailMax), ChangeBegun
	if err := s.db.Writer(ctx).Create(&c).Error; err != nil {
		return 0, fmt.Errorf("note the change %q: %w", c.Action, err)
	}
	return c.ID, nil
}

// End notes how a change ended: with a detail, unless that is empty, and with the failure, if any.
func (s Audit) End(ctx context.Context, id int64, detail, failure string) error {
	end := map[string]any{"state": ChangeDone}
	if failure != "" {
		end = map[string]any{"state": ChangeFailed, "failure": sqldb.Cut(failure, failureMax)}
	}
	if detail != "" {
		end["detail"] = sqldb.Cut(detail, detailMax)
	}
	if err := s.db.Writer(ctx).Model(&Change{}).Where("id = ?", id).Updates(end).Error; err != nil {
		return fmt.Errorf("note the end of the change %d: %w", id, err)
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
	query := s.db.Latest(ctx).Raw("SELECT id, at, namespace, actor, action, target, detail, state, failure "+
		"FROM job_audit WHERE "+where+" ORDER BY id DESC LIMIT ?", append(args, limit)...)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, c *Change) error {
		var at sqldb.Time
		err := rows.Scan(&c.ID, &at, &c.Namespace, &c.Actor, &c.Action, &c.Target, &c.Detail, &c.State, &c.Failure)
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

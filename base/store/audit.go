package store

import (
	"context"
	"fmt"
)

// AuditTasks is the object of audit entries about the tasks as a whole.
const AuditTasks = "cron_task"

// AuditCoverage is the object of audit entries about days that were ordered since coverage lacks them.
const AuditCoverage = "coverage"

// Audit is one thing that somebody did.
type Audit struct {
	Actor  string // the caller's name
	Action string // "tasks.reload", "task.run"
	Object string // what it was done to
	After  string // what became of it, as JSON; may be empty
}

// AddAudit writes an audit entry.
func (s *Store) AddAudit(ctx context.Context, a Audit) error {
	err := s.Config.Writer(ctx).Exec("INSERT INTO audit_log (actor, action, object, after_value) VALUES (?, ?, ?, ?)",
		cut(a.Actor, 96), cut(a.Action, 64), cut(a.Object, 191), a.After).Error
	if err != nil {
		return fmt.Errorf("write audit %s of %s: %w", a.Action, a.Object, err)
	}
	return nil
}

// LastAudit returns the id of the newest audit entry of an object, 0 when there is none: it grows with each.
func (s *Store) LastAudit(ctx context.Context, object string) (int64, error) {
	var id int64
	err := s.Config.Writer(ctx).Raw("SELECT COALESCE(MAX(id), 0) FROM audit_log WHERE object = ?", object).Row().Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("read the newest audit entry of %s: %w", object, err)
	}
	return id, nil
}

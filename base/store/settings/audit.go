package settings

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// Objects of audit entries that are about no row.
const (
	AuditTasks    = "cron_task" // the tasks as a whole; those of one are AuditTasks + "/" + its name
	AuditCoverage = "coverage"  // days that were ordered since coverage lacks them
)

// AuditSQL is the actor of edits that were made by SQL.
const AuditSQL = "sql"

// Audit is one thing that somebody did.
type Audit struct {
	ID     int64
	At     time.Time
	Actor  string // the caller's name
	Action string // "tasks.reload", "task.run"
	Object string // what it was done to
	Before string // what it was, as JSON; empty if there was nothing
	After  string // what became of it, as JSON; may be empty
	Error  string // why it was not done after all
}

const addAudit = "INSERT INTO audit_log (actor, action, object, before_value, after_value) VALUES (?, ?, ?, ?, ?)"

func (a *Audit) values() []any {
	return []any{sqldb.Cut(a.Actor, 96), sqldb.Cut(a.Action, 64), sqldb.Cut(a.Object, 191), textOrNull(a.Before), textOrNull(a.After)}
}

// textOrNull has an empty text be NULL.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// AddAudit writes an audit entry and returns its id.
func (s Trail) AddAudit(ctx context.Context, a Audit) (int64, error) {
	res, err := s.Config.Writer(ctx).Statement.ConnPool.ExecContext(ctx, addAudit, a.values()...)
	if err == nil {
		a.ID, err = res.LastInsertId()
	}
	if err != nil {
		return 0, fmt.Errorf("write audit %s of %s: %w", a.Action, a.Object, err)
	}
	return a.ID, nil
}

// EndAudit completes an entry that was written before the deed: what became of it, unless that is empty, and why it failed.
func (s Trail) EndAudit(ctx context.Context, id int64, after, failure string) error {
	err := s.Config.Writer(ctx).Exec("UPDATE audit_log SET after_value = COALESCE(?, after_value), error = ? WHERE id = ?", textOrNull(after), sqldb.Cut(failure, 512), id).Error
	if err != nil {
		return fmt.Errorf("complete the audit entry %d: %w", id, err)
	}
	return nil
}

// AuditFilter chooses audit entries; what is empty chooses all.
type AuditFilter struct {
	Actor        string
	Object       string // itself, and what is below it: "cron_task" takes "cron_task/acme.adgroup" too
	Since, Until time.Time
	Before       int64 // only entries with a lower id
	Limit        int
}

// ListAudit returns audit entries, the newest first.
func (s Trail) ListAudit(ctx context.Context, f AuditFilter) ([]Audit, error) {
	query, args := "SELECT id, at, actor, action, object, COALESCE(before_value, ''), COALESCE(after_value, ''), error FROM audit_log WHERE 1 = 1", []any{}
	where := func(condition string, values ...any) { query, args = query+" AND "+condition, append(args, values...) }
	if f.Actor != "" {
		where("actor = ?", f.Actor)
	}
	if f.Object != "" {
		where("(object = ? OR object >= ? AND object < ?)", f.Object, f.Object+"/", f.Object+"0") // 0 comes right after the slash.
	}
	if !f.Since.IsZero() {
		where("at >= ?", sqldb.At(f.Since))
	}
	if !f.Until.IsZero() {
		where("at <= ?", sqldb.At(f.Until))
	}
	if f.Before > 0 {
		where("id < ?", f.Before)
	}
	rows, err := s.Config.Reader(ctx).Raw(query+" ORDER BY id DESC LIMIT ?", append(args, f.Limit)...).Rows()
	if err != nil {
		return nil, fmt.Errorf("list audit_log: %w", err)
	}
	defer rows.Close()
	var all []Audit
	for rows.Next() {
		var a Audit
		var at sqldb.Time
		if err := rows.Scan(&a.ID, &at, &a.Actor, &a.Action, &a.Object, &a.Before, &a.After, &a.Error); err != nil {
			return nil, fmt.Errorf("list audit_log: %w", err)
		}
		a.At = at.Time
		all = append(all, a)
	}
	return all, rows.Err()
}

// OrderReload has all producers read cron_task again within a few seconds, and notes who wanted it.
func (s Trail) OrderReload(ctx context.Context, actor string) error {
	entry := Audit{Actor: actor, Action: "tasks.reload", Object: AuditTasks}
	err := s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error {
		if err := tx.Exec("UPDATE audit_row SET version = version + 1 WHERE table_name = ? AND row_key = ''", AuditTasks).Error; err != nil {
			return err
		}
		return tx.Exec(addAudit, entry.values()...).Error
	})
	if err != nil {
		return fmt.Errorf("order a reload: %w", err)
	}
	return nil
}

// TasksVersion returns a number that rises with each change of cron_task that is in audit_log, and with each OrderReload.
func (s Trail) TasksVersion(ctx context.Context) (int64, error) {
	var version int64
	err := s.Config.Writer(ctx).Raw("SELECT version FROM audit_row WHERE table_name = ? AND row_key = ''", AuditTasks).Row().Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the version of the tasks: %w", err)
	}
	return version, nil
}

package settings

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// Objects of audit entries that belong to no row.
const (
	AuditTasks    = "cron_task" // all tasks; one task is AuditTasks + "/" + its name
	AuditCoverage = "coverage"  // days that were ordered because coverage lacks them
	// The tables of report files.
	AuditDestinations  = "destination"
	AuditSubscriptions = "subscription"
	// The copies of tables of other databases.
	AuditCopies = "table_copy"
	// The platforms without Go code.
	AuditExternal = "media_external"
)

// AuditSQL is the actor of edits that were made by SQL.
const AuditSQL = "sql"

// Audit is an entry of audit_log: one action of one actor.
type Audit struct {
	ID     int64
	At     time.Time `gorm:"->;serializer:time"` // when the database wrote it
	Actor  string    // the caller's name
	Action string    // "tasks.reload", "task.run"
	Object string    // what was changed
	Before string    `gorm:"column:before_value;serializer:optional"` // the old value as JSON; empty if there was none
	After  string    `gorm:"column:after_value;serializer:optional"`  // the new value as JSON; may be empty
	Error  string    // why the action failed
}

// TableName implements schema.Tabler.
func (Audit) TableName() string { return "audit_log" }

// BeforeCreate is called by gorm.
func (a *Audit) BeforeCreate(*gorm.DB) error {
	a.Actor, a.Action, a.Object = sqldb.Cut(a.Actor, 96), sqldb.Cut(a.Action, 64), sqldb.Cut(a.Object, 191)
	return nil
}

// AddAudit writes an audit entry and returns its id.
func (s AuditLog) AddAudit(ctx context.Context, a Audit) (int64, error) {
	if err := s.Config.Writer(ctx).Create(&a).Error; err != nil {
		return 0, fmt.Errorf("write audit %s of %s: %w", a.Action, a.Object, err)
	}
	return a.ID, nil
}

// EndAudit completes an entry that was written before its action: with after, unless that is empty, and with the
// failure, if any.
func (s AuditLog) EndAudit(ctx context.Context, id int64, after, failure string) error {
	end := map[string]any{"error": sqldb.Cut(failure, 512)}
	if after != "" {
		end["after_value"] = after
	}
	if err := s.Config.Writer(ctx).Model(&Audit{}).Where("id = ?", id).Updates(end).Error; err != nil {
		return fmt.Errorf("complete the audit entry %d: %w", id, err)
	}
	return nil
}

// AuditFilter chooses audit entries; empty fields choose all.
type AuditFilter struct {
	Actor        string
	Object       string // with all below it: "cron_task" includes "cron_task/acme.adgroup"
	Since, Until time.Time
	Before       int64 // only entries with a lower id
	Limit        int
}

// ListAudit returns audit entries, the newest first.
func (s AuditLog) ListAudit(ctx context.Context, f AuditFilter) ([]Audit, error) {
	query := s.Config.Reader(ctx).Order("id DESC").Limit(f.Limit)
	if f.Actor != "" {
		query = query.Where("actor = ?", f.Actor)
	}
	if f.Object != "" {
		// 0 comes right after the slash.
		query = query.Where("(object = ? OR object >= ? AND object < ?)", f.Object, f.Object+"/", f.Object+"0")
	}
	if !f.Since.IsZero() {
		query = query.Where("at >= ?", sqldb.At(f.Since))
	}
	if !f.Until.IsZero() {
		query = query.Where("at <= ?", sqldb.At(f.Until))
	}
	if f.Before > 0 {
		query = query.Where("id < ?", f.Before)
	}
	var all []Audit
	if err := query.Find(&all).Error; err != nil {
		return nil, fmt.Errorf("list audit_log: %w", err)
	}
	return all, nil
}

// OrderReload makes all producers read cron_task again within a few seconds, and records the actor.
func (s AuditLog) OrderReload(ctx context.Context, actor string) error {
	err := s.Config.IdempotentTx(ctx, func(tx *gorm.DB) error {
		if err := raiseVersion(tx, AuditTasks); err != nil {
			return err
		}
		return tx.Create(&Audit{Actor: actor, Action: "tasks.reload", Object: AuditTasks}).Error
	})
	if err != nil {
		return fmt.Errorf("order a reload: %w", err)
	}
	return nil
}

// TasksVersion returns a number that rises with each change of cron_task that is in audit_log, and with each
// OrderReload.
func (s AuditLog) TasksVersion(ctx context.Context) (int64, error) {
	var version int64
	err := auditedTable(s.Config.Writer(ctx), AuditTasks).Select("version").Row().Scan(&version)
	if err != nil {
		return 0, fmt.Errorf("read the version of the tasks: %w", err)
	}
	return version, nil
}

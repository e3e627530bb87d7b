package settings

import (
	"cmp"
	"context"
	"fmt"

	"gorm.io/gorm"
)

// NewTask is a row of cron_task to write; what is left empty takes the column's default.
type NewTask struct {
	Name, Media, Handler, Cron, Timezone, Lane, Scope, Params string
}

// SeedTasks writes tasks into cron_task if it is empty: tasks that operators deleted do not come back. It returns how
// many were written.
func (s Tasks) SeedTasks(ctx context.Context, tasks []NewTask) (int, error) {
	written := 0
	err := s.Config.Tx(ctx, func(tx *gorm.DB) error {
		if _, err := owned(AuditTasks).hold(s.Config, tx); err != nil {
			return err
		}
		var have int
		if err := tx.Raw("SELECT COUNT(*) FROM cron_task").Row().Scan(&have); err != nil || have > 0 {
			return err
		}
		for _, t := range tasks {
			var params any
			if t.Params != "" {
				params = t.Params
			}
			// Two that seed at once both find the table empty; the unique name lets one of each row in.
			err := tx.Exec(s.Config.Dialect().InsertIgnore()+"cron_task (name, media, handler, cron, timezone, lane, scope, params) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				t.Name, t.Media, t.Handler, t.Cron, cmp.Or(t.Timezone, "UTC"), cmp.Or(t.Lane, "normal"), cmp.Or(t.Scope, "active"), params).Error
			if err != nil {
				return fmt.Errorf("task %s: %w", t.Name, err)
			}
		}
		written = len(tasks)
		return owned(AuditTasks).begin(s.Config, tx) // What a new installation has is nobody's edit.
	})
	return written, err
}

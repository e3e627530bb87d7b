package settings

import (
	"cmp"
	"context"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// NewTask is a row of cron_task to write; empty fields take the column's default.
type NewTask struct {
	Name, Media, Handler, Cron, Timezone, Lane, Scope string

	Params string `gorm:"serializer:optional"`
}

// SeedTasks writes tasks into cron_task if it is empty, so that tasks that operators deleted do not come back. It
// returns how many it wrote.
func (s Tasks) SeedTasks(ctx context.Context, tasks []NewTask) (int, error) {
	written := 0
	err := s.Config.Tx(ctx, func(tx *gorm.DB) error {
		if _, err := owned(AuditTasks).lockTable(tx); err != nil {
			return err
		}
		var have int64
		if err := tx.Table("cron_task").Count(&have).Error; err != nil || have > 0 {
			return err
		}
		for _, t := range tasks {
			t.Timezone, t.Lane, t.Scope = cmp.Or(t.Timezone, "UTC"), cmp.Or(t.Lane, LaneNormal), cmp.Or(t.Scope, "active")
			// Two processes that seed at once both find the table empty; the unique name admits one of each row.
			if err := tx.Table("cron_task").Clauses(clause.OnConflict{DoNothing: true}).Create(&t).Error; err != nil {
				return fmt.Errorf("task %s: %w", t.Name, err)
			}
		}
		written = len(tasks)
		return owned(AuditTasks).recordInitial(s.Config, tx) // The seeded rows are not an edit.
	})
	return written, err
}

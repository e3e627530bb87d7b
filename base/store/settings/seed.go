package settings

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// NewTask is a row of cron_task to write; empty fields take the column's default.
type NewTask struct {
	Name, Media, Handler, Cron, Timezone, Lane, Scope string

	Params string `gorm:"serializer:optional"`

	TimeoutSeconds int `gorm:"default:300"`
	RetryMax       int `gorm:"default:5"`
}

// SeedTasks writes the tasks of each media that has none in cron_task: all in a new installation, and those of a
// platform that a newer release brings. Those are recorded in audit_log as by "adsync". A single task that operators
// deleted does not come back. It returns how many it wrote.
func (s Tasks) SeedTasks(ctx context.Context, tasks []NewTask) (int, error) {
	written := 0
	err := s.Config.Tx(ctx, func(tx *gorm.DB) error {
		tasksTable := owned(AuditTasks)
		if _, err := tasksTable.lockTable(tx); err != nil {
			return err
		}
		var have []string
		if err := tx.Table("cron_task").Distinct().Pluck("media", &have).Error; err != nil {
			return err
		}
		missing := slices.DeleteFunc(slices.Clone(tasks), func(t NewTask) bool { return slices.Contains(have, t.Media) })
		written = len(missing)
		switch {
		case written == 0:
			return nil
		case len(have) > 0:
			return tasksTable.edit(s.Config, tx, Editor{Actor: "adsync", Action: "task.create"}, nil, func(tx *gorm.DB) error {
				return insertTasks(tx, missing)
			})
		}
		if err := insertTasks(tx, missing); err != nil {
			return err
		}
		return tasksTable.recordInitial(s.Config, tx) // The first rows are not an edit.
	})
	return written, err
}

func insertTasks(tx *gorm.DB, tasks []NewTask) error {
	for _, t := range tasks {
		t.Timezone, t.Lane, t.Scope = cmp.Or(t.Timezone, "UTC"), cmp.Or(t.Lane, LaneNormal), cmp.Or(t.Scope, "active")
		// Two processes that seed at once both find none; the unique name admits one of each row.
		if err := tx.Table("cron_task").Clauses(clause.OnConflict{DoNothing: true}).Create(&t).Error; err != nil {
			return fmt.Errorf("task %s: %w", t.Name, err)
		}
	}
	return nil
}

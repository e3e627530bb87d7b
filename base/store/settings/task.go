package settings

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
)

// TaskRow is a row of cron_task as it is in the table, which any client may edit. Everything but the id is text: an
// invalid number in one row must not keep the others from being read.
type TaskRow struct {
	ID            int64
	Name          string
	Media         string
	Handler       string
	Cron          string
	Timezone      string
	Lane          string
	Scope         string
	Params        string `gorm:"serializer:optional"`
	Timeout       string `gorm:"column:timeout_seconds"` // seconds, like all times here
	TTL           string `gorm:"column:ttl_seconds"`
	RetryMax      string
	RetryBase     string `gorm:"column:retry_base_seconds"`
	Overlap       string
	CatchUp       string
	CatchUpWindow string `gorm:"column:catch_up_window_seconds"`
	CatchUpOrder  string
	CatchUpSpread string `gorm:"column:catch_up_spread_seconds"`
	Concurrency   string
	SerialKey     string
	ExclusiveOver string
	ExclusiveMax  string `gorm:"column:exclusive_max_seconds"`
	// ExclusiveDrain is empty in a good row of an earlier program.
	ExclusiveDrain string `gorm:"column:exclusive_drain_seconds"`
	FanOutRate     string
	After          string `gorm:"column:after_tasks"`
	Application    string
	Enabled        string // "0" or "1"
	Revision       string
}

// TableName implements schema.Tabler.
func (TaskRow) TableName() string { return "cron_task" }

// taskColumns are the columns of a TaskRow without the id, in the order of its fields.
var taskColumns = []string{
	"name", "media", "handler", "cron", "timezone", "lane", "scope", "params", "timeout_seconds", "ttl_seconds",
	"retry_max", "retry_base_seconds", "overlap", "catch_up", "catch_up_window_seconds",
	"catch_up_order", "catch_up_spread_seconds", "concurrency", "serial_key", "exclusive_over", "exclusive_max_seconds",
	"exclusive_drain_seconds", "fan_out_rate", "after_tasks", "application", "enabled", "revision",
}

// TaskRows returns all rows of cron_task by id, as the writer holds them.
func (s Tasks) TaskRows(ctx context.Context) ([]TaskRow, error) {
	return taskRows(s.Config.Writer(ctx))
}

func taskRows(db *gorm.DB) ([]TaskRow, error) {
	var all []TaskRow
	if err := db.Order("id").Find(&all).Error; err != nil {
		return nil, fmt.Errorf("read cron_task: %w", err)
	}
	return all, nil
}

// TaskSchedule is what the ticks of a task are counted from.
type TaskSchedule struct {
	TaskID int64
	Hash   string    // of its cron, zone and enabled
	Since  time.Time `gorm:"serializer:time"` // when they last changed
}

// TaskSchedules returns all tasks' schedules by task id.
func (s Tasks) TaskSchedules(ctx context.Context) (map[int64]TaskSchedule, error) {
	var schedules []TaskSchedule
	if err := s.Data.Writer(ctx).Find(&schedules).Error; err != nil {
		return nil, fmt.Errorf("read task_schedule: %w", err)
	}
	all := make(map[int64]TaskSchedule, len(schedules))
	for _, t := range schedules {
		all[t.TaskID] = t
	}
	return all, nil
}

// PutTaskSchedules writes schedules. It returns lease.ErrStaleLease when the lease does not hold. After any error
// nothing is written.
func (s Tasks) PutTaskSchedules(ctx context.Context, l lease.Lease, schedules []TaskSchedule) error {
	if len(schedules) == 0 {
		return nil
	}
	err := leader.Tx(ctx, s.Data, l, func(tx *gorm.DB) error {
		rows := make([][]any, len(schedules))
		for i, t := range schedules {
			rows[i] = []any{t.TaskID, t.Hash, sqldb.At(t.Since)}
		}
		return s.Data.Upsert(tx, sqldb.Table{Name: "task_schedule", Key: []string{"task_id"},
			Columns: []string{"hash", "since"}}, rows)
	})
	if err != nil {
		return fmt.Errorf("write task_schedule: %w", err)
	}
	return nil
}

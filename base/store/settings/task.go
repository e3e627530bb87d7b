package settings

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
)

// TaskRow is a row of cron_task as it stands in the table, which anybody may edit. Everything but the id is text: a
// number that is none in one row must not keep the others from being read.
type TaskRow struct {
	ID            int64
	Name          string
	Media         string
	Handler       string
	Cron          string
	Timezone      string
	Lane          string
	Scope         string
	Params        string
	Timeout       string // seconds, like all times here
	TTL           string
	RetryMax      string
	RetryBase     string
	Overlap       string
	CatchUp       string
	CatchUpWindow string
	CatchUpOrder  string
	CatchUpSpread string
	Concurrency   string
	ExclusiveMax  string
	FanOutRate    string
	After         string
	Enabled       string // "0" or "1"
	Revision      string
}

// taskColumns are those of a TaskRow but for the id, in the order of its fields.
var taskColumns = []string{
	"name", "media", "handler", "cron", "timezone", "lane", "scope", "params", "timeout_seconds", "ttl_seconds",
	"retry_max", "retry_base_seconds", "overlap", "catch_up", "catch_up_window_seconds",
	"catch_up_order", "catch_up_spread_seconds", "concurrency", "exclusive_max_seconds", "fan_out_rate", "after_tasks", "enabled", "revision",
}

// fields are in the order of taskColumns.
func (r *TaskRow) fields() []*string {
	return []*string{
		&r.Name, &r.Media, &r.Handler, &r.Cron, &r.Timezone, &r.Lane, &r.Scope, &r.Params, &r.Timeout, &r.TTL,
		&r.RetryMax, &r.RetryBase, &r.Overlap, &r.CatchUp, &r.CatchUpWindow, &r.CatchUpOrder, &r.CatchUpSpread, &r.Concurrency,
		&r.ExclusiveMax, &r.FanOutRate, &r.After, &r.Enabled, &r.Revision,
	}
}

// TaskRows returns all rows of cron_task by id, as the writer holds them.
func (s Tasks) TaskRows(ctx context.Context) ([]TaskRow, error) {
	return taskRows(s.Config.Writer(ctx))
}

func taskRows(db *gorm.DB) ([]TaskRow, error) {
	rows, err := db.Raw("SELECT id, " + strings.Join(taskColumns, ", ") + " FROM cron_task ORDER BY id").Rows()
	if err != nil {
		return nil, fmt.Errorf("read cron_task: %w", err)
	}
	defer rows.Close()
	var all []TaskRow
	for rows.Next() {
		var r TaskRow
		text := make([]sql.NullString, len(taskColumns))
		dest := []any{&r.ID}
		for i := range text {
			dest = append(dest, &text[i])
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, fmt.Errorf("read cron_task: %w", err)
		}
		for i, field := range r.fields() {
			*field = text[i].String
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// TaskSchedule is what the ticks of a task are counted from.
type TaskSchedule struct {
	TaskID int64
	Hash   string    // of its cron, zone and enabled
	Since  time.Time // when they became what they are
}

// TaskSchedules returns the schedules of all tasks by task id.
func (s Tasks) TaskSchedules(ctx context.Context) (map[int64]TaskSchedule, error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT task_id, hash, since FROM task_schedule").Rows()
	if err != nil {
		return nil, fmt.Errorf("read task_schedule: %w", err)
	}
	defer rows.Close()
	all := map[int64]TaskSchedule{}
	for rows.Next() {
		var t TaskSchedule
		var since sqldb.Time
		if err := rows.Scan(&t.TaskID, &t.Hash, &since); err != nil {
			return nil, fmt.Errorf("read task_schedule: %w", err)
		}
		t.Since = since.Time
		all[t.TaskID] = t
	}
	return all, rows.Err()
}

// PutTaskSchedules writes schedules. It returns lease.ErrStaleLease when the lease does not hold. Nothing is written then,
// nor after any other error.
func (s Tasks) PutTaskSchedules(ctx context.Context, l lease.Lease, schedules []TaskSchedule) error {
	if len(schedules) == 0 {
		return nil
	}
	err := leader.Tx(ctx, s.Data, l, func(tx *gorm.DB) error {
		rows := make([][]any, len(schedules))
		for i, t := range schedules {
			rows[i] = []any{t.TaskID, t.Hash, sqldb.At(t.Since)}
		}
		return s.Data.Upsert(tx, sqldb.Table{Name: "task_schedule", Key: []string{"task_id"}, Columns: []string{"hash", "since"}}, rows)
	})
	if err != nil {
		return fmt.Errorf("write task_schedule: %w", err)
	}
	return nil
}

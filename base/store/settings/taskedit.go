package settings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// ErrTaskExists is returned when a task of the name exists.
var ErrTaskExists = errors.New("a task of this name exists")

// NewTaskRow returns a row with the columns' defaults.
func NewTaskRow() TaskRow {
	return TaskRow{
		Timezone: "UTC", Lane: LaneNormal, Scope: "active", Timeout: "300", TTL: "0", RetryMax: "5", RetryBase: "10",
		Overlap: "skip", CatchUp: "latest",
		CatchUpWindow: "86400", CatchUpOrder: "oldest_first", CatchUpSpread: "0", Concurrency: "parallel", ExclusiveMax: "60",
		ExclusiveOver: "lane", ExclusiveDrain: "60", FanOutRate: "0",
		Enabled: "1", Revision: "1",
	}
}

// TaskTable is the tables by which a task is checked.
type TaskTable struct {
	Rows  []TaskRow // by id
	Lanes []Lane
}

// AddTask writes a new row of cron_task, unless check, which gets all rows including the new one, refuses it. It
// returns ErrTaskExists when the name is taken.
func (s Tasks) AddTask(ctx context.Context, e Editor, row TaskRow, check func(TaskTable) error) error {
	err := editOnce(ctx, s.Databases, e, AuditTasks, func(tx *gorm.DB) error {
		table, err := taskTable(tx)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(table.Rows, func(r TaskRow) bool { return r.Name == row.Name }) {
			return ErrTaskExists
		}
		table.Rows = append(table.Rows, row)
		if err := check(table); err != nil {
			return err
		}
		added := row // Create sets its id, which is wrong for the next try.
		return tx.Create(&added).Error
	})
	if err != nil {
		return fmt.Errorf("add the task %s: %w", row.Name, err)
	}
	return nil
}

// EditTask changes the row of a task. change gets the present row and returns the new one; check, as for AddTask, may
// refuse that. The revision rises by one. It returns ErrNotFound when there is no such task.
func (s Tasks) EditTask(ctx context.Context, e Editor, name string, change func(TaskRow) (TaskRow, error),
	check func(TaskTable) error) error {
	err := editOnce(ctx, s.Databases, e, AuditTasks, func(tx *gorm.DB) error {
		table, err := taskTable(tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(table.Rows, func(r TaskRow) bool { return r.Name == name })
		if i < 0 {
			return sqldb.ErrNotFound
		}
		row, err := change(table.Rows[i])
		if err != nil || row == table.Rows[i] {
			return err
		}
		revision, _ := strconv.ParseInt(table.Rows[i].Revision, 10, 64) // A revision that is not a number restarts at 1.
		row.Revision = strconv.FormatInt(revision+1, 10)
		table.Rows[i] = row
		if err := check(table); err != nil {
			return err
		}
		if err := tx.Select("*").Updates(&row).Error; err != nil {
			return err
		}
		return tx.Model(&row).Update("updated_at", gorm.Expr(s.Config.Dialect().Now())).Error
	})
	if err != nil {
		return fmt.Errorf("edit the task %s: %w", name, err)
	}
	return nil
}

// DeleteTask deletes the row of a task, unless check refuses it. check gets all rows, also the one to delete.
// DeleteTask returns the deleted row, or ErrNotFound if there is no such task.
func (s Tasks) DeleteTask(ctx context.Context, e Editor, name string, check func(TaskTable) error) (TaskRow, error) {
	var gone TaskRow
	err := editOnce(ctx, s.Databases, e, AuditTasks, func(tx *gorm.DB) error {
		table, err := taskTable(tx)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(table.Rows, func(r TaskRow) bool { return r.Name == name })
		if i < 0 {
			return sqldb.ErrNotFound
		}
		gone = table.Rows[i]
		if err := check(table); err != nil {
			return err
		}
		return tx.Delete(&gone).Error
	})
	if err != nil {
		return TaskRow{}, fmt.Errorf("delete the task %s: %w", name, err)
	}
	return gone, nil
}

func taskTable(tx *gorm.DB) (TaskTable, error) {
	rows, err := taskRows(tx)
	if err != nil {
		return TaskTable{}, err
	}
	lanes, err := lanesOf(tx)
	return TaskTable{rows, lanes}, err
}

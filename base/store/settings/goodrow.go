package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
)

// GoodTaskRows returns, by task id, the rows of cron_task as they were when they were last usable. Rows stored in a
// form that this program cannot read are left out.
func (s Tasks) GoodTaskRows(ctx context.Context) (map[int64]TaskRow, error) {
	var stored []struct {
		TaskID  int64
		RowText string
	}
	if err := s.Data.Writer(ctx).Table("task_good").Find(&stored).Error; err != nil {
		return nil, fmt.Errorf("read task_good: %w", err)
	}
	all := map[int64]TaskRow{}
	for _, good := range stored {
		var row TaskRow
		if json.Unmarshal([]byte(good.RowText), &row) == nil && row.ID == good.TaskID {
			all[row.ID] = row
		}
	}
	return all, nil
}

// PutGoodTaskRows stores usable rows, and deletes those of the tasks in gone. It returns lease.ErrStaleLease when the
// lease does not hold.
func (s Tasks) PutGoodTaskRows(ctx context.Context, l lease.Lease, good []TaskRow, gone []int64, now time.Time) error {
	if len(good)+len(gone) == 0 {
		return nil
	}
	rows := make([][]any, len(good))
	for i, row := range good {
		text, err := json.Marshal(row)
		if err != nil {
			return fmt.Errorf("store the row of task %s: %w", row.Name, err)
		}
		revision, _ := strconv.ParseInt(row.Revision, 10, 64) // A usable row's revision is a number.
		rows[i] = []any{row.ID, revision, string(text), sqldb.At(now)}
	}
	keys := make([][]any, len(gone))
	for i, id := range gone {
		keys[i] = []any{id}
	}
	err := leader.Tx(ctx, s.Data, l, func(tx *gorm.DB) error {
		table := sqldb.Table{Name: "task_good", Key: []string{"task_id"},
			Columns: []string{"revision", "row_text", "saved_at"}}
		if err := s.Data.Upsert(tx, table, rows); err != nil {
			return err
		}
		return sqldb.DeleteByKeys(s.Data, tx, "task_good", table.Key, keys)
	})
	if err != nil {
		return fmt.Errorf("write task_good: %w", err)
	}
	return nil
}

package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/task"
)

// Round is a tick of a task that starts after others. It answers ended runs of each of them.
type Round struct {
	Tick
	Answers map[int64][]int64 // the answered runs, by their task
}

// AddRound writes a round's tick and the runs that it answers, all or nothing: a task answers a run once. It returns
// lease.ErrStaleLease when the lease does not hold. After another error the round may exist, if the commit's answer
// was lost: the caller must look for it before it writes the round again.
func (s Ticks) AddRound(ctx context.Context, l lease.Lease, r Round) error {
	var rows [][]any
	for predecessor, runs := range r.Answers {
		for _, id := range runs {
			rows = append(rows, []any{r.TaskID, id, predecessor, sqldb.At(r.PlannedAt)})
		}
	}
	rows = sqldb.SortByKey(rows, 2)
	err := leader.Tx(ctx, s.Data, l, func(tx *gorm.DB) error {
		err := tx.Exec("INSERT INTO tick (task_id, planned_at, run_id, made_at) VALUES (?, ?, ?, ?)", r.TaskID,
			sqldb.At(r.PlannedAt), r.RunID, sqldb.At(r.MadeAt)).Error
		if err != nil {
			return err
		}
		const columns = 4
		for rest := rows; len(rest) > 0; {
			batch := rest[:min(len(rest), s.Data.RowsPerStatement(columns))]
			rest = rest[len(batch):]
			err := tx.Exec("INSERT INTO tick_answer (task_id, run_id, predecessor_task_id, planned_at) VALUES "+
				sqldb.Tuples(len(batch), columns), sqldb.Flatten(batch, columns)...).Error
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add a round of task %d: %w", r.TaskID, err)
	}
	return nil
}

// They select a tick's runs that ended with results and that a successor has not answered.
const (
	unansweredFrom  = " FROM run r WHERE r.task_id = ? AND r.id >= ? AND r.kind = '" + RunOfTick + "' AND r.state IN "
	unansweredUntil = " AND NOT EXISTS (SELECT 1 FROM tick_answer a WHERE a.task_id = ? AND a.run_id = r.id)" +
		" ORDER BY r.id LIMIT ?"
	endedWell = "('succeeded', 'partial')"
)

// AnyUnanswered reports whether a task has a run that Unanswered would return. It reads only runs with an id of at
// least from. Later calls may start from next: no lower run will have to be answered, unless it is made after this
// call.
func (s Ticks) AnyUnanswered(
	ctx context.Context, successor, predecessor, from int64,
) (found bool, next int64, err error) {
	var newest int64
	err = s.Data.Writer(ctx).Raw("SELECT COALESCE(MAX(id), 0) FROM run WHERE task_id = ?", predecessor).Row().Scan(&newest)
	if err != nil {
		return false, 0, fmt.Errorf("read the runs of task %d: %w", predecessor, err)
	}
	next = max(newest+1, from)
	if newest < from {
		return false, next, nil
	}
	// The lowest run that may still have to be answered; open runs are among them.
	var id int64
	var state task.RunState
	err = s.Data.Writer(ctx).Raw("SELECT r.id, r.state"+unansweredFrom+
		"('fanning_out', 'running', 'succeeded', 'partial')"+unansweredUntil,
		predecessor, from, successor, 1).Row().Scan(&id, &state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, next, nil
	case err != nil:
		return false, 0, fmt.Errorf("read the runs of task %d: %w", predecessor, err)
	case !state.Open():
		return true, id, nil
	}
	ended, err := s.Unanswered(ctx, successor, predecessor, id, 1)
	return len(ended) > 0, id, err
}

// Unanswered returns the runs of a task's ticks that ended as succeeded or partial and that a successor has not
// answered, with an id of at least from, by id, up to limit.
func (s Ticks) Unanswered(ctx context.Context, successor, predecessor, from int64, limit int) ([]int64, error) {
	var runs []int64
	err := s.Data.Writer(ctx).Raw("SELECT r.id"+unansweredFrom+endedWell+unansweredUntil, predecessor, from, successor,
		limit).Scan(&runs).Error
	if err != nil {
		return nil, fmt.Errorf("read the runs of task %d: %w", predecessor, err)
	}
	return runs, nil
}

// TasksWithOpenTicks returns which of the given tasks have a tick whose run has not ended, or whose newest tick has
// no run yet.
func (s Ticks) TasksWithOpenTicks(ctx context.Context, taskIDs []int64) (map[int64]bool, error) {
	open := map[int64]bool{}
	var found []int64
	// All open runs by their state: by task id it would read every run that the tasks ever had.
	err := s.Data.Writer(ctx).Raw("SELECT DISTINCT task_id FROM run WHERE state IN (?, ?) AND kind = ?",
		task.RunFanningOut, task.RunRunning, RunOfTick).Scan(&found).Error
	if err != nil {
		return nil, fmt.Errorf("read the tasks with open runs: %w", err)
	}
	for _, id := range found {
		open[id] = slices.Contains(taskIDs, id)
	}
	for ids := range slices.Chunk(taskIDs, leader.GuardedRows) {
		args := make([]any, len(ids))
		for i, id := range ids {
			args[i] = id
		}
		var pending []int64
		err := s.Data.Writer(ctx).Raw(pendingTickSQL(s.Data, len(ids)), args...).Scan(&pending).Error
		if err != nil {
			return nil, fmt.Errorf("read the newest ticks of %s: %w", plural.Count(len(ids), "task", "tasks"), err)
		}
		for _, id := range pending {
			open[id] = true
		}
	}
	maps.DeleteFunc(open, func(_ int64, is bool) bool { return !is })
	return open, nil
}

// pendingTickSQL selects those of n tasks whose newest tick has no run. It reads the newest tick by key from the end:
// for MAX, MySQL would read all ticks of each task.
func pendingTickSQL(d *sqldb.DB, n int) string {
	return "SELECT o.task_id FROM " + sqldb.ValueList(d, []string{"task_id"}, n) +
		" AS o JOIN tick k ON k.task_id = o.task_id" +
		" AND k.planned_at = (SELECT n.planned_at FROM tick n WHERE n.task_id = o.task_id" +
		" ORDER BY n.planned_at DESC LIMIT 1)" +
		" WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.id = k.run_id)"
}

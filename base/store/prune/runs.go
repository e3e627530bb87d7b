package prune

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/task"
)

// Runs deletes ended runs that were made before a moment, except those with dead subtasks, then their pulls of files,
// ticks and orders. The newest tick of each task stays.
func (p *Pruner) Runs(ctx context.Context, before time.Time) (int64, error) {
	through := task.FirstRunIDAt(before)
	db := p.s.Data
	// It moves on by id, so that rows that stay are read once.
	gone, err := p.walkRuns(ctx, "run", "id", through, false,
		"state NOT IN ('fanning_out', 'running') AND NOT EXISTS (SELECT 1 FROM subtask_dead d WHERE d.run_id = run.id)")
	if err != nil {
		return gone, err
	}
	n, err := p.walkRuns(ctx, "manual_order", "run_id", through, true, "taken <> 0")
	gone += n
	if err != nil {
		return gone, err
	}
	n, err = p.walkRuns(ctx, "file_pull", "run_id", through, true, "1 = 1")
	gone += n
	if err != nil {
		return gone, err
	}
	n, err = p.pruneAnswers(ctx, through)
	gone += n
	if err != nil {
		return gone, err
	}
	newest, err := newestTicks(db.Writer(ctx))
	if err != nil {
		return gone, err
	}
	n, err = p.walkRuns(ctx, "tick", "run_id", through, true, "run_id NOT IN ?", newest)
	return gone + n, err
}

// walkRuns deletes rows of a table whose run's id is below one, in the order of the ids; with ofGone only those whose
// run is gone.
func (p *Pruner) walkRuns(ctx context.Context, table, id string, through int64, ofGone bool, where string,
	args ...any) (gone int64, err error) {
	db := p.s.Data
	after := int64(0)
	_, err = p.pieces(ctx, func() (int64, error) {
		var ids []int64
		err := db.Writer(ctx).Raw("SELECT "+id+" FROM "+table+" WHERE "+id+" > ? AND "+id+" < ? ORDER BY "+id+" LIMIT ?",
			after, through, prunePiece).Scan(&ids).Error
		if err != nil || len(ids) == 0 {
			return 0, err
		}
		after = ids[len(ids)-1]
		read := int64(len(ids))
		if ofGone { // A separate read: runs may be on other servers.
			var there []int64
			if err := db.Writer(ctx).Raw("SELECT id FROM run WHERE id IN ?", ids).Scan(&there).Error; err != nil {
				return 0, err
			}
			ids = slices.DeleteFunc(ids, func(id int64) bool { return slices.Contains(there, id) })
		}
		if len(ids) == 0 {
			return read, nil
		}
		return read, db.Tx(ctx, func(tx *gorm.DB) error {
			res := tx.Exec("DELETE FROM "+table+" WHERE "+id+" IN ? AND "+where, append([]any{ids}, args...)...)
			gone += res.RowsAffected
			return res.Error
		})
	})
	if err != nil {
		return gone, fmt.Errorf("prune %s: %w", table, err)
	}
	return gone, nil
}

// pruneAnswers deletes the answered runs of ticks whose runs are gone, as these are not read again.
func (p *Pruner) pruneAnswers(ctx context.Context, through int64) (gone int64, err error) {
	db := p.s.Data
	var tasks []int64
	if err := db.Writer(ctx).Raw("SELECT DISTINCT task_id FROM tick_answer").Scan(&tasks).Error; err != nil {
		return 0, fmt.Errorf("prune tick_answer: %w", err)
	}
	for _, id := range tasks {
		n, err := p.walkRuns(ctx, "tick_answer", "run_id", through, true, "task_id = ?", id)
		gone += n
		if err != nil {
			return gone, err
		}
	}
	return gone, nil
}

// newestTicks returns the runs of the newest tick of each task, and 0, so that the list is never empty.
func newestTicks(db *gorm.DB) ([]int64, error) {
	var ids []int64
	err := db.Raw(
		"SELECT t.run_id FROM (SELECT task_id, MAX(planned_at) AS planned_at FROM tick GROUP BY task_id) n JOIN tick t" +
			" ON t.task_id = n.task_id AND t.planned_at = n.planned_at").Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("read the newest ticks: %w", err)
	}
	return append(ids, 0), nil
}

// CatchUpWindowMax returns the longest window in which a task's missed moments are made: ticks must be kept for as
// long.
func (s Pruning) CatchUpWindowMax(ctx context.Context) (time.Duration, error) {
	var seconds int64
	if err := s.Config.Writer(ctx).Raw("SELECT COALESCE(MAX(catch_up_window_seconds), 0) FROM cron_task").Row().Scan(
		&seconds); err != nil {
		return 0, fmt.Errorf("read the tasks' windows: %w", err)
	}
	return time.Duration(seconds) * time.Second, nil
}

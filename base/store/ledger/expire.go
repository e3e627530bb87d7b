package ledger

import (
	"context"
	"fmt"
	"time"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/task"
)

// expireBatch is how many subtasks are expired in one transaction.
const expireBatch = 500

// ExpireLogDay ends the open subtasks and runs of a UTC day's log table, so that the table can be dropped: open
// subtasks become expired and are counted, and their runs end. It returns how many subtasks it expired, and may be
// repeated after an error.
func (s Outcomes) ExpireLogDay(ctx context.Context, d day.Day) (int, error) {
	first, last := task.FirstRunID(d), task.FirstRunID(d.Add(1))-1
	now, err := s.Data.Now(ctx)
	if err != nil {
		return 0, err
	}
	// Only open runs have open subtasks. The table itself has no index to find them.
	var runs []int64
	err = s.Data.Writer(ctx).Raw("SELECT id FROM run WHERE id BETWEEN ? AND ? AND state IN (?, ?) ORDER BY id",
		first, last, task.RunFanningOut, task.RunRunning).Scan(&runs).Error
	if err != nil {
		return 0, fmt.Errorf("read the open runs of %s: %w", d, err)
	}
	expired := 0
	for _, run := range runs {
		n, err := s.expireRun(ctx, run, now)
		expired += n
		if err != nil {
			return expired, err
		}
	}
	// A run whose fan-out never ended has no total, so that outcomes cannot end it.
	err = s.Data.Writer(ctx).Exec(
		"UPDATE run SET state = ?, ended_at = ?, error_text = 'its log table is past its retention'"+
			" WHERE id BETWEEN ? AND ? AND state IN (?, ?)", task.RunExpired, sqldb.At(now), first, last, task.RunFanningOut,
		task.RunRunning).Error
	if err != nil {
		return expired, fmt.Errorf("expire the runs of %s: %w", d, err)
	}
	return expired, nil
}

// expireRun ends the open subtasks of a run, and returns how many it ended.
func (s Outcomes) expireRun(ctx context.Context, runID int64, now time.Time) (int, error) {
	expired := 0
	for after := (task.Key{RunID: runID, AccountID: -1}); ; {
		open, err := StopOrders(s).OpenSubtasksOf(ctx, runID, after, expireBatch)
		if err != nil || len(open) == 0 {
			return expired, err
		}
		batch := make([]Outcome, len(open))
		for i, o := range open {
			batch[i] = Outcome{
				Key: o.Key, Delivery: o.Delivery, Attempt: o.Attempt, State: task.Expired,
				EndedAt: now, Reason: "its log table is past its retention",
			}
		}
		stale, err := s.ApplyOutcomes(ctx, batch)
		if err != nil {
			return expired, err
		}
		expired += len(batch) - stale
		after = open[len(open)-1].Key
	}
}

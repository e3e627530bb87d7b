package store

import (
	"context"
	"fmt"
	"time"

	"adsync/base/day"
	"adsync/base/task"
)

// expireBatch is how many subtasks are expired in one transaction.
const expireBatch = 500

// ExpireLogDay ends what is still open of the runs whose subtasks lie in a UTC day's log table, so that the table can
// be dropped: open subtasks become expired and are counted, and runs end. It returns how many subtasks it expired and
// may be repeated after an error.
func (s *Store) ExpireLogDay(ctx context.Context, d day.Day) (int, error) {
	first, last := task.FirstRunID(d), task.FirstRunID(d.Add(1))-1
	now, err := s.Data.Now(ctx)
	if err != nil {
		return 0, err
	}
	expired := 0
	for after := (task.Key{RunID: first - 1}); ; {
		batch, err := s.openAfter(ctx, d, after, now)
		if err != nil {
			return expired, err
		}
		if len(batch) == 0 {
			break
		}
		stale, err := s.ApplyOutcomes(ctx, batch)
		if err != nil {
			return expired, err
		}
		expired += len(batch) - stale
		after = batch[len(batch)-1].Key
	}
	// A run whose fan-out never ended has no total to be ended by.
	err = s.Data.Writer(ctx).Exec("UPDATE run SET state = ?, ended_at = ?, error_text = 'its log table is past its retention'"+
		" WHERE id BETWEEN ? AND ? AND state IN (?, ?)", task.RunExpired, At(now), first, last, task.RunFanningOut, task.RunRunning).Error
	if err != nil {
		return expired, fmt.Errorf("expire the runs of %s: %w", d, err)
	}
	return expired, nil
}

// openAfter returns the next open subtasks of a day, as expired ones.
func (s *Store) openAfter(ctx context.Context, d day.Day, after task.Key, now time.Time) ([]Outcome, error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT run_id, account_id, part, delivery, attempt FROM "+logTableOf(d)+
		" WHERE (run_id, account_id, part) > (?, ?, ?) AND state IN "+openStates+" ORDER BY run_id, account_id, part LIMIT ?",
		after.RunID, after.AccountID, after.Part, expireBatch).Rows()
	if err != nil {
		return nil, fmt.Errorf("read the open subtasks of %s: %w", d, err)
	}
	defer rows.Close()
	var batch []Outcome
	for rows.Next() {
		o := Outcome{State: task.Expired, EndedAt: now, Reason: "its log table is past its retention"}
		if err := rows.Scan(&o.RunID, &o.AccountID, &o.Part, &o.Delivery, &o.Attempt); err != nil {
			return nil, fmt.Errorf("read the open subtasks of %s: %w", d, err)
		}
		batch = append(batch, o)
	}
	return batch, rows.Err()
}

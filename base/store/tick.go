package store

import (
	"context"
	"fmt"
	"time"

	"adsync/base/lease"
)

// Tick is one planned moment of a task, and the run that it became.
type Tick struct {
	TaskID    int64
	PlannedAt time.Time
	RunID     int64
	MadeAt    time.Time
}

// AddTicks writes ticks into the ledger. A moment that is there already keeps its run. It returns lease.ErrStaleLease
// when the lease does not hold.
func (s *Store) AddTicks(ctx context.Context, l lease.Lease, ticks []Tick) error {
	rows := make([][]any, len(ticks))
	for i, t := range ticks {
		rows[i] = []any{t.TaskID, At(t.PlannedAt), t.RunID, At(t.MadeAt)}
	}
	err := s.Data.insertGuarded(ctx, l, "tick", []string{"task_id", "planned_at", "run_id", "made_at"}, rows)
	if err != nil {
		return fmt.Errorf("add %d ticks: %w", len(ticks), err)
	}
	return nil
}

// TicksWithoutRun returns the ticks whose run was never made, the oldest first. Only those whose run's id is at least
// from are looked at.
func (s *Store) TicksWithoutRun(ctx context.Context, from int64, limit int) ([]Tick, error) {
	return s.ticks(ctx, "SELECT t.task_id, t.planned_at, t.run_id, t.made_at FROM tick t LEFT JOIN run r ON r.id = t.run_id"+
		" WHERE t.run_id >= ? AND r.id IS NULL ORDER BY t.run_id LIMIT ?", from, limit)
}

// TicksSince returns the ticks of a task that are planned after a moment, by that moment.
func (s *Store) TicksSince(ctx context.Context, taskID int64, after time.Time) ([]Tick, error) {
	return s.ticks(ctx, "SELECT task_id, planned_at, run_id, made_at FROM tick WHERE task_id = ? AND planned_at > ? ORDER BY planned_at", taskID, At(after))
}

// LastTicks returns the newest ticks of a task, the newest first.
func (s *Store) LastTicks(ctx context.Context, taskID int64, limit int) ([]Tick, error) {
	return s.ticks(ctx, "SELECT task_id, planned_at, run_id, made_at FROM tick WHERE task_id = ? ORDER BY planned_at DESC LIMIT ?", taskID, limit)
}

func (s *Store) ticks(ctx context.Context, query string, args ...any) ([]Tick, error) {
	rows, err := s.Data.Writer(ctx).Raw(query, args...).Rows()
	if err != nil {
		return nil, fmt.Errorf("read ticks: %w", err)
	}
	defer rows.Close()
	var all []Tick
	for rows.Next() {
		var t Tick
		var planned, made Time
		if err := rows.Scan(&t.TaskID, &planned, &t.RunID, &made); err != nil {
			return nil, fmt.Errorf("read ticks: %w", err)
		}
		t.PlannedAt, t.MadeAt = planned.Time, made.Time
		all = append(all, t)
	}
	return all, rows.Err()
}

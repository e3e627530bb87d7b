package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
)

// Tick is one planned moment of a task, and its run.
type Tick struct {
	TaskID    int64
	PlannedAt time.Time
	RunID     int64
	MadeAt    time.Time
}

// AddTicks writes ticks. A moment that exists keeps its run. It returns lease.ErrStaleLease when the lease does not
// hold.
func (s Ticks) AddTicks(ctx context.Context, l lease.Lease, ticks []Tick) error {
	rows := make([][]any, len(ticks))
	for i, t := range ticks {
		rows[i] = []any{t.TaskID, sqldb.At(t.PlannedAt), t.RunID, sqldb.At(t.MadeAt)}
	}
	err := leader.InsertGuarded(ctx, s.Data, l, "tick", []string{"task_id", "planned_at", "run_id", "made_at"}, rows)
	if err != nil {
		return fmt.Errorf("add %s: %w", plural.Count(len(ticks), "tick", "ticks"), err)
	}
	return nil
}

// TicksWithoutRun returns the ticks whose run was never made, the oldest first. It reads only ticks whose run's id is
// at least from.
func (s Ticks) TicksWithoutRun(ctx context.Context, from int64, limit int) ([]Tick, error) {
	return s.ticks(ctx,
		"SELECT t.task_id, t.planned_at, t.run_id, t.made_at FROM tick t LEFT JOIN run r ON r.id = t.run_id"+
			" WHERE t.run_id >= ? AND r.id IS NULL ORDER BY t.run_id LIMIT ?", from, limit)
}

// TicksBetween returns the ticks of a task that are planned after one moment and up to another, by planned time.
func (s Ticks) TicksBetween(ctx context.Context, taskID int64, after, through time.Time) ([]Tick, error) {
	return s.ticks(ctx,
		"SELECT task_id, planned_at, run_id, made_at FROM tick WHERE task_id = ? AND planned_at > ? AND planned_at <= ?"+
			" ORDER BY planned_at",
		taskID, sqldb.At(after), sqldb.At(through))
}

// LastTickThrough returns the newest tick of a task that is planned up to a moment; false if there is none.
func (s Ticks) LastTickThrough(ctx context.Context, taskID int64, through time.Time) (Tick, bool, error) {
	ticks, err := s.ticks(ctx,
		"SELECT task_id, planned_at, run_id, made_at FROM tick WHERE task_id = ? AND planned_at <= ?"+
			" ORDER BY planned_at DESC LIMIT 1",
		taskID, sqldb.At(through))
	if err != nil || len(ticks) == 0 {
		return Tick{}, false, err
	}
	return ticks[0], true, nil
}

// TicksMadeAfter returns the ticks of a task that are planned after one moment and were made after another, by the
// time at which they were made.
func (s Ticks) TicksMadeAfter(ctx context.Context, taskID int64, planned, made time.Time) ([]Tick, error) {
	return s.ticks(ctx,
		"SELECT task_id, planned_at, run_id, made_at FROM tick WHERE task_id = ? AND planned_at > ? AND made_at > ?"+
			" ORDER BY made_at",
		taskID, sqldb.At(planned), sqldb.At(made))
}

// PlannedAfter returns, for each of the given tasks, the planned moments of its ticks after the task's moment, in
// order.
func (s Ticks) PlannedAfter(ctx context.Context, after map[int64]time.Time) (map[int64][]time.Time, error) {
	all := make(map[int64][]time.Time, len(after))
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(after)), leader.GuardedRows) {
		args := make([]any, 0, 3*len(ids))
		for _, id := range ids {
			args = append(args, id, id, sqldb.At(after[id]))
		}
		if err := s.plannedAfter(ctx, len(ids), args, all); err != nil {
			return nil, fmt.Errorf("read ticks of %s: %w", plural.Count(len(ids), "task", "tasks"), err)
		}
	}
	return all, nil
}

func (s Ticks) plannedAfter(ctx context.Context, n int, args []any, into map[int64][]time.Time) error {
	// A range of the key for each task: a join with the list of tasks would read every tick that they ever had.
	one := "task_id >= ? AND task_id <= ? AND planned_at > ?"
	query := s.Data.Writer(ctx).Raw("SELECT task_id, planned_at FROM tick WHERE "+
		strings.TrimSuffix(strings.Repeat(one+" OR ", n), " OR ")+" ORDER BY task_id, planned_at", args...)
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		var id int64
		var planned sqldb.Time
		if err := rows.Scan(&id, &planned); err != nil {
			return err
		}
		into[id] = append(into[id], planned.Time)
		return nil
	})
}

// LastTicks returns the newest ticks of a task, the newest first.
func (s Ticks) LastTicks(ctx context.Context, taskID int64, limit int) ([]Tick, error) {
	return s.ticks(ctx,
		"SELECT task_id, planned_at, run_id, made_at FROM tick WHERE task_id = ? ORDER BY planned_at DESC LIMIT ?",
		taskID, limit)
}

func (s Ticks) ticks(ctx context.Context, query string, args ...any) ([]Tick, error) {
	all, err := sqldb.Rows(s.Data.Writer(ctx).Raw(query, args...), func(rows *sql.Rows, t *Tick) error {
		var planned, made sqldb.Time
		err := rows.Scan(&t.TaskID, &planned, &t.RunID, &made)
		t.PlannedAt, t.MadeAt = planned.Time, made.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ticks: %w", err)
	}
	return all, nil
}

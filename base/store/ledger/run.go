package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/task"
)

// The kinds of runs.
const (
	RunOfTick  = "tick"
	RunOfOrder = "order"
)

// Run is a row of run: the parent of all subtasks of one tick or one order.
type Run struct {
	ID           int64
	TaskID       int64
	TaskName     string
	Media        string
	Handler      string
	TaskRevision int64
	Settings     task.Settings // as the task had them when the run was made
	Timezone     string        // the task's
	Kind         string        // RunOfTick or RunOfOrder
	PlannedAt    time.Time
	OriginRunID  int64 // the run whose dead subtasks it redrives, if they are of one run; otherwise 0
	State        task.RunState
	Epoch        int64 // of the leader that made it
	Cursor       int64 // the fan-out has passed all ids up to this one
	Offsets      Offsets
	Total        *int64 // subtasks; nil until the fan-out has ended
	Succeeded    int64
	Failed       int64
	Expired      int64
	Cancelled    int64
	Superseded   int64
	ErrorText    string
	CreatedAt    time.Time
	FannedOutAt  time.Time
	EndedAt      time.Time
}

// Ended returns how many of the run's subtasks have ended.
func (r *Run) Ended() int64 {
	return r.Succeeded + r.Failed + r.Expired + r.Cancelled + r.Superseded
}

// Deadline returns when the run's open subtasks expire; zero if they do not.
func (r *Run) Deadline() time.Time {
	if r.Settings.TTL <= 0 {
		return time.Time{}
	}
	return r.PlannedAt.Add(r.Settings.TTL)
}

// Offsets is the highest offset of a run's messages in each partition of its topic.
type Offsets map[int]int64

// Raise keeps the higher of the offsets.
func (o Offsets) Raise(partition int, offset int64) {
	if have, ok := o[partition]; offset >= 0 && (!ok || offset > have) {
		o[partition] = offset
	}
}

// settingsText is the text of run.settings.
type settingsText struct {
	task.Settings
	Timezone string `json:"timezone"`
}

const runColumns = `id, task_id, task_name, media, handler, lane, task_revision, settings, kind, planned_at,
  origin_run_id, state, epoch, fan_out_cursor, offsets,
  total, succeeded, failed, expired, cancelled, superseded, error_text, created_at, fanned_out_at, ended_at`

// AddRuns writes new runs. A run whose id exists is left alone. It returns lease.ErrStaleLease when the lease does
// not hold.
func (s RunRows) AddRuns(ctx context.Context, l lease.Lease, runs []Run) error {
	columns := []string{
		"id", "task_id", "task_name", "media", "handler", "lane", "task_revision", "settings", "kind", "planned_at",
		"origin_run_id", "state", "epoch", "total", "error_text", "created_at", "ended_at", "queued_behind",
		"application", "own_params",
	}
	rows := make([][]any, len(runs))
	for i, r := range runs {
		settings, err := json.Marshal(settingsText{Settings: r.Settings, Timezone: r.Timezone})
		if err != nil {
			return fmt.Errorf("settings of run %d: %w", r.ID, err)
		}
		origin := sql.NullInt64{Int64: r.OriginRunID, Valid: r.OriginRunID != 0}
		rows[i] = []any{
			r.ID, r.TaskID, r.TaskName, r.Media, r.Handler, r.Settings.Lane, r.TaskRevision, string(settings), r.Kind,
			sqldb.At(r.PlannedAt),
			origin, string(r.State), l.Epoch, r.Total, sqldb.Cut(r.ErrorText, runErrorMax), sqldb.At(r.CreatedAt),
			sqldb.At(r.EndedAt), 0, r.Settings.Application, r.Settings.Order.OwnParams(),
		}
	}
	if err := leader.InsertGuarded(ctx, s.Data, l, "run", columns, rows); err != nil {
		return fmt.Errorf("add %s: %w", plural.Count(len(runs), "run", "runs"), err)
	}
	return nil
}

// runErrorMax is how many characters of an error a run keeps.
const runErrorMax = 512

// Run returns a run as the writer holds it, or ErrNotFound.
func (s RunRows) Run(ctx context.Context, id int64) (Run, error) {
	runs, err := ReadRuns(ctx, s.Databases, "WHERE id = ?", id)
	if err != nil {
		return Run{}, err
	}
	if len(runs) == 0 {
		return Run{}, fmt.Errorf("run %d: %w", id, sqldb.ErrNotFound)
	}
	return runs[0], nil
}

// Runs returns the runs with the given ids that exist, by id.
func (s RunRows) Runs(ctx context.Context, ids []int64) ([]Run, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return ReadRuns(ctx, s.Databases, "WHERE id IN ? ORDER BY id", ids)
}

// ReadRuns reads runs; tail follows "FROM run".
func ReadRuns(ctx context.Context, s *sqldb.Databases, tail string, args ...any) ([]Run, error) {
	query := s.Data.Writer(ctx).Raw("SELECT "+runColumns+" FROM run "+tail, args...)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, r *Run) (err error) {
		*r, err = scanRun(rows)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return all, nil
}

// scanRun reads runColumns into a Run, and the columns after them into more.
func scanRun(rows *sql.Rows, more ...any) (Run, error) {
	var r Run
	var settings string
	var offsets sql.NullString
	var lane string
	var planned, created, fannedOut, ended sqldb.Time
	var origin sql.NullInt64
	err := rows.Scan(append([]any{
		&r.ID, &r.TaskID, &r.TaskName, &r.Media, &r.Handler, &lane, &r.TaskRevision, &settings, &r.Kind, &planned,
		&origin, &r.State, &r.Epoch, &r.Cursor, &offsets, &r.Total, &r.Succeeded, &r.Failed, &r.Expired, &r.Cancelled,
		&r.Superseded,
		&r.ErrorText, &created, &fannedOut, &ended,
	}, more...)...)
	if err != nil {
		return Run{}, err
	}
	var f settingsText
	if err := json.Unmarshal([]byte(settings), &f); err != nil {
		return Run{}, fmt.Errorf("settings of run %d: %w", r.ID, err)
	}
	r.Settings, r.Timezone = f.Settings, f.Timezone
	r.Settings.Lane = lane
	r.Offsets = Offsets{}
	if offsets.String != "" {
		if err := json.Unmarshal([]byte(offsets.String), &r.Offsets); err != nil {
			return Run{}, fmt.Errorf("offsets of run %d: %w", r.ID, err)
		}
	}
	r.OriginRunID = origin.Int64
	r.PlannedAt, r.CreatedAt, r.FannedOutAt, r.EndedAt = planned.Time, created.Time, fannedOut.Time, ended.Time
	return r, nil
}

// CountRunsInState returns how many runs are in a state.
func (s RunRows) CountRunsInState(ctx context.Context, state task.RunState) (int64, error) {
	var n int64
	if err := s.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM run WHERE state = ?",
		string(state)).Row().Scan(&n); err != nil {
		return 0, fmt.Errorf("count runs that are %s: %w", state, err)
	}
	return n, nil
}

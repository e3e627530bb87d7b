package dead

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// A redrive is an order whose run executes dead subtasks again. The run's fan-out first marks the dead subtasks that
// the order chooses (MarkDead), then makes new subtasks for them (MarkedParts). When the run has ended, SettleRedrive
// deletes the dead subtasks whose new subtask was done and frees the others: the run may be cancelled or expire
// before it has done all. Each step can be repeated, and a mark of a run that has ended only means that its last step
// is pending: a crash at any point neither loses nor doubles a subtask.

// MarkDead marks for a run the dead subtasks that a filter chooses and that no run redrives. It must not be called
// once the run's fan-out has passed an account, since subtasks marked there would not be made. It returns
// lease.ErrStaleLease when the lease does not hold.
func (s DeadSubtasks) MarkDead(ctx context.Context, l lease.Lease, f task.DeadFilter, runID int64) error {
	u := sqldb.ValueUpdate{
		Table: "subtask_dead", Key: ledger.SubtaskKey, Columns: append(slices.Clone(ledger.SubtaskKey), "mark"),
		Set: [][2]string{{"redrive_run_id", "o.mark"}}, Where: "t.redrive_run_id = 0",
	}
	for after := (task.Key{}); ; {
		// A run does not redrive its own failures.
		keys, err := s.freeDead(ctx, f, runID, after, min(DeadBatch, s.Data.RowsPerStatement(len(u.Columns))))
		if err != nil || len(keys) == 0 {
			return err
		}
		rows := make([][]any, len(keys))
		for i, k := range keys {
			rows[i] = []any{k.RunID, k.AccountID, k.Part, runID}
		}
		err = leader.Tx(ctx, s.Data, l, func(tx *gorm.DB) error { return sqldb.UpdateByValues(s.Data, tx, u, rows) })
		if err != nil {
			return fmt.Errorf("mark dead subtasks for run %d: %w", runID, err)
		}
		after = keys[len(keys)-1]
	}
}

// MarkedParts returns the dead subtasks that a run redrives, of the accounts above after: each account and part once,
// by account and part. It returns all parts of an account together, about limit in total, and all remaining ones with
// last. through is the last account of them.
func (s DeadSubtasks) MarkedParts(
	ctx context.Context, runID, after int64, limit int,
) (parts []ledger.AccountPart, through int64, last bool, err error) {
	const query = "SELECT DISTINCT account_id, part FROM subtask_dead WHERE redrive_run_id = ? AND account_id "
	parts, err = ledger.AccountParts(ctx, s.Databases, query+"> ? ORDER BY account_id, part LIMIT ?", runID, after,
		limit+1)
	if err != nil {
		return nil, 0, false, fmt.Errorf("read the dead subtasks of run %d: %w", runID, err)
	}
	if len(parts) <= limit {
		if len(parts) > 0 {
			through = parts[len(parts)-1].AccountID
		}
		return parts, through, true, nil
	}
	cut := parts[limit].AccountID // may have more parts
	if parts[0].AccountID == cut {
		parts, err = ledger.AccountParts(ctx, s.Databases, query+"= ? ORDER BY account_id, part", runID, cut)
		if err != nil {
			return nil, 0, false, fmt.Errorf("read the dead subtasks of run %d: %w", runID, err)
		}
		return parts, cut, false, nil
	}
	parts = slices.DeleteFunc(parts, func(p ledger.AccountPart) bool { return p.AccountID == cut })
	return parts, parts[len(parts)-1].AccountID, false, nil
}

// Redrives returns the runs for which dead subtasks are marked, by id.
func (s DeadSubtasks) Redrives(ctx context.Context) ([]int64, error) {
	var ids []int64
	// One seek of the index for each run: DISTINCT would read all marked rows.
	for after := int64(0); ; {
		var next []int64
		err := s.Data.Writer(ctx).Raw(
			"SELECT redrive_run_id FROM subtask_dead WHERE redrive_run_id > ? ORDER BY redrive_run_id LIMIT 1",
			after).Scan(&next).Error
		if err != nil {
			return nil, fmt.Errorf("read the runs that redrive dead subtasks: %w", err)
		}
		if len(next) == 0 {
			return ids, nil
		}
		after = next[0]
		ids = append(ids, after)
	}
}

// SettleRedrive completes the redrive of a run that has ended in any way, or is gone. It deletes the dead subtasks
// whose new subtask succeeded, failed (and so has its own row) or was superseded, and frees the others. It returns
// lease.ErrStaleLease when the lease does not hold.
func (s DeadSubtasks) SettleRedrive(ctx context.Context, l lease.Lease, runID int64) error {
	u := sqldb.ValueUpdate{
		Table: "subtask_dead", Key: ledger.SubtaskKey, Columns: append(slices.Clone(ledger.SubtaskKey), "mark"),
		Set: [][2]string{{"redrive_run_id", "0"}}, Where: "t.redrive_run_id = o.mark",
	}
	for {
		done, others, err := s.marked(ctx, runID, min(DeadBatch, s.Data.RowsPerStatement(len(u.Columns))))
		if err != nil {
			return fmt.Errorf("settle the redrive of run %d: %w", runID, err)
		}
		if len(done)+len(others) == 0 {
			return nil
		}
		rows := make([][]any, len(others))
		for i, k := range others {
			rows[i] = []any{k.RunID, k.AccountID, k.Part, runID}
		}
		err = leader.Tx(ctx, s.Data, l, func(tx *gorm.DB) error {
			if _, err := DeleteDead(s.Databases, tx, runID, done); err != nil || len(rows) == 0 {
				return err
			}
			return sqldb.UpdateByValues(s.Data, tx, u, rows)
		})
		if err != nil {
			return fmt.Errorf("settle the redrive of run %d: %w", runID, err)
		}
	}
}

// marked returns dead subtasks that are marked for a run: those whose new subtask was done, and the others.
func (s DeadSubtasks) marked(ctx context.Context, runID int64, limit int) (done, others []task.Key, err error) {
	const dead = "SELECT d.run_id, d.account_id, d.part, "
	rows, err := s.Data.Writer(ctx).Raw(dead+
		"CASE WHEN t.state IN (?, ?, ?) THEN 1 ELSE 0 END FROM subtask_dead d LEFT JOIN "+ledger.LogTable(runID)+
		" t ON t.run_id = ? AND t.account_id = d.account_id AND t.part = d.part WHERE d.redrive_run_id = ?"+
		" ORDER BY d.run_id, d.account_id, d.part LIMIT ?",
		string(task.Succeeded), string(task.Failed), string(task.Superseded), runID, runID, limit).Rows()
	if ledger.MissingTable(err) {
		// What was done is no longer recorded: it is better to redrive twice than to lose a subtask.
		rows, err = s.Data.Writer(ctx).Raw(dead+
			"0 FROM subtask_dead d WHERE d.redrive_run_id = ? ORDER BY d.run_id, d.account_id, d.part LIMIT ?",
			runID, limit).Rows()
	}
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var k task.Key
		var is bool
		if err := rows.Scan(&k.RunID, &k.AccountID, &k.Part, &is); err != nil {
			return nil, nil, err
		}
		if is {
			done = append(done, k)
		} else {
			others = append(others, k)
		}
	}
	return done, others, rows.Err()
}

// Pace is how fast a task's subtasks were in a recent run.
type Pace struct {
	PerSecond float64 // subtasks that ended; 0 = unknown
	Calls     float64 // API calls of one that succeeded; negative = unknown
}

const (
	paceRuns     = 100
	paceSubtasks = 1000
)

// TaskPace returns the pace of a task from the largest of its newest runs: a small one shows more of its first second
// than of its pace.
func (s DeadSubtasks) TaskPace(ctx context.Context, taskID int64) (Pace, error) {
	pace := Pace{Calls: -1}
	var id, succeeded int64
	var created, ended sqldb.Time
	err := s.Data.Writer(ctx).Raw(`SELECT r.id, r.succeeded, r.created_at, r.ended_at FROM
(SELECT id, succeeded, created_at, ended_at FROM run WHERE task_id = ? ORDER BY id DESC LIMIT ?) r
WHERE r.succeeded > 0 AND r.ended_at IS NOT NULL ORDER BY r.succeeded DESC, r.id DESC LIMIT 1`, taskID, paceRuns).Row().
		Scan(&id, &succeeded, &created, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return pace, nil
	}
	if err != nil {
		return pace, fmt.Errorf("read the pace of task %d: %w", taskID, err)
	}
	if took := ended.Sub(created.Time); took >= time.Millisecond {
		pace.PerSecond = float64(succeeded) / took.Seconds()
	}
	var calls sql.NullFloat64
	err = s.Data.Writer(ctx).Raw("SELECT AVG(t.api_calls) FROM (SELECT state, api_calls FROM "+ledger.LogTable(id)+
		" WHERE run_id = ? ORDER BY run_id, account_id, part LIMIT ?) t WHERE t.state = ?", id, paceSubtasks,
		string(task.Succeeded)).Row().Scan(&calls)
	if err != nil && !ledger.MissingTable(err) {
		return pace, fmt.Errorf("read the calls of task %d: %w", taskID, err)
	}
	if calls.Valid {
		pace.Calls = calls.Float64
	}
	return pace, nil
}

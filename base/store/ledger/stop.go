package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/task"
)

// The states of a stop order.
const (
	StopActive = "active"
	StopEnded  = "ended"
)

const stopColumns = "id, verb, kind, target, target_name, reason, ordered_by, ordered_at, until_at, ended_at, ended_by"

// AddStop writes an order that pauses or cancels work. Any process may write one: consumers apply it within seconds,
// and the leader completes it.
func (s StopOrders) AddStop(ctx context.Context, stop task.Stop) error {
	err := s.Data.Writer(ctx).Exec(
		"INSERT INTO stop_order (id, verb, kind, target, target_name, reason, ordered_by, ordered_at, until_at, state)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", stop.ID, string(stop.Verb), string(stop.Kind), stop.Target,
		sqldb.Cut(stop.TargetName, 191),
		sqldb.Cut(stop.Reason, 255), sqldb.Cut(stop.By, 96), sqldb.At(stop.OrderedAt), sqldb.At(stop.Until), StopActive).Error
	if err != nil {
		return fmt.Errorf("order the %s of %s %s: %w", stop.Verb, stop.Kind, stop.TargetName, err)
	}
	return nil
}

// ActiveStops returns the active orders, by id. A pause that has just run out may still be among them: see
// task.Stop.InForce.
func (s StopOrders) ActiveStops(ctx context.Context) ([]task.Stop, error) {
	return s.stops(ctx, "WHERE state = ? ORDER BY id", StopActive)
}

// StopFilter chooses orders for a list; zero fields choose all.
type StopFilter struct {
	Verb   task.StopVerb
	Active bool
	Before int64 // only those with a lower id: the last id of the page before
	Limit  int
}

// ListStops returns orders, the newest first.
func (s StopOrders) ListStops(ctx context.Context, f StopFilter) ([]task.Stop, error) {
	where, args := []string{"verb = ?"}, []any{string(f.Verb)}
	if f.Active {
		where, args = append(where, "state = ?"), append(args, StopActive)
	}
	if f.Before > 0 {
		where, args = append(where, "id < ?"), append(args, f.Before)
	}
	return s.stops(ctx, "WHERE "+strings.Join(where, " AND ")+" ORDER BY id DESC LIMIT ?", append(args, f.Limit)...)
}

// Stop returns one order, or ErrNotFound.
func (s StopOrders) Stop(ctx context.Context, id int64) (task.Stop, error) {
	list, err := s.stops(ctx, "WHERE id = ?", id)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("stop order %d: %w", id, sqldb.ErrNotFound)
	}
	if err != nil {
		return task.Stop{}, err
	}
	return list[0], nil
}

func (s StopOrders) stops(ctx context.Context, tail string, args ...any) ([]task.Stop, error) {
	return ReadStops(s.Data.Writer(ctx), tail, args...)
}

// ReadStops reads stop orders; tail follows "FROM stop_order".
func ReadStops(db *gorm.DB, tail string, args ...any) ([]task.Stop, error) {
	query := db.Raw("SELECT "+stopColumns+" FROM stop_order "+tail, args...)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, o *task.Stop) error {
		var ordered, until, ended sqldb.Time
		err := rows.Scan(&o.ID, &o.Verb, &o.Kind, &o.Target, &o.TargetName, &o.Reason, &o.By, &ordered, &until, &ended,
			&o.EndedBy)
		o.OrderedAt, o.Until, o.EndedAt = ordered.Time, until.Time, ended.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read stop orders: %w", err)
	}
	return all, nil
}

// LiftPause ends a pause before its time, and reports whether it was still active. The leader then makes due the
// subtasks that wait for it.
func (s StopOrders) LiftPause(ctx context.Context, id int64, by string, now time.Time) (bool, error) {
	res := s.Data.Writer(ctx).Exec(
		"UPDATE stop_order SET state = ?, ended_at = ?, ended_by = ? WHERE id = ? AND verb = ? AND state = ?",
		StopEnded, sqldb.At(now), sqldb.Cut(by, 96), id, string(task.Pause), StopActive)
	if res.Error != nil {
		return false, fmt.Errorf("lift pause %d: %w", id, res.Error)
	}
	return res.RowsAffected > 0, nil
}

// EndStop records that a pause has run out or that a cancel is complete; an order that has ended is left alone. It
// returns lease.ErrStaleLease when the lease does not hold.
func (s StopOrders) EndStop(ctx context.Context, l lease.Lease, id int64, now time.Time) error {
	set := []leader.Assignment{leader.Assign("state", "?", StopEnded), leader.Assign("ended_at", "?", sqldb.At(now))}
	n, err := leader.UpdateGuarded(ctx, s.Data, l, "stop_order", set, "stop_order.id = ? AND stop_order.state = ?",
		id, StopActive)
	if err == nil && n == 0 {
		err = leader.CheckLease(ctx, s.Data, l)
	}
	if err != nil {
		return fmt.Errorf("end stop order %d: %w", id, err)
	}
	return nil
}

// RunToCancel is an open run that a cancel covers.
type RunToCancel struct {
	ID       int64
	TaskID   int64
	State    task.RunState
	CancelID int64 // the order that cancelled it; 0 = none yet
}

// RunsToCancel returns the open runs that a cancel covers, by id; for an account, all runs that may have subtasks of
// it.
func (s StopOrders) RunsToCancel(ctx context.Context, stop task.Stop) ([]RunToCancel, error) {
	query := "SELECT id, task_id, state, cancel_id FROM run WHERE state IN ?"
	args := []any{[]string{string(task.RunFanningOut), string(task.RunRunning)}}
	switch stop.Kind {
	case task.StopRun:
		query, args = query+" AND id = ?", append(args, stop.TargetID())
	case task.StopTask:
		query, args = query+" AND task_id = ? AND id <= ?", append(args, stop.TargetID(), stop.Through())
	case task.StopMedia:
		query, args = query+" AND media = ? AND id <= ?", append(args, stop.Target, stop.Through())
	case task.StopAccount:
		query, args = query+" AND id <= ?", append(args, stop.Through())
	default:
		return nil, fmt.Errorf("stop order %d: kind %q is not run, task, media or account", stop.ID, stop.Kind)
	}
	var runs []RunToCancel
	if err := s.Data.Writer(ctx).Raw(query+" ORDER BY id", args...).Scan(&runs).Error; err != nil {
		return nil, fmt.Errorf("read the runs that stop order %d covers: %w", stop.ID, err)
	}
	return runs, nil
}

// MarkCancelled marks open runs as cancelled by an order: they end as cancelled once their subtasks have ended. It
// stores note as their error text if they have none yet. It returns lease.ErrStaleLease when the lease does not hold.
func (s StopOrders) MarkCancelled(ctx context.Context, l lease.Lease, stopID int64, runIDs []int64, note string) error {
	if len(runIDs) == 0 {
		return nil
	}
	set := []leader.Assignment{
		leader.Assign("cancel_id", "?", stopID),
		leader.Assign("error_text", "CASE WHEN run.error_text = '' THEN ? ELSE run.error_text END",
			sqldb.Cut(note, runErrorMax)),
	}
	n, err := leader.UpdateGuarded(ctx, s.Data, l, "run", set, "run.id IN ? AND run.cancel_id = 0 AND run.state IN ?",
		runIDs, []string{string(task.RunFanningOut), string(task.RunRunning)})
	if err == nil && n < int64(len(runIDs)) {
		err = leader.CheckLease(ctx, s.Data, l)
	}
	if err != nil {
		return fmt.Errorf("mark %s as cancelled: %w", plural.Count(len(runIDs), "run", "runs"), err)
	}
	return nil
}

// OpenOrdersUntil returns how many orders with a run id up to this one have no run yet.
func (s StopOrders) OpenOrdersUntil(ctx context.Context, runID int64) (int64, error) {
	var n int64
	if err := s.Data.Writer(ctx).Raw("SELECT COUNT(*) FROM manual_order WHERE taken = 0 AND run_id <= ?",
		runID).Row().Scan(&n); err != nil {
		return 0, fmt.Errorf("count the orders until %d: %w", runID, err)
	}
	return n, nil
}

// OpenSubtask is a subtask that has not ended.
type OpenSubtask struct {
	task.Key
	Delivery int
	Attempt  int
}

// OpenSubtasksOf returns the next open subtasks of a run after a key, by key.
func (s StopOrders) OpenSubtasksOf(ctx context.Context, runID int64, after task.Key, limit int) ([]OpenSubtask, error) {
	// Not (account_id, part) > (?, ?), which MySQL answers by reading the run from its beginning.
	return openSubtasks(ctx, s.Databases, LogTable(runID),
		"run_id = ? AND account_id >= ? AND (account_id > ? OR part > ?) AND state IN "+openStates+
			" ORDER BY run_id, account_id, part LIMIT ?",
		runID, after.AccountID, after.AccountID, after.Part, limit)
}

// OpenSubtasksOfAccount returns the open subtasks of an account in runs of one UTC day, by key.
func (s StopOrders) OpenSubtasksOfAccount(ctx context.Context, runIDs []int64, accountID int64) ([]OpenSubtask, error) {
	if len(runIDs) == 0 {
		return nil, nil
	}
	return openSubtasks(ctx, s.Databases, LogTable(runIDs[0]),
		"run_id IN ? AND account_id = ? AND state IN "+openStates+" ORDER BY run_id, account_id, part", runIDs, accountID)
}

func openSubtasks(ctx context.Context, s *sqldb.Databases, table, where string, args ...any) ([]OpenSubtask, error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT run_id, account_id, part, delivery, attempt FROM "+table+" WHERE "+where,
		args...).Rows()
	if MissingTable(err) {
		return nil, nil // The fan-out never began, or the day was dropped.
	}
	if err != nil {
		return nil, fmt.Errorf("read open subtasks of %s: %w", table, err)
	}
	defer rows.Close()
	var open []OpenSubtask
	for rows.Next() {
		var o OpenSubtask
		if err := rows.Scan(&o.RunID, &o.AccountID, &o.Part, &o.Delivery, &o.Attempt); err != nil {
			return nil, fmt.Errorf("read open subtasks of %s: %w", table, err)
		}
		open = append(open, o)
	}
	return open, rows.Err()
}

// PausesWaitedFor returns the pauses that subtasks wait for, whether they are still active or not.
func (s StopOrders) PausesWaitedFor(ctx context.Context) ([]int64, error) {
	ids, err := s.waitedFor(ctx, strings.TrimSuffix(task.PauseRef(0), "0"), task.PauseOfRef)
	if err != nil {
		return nil, fmt.Errorf("read the pauses that subtasks wait for: %w", err)
	}
	return ids, nil
}

// AccountsWaitedFor returns the accounts that subtasks wait for, whether they are still parked or not.
func (s StopOrders) AccountsWaitedFor(ctx context.Context) ([]int64, error) {
	ids, err := s.waitedFor(ctx, strings.TrimSuffix(task.ParkedRef(0), "0"), task.AccountOfRef)
	if err != nil {
		return nil, fmt.Errorf("read the accounts that subtasks wait for: %w", err)
	}
	return ids, nil
}

// waitedFor returns the ids of one kind that subtasks wait for.
func (s StopOrders) waitedFor(
	ctx context.Context, prefix string, idOf func(ref string) (int64, bool),
) ([]int64, error) {
	var ids []int64
	// One seek of the index for each: DISTINCT would read all waiting rows.
	for after := prefix; ; {
		var refs []string
		err := s.Data.Writer(ctx).Raw(
			"SELECT waits_for FROM subtask_due WHERE waits_for > ? AND waits_for < ? ORDER BY waits_for LIMIT 1",
			after, prefix+"~").Scan(&refs).Error
		if err != nil {
			return nil, err
		}
		if len(refs) == 0 {
			return ids, nil
		}
		after = refs[0]
		if id, ok := idOf(after); ok {
			ids = append(ids, id)
		}
	}
}

// Release makes due up to limit of the subtasks that wait for ref (task.PauseRef, task.ParkedRef), and returns them.
// They become due at the given moment, or earlier if their time to live ends before it. It needs no lease, since
// repeating it has the same effect.
func (s StopOrders) Release(ctx context.Context, ref string, due time.Time, limit int) ([]Due, error) {
	list, err := readDue(ctx, s.Databases, "WHERE waits_for = ? ORDER BY account_id, part LIMIT ?", ref,
		min(limit, s.Data.RowsPerStatement(5)))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return s.release(ctx, list, func(task.Key) string { return ref }, due)
}

// ReleaseEach makes those of some subtasks due that wait for their refs (task.JobRef), and returns them. They become
// due at the given moment, or earlier if they were. It needs no lease, since repeating it has the same effect.
func (s StopOrders) ReleaseEach(ctx context.Context, refs map[task.Key]string, due time.Time) ([]Due, error) {
	keys := slices.Collect(maps.Keys(refs))
	var all []Due
	for some := range slices.Chunk(keys, s.Data.RowsPerStatement(5)) {
		found, err := s.waitingFor(ctx, some, refs)
		if err == nil && len(found) > 0 {
			found, err = s.release(ctx, found, func(k task.Key) string { return refs[k] }, due)
		}
		if err != nil {
			return all, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// waitingFor returns those of some subtasks that wait for their refs.
func (s StopOrders) waitingFor(ctx context.Context, keys []task.Key, refs map[task.Key]string) ([]Due, error) {
	from, args := sqldb.LookUpKeys(s.Data, dueTable.Name, SubtaskKey,
		keyValues(s.Data, len(keys), func(i int) task.Key { return keys[i] }))
	var all []Due
	err := sqldb.EachRow(s.Data.Writer(ctx).Raw("SELECT t.run_id, t.account_id, t.part, t.state, t.due_at, t.delivery, "+
		"t.attempt, t.waits_for FROM "+from, args...), func(rows *sql.Rows) error {
		var d Due
		var at sqldb.Time
		var ref string
		err := rows.Scan(&d.RunID, &d.AccountID, &d.Part, &d.State, &at, &d.Delivery, &d.Attempt, &ref)
		if d.DueAt = at.Time; ref == refs[d.Key] {
			all = append(all, d)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up %s that may wait: %w", plural.Count(len(keys), "subtask", "subtasks"), err)
	}
	return all, nil
}

// release makes waiting subtasks due that still wait for their refs.
func (s StopOrders) release(ctx context.Context, list []Due, refOf func(task.Key) string,
	due time.Time) ([]Due, error) {
	slices.SortFunc(list, func(a, b Due) int { return compareKeys(a.Key, b.Key) })
	rows := make([][]any, len(list))
	for i := range list {
		if due.Before(list[i].DueAt) {
			list[i].DueAt = due
		}
		rows[i] = []any{list[i].RunID, list[i].AccountID, list[i].Part, refOf(list[i].Key), sqldb.At(list[i].DueAt)}
	}
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		return sqldb.UpdateByValues(s.Data, tx, sqldb.ValueUpdate{
			Table:   dueTable.Name,
			Key:     SubtaskKey,
			Columns: []string{"run_id", "account_id", "part", "ref", "due_at"},
			Set:     [][2]string{{"due_at", "o.due_at"}, {"waits_for", "''"}},
			Where:   "t.waits_for = o.ref",
		}, rows)
	})
	if err != nil {
		return nil, fmt.Errorf("release %s from %s: %w", plural.Count(len(list), "subtask", "subtasks"),
			refOf(list[0].Key), err)
	}
	return list, nil
}

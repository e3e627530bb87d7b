package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"adsync/base/sqldb"
	"adsync/base/task"
)

// The limits of runs that subtasks order. They end loops of runs that order each other.
const (
	// DepthMax is how many runs may be above a run.
	DepthMax = 8
	// OrdersMax is how many runs one subtask may order by OrderUnder.
	OrdersMax = 1000
	// TreeMax is how many runs there may be under a run at all depths, if they are ordered by OrderUnder.
	TreeMax = 20_000
)

// OrderLimitError means that a subtask may not order another run.
type OrderLimitError struct {
	What string // what there are too many of, such as "runs ordered by this subtask"
	Max  int
}

func (e *OrderLimitError) Error() string {
	return fmt.Sprintf("there are %d %s, which is the limit", e.Max, e.What)
}

var (
	// ErrOtherOrder means that the subtask has placed another order under the same name.
	ErrOtherOrder = errors.New("another order has this name")
	// ErrOriginEnded means that the subtask that a run is to be ordered under is not open.
	ErrOriginEnded = errors.New("the subtask has ended, or there is none")
)

const underColumns = "under_run_id, under_account_id, under_part, under_name, root_run_id, ancestors"

// underRow has the values of underColumns.
type underRow struct {
	run, account, root    sql.NullInt64
	part, name, ancestors sql.NullString
}

func (r *underRow) targets() []any {
	return []any{&r.run, &r.account, &r.part, &r.name, &r.root, &r.ancestors}
}

// fill sets what the row has of a request.
func (r *underRow) fill(o *task.Order) error {
	if !r.run.Valid {
		return nil
	}
	o.Under = &task.Under{Name: r.name.String,
		Key: task.Key{RunID: r.run.Int64, AccountID: r.account.Int64, Part: r.part.String}}
	if err := json.Unmarshal([]byte(r.ancestors.String), &o.Ancestors); err != nil {
		return fmt.Errorf("ancestors of an order under run %d: %w", r.run.Int64, err)
	}
	return nil
}

// under returns the values of underColumns.
func (o RunOrder) under() []any {
	u := o.Request.Under
	if u == nil {
		return make([]any, 6)
	}
	ancestors, _ := json.Marshal(o.Request.Ancestors) // Numbers: it never fails.
	name := sql.NullString{String: u.Name, Valid: u.Name != ""}
	return []any{u.RunID, u.AccountID, u.Part, name, o.Request.Ancestors[0], string(ancestors)}
}

// setAncestors sets the ancestors of an order under a subtask. Those above a run whose row is gone are not known.
func (o *RunOrder) setAncestors(tx *gorm.DB) error {
	if o.Request.Ancestors = nil; o.Request.Under == nil {
		return nil
	}
	above := o.Request.Under.RunID
	var settings string
	err := tx.Raw("SELECT settings FROM run WHERE id = ?", above).Row().Scan(&settings)
	var origin settingsText
	if err == nil {
		err = json.Unmarshal([]byte(settings), &origin)
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("order under run %d: %w", above, err)
	}
	if origin.Order != nil {
		o.Request.Ancestors = slices.Clone(origin.Order.Ancestors)
	}
	if o.Request.Ancestors = append(o.Request.Ancestors, above); len(o.Request.Ancestors) > DepthMax {
		return &OrderLimitError{What: "runs above the run", Max: DepthMax}
	}
	return nil
}

// OrderUnder writes the order of a subtask that is worked on outside, within the limits of this package, and returns
// the id of its run. An order with the name of an earlier one of the subtask, and the same content, writes nothing and
// returns the earlier one's run. The errors are ErrOriginEnded, ErrOtherOrder and *OrderLimitError. Calls at the same
// time may exceed the limits by their number.
func (s Ticks) OrderUnder(ctx context.Context, o RunOrder) (runID int64, err error) {
	u := o.Request.Under
	err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
		var known bool
		if runID, known, err = o.repeated(tx); err != nil || known {
			return err
		}
		if err := checkOpen(tx, s.Data, u.Key); err != nil {
			return err
		}
		if err := o.setAncestors(tx); err != nil {
			return err
		}
		if err := o.checkNumbers(tx); err != nil {
			return err
		}
		n, err := o.insert(tx, s.Data.Dialect().InsertIgnore())
		if err == nil && n == 0 { // Another call has written one of this name since.
			if runID, known, err = o.repeated(tx); err == nil && !known {
				err = fmt.Errorf("order run %d: the id is taken", o.RunID)
			}
			return err
		}
		runID = o.RunID
		return err
	})
	return runID, err
}

// repeated returns the run of an earlier order with the same name.
func (o RunOrder) repeated(tx *gorm.DB) (runID int64, known bool, err error) {
	u := o.Request.Under
	if u.Name == "" {
		return 0, false, nil
	}
	var taskID int64
	var request string
	err = tx.Raw("SELECT run_id, task_id, request FROM manual_order"+
		" WHERE under_run_id = ? AND under_account_id = ? AND under_part = ? AND under_name = ?",
		u.RunID, u.AccountID, u.Part, u.Name).Row().Scan(&runID, &taskID, &request)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look for an order under run %d: %w", u.RunID, err)
	}
	var earlier task.Order
	if json.Unmarshal([]byte(request), &earlier) != nil {
		return runID, true, ErrOtherOrder
	}
	o.Request.By = earlier.By // Another process of the orderer may have another token.
	own, err := o.text()
	if err == nil && (taskID != o.TaskID || request != own) {
		err = ErrOtherOrder
	}
	return runID, true, err
}

// checkOpen returns ErrOriginEnded unless a subtask is open.
func checkOpen(tx *gorm.DB, d *sqldb.DB, k task.Key) error {
	found := map[task.Key]SubtaskStatus{}
	err := readStates(tx, d, LogTable(k.RunID), "", 1, func(int) task.Key { return k }, found)
	switch {
	case err != nil && !MissingTable(err):
		return fmt.Errorf("read subtask %v: %w", k, err)
	case !found[k].State.Open():
		return ErrOriginEnded
	}
	return nil
}

// checkNumbers returns an *OrderLimitError if the order would be one too many.
func (o RunOrder) checkNumbers(tx *gorm.DB) error {
	u := o.Request.Under
	for _, c := range []struct {
		where string
		args  []any
		what  string
		most  int
	}{
		{"under_run_id = ? AND under_account_id = ? AND under_part = ?", []any{u.RunID, u.AccountID, u.Part},
			"runs ordered by this subtask", OrdersMax},
		{"root_run_id = ?", []any{o.Request.Ancestors[0]},
			fmt.Sprintf("runs ordered under the run %d", o.Request.Ancestors[0]), TreeMax},
	} {
		var n int
		if err := tx.Raw("SELECT COUNT(*) FROM manual_order WHERE "+c.where, c.args...).Row().Scan(&n); err != nil {
			return fmt.Errorf("count the orders under run %d: %w", u.RunID, err)
		}
		if n >= c.most {
			return &OrderLimitError{What: c.what, Max: c.most}
		}
	}
	return nil
}

// RunsUnder counts the runs that a run's subtasks ordered.
type RunsUnder struct {
	Runs int64
	Open int64 // not ended, or not made yet
	// Undone have ended with subtasks that were not done.
	Undone int64
}

// RunsUnder counts the runs that a run's subtasks ordered, without those that these ordered in turn.
func (s Ticks) RunsUnder(ctx context.Context, runID int64) (n RunsUnder, err error) {
	type order struct {
		RunID int64
		Taken bool
	}
	var orders []order
	err = s.Data.Writer(ctx).Raw("SELECT run_id, taken FROM manual_order WHERE under_run_id = ?", runID).
		Scan(&orders).Error
	var made []int64
	for _, o := range orders {
		if n.Runs++; !o.Taken {
			n.Open++
			continue
		}
		made = append(made, o.RunID)
	}
	for ids := range slices.Chunk(made, underRead) {
		var open, undone int64
		if err == nil {
			err = s.Data.Writer(ctx).Raw("SELECT COALESCE(SUM(CASE WHEN state IN ? THEN 1 ELSE 0 END), 0),"+
				" COALESCE(SUM(CASE WHEN state IN ? THEN 1 ELSE 0 END), 0) FROM run WHERE id IN ?",
				[]task.RunState{task.RunFanningOut, task.RunRunning},
				[]task.RunState{task.RunFailed, task.RunPartial, task.RunExpired, task.RunCancelled}, ids).Row().
				Scan(&open, &undone)
		}
		n.Open, n.Undone = n.Open+open, n.Undone+undone
	}
	if err != nil {
		return n, fmt.Errorf("count the runs under run %d: %w", runID, err)
	}
	return n, nil
}

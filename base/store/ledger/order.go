package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/lease"
	"adsync/base/sqldb"
	"adsync/base/store/leader"
	"adsync/base/strictjson"
	"adsync/base/task"
)

// RunOrder is a run that was ordered by hand. Any process may write one; only the leader makes its run.
type RunOrder struct {
	RunID     int64 // the id that the run will have: task.NewRunID
	TaskID    int64
	Request   task.Order
	OrderedAt time.Time // becomes the run's planned time
	// Malformed is set when the row's request cannot be read: other programs may write rows too.
	Malformed error
}

// AddOrder writes an order, as the function AddOrder does.
func (s Ticks) AddOrder(ctx context.Context, o RunOrder) error {
	return AddOrder(s.Data.Writer(ctx), o)
}

// AddOrder writes an order in a transaction. One under a subtask gets its ancestors here; the error is an
// *OrderLimitError if there are too many.
func AddOrder(tx *gorm.DB, o RunOrder) error {
	if err := o.setAncestors(tx); err != nil {
		return err
	}
	_, err := o.insert(tx, "INSERT INTO ")
	return err
}

// insert writes an order with its present ancestors, and returns how many rows that were.
func (o RunOrder) insert(tx *gorm.DB, verb string) (int64, error) {
	request, err := o.text()
	if err == nil {
		err = o.Request.Validate()
	}
	if err != nil {
		return 0, fmt.Errorf("order run %d: %w", o.RunID, err)
	}
	values := []any{o.RunID, o.TaskID, request, sqldb.Cut(o.Request.By, 96), sqldb.At(o.OrderedAt)}
	res := tx.Exec(verb+" manual_order (run_id, task_id, request, ordered_by, ordered_at, "+underColumns+
		") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", append(values, o.under()...)...)
	if res.Error != nil {
		return 0, fmt.Errorf("order run %d: %w", o.RunID, res.Error)
	}
	return res.RowsAffected, nil
}

// text returns the request as its column holds it: without what has columns of its own.
func (o RunOrder) text() (string, error) {
	o.Request.Under, o.Request.Ancestors = nil, nil
	text, err := json.Marshal(o.Request)
	return string(text), err
}

// OpenOrders returns the oldest orders that no leader has taken.
func (s Ticks) OpenOrders(ctx context.Context, limit int) ([]RunOrder, error) {
	query := s.Data.Writer(ctx).Raw(
		"SELECT run_id, task_id, request, ordered_by, ordered_at, "+underColumns+
			" FROM manual_order WHERE taken = 0 ORDER BY run_id LIMIT ?", limit)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, o *RunOrder) error {
		var request, by string
		var at sqldb.Time
		var under underRow
		err := rows.Scan(append([]any{&o.RunID, &o.TaskID, &request, &by, &at}, under.targets()...)...)
		if o.Malformed = strictjson.Unmarshal([]byte(request), &o.Request); o.Malformed == nil {
			o.Malformed = o.Request.Validate()
		}
		if o.Malformed != nil {
			o.Malformed = fmt.Errorf("the request cannot be read: %w", o.Malformed)
		}
		o.Request.By = by
		o.Request.Under, o.Request.Ancestors = nil, nil // They are what their columns say.
		o.OrderedAt = at.Time
		if err == nil {
			err = under.fill(&o.Request)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	return all, nil
}

// TakeOrder marks an order as taken: its run is made, or errorText is the reason why there is none but a failed one.
func (s Ticks) TakeOrder(ctx context.Context, l lease.Lease, runID int64, errorText string) error {
	set := []leader.Assignment{leader.Assign("taken", "1"),
		leader.Assign("error_text", "?", sqldb.Cut(errorText, runErrorMax))}
	n, err := leader.UpdateGuarded(ctx, s.Data, l, "manual_order", set,
		"manual_order.run_id = ? AND manual_order.taken = 0", runID)
	if err == nil && n == 0 {
		err = leader.CheckLease(ctx, s.Data, l)
	}
	if err != nil {
		return fmt.Errorf("mark the order of run %d as taken: %w", runID, err)
	}
	return nil
}

// Order returns the task of an order by its run's id, or ErrNotFound.
func (s Ticks) Order(ctx context.Context, runID int64) (taskID int64, err error) {
	var ids []int64
	if err := s.Data.Writer(ctx).Raw("SELECT task_id FROM manual_order WHERE run_id = ?",
		runID).Scan(&ids).Error; err != nil {
		return 0, fmt.Errorf("read the order of run %d: %w", runID, err)
	}
	if len(ids) == 0 {
		return 0, fmt.Errorf("order of run %d: %w", runID, sqldb.ErrNotFound)
	}
	return ids[0], nil
}

// AddOrderOnce writes an order whose id follows from its purpose. An existing order stays as it is.
func (s Ticks) AddOrderOnce(ctx context.Context, o RunOrder) error {
	_, err := o.insert(s.Data.Writer(ctx), s.Data.Dialect().InsertIgnore())
	return err
}

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

// AddOrder writes an order.
func (s Ticks) AddOrder(ctx context.Context, o RunOrder) error {
	return AddOrder(s.Data.Writer(ctx), o)
}

// AddOrder writes an order in a transaction.
func AddOrder(tx *gorm.DB, o RunOrder) error {
	return o.insert(tx, "INSERT INTO ")
}

func (o RunOrder) insert(tx *gorm.DB, verb string) error {
	request, err := json.Marshal(o.Request)
	if err == nil {
		err = o.Request.Validate()
	}
	if err != nil {
		return fmt.Errorf("order run %d: %w", o.RunID, err)
	}
	err = tx.Exec(verb+" manual_order (run_id, task_id, request, ordered_by, ordered_at) VALUES (?, ?, ?, ?, ?)",
		o.RunID, o.TaskID, string(request), sqldb.Cut(o.Request.By, 96), sqldb.At(o.OrderedAt)).Error
	if err != nil {
		return fmt.Errorf("order run %d: %w", o.RunID, err)
	}
	return nil
}

// OpenOrders returns the oldest orders that no leader has taken.
func (s Ticks) OpenOrders(ctx context.Context, limit int) ([]RunOrder, error) {
	query := s.Data.Writer(ctx).Raw(
		"SELECT run_id, task_id, request, ordered_by, ordered_at FROM manual_order WHERE taken = 0 ORDER BY run_id LIMIT ?",
		limit)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, o *RunOrder) error {
		var request, by string
		var at sqldb.Time
		err := rows.Scan(&o.RunID, &o.TaskID, &request, &by, &at)
		if o.Malformed = strictjson.Unmarshal([]byte(request), &o.Request); o.Malformed == nil {
			o.Malformed = o.Request.Validate()
		}
		if o.Malformed != nil {
			o.Malformed = fmt.Errorf("the request cannot be read: %w", o.Malformed)
		}
		o.Request.By = by
		o.OrderedAt = at.Time
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
	return o.insert(s.Data.Writer(ctx), s.Data.Dialect().InsertIgnore())
}

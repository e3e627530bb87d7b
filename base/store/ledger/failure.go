package ledger

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/task"
)

// Failure is a delivery of a subtask that ended with an error.
type Failure struct {
	Delivery   int
	Attempt    int        // failures so far, this one included if it was charged
	State      task.State // the subtask's state after it
	Node       string     // who worked on it
	StartedAt  sqldb.Time
	EndedAt    sqldb.Time
	ErrorClass string
	ErrorText  string
	Calls      int // API calls of this delivery
}

// failuresRead is how many failures of one subtask are read at most.
const failuresRead = 500

// failureTable returns the table that holds the failures of a run's subtasks: that of the day of LogTable.
func failureTable(runID int64) string { return failureTableOf(task.LogDay(runID)) }

func failureTableOf(d day.Day) string { return sqldb.FailureTablePrefix + digitsOf(d) }

// failed reports whether the outcome's delivery ended with an error.
func (o *Outcome) failed() bool {
	return o.ErrorText != "" && (o.ErrorClass != "" || o.State == task.Retrying || o.State == task.Failed)
}

// insertFailures writes the failures among outcomes, by key, to the tables of their days. A day without such a table,
// because it was dropped or made by an earlier release, keeps none.
func insertFailures(s *sqldb.Databases, tx *gorm.DB, outcomes []Outcome) error {
	var rows [][]any
	var runID int64
	write := func() error {
		table := sqldb.Table{Name: failureTable(runID), Key: append(SubtaskKey[:3:3], "delivery"), Columns: []string{
			"attempt", "state", "node", "started_at", "ended_at", "error_class", "error_text", "calls",
		}}
		if err := s.Data.Upsert(tx, table, rows); err != nil && !MissingTable(err) {
			return err
		}
		return nil
	}
	for i := range outcomes {
		o := &outcomes[i]
		if !o.failed() {
			continue
		}
		if len(rows) > 0 && !sameLogTable(runID, o.RunID) {
			if err := write(); err != nil {
				return err
			}
			rows = nil
		}
		runID = o.RunID
		rows = append(rows, []any{
			o.RunID, o.AccountID, o.Part, o.Delivery,
			o.Attempt, string(o.State), o.Node, sqldb.At(o.StartedAt), sqldb.At(o.EndedAt), o.ErrorClass, o.ErrorText, o.Calls,
		})
	}
	if len(rows) == 0 {
		return nil
	}
	return write()
}

// Failures returns the deliveries of a subtask that ended with an error, the newest first, at most 500. There are none
// when its day's table was dropped.
func (s Subtasks) Failures(ctx context.Context, k task.Key) ([]Failure, error) {
	var all []Failure
	err := s.Data.Writer(ctx).Raw(
		"SELECT delivery, attempt, state, node, started_at, ended_at, error_class, error_text, calls"+
			" FROM "+failureTable(k.RunID)+" WHERE run_id = ? AND account_id = ? AND part = ? ORDER BY delivery DESC LIMIT ?",
		k.RunID, k.AccountID, k.Part, failuresRead).Scan(&all).Error
	if err != nil && !MissingTable(err) {
		return nil, fmt.Errorf("read the failures of subtask %v: %w", k, err)
	}
	return all, nil
}

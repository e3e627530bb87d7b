package ledger

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/task"
)

// endColumns are the columns of run that count the subtasks of each end state.
var endColumns = [5]task.State{task.Succeeded, task.Failed, task.Expired, task.Cancelled, task.Superseded}

// countOutcomes adds ended subtasks to their runs' counts and ends the runs whose last subtasks they were.
func (s Outcomes) countOutcomes(tx *gorm.DB, changed []Outcome) error {
	var runs []int64
	var counts [][5]int // of each run, by endColumns
	var last time.Time
	for _, o := range changed { // by key, so each run's outcomes are together
		i := slices.Index(endColumns[:], o.State)
		if i < 0 {
			continue
		}
		if len(runs) == 0 || runs[len(runs)-1] != o.RunID {
			runs, counts = append(runs, o.RunID), append(counts, [5]int{})
		}
		counts[len(counts)-1][i]++
		if o.EndedAt.After(last) {
			last = o.EndedAt
		}
	}
	if len(runs) == 0 {
		return nil
	}
	u := sqldb.ValueUpdate{Table: "run", Key: []string{"id"}, Columns: []string{"id"}}
	for _, state := range endColumns {
		column := string(state)
		u.Columns = append(u.Columns, column)
		u.Set = append(u.Set, [2]string{column, "t." + column + " + o." + column})
	}
	rows := make([][]any, len(runs))
	for i, id := range runs {
		rows[i] = []any{id}
		for _, n := range counts[i] {
			rows[i] = append(rows[i], n)
		}
	}
	if err := sqldb.UpdateByValues(s.Data, tx, u, rows); err != nil {
		return fmt.Errorf("count the outcomes of %s: %w", plural.Count(len(runs), "run", "runs"), err)
	}
	return endRuns(tx, runs, last)
}

// endRuns ends those of the runs that are fanned out and have all their subtasks counted. Both the last outcome and
// the end of a fan-out must call it, each in the transaction that changed the counts or the total: either may
// complete the run.
//
// It is a separate statement: one that both adds to the counts and compares them would compare the old counts on one
// database and the new ones on another.
func endRuns(tx *gorm.DB, runs []int64, at time.Time) error {
	res := tx.Exec(`UPDATE run SET state = CASE
    WHEN cancel_id <> 0 THEN 'cancelled'
    WHEN failed + expired + cancelled = 0 THEN 'succeeded'
    WHEN succeeded + superseded = 0 THEN 'failed'
    ELSE 'partial' END,
  ended_at = ?
WHERE id IN ? AND state = 'running' AND total IS NOT NULL
  AND succeeded + failed + expired + cancelled + superseded >= total`, sqldb.At(at), runs)
	if res.Error != nil {
		return fmt.Errorf("end runs: %w", res.Error)
	}
	if res.RowsAffected == 0 {
		return nil
	}
	return endCancelled(tx, runs, at)
}

// endCancelled changes runs that have just ended, at the given moment, to cancelled if an active cancel covers them.
// The leader marks such runs too, but consumers apply the order on their own: they may end a run before the leader
// has read the order, or while there is no leader.
func endCancelled(tx *gorm.DB, runs []int64, at time.Time) error {
	cancels, err := ReadStops(tx, "WHERE state = ? AND verb = ? ORDER BY id", StopActive, string(task.Cancel))
	if err != nil || len(cancels) == 0 { // as nearly always
		return err
	}
	var ended []struct {
		ID     int64
		TaskID int64
		Media  string
	}
	err = tx.Raw("SELECT id, task_id, media FROM run WHERE id IN ? AND ended_at = ? AND state <> ? ORDER BY id",
		runs, sqldb.At(at), string(task.RunCancelled)).Scan(&ended).Error
	if err != nil {
		return fmt.Errorf("read which runs have ended: %w", err)
	}
	stops := task.NewStops(cancels)
	for _, run := range ended {
		// Without an account: the cancel of an account covers no run as a whole.
		stop := stops.Find(task.Subject{RunID: run.ID, TaskID: run.TaskID, Media: run.Media}, at)
		if stop == nil {
			continue
		}
		err := tx.Exec(
			"UPDATE run SET state = ?, cancel_id = CASE WHEN cancel_id = 0 THEN ? ELSE cancel_id END,"+
				" error_text = CASE WHEN error_text = '' THEN ? ELSE error_text END WHERE id = ?",
			string(task.RunCancelled), stop.ID, sqldb.Cut(stop.Text(), runErrorMax), run.ID).Error
		if err != nil {
			return fmt.Errorf("end run %d as cancelled: %w", run.ID, err)
		}
	}
	return nil
}

// checkFinished returns ErrRunChanged unless an earlier try ended the run's fan-out and the answer to its commit was
// lost.
func checkFinished(tx *gorm.DB, runID, total int64, now time.Time) error {
	var have sql.NullInt64
	var at sqldb.Time
	if err := tx.Raw("SELECT total, fanned_out_at FROM run WHERE id = ?", runID).Row().Scan(&have, &at); err != nil {
		return err
	}
	if !have.Valid || have.Int64 != total || !at.Equal(now.Truncate(time.Millisecond)) {
		return ErrRunChanged
	}
	return nil
}

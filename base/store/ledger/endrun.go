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

// tally holds the amounts that a batch of outcomes adds to a run.
type tally struct {
	runID  int64
	counts [len(endColumns)]int // subtasks that ended, by endColumns
	ended  bool                 // whether one of the counts is above 0
	calls  int
}

// tallies sums outcomes by run, and leaves out runs to which they add nothing. last is the latest end of a subtask.
func tallies(outcomes []Outcome) (all []tally, last time.Time) {
	for i := range outcomes { // By key, so each run's outcomes are together.
		o := &outcomes[i]
		state := slices.Index(endColumns[:], o.State)
		if state < 0 && o.Calls == 0 {
			continue
		}
		if len(all) == 0 || all[len(all)-1].runID != o.RunID {
			all = append(all, tally{runID: o.RunID})
		}
		of := &all[len(all)-1]
		of.calls += o.Calls
		if state < 0 {
			continue
		}
		of.counts[state]++
		of.ended = true
		if o.EndedAt.After(last) {
			last = o.EndedAt
		}
	}
	return all, last
}

// countOutcomes adds ended subtasks and calls to their runs, and ends the runs whose last subtasks have ended.
func (s Outcomes) countOutcomes(tx *gorm.DB, changed []Outcome) error {
	all, last := tallies(changed)
	if len(all) == 0 {
		return nil
	}
	u := sqldb.ValueUpdate{Table: "run", Key: []string{"id"}, Columns: []string{"id"}}
	add := func(column string) {
		u.Columns = append(u.Columns, column)
		u.Set = append(u.Set, [2]string{column, "t." + column + " + o." + column})
	}
	for _, state := range endColumns {
		add(string(state))
	}
	add("api_calls")
	rows := make([][]any, len(all))
	var ended []int64
	for i, of := range all {
		rows[i] = []any{of.runID}
		for _, n := range of.counts {
			rows[i] = append(rows[i], n)
		}
		rows[i] = append(rows[i], of.calls)
		if of.ended {
			ended = append(ended, of.runID)
		}
	}
	if err := sqldb.UpdateByValues(s.Data, tx, u, rows); err != nil {
		return fmt.Errorf("count the outcomes of %s: %w", plural.Count(len(all), "run", "runs"), err)
	}
	if len(ended) == 0 {
		return nil
	}
	return endRuns(tx, ended, last)
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

package outside

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// tables are what the tables have of runs, subtasks and their jobs.
type tables struct {
	runs     []run
	subtasks []subtask
	failures []failure
	due      int // rows of subtask_due
	kept     int // jobs of subtasks
	watched  int // what is known of their ends
}

type run struct {
	id     int64
	state  task.RunState
	total  int64
	counts map[task.State]int64 // of the end states; those of 0 are left out
}

type subtask struct {
	attempt
	state task.State
	rows  int64
}

type failure struct {
	attempt // with the failure
	text    string
}

// open reports whether something has not ended.
func (t tables) open() bool {
	for _, r := range t.runs {
		if r.state.Open() {
			return true
		}
	}
	for _, s := range t.subtasks {
		if s.state.Open() {
			return true
		}
	}
	return t.due > 0
}

// left is how many rows of jobs are left.
func (t tables) left() int { return t.kept + t.watched }

// read reads the tables. While work is under way they may differ by what is committed meanwhile.
func (d *desk) read(ctx context.Context) (t tables, err error) {
	err = d.each(ctx, func(scan func(...any) error) error {
		r := run{counts: map[task.State]int64{}}
		var total sql.NullInt64
		var counts [5]int64
		err := scan(&r.id, &r.state, &total, &counts[0], &counts[1], &counts[2], &counts[3], &counts[4])
		for i, s := range []task.State{task.Succeeded, task.Failed, task.Expired, task.Cancelled, task.Superseded} {
			if counts[i] != 0 {
				r.counts[s] = counts[i]
			}
		}
		r.total = total.Int64
		t.runs = append(t.runs, r)
		return err
	}, "SELECT id, state, total, succeeded, failed, expired, cancelled, superseded FROM run")
	days := map[string]bool{}
	for _, r := range t.runs {
		days[ledger.LogTable(r.id)] = true
	}
	for table := range days {
		if err != nil {
			return t, err
		}
		if err = d.readDay(ctx, table, &t); err != nil {
			return t, err
		}
	}
	for query, into := range map[string]*int{"subtask_due": &t.due, "job_kept": &t.kept, "job_watched": &t.watched} {
		if err == nil {
			err = d.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+query).Scan(into)
		}
	}
	return t, err
}

func (d *desk) readDay(ctx context.Context, table string, t *tables) error {
	err := d.each(ctx, func(scan func(...any) error) error {
		var s subtask
		err := scan(&s.run, &s.part, &s.attempt.attempt, &s.state, &s.rows)
		t.subtasks = append(t.subtasks, s)
		return err
	}, "SELECT run_id, part, attempt, state, rows_written FROM "+table)
	if err != nil {
		return err
	}
	return d.each(ctx, func(scan func(...any) error) error {
		var f failure
		err := scan(&f.run, &f.part, &f.attempt.attempt, &f.text)
		t.failures = append(t.failures, f)
		return err
	}, "SELECT run_id, part, attempt, error_text FROM "+sqldb.FailureTablePrefix+
		strings.TrimPrefix(table, sqldb.LogTablePrefix))
}

func (d *desk) each(ctx context.Context, row func(scan func(...any) error) error, query string) error {
	rows, err := d.db.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

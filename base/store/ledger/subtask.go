package ledger

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"adsync/base/sqldb"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// runsPerLookUp is how many runs one statement reads.
const runsPerLookUp = 100

// Subtask is a row of a day's log.
type Subtask struct {
	task.Key
	SubtaskLog
}

// SubtaskFilter chooses subtasks for a list; zero fields choose all.
type SubtaskFilter struct {
	State task.State
	Text  string // a piece of the error's text
}

func (f SubtaskFilter) where(d sqldb.Dialect) (where string, args []any) {
	if f.State != "" {
		where, args = where+" AND state = ?", append(args, string(f.State))
	}
	if f.Text != "" {
		where, args = where+" AND "+d.Contains("error_text"), append(args, f.Text)
	}
	return where, args
}

const logColumns = "state, delivery, attempt, node, created_at, started_at, ended_at, error_class, error_text," +
	" rows_written, api_calls"

// logRow scans the values of logColumns.
type logRow struct {
	SubtaskLog
	created, started, ended sqldb.Time
}

func (r *logRow) fields() []any {
	return []any{
		&r.State, &r.Delivery, &r.Attempt, &r.Node, &r.created, &r.started, &r.ended, &r.ErrorClass, &r.ErrorText, &r.Rows,
		&r.Calls,
	}
}

func (r *logRow) log() SubtaskLog {
	r.CreatedAt, r.StartedAt, r.EndedAt = r.created.Time, r.started.Time, r.ended.Time
	return r.SubtaskLog
}

// RunSubtasks returns a page of a run's subtasks after a place, by account and part. next is the place after which
// the next page begins; nil if there is none. A run whose day's table was dropped has no subtasks.
func (s Subtasks) RunSubtasks(ctx context.Context, runID int64, f SubtaskFilter, after AccountPart,
	limit int) (page []Subtask, next *AccountPart, err error) {
	where := "run_id = ? AND account_id >= ? AND (account_id > ? OR part > ?)"
	args := []any{runID, after.AccountID, after.AccountID, after.Part}
	chosen, values := f.where(s.Data.Dialect())
	if chosen != "" {
		if next, err = s.reachOfRun(ctx, runID, where, args); err != nil {
			return nil, nil, err
		}
		if next != nil {
			where, args = where+" AND account_id <= ? AND (account_id < ? OR part <= ?)",
				append(args, next.AccountID, next.AccountID, next.Part)
		}
	}
	page, err = ReadSubtasks(ctx, s.Databases, LogTable(runID), where+chosen+" ORDER BY run_id, account_id, part LIMIT ?",
		append(append(args, values...), limit+1)...)
	if err != nil {
		return nil, nil, fmt.Errorf("list the subtasks of run %d: %w", runID, err)
	}
	if len(page) > limit {
		page = page[:limit]
		next = &AccountPart{AccountID: page[limit-1].AccountID, Part: page[limit-1].Part}
	}
	return page, next, nil
}

// reachOfRun returns the last row of a run that a page reads; nil if that is all rows.
func (s Subtasks) reachOfRun(ctx context.Context, runID int64, where string, args []any) (*AccountPart, error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT account_id, part FROM "+LogTable(runID)+" WHERE "+where+
		" ORDER BY run_id, account_id, part LIMIT 1 OFFSET ?",
		append(slices.Clone(args), s.Reach.Rows-1)...).Rows()
	if MissingTable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the subtasks of run %d: %w", runID, err)
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	var last AccountPart
	err = rows.Scan(&last.AccountID, &last.Part)
	return &last, err
}

// ReadSubtasks reads rows of a day's log; where follows WHERE. It returns none if the table does not exist.
func ReadSubtasks(ctx context.Context, s *sqldb.Databases, table, where string, args ...any) ([]Subtask, error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT run_id, account_id, part, "+logColumns+" FROM "+table+" WHERE "+where,
		args...).Rows()
	if MissingTable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Subtask
	for rows.Next() {
		var t Subtask
		var r logRow
		if err := rows.Scan(append([]any{&t.RunID, &t.AccountID, &t.Part}, r.fields()...)...); err != nil {
			return nil, err
		}
		t.SubtaskLog = r.log()
		all = append(all, t)
	}
	return all, rows.Err()
}

// AccountSubtask is a subtask of an account, with its run's task name and planned time.
type AccountSubtask struct {
	Subtask
	TaskName  string
	PlannedAt time.Time
}

// AccountSubtasks returns a page of an account's subtasks after a place, those of the newest run first. The runs were
// made in [since, until), or at any time since then if until is zero. next is the place after which the next page
// begins; nil if there is none. A page reads Reach.Runs runs at most, so it may be short or empty although next is
// set.
func (s Subtasks) AccountSubtasks(ctx context.Context, a settings.Account, f SubtaskFilter, since, until time.Time,
	after task.Key, limit int) (page []AccountSubtask, next *task.Key, err error) {
	end := int64(math.MaxInt64)
	if !until.IsZero() {
		end = task.FirstRunIDAt(until)
	}
	switch {
	case after.Part != "": // Include the run that the place is in.
		end = min(end, after.RunID+1)
	case after.RunID != 0:
		end = min(end, after.RunID)
	}
	runs, more, err := s.runsOf(ctx, a.Media, task.FirstRunIDAt(since), end)
	if err != nil {
		return nil, nil, fmt.Errorf("list the subtasks of account %d: %w", a.ID, err)
	}
	for rest := runs; len(rest) > 0 && len(page) <= limit; {
		n := 1
		for n < len(rest) && n < runsPerLookUp && sameLogTable(rest[n].ID, rest[0].ID) {
			n++
		}
		found, err := s.subtasksInRuns(ctx, rest[:n], a.ID, f, after, limit+1-len(page))
		if err != nil {
			return nil, nil, fmt.Errorf("list the subtasks of account %d: %w", a.ID, err)
		}
		page, rest = append(page, found...), rest[n:]
	}
	if len(page) > limit {
		page = page[:limit]
		return page, &page[limit-1].Key, nil
	}
	return page, more, nil
}

// runsOf returns the runs of a media with ids in [from, end), the newest first. It reads the newest Reach.Runs runs
// of all platforms; more is the place of the last of them if there are others.
func (s Subtasks) runsOf(ctx context.Context, media string, from, end int64) (runs []Run, more *task.Key, err error) {
	rows, err := s.Data.Writer(ctx).Raw(
		"SELECT id, media, task_name, planned_at FROM run WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ?", from, end,
		s.Reach.Runs).Rows()
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	looked := 0
	var r Run
	for rows.Next() {
		var planned sqldb.Time
		if err := rows.Scan(&r.ID, &r.Media, &r.TaskName, &planned); err != nil {
			return nil, nil, err
		}
		r.PlannedAt = planned.Time
		if looked++; r.Media == media {
			runs = append(runs, r)
		}
	}
	if looked == s.Reach.Runs {
		more = &task.Key{RunID: r.ID}
	}
	return runs, more, rows.Err()
}

// subtasksInRuns returns an account's subtasks in runs of one day, which are given the newest first.
func (s Subtasks) subtasksInRuns(ctx context.Context, runs []Run, accountID int64, f SubtaskFilter, after task.Key,
	limit int) ([]AccountSubtask, error) {
	ids := make([]int64, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	where, args := "run_id IN ? AND account_id = ?", []any{ids, accountID}
	if after.Part != "" && ids[0] == after.RunID {
		where, args = where+" AND (run_id < ? OR part < ?)", append(args, after.RunID, after.Part)
	}
	chosen, values := f.where(s.Data.Dialect())
	rows, err := ReadSubtasks(ctx, s.Databases, LogTable(ids[0]), where+chosen+
		" ORDER BY run_id DESC, account_id DESC, part DESC LIMIT ?", append(append(args, values...), limit)...)
	if err != nil {
		return nil, err
	}
	found := make([]AccountSubtask, len(rows))
	for i := range rows {
		of := slices.IndexFunc(runs, func(r Run) bool { return r.ID == rows[i].RunID })
		found[i] = AccountSubtask{Subtask: rows[i], TaskName: runs[of].TaskName, PlannedAt: runs[of].PlannedAt}
	}
	return found, nil
}

// WaitingSubtask is a row of subtask_due whose subtask is to be sent again.
type WaitingSubtask struct {
	Due
	Media    string
	Lane     string
	Reason   string
	WaitsFor string // "run:ID", "pause:ID", "account:ID", "job:ID", or nothing but its time
}

// WaitingFilter chooses waiting subtasks; zero fields choose all.
type WaitingFilter struct {
	State task.State // Retrying or Deferred
	Media string
	Lane  string
	Text  string // a piece of the reason
}

// WaitingPlace is where a page of waiting subtasks ended.
type WaitingPlace struct {
	DueAt time.Time
	task.Key
}

func (p WaitingPlace) compare(o WaitingPlace) int {
	if c := p.DueAt.Compare(o.DueAt); c != 0 {
		return c
	}
	return compareKeys(p.Key, o.Key)
}

// WaitingSubtasks returns a page of the subtasks that wait to be sent again, after a place, by due time. next is the
// place after which the next page begins; nil if there is none.
func (s Subtasks) WaitingSubtasks(ctx context.Context, f WaitingFilter, after WaitingPlace,
	limit int) (page []WaitingSubtask, next *WaitingPlace, err error) {
	states := []task.State{task.Retrying, task.Deferred}
	if f.State != "" {
		states = []task.State{f.State}
	}
	for _, state := range states {
		some, reach, err := s.waitingIn(ctx, state, f, after, limit+1)
		if err != nil {
			return nil, nil, fmt.Errorf("list the subtasks that wait: %w", err)
		}
		page = append(page, some...)
		if reach != nil && (next == nil || reach.compare(*next) < 0) {
			next = reach
		}
	}
	place := func(w WaitingSubtask) WaitingPlace { return WaitingPlace{DueAt: w.DueAt, Key: w.Key} }
	slices.SortFunc(page, func(a, b WaitingSubtask) int { return place(a).compare(place(b)) })
	// Beyond the nearer of the two reaches, rows of the other state may not have been read.
	if next != nil {
		page = slices.DeleteFunc(page, func(w WaitingSubtask) bool { return place(w).compare(*next) > 0 })
	}
	if len(page) > limit {
		page = page[:limit]
		last := place(page[limit-1])
		next = &last
	}
	return page, next, nil
}

// waitingIn returns the waiting subtasks of one state; reach is the last row that was read, nil if all were.
func (s Subtasks) waitingIn(ctx context.Context, state task.State, f WaitingFilter, after WaitingPlace,
	limit int) (page []WaitingSubtask, reach *WaitingPlace, err error) {
	const order = " ORDER BY state, due_at, run_id, account_id, part LIMIT "
	from := " FROM subtask_due" + s.Data.Dialect().ForceIndex("subtask_due", "due")
	where, args := " WHERE state = ?", []any{string(state)}
	if !after.DueAt.IsZero() {
		at, k := sqldb.At(after.DueAt), after.Key
		where += " AND due_at >= ? AND (due_at > ? OR run_id > ? OR (run_id = ? AND (account_id > ? OR (account_id = ?" +
			" AND part > ?))))"
		args = append(args, at, at, k.RunID, k.RunID, k.AccountID, k.AccountID, k.Part)
	}
	var chosen []string
	var values []any
	for _, c := range []struct{ condition, value string }{{"media = ?", f.Media}, {"lane = ?", f.Lane},
		{s.Data.Dialect().Contains("reason"), f.Text}} {
		if c.value != "" {
			chosen, values = append(chosen, " AND "+c.condition), append(values, c.value)
		}
	}
	if len(chosen) > 0 {
		var last WaitingPlace
		found, err := s.readPlace(ctx, &last, "SELECT due_at, run_id, account_id, part"+from+where+order+"1 OFFSET ?",
			append(slices.Clone(args), s.Reach.Rows-1)...)
		if err != nil {
			return nil, nil, err
		}
		if found {
			reach = &last
			at, k := sqldb.At(last.DueAt), last.Key
			where += " AND due_at <= ? AND (due_at < ? OR run_id < ? OR (run_id = ? AND (account_id < ? OR (account_id = ?" +
				" AND part <= ?))))"
			args = append(args, at, at, k.RunID, k.RunID, k.AccountID, k.AccountID, k.Part)
		}
	}
	rows, err := s.Data.Writer(ctx).Raw(
		"SELECT run_id, account_id, part, state, due_at, delivery, attempt, media, lane, reason, waits_for"+
			from+where+strings.Join(chosen, "")+order+"?", append(append(args, values...), limit)...).Rows()
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var w WaitingSubtask
		var at sqldb.Time
		err := rows.Scan(&w.RunID, &w.AccountID, &w.Part, &w.State, &at, &w.Delivery, &w.Attempt, &w.Media, &w.Lane,
			&w.Reason, &w.WaitsFor)
		if err != nil {
			return nil, nil, err
		}
		w.DueAt = at.Time
		page = append(page, w)
	}
	return page, reach, rows.Err()
}

func (s Subtasks) readPlace(
	ctx context.Context, into *WaitingPlace, query string, args ...any,
) (found bool, err error) {
	rows, err := s.Data.Writer(ctx).Raw(query, args...).Rows()
	if err != nil {
		return false, err
	}
	defer rows.Close()
	if !rows.Next() {
		return false, rows.Err()
	}
	var at sqldb.Time
	err = rows.Scan(&at, &into.RunID, &into.AccountID, &into.Part)
	into.DueAt = at.Time
	return true, err
}

// RunProgress returns a run and how many of its subtasks are retrying and deferred. One statement reads both, since
// the outcomes that change them are written in one transaction. It returns ErrNotFound if the run does not exist.
func (s Subtasks) RunProgress(ctx context.Context, id int64) (run Run, retrying, deferred int64, err error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT "+runColumns+
		", (SELECT COUNT(*) FROM subtask_due d WHERE d.run_id = run.id AND d.run_id = ? AND d.state = ?),"+
		" (SELECT COUNT(*) FROM subtask_due d WHERE d.run_id = run.id AND d.run_id = ? AND d.state = ?) FROM run"+
		" WHERE id = ?",
		id, string(task.Retrying), id, string(task.Deferred), id).Rows()
	if err != nil {
		return Run{}, 0, 0, fmt.Errorf("read run %d: %w", id, err)
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return Run{}, 0, 0, fmt.Errorf("read run %d: %w", id, err)
		}
		return Run{}, 0, 0, fmt.Errorf("run %d: %w", id, sqldb.ErrNotFound)
	}
	if run, err = scanRun(rows, &retrying, &deferred); err != nil {
		return Run{}, 0, 0, fmt.Errorf("read run %d: %w", id, err)
	}
	return run, retrying, deferred, nil
}

// SubtaskLog is the log of a subtask in its day's table.
type SubtaskLog struct {
	State      task.State
	Delivery   int
	Attempt    int
	Node       string // who worked on it last
	CreatedAt  time.Time
	StartedAt  time.Time // of the last try
	EndedAt    time.Time
	ErrorClass string // of the last try
	ErrorText  string
	Rows       int64 // written by the last try
	Calls      int64 // API calls of all tries
}

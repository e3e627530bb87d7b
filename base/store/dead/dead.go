package dead

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
)

// AuditDead is the object of audit entries about dead subtasks.
const AuditDead = "subtask_dead"

// DeadSubtask is a row of subtask_dead: a subtask that failed for good. It stays, even when its day's log is dropped,
// until it is dropped or redriven.
type DeadSubtask struct {
	task.Key
	TaskID     int64
	TaskName   string // its run's; "" if the run is gone
	Media      string
	Attempt    int // failures
	ErrorClass string
	ErrorPrint string
	ErrorText  string
	DeadAt     time.Time
	RedriveRun int64 // the run that redrives it; 0 if none does
}

// DeadColumns are the columns of DeadSubtask, with d for subtask_dead and r for run.
const DeadColumns = `d.run_id, d.account_id, d.part, d.task_id, COALESCE(r.task_name, ''), d.media, d.attempt,
  d.error_class, d.error_print, d.error_text, d.dead_at, d.redrive_run_id`

// DeadFrom is the FROM clause of DeadColumns.
const DeadFrom = " FROM subtask_dead d LEFT JOIN run r ON r.id = d.run_id "

// ReadDead returns the rows of a query of DeadColumns.
func ReadDead(query *gorm.DB) ([]DeadSubtask, error) {
	all, err := sqldb.Rows(query, func(rows *sql.Rows, d *DeadSubtask) error {
		var at sqldb.Time
		err := rows.Scan(&d.RunID, &d.AccountID, &d.Part, &d.TaskID, &d.TaskName, &d.Media, &d.Attempt,
			&d.ErrorClass, &d.ErrorPrint, &d.ErrorText, &at, &d.RedriveRun)
		d.DeadAt = at.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read dead subtasks: %w", err)
	}
	return all, nil
}

// deadWhere returns a filter as a condition on d.
func deadWhere(d *sqldb.DB, f task.DeadFilter) (where string, args []any) {
	var all []string
	add := func(condition string, arg any) { all, args = append(all, condition), append(args, arg) }
	if f.TaskID != 0 {
		add("d.task_id = ?", f.TaskID)
	}
	if f.Media != "" {
		add("d.media = ?", f.Media)
	}
	if f.AccountID != 0 {
		add("d.account_id = ?", f.AccountID)
	}
	if f.RunID != 0 {
		add("d.run_id = ?", f.RunID)
	}
	if f.Print != "" {
		add("d.error_print = ?", f.Print)
	}
	if f.Class != "" {
		add("d.error_class = ?", f.Class)
	}
	if f.Text != "" {
		add(d.Dialect().Contains("d.error_text"), f.Text)
	}
	switch own := f.OwnParams; {
	case own == nil:
	case *own == "":
		all = append(all, "NOT EXISTS (SELECT 1 FROM run o WHERE o.id = d.run_id AND o.own_params <> '')")
	default:
		add("EXISTS (SELECT 1 FROM run o WHERE o.id = d.run_id AND o.own_params = ?)", *own)
	}
	if !f.Since.IsZero() {
		add("d.dead_at >= ?", sqldb.At(f.Since))
	}
	if !f.Until.IsZero() {
		add("d.dead_at <= ?", sqldb.At(f.Until))
	}
	if len(all) == 0 {
		return "1 = 1", nil
	}
	return strings.Join(all, " AND "), args
}

// DeadPlace is where a page of dead subtasks ended.
type DeadPlace struct {
	At  time.Time
	Key task.Key
}

// deadIndexes are the filters that an index of subtask_dead serves together with the time, the narrowest first.
var deadIndexes = []struct {
	index, column string
	take          func(f *task.DeadFilter) (value any, set bool) // clears the filter's value and returns it
}{
	{"account", "d.account_id", func(f *task.DeadFilter) (any, bool) { return takeOut(&f.AccountID) }},
	{"print", "d.error_print", func(f *task.DeadFilter) (any, bool) { return takeOut(&f.Print) }},
	{"task", "d.task_id", func(f *task.DeadFilter) (any, bool) { return takeOut(&f.TaskID) }},
	{"class", "d.error_class", func(f *task.DeadFilter) (any, bool) { return takeOut(&f.Class) }},
	{"media", "d.media", func(f *task.DeadFilter) (any, bool) { return takeOut(&f.Media) }},
}

func takeOut[T comparable](v *T) (value any, set bool) {
	var none T
	was := *v
	*v = none
	return was, was != none
}

// deadScan is how a list of dead subtasks reads one of the table's indexes, so that a page is found by its place: the
// index, the condition that it serves, the remaining conditions, and the order. The condition is not column = ?:
// MariaDB would look up by the equal column alone, and read from the newest row up to the page.
type deadScan struct {
	from, where, order string
	args               []any
	rest               string // "" if the filter chooses every row that is read
	restArgs           []any
}

func scanDead(d *sqldb.DB, f task.DeadFilter) deadScan {
	const newest = "d.dead_at DESC, d.run_id DESC, d.account_id DESC, d.part DESC"
	w := deadScan{from: "subtask_dead d", where: "1 = 1", order: newest}
	if f.RunID != 0 { // By the primary key: a run has few dead subtasks.
		w.where, w.args = deadWhere(d, f)
		return w
	}
	index := "died"
	for _, i := range deadIndexes {
		if value, set := i.take(&f); set {
			index, w.where, w.order, w.args = i.index, i.column+" >= ? AND "+i.column+" <= ?", i.column+" DESC, "+newest,
				[]any{value, value}
			break
		}
	}
	times, others := task.DeadFilter{Since: f.Since, Until: f.Until}, f
	others.Since, others.Until = time.Time{}, time.Time{}
	on, args := deadWhere(d, times)
	w.where, w.args = w.where+" AND "+on, append(w.args, args...)
	if others != (task.DeadFilter{}) {
		w.rest, w.restArgs = deadWhere(d, others)
	}
	w.from += d.Dialect().ForceIndex("subtask_dead", index)
	return w
}

// after makes the scan begin after a place.
func (w *deadScan) after(p DeadPlace) {
	at, k := sqldb.At(p.At), p.Key
	w.where += ` AND d.dead_at <= ? AND (d.dead_at < ? OR d.run_id < ?
  OR (d.run_id = ? AND (d.account_id < ? OR (d.account_id = ? AND d.part < ?))))`
	w.args = append(w.args, at, at, k.RunID, k.RunID, k.AccountID, k.AccountID, k.Part)
}

// upTo makes the scan end at a place, which it includes.
func (w *deadScan) upTo(p DeadPlace) {
	at, k := sqldb.At(p.At), p.Key
	w.where += ` AND d.dead_at >= ? AND (d.dead_at > ? OR d.run_id > ?
  OR (d.run_id = ? AND (d.account_id > ? OR (d.account_id = ? AND d.part >= ?))))`
	w.args = append(w.args, at, at, k.RunID, k.RunID, k.AccountID, k.AccountID, k.Part)
}

// ListDead returns dead subtasks after a place (zero for the first page), those that died last first. Where an index
// serves only a part of the filter, it reads Reach.Dead rows at most: if it then found fewer than limit, end is the
// place where it stopped, after which there may be more. Otherwise end is zero.
func (s DeadSubtasks) ListDead(
	ctx context.Context, f task.DeadFilter, after DeadPlace, limit int,
) (all []DeadSubtask, end DeadPlace, err error) {
	w := scanDead(s.Data, f)
	if !after.At.IsZero() {
		w.after(after)
	}
	if w.rest != "" {
		if end, err = s.lastRead(ctx, w); err != nil {
			return nil, DeadPlace{}, err
		}
		if !end.At.IsZero() {
			w.upTo(end)
		}
		w.where, w.args = w.where+" AND "+w.rest, append(w.args, w.restArgs...)
	}
	all, err = ReadDead(s.Data.Writer(ctx).Raw("SELECT "+DeadColumns+" FROM "+w.from+
		" LEFT JOIN run r ON r.id = d.run_id WHERE "+w.where+
		" ORDER BY "+w.order+" LIMIT ?", append(w.args, limit)...))
	if err != nil || len(all) >= limit {
		end = DeadPlace{}
	}
	return all, end, err
}

// lastRead returns the place of the last row that a page reads; zero if it reads all that are left. It reads only the
// index.
func (s DeadSubtasks) lastRead(ctx context.Context, w deadScan) (DeadPlace, error) {
	var at sqldb.Time
	var p DeadPlace
	err := s.Data.Writer(ctx).Raw("SELECT d.dead_at, d.run_id, d.account_id, d.part FROM "+w.from+" WHERE "+w.where+
		" ORDER BY "+w.order+" LIMIT 1 OFFSET ?",
		append(slices.Clip(w.args), s.Reach.Dead-1)...).Row().Scan(&at, &p.Key.RunID, &p.Key.AccountID, &p.Key.Part)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("list dead subtasks: %w", err)
	}
	p.At = at.Time
	return p, nil
}

// DeadTask returns the id of a task with dead subtasks by its name, as of the run of its newest dead subtask. Of
// several such tasks it returns the one with the highest id, 0 if there is none. It reads one row of each task.
func (s DeadSubtasks) DeadTask(ctx context.Context, name string) (int64, error) {
	var id int64
	err := s.Data.Writer(ctx).Raw(`SELECT t.task_id FROM (SELECT DISTINCT task_id FROM subtask_dead) t
JOIN run r ON r.id = (SELECT d.run_id FROM subtask_dead d WHERE d.task_id = t.task_id
  ORDER BY d.dead_at DESC, d.run_id DESC LIMIT 1)
WHERE r.task_name = ? ORDER BY t.task_id DESC LIMIT 1`, name).Row().Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("find the task named %q of dead subtasks: %w", name, err)
	}
	return id, nil
}

// DeadTaskName returns a task's name as of the run of its newest dead subtask; "" if that run is gone.
func (s DeadSubtasks) DeadTaskName(ctx context.Context, taskID int64) (string, error) {
	var names []string
	err := s.Data.Writer(ctx).Raw(
		"SELECT COALESCE(r.task_name, '') FROM (SELECT run_id FROM subtask_dead WHERE task_id = ?"+
			" ORDER BY dead_at DESC LIMIT 1) d LEFT JOIN run r ON r.id = d.run_id",
		taskID).Scan(&names).Error
	if err != nil {
		return "", fmt.Errorf("read the name of task %d: %w", taskID, err)
	}
	return strings.Join(names, ""), nil
}

// DeadSubtask returns one dead subtask, or ErrNotFound.
func (s DeadSubtasks) DeadSubtask(ctx context.Context, k task.Key) (DeadSubtask, error) {
	found, err := ReadDead(s.Data.Writer(ctx).Raw("SELECT "+DeadColumns+DeadFrom+
		"WHERE d.run_id = ? AND d.account_id = ? AND d.part = ?",
		k.RunID, k.AccountID, k.Part))
	if err == nil && len(found) == 0 {
		err = sqldb.ErrNotFound
	}
	if err != nil {
		return DeadSubtask{}, fmt.Errorf("dead subtask %v: %w", k, err)
	}
	return found[0], nil
}

// SubtaskLog returns a subtask's row, or ErrNotFound, also when its day's table was dropped.
func (s DeadSubtasks) SubtaskLog(ctx context.Context, k task.Key) (ledger.SubtaskLog, error) {
	found, err := ledger.ReadSubtasks(ctx, s.Databases, ledger.LogTable(k.RunID),
		"run_id = ? AND account_id = ? AND part = ?", k.RunID, k.AccountID, k.Part)
	if err != nil {
		return ledger.SubtaskLog{}, fmt.Errorf("read the log of subtask %v: %w", k, err)
	}
	if len(found) == 0 {
		return ledger.SubtaskLog{}, fmt.Errorf("log of subtask %v: %w", k, sqldb.ErrNotFound)
	}
	return found[0].SubtaskLog, nil
}

// DeadBatch is how many dead subtasks are changed in one transaction.
const DeadBatch = 250

// DropDead deletes up to limit of the dead subtasks that a filter chooses and that no run redrives, and returns how
// many. They cannot be restored.
func (s DeadSubtasks) DropDead(ctx context.Context, f task.DeadFilter, limit int) (int64, error) {
	var dropped int64
	for after := (task.Key{}); limit > 0; {
		keys, err := s.freeDead(ctx, f, 0, after, min(limit, DeadBatch))
		if err != nil || len(keys) == 0 {
			return dropped, err
		}
		var n int64
		err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
			n, err = DeleteDead(s.Databases, tx, 0, keys)
			return err
		})
		if err != nil {
			return dropped, fmt.Errorf("drop dead subtasks: %w", err)
		}
		dropped += n
		limit -= len(keys)
		after = keys[len(keys)-1]
	}
	return dropped, nil
}

// freeDead returns the next dead subtasks that a filter chooses and that no run redrives, without those of the run
// butRun, by key.
func (s DeadSubtasks) freeDead(ctx context.Context, f task.DeadFilter, butRun int64, after task.Key,
	limit int) ([]task.Key, error) {
	where, args := deadWhere(s.Data, f)
	// Not a comparison of rows, for which MySQL reads the whole table.
	args = append(args, butRun, after.RunID, after.RunID, after.AccountID, after.AccountID, after.Part, limit)
	query := s.Data.Writer(ctx).Raw("SELECT d.run_id, d.account_id, d.part FROM subtask_dead d WHERE "+where+
		` AND d.redrive_run_id = 0 AND d.run_id <> ? AND d.run_id >= ?
  AND (d.run_id > ? OR d.account_id > ? OR (d.account_id = ? AND d.part > ?))
ORDER BY d.run_id, d.account_id, d.part LIMIT ?`, args...)
	keys, err := sqldb.Rows(query, func(rows *sql.Rows, k *task.Key) error {
		return rows.Scan(&k.RunID, &k.AccountID, &k.Part)
	})
	if err != nil {
		return nil, fmt.Errorf("read dead subtasks: %w", err)
	}
	return keys, nil
}

// DeleteDead deletes those of the dead subtasks that still have the mark, and returns how many.
func DeleteDead(s *sqldb.Databases, tx *gorm.DB, mark int64, keys []task.Key) (int64, error) {
	if len(keys) == 0 {
		return 0, nil
	}
	where := " WHERE t.redrive_run_id = ?"
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		where = " AND redrive_run_id = ?"
	}
	sql, args := sqldb.DeleteSQL(s.Data, ledger.DeadTable.Name, ledger.SubtaskKey, ledger.RowsOfKeys(keys))
	res := tx.Exec(sql+where, append(args, mark)...)
	return res.RowsAffected, res.Error
}

package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/task"
)

// AuditDead is the object of audit entries about dead subtasks.
const AuditDead = "subtask_dead"

// DeadSubtask is a row of subtask_dead: a subtask that failed for good. It stays, whatever becomes of its day's log,
// until it is dropped or taken up again.
type DeadSubtask struct {
	task.Key
	TaskID     int64
	TaskName   string // that of its run; "" when the run is gone
	Media      string
	Attempt    int // failures
	ErrorClass string
	ErrorPrint string
	ErrorText  string
	DeadAt     time.Time
	RedriveRun int64 // the run that is taking it up; 0 while none does
}

// deadColumns are the columns of DeadSubtask, with d for subtask_dead and r for run.
const deadColumns = `d.run_id, d.account_id, d.part, d.task_id, COALESCE(r.task_name, ''), d.media, d.attempt,
  d.error_class, d.error_print, d.error_text, d.dead_at, d.redrive_run_id`

const deadFrom = " FROM subtask_dead d LEFT JOIN run r ON r.id = d.run_id "

func scanDead(rows *sql.Rows) (DeadSubtask, error) {
	var d DeadSubtask
	var at Time
	err := rows.Scan(&d.RunID, &d.AccountID, &d.Part, &d.TaskID, &d.TaskName, &d.Media, &d.Attempt,
		&d.ErrorClass, &d.ErrorPrint, &d.ErrorText, &at, &d.RedriveRun)
	d.DeadAt = at.Time
	return d, err
}

// deadWhere is a filter as a condition on d.
func (d *DB) deadWhere(f task.DeadFilter) (where string, args []any) {
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
		add(d.dialect.contains("d.error_text"), f.Text)
	}
	if !f.Since.IsZero() {
		add("d.dead_at >= ?", At(f.Since))
	}
	if !f.Until.IsZero() {
		add("d.dead_at <= ?", At(f.Until))
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
	take          func(f *task.DeadFilter) (value any, set bool) // takes the value out of the filter
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

// deadWalk says how a list of dead subtasks walks along one of the table's indexes, so that a page is found by its place: the index, the condition that it
// serves, what else must hold, and the order. Not as column = ?: MariaDB would look up by what is equal alone, and walk to the page from the newest.
type deadWalk struct {
	from, where, order string
	args               []any
	rest               string // "" where all that is walked past is chosen
	restArgs           []any
}

func (d *DB) deadWalk(f task.DeadFilter) deadWalk {
	const newest = "d.dead_at DESC, d.run_id DESC, d.account_id DESC, d.part DESC"
	w := deadWalk{from: "subtask_dead d", where: "1 = 1", order: newest}
	if f.RunID != 0 { // By the primary key: a run has few.
		w.where, w.args = d.deadWhere(f)
		return w
	}
	index := "died"
	for _, i := range deadIndexes {
		if value, set := i.take(&f); set {
			index, w.where, w.order, w.args = i.index, i.column+" >= ? AND "+i.column+" <= ?", i.column+" DESC, "+newest, []any{value, value}
			break
		}
	}
	times, others := task.DeadFilter{Since: f.Since, Until: f.Until}, f
	others.Since, others.Until = time.Time{}, time.Time{}
	on, args := d.deadWhere(times)
	w.where, w.args = w.where+" AND "+on, append(w.args, args...)
	if others != (task.DeadFilter{}) {
		w.rest, w.restArgs = d.deadWhere(others)
	}
	w.from += d.dialect.forceIndex("subtask_dead", index)
	return w
}

// beyond has the walk begin after a place.
func (w *deadWalk) beyond(p DeadPlace) {
	at, k := At(p.At), p.Key
	w.where += ` AND d.dead_at <= ? AND (d.dead_at < ? OR d.run_id < ?
  OR (d.run_id = ? AND (d.account_id < ? OR (d.account_id = ? AND d.part < ?))))`
	w.args = append(w.args, at, at, k.RunID, k.RunID, k.AccountID, k.AccountID, k.Part)
}

// upTo has it end at a place, with what is there.
func (w *deadWalk) upTo(p DeadPlace) {
	at, k := At(p.At), p.Key
	w.where += ` AND d.dead_at >= ? AND (d.dead_at > ? OR d.run_id > ?
  OR (d.run_id = ? AND (d.account_id > ? OR (d.account_id = ? AND d.part >= ?))))`
	w.args = append(w.args, at, at, k.RunID, k.RunID, k.AccountID, k.AccountID, k.Part)
}

// deadLookDefault is how many dead subtasks a page looks at, where no index tells which of them are chosen.
const deadLookDefault = 50_000

// ListDead returns dead subtasks, those that died last first; a place that is not zero begins after it. Where no index tells which are chosen, it looks at
// deadLookDefault of them: if that left it with fewer than limit, it returns the place where it ended, after which there may be more. Otherwise that is zero.
func (s *Store) ListDead(ctx context.Context, f task.DeadFilter, after DeadPlace, limit int) (all []DeadSubtask, end DeadPlace, err error) {
	w := s.Data.deadWalk(f)
	if !after.At.IsZero() {
		w.beyond(after)
	}
	if w.rest != "" {
		if end, err = s.endOfLook(ctx, w); err != nil {
			return nil, DeadPlace{}, err
		}
		if !end.At.IsZero() {
			w.upTo(end)
		}
		w.where, w.args = w.where+" AND "+w.rest, append(w.args, w.restArgs...)
	}
	rows, err := s.Data.Writer(ctx).Raw("SELECT "+deadColumns+" FROM "+w.from+" LEFT JOIN run r ON r.id = d.run_id WHERE "+w.where+
		" ORDER BY "+w.order+" LIMIT ?", append(w.args, limit)...).Rows()
	if err != nil {
		return nil, DeadPlace{}, fmt.Errorf("list dead subtasks: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		d, err := scanDead(rows)
		if err != nil {
			return nil, DeadPlace{}, fmt.Errorf("list dead subtasks: %w", err)
		}
		all = append(all, d)
	}
	if len(all) >= limit {
		end = DeadPlace{}
	}
	return all, end, rows.Err()
}

// endOfLook returns the place of the last one that a page looks at; zero when it looks at all that are left. The index alone tells.
func (s *Store) endOfLook(ctx context.Context, w deadWalk) (DeadPlace, error) {
	var at Time
	var p DeadPlace
	err := s.Data.Writer(ctx).Raw("SELECT d.dead_at, d.run_id, d.account_id, d.part FROM "+w.from+" WHERE "+w.where+" ORDER BY "+w.order+" LIMIT 1 OFFSET ?",
		append(slices.Clip(w.args), s.deadLook-1)...).Row().Scan(&at, &p.Key.RunID, &p.Key.AccountID, &p.Key.Part)
	if errors.Is(err, sql.ErrNoRows) {
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("list dead subtasks: %w", err)
	}
	p.At = at.Time
	return p, nil
}

// DeadGroup is the dead subtasks of one error print.
type DeadGroup struct {
	Print     string
	Count     int64
	Redriving int64 // of Count, those that a run is taking up
	First     time.Time
	Last      time.Time
	Example   string // the text of one of the errors
	Classes   []string
	TaskIDs   []int64
}

// DeadTotal is how many dead subtasks a filter chooses, and how many of them a run is taking up.
type DeadTotal struct{ All, Redriving int64 }

// DeadGroups returns the dead subtasks by error print, the most frequent first, and how many there are in all groups.
func (s *Store) DeadGroups(ctx context.Context, f task.DeadFilter, limit int) (groups []DeadGroup, total DeadTotal, err error) {
	where, args := s.Data.deadWhere(f)
	index := ""
	columns := "COUNT(*), SUM(CASE WHEN d.redrive_run_id > 0 THEN 1 ELSE 0 END), CAST(MIN(d.dead_at) AS CHAR), CAST(MAX(d.dead_at) AS CHAR)"
	grouped := " GROUP BY d.error_print, d.error_class, d.task_id"
	switch {
	case f.Text != "":
		// One by one, in the order in which they lie: each must be looked at, by print they lie all over the table, and groups by the thousand cost the
		// server more than it costs to send the rows.
		columns, grouped = "1, CASE WHEN d.redrive_run_id > 0 THEN 1 ELSE 0 END, CAST(d.dead_at AS CHAR), NULL", ""
		if f.Print == "" && s.Data.dialect != SQLiteDialect {
			index = " IGNORE INDEX (print, tally)"
		}
	case f.AccountID == 0 && f.RunID == 0 && f.TaskID == 0:
		index = s.Data.dialect.forceIndex("subtask_dead", "tally") // It has all that is asked for, in this order.
		grouped += " ORDER BY d.error_print, d.error_class, d.task_id"
	}
	rows, err := s.Data.Writer(ctx).Raw("SELECT d.error_print, d.error_class, d.task_id, "+columns+" FROM subtask_dead d"+index+" WHERE "+where+grouped, args...).Rows()
	if err != nil {
		return nil, total, fmt.Errorf("group dead subtasks: %w", err)
	}
	defer rows.Close()
	byPrint := map[string]*deadGroup{}
	var errorPrint, errorClass, first, last sql.RawBytes // There may be hundreds of thousands: nothing is made of a row that is like others.
	var class string
	var id, count, redriving int64
	for rows.Next() {
		if err := rows.Scan(&errorPrint, &errorClass, &id, &count, &redriving, &first, &last); err != nil {
			return nil, total, fmt.Errorf("group dead subtasks: %w", err)
		}
		g := byPrint[string(errorPrint)]
		if g == nil {
			g = &deadGroup{DeadGroup: DeadGroup{Print: string(errorPrint)}}
			byPrint[g.Print] = g
		}
		class = textOf(errorClass, class)
		g.add(count, redriving, first, last)
		g.Classes, g.TaskIDs = appendNew(g.Classes, class), appendNew(g.TaskIDs, id)
		total.All, total.Redriving = total.All+count, total.Redriving+redriving
	}
	if err := firstError(rows.Err(), rows.Close()); err != nil {
		return nil, total, fmt.Errorf("group dead subtasks: %w", err)
	}
	for _, g := range byPrint {
		if err := g.times(); err != nil {
			return nil, total, fmt.Errorf("group dead subtasks: %w", err)
		}
		groups = append(groups, g.DeadGroup)
	}
	slices.SortFunc(groups, func(a, b DeadGroup) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Print, b.Print)) })
	groups = groups[:min(limit, len(groups))]
	for i := range groups {
		slices.Sort(groups[i].Classes)
		slices.Sort(groups[i].TaskIDs)
	}
	return groups, total, s.fillExamples(ctx, f, groups)
}

// deadGroup is a group as it is gathered, with its times as texts, which are in the order of the times.
type deadGroup struct {
	DeadGroup
	first, last []byte
}

// add adds a part of the group; a last of nil is as first.
func (g *deadGroup) add(count, redriving int64, first, last []byte) {
	g.Count, g.Redriving = g.Count+count, g.Redriving+redriving
	if last == nil {
		last = first
	}
	if g.first == nil || bytes.Compare(first, g.first) < 0 {
		g.first = append(g.first[:0], first...)
	}
	if bytes.Compare(last, g.last) > 0 {
		g.last = append(g.last[:0], last...)
	}
}

// times reads the texts.
func (g *deadGroup) times() error {
	var first, last Time
	if err := firstError(first.Scan(g.first), last.Scan(g.last)); err != nil {
		return err
	}
	g.First, g.Last = first.Time, last.Time
	return nil
}

// examplesPerStatement is how many groups' examples one statement reads.
const examplesPerStatement = 50

// fillExamples adds the text of the one of each group that died last.
func (s *Store) fillExamples(ctx context.Context, f task.DeadFilter, groups []DeadGroup) error {
	byPrint := make(map[string]*DeadGroup, len(groups))
	for i := range groups {
		byPrint[groups[i].Print] = &groups[i]
	}
	for some := range slices.Chunk(groups, examplesPerStatement) {
		var selects []string
		var all []any
		for i := range some {
			one := f
			one.Print = some[i].Print
			where, args := s.Data.deadWhere(one)
			selects = append(selects, "SELECT * FROM (SELECT d.error_print, d.error_text FROM subtask_dead d WHERE "+where+" AND d.dead_at = ? LIMIT 1) g"+strconv.Itoa(i))
			all = append(append(all, args...), At(some[i].Last))
		}
		rows, err := s.Data.Writer(ctx).Raw(strings.Join(selects, " UNION ALL "), all...).Rows()
		if err != nil {
			return fmt.Errorf("read examples of dead subtasks: %w", err)
		}
		err = scanTexts(rows, func(text, example string) {
			if g := byPrint[text]; g != nil {
				g.Example = example
			}
		})
		if err != nil {
			return fmt.Errorf("read examples of dead subtasks: %w", err)
		}
	}
	return nil
}

// scanTexts reads rows of two texts to their end and closes them.
func scanTexts(rows *sql.Rows, each func(a, b string)) error {
	defer rows.Close()
	for rows.Next() {
		var a, b string
		if err := rows.Scan(&a, &b); err != nil {
			return err
		}
		each(a, b)
	}
	return rows.Err()
}

// DeadCount is how many dead subtasks of a task a filter chooses.
type DeadCount struct {
	TaskID    int64
	TaskName  string // that of the newest of their runs; "" when it is gone
	Free      int64  // those that no run is taking up
	Redriving int64
	OldestRun int64 // of the free ones
	NewestRun int64
}

// CountDead returns how many dead subtasks a filter chooses, by task id.
func (s *Store) CountDead(ctx context.Context, f task.DeadFilter) ([]DeadCount, error) {
	where, args := s.Data.deadWhere(f)
	rows, err := s.Data.Writer(ctx).Raw(`SELECT c.task_id, COALESCE(r.task_name, ''), c.free, c.redriving, c.oldest, c.newest FROM (
SELECT d.task_id, SUM(CASE WHEN d.redrive_run_id = 0 THEN 1 ELSE 0 END) AS free, SUM(CASE WHEN d.redrive_run_id = 0 THEN 0 ELSE 1 END) AS redriving,
  COALESCE(MIN(CASE WHEN d.redrive_run_id = 0 THEN d.run_id END), 0) AS oldest,
  COALESCE(MAX(CASE WHEN d.redrive_run_id = 0 THEN d.run_id END), 0) AS newest, MAX(d.run_id) AS named
FROM subtask_dead d WHERE `+where+` GROUP BY d.task_id) c LEFT JOIN run r ON r.id = c.named ORDER BY c.task_id`, args...).Rows()
	if err != nil {
		return nil, fmt.Errorf("count dead subtasks: %w", err)
	}
	defer rows.Close()
	var all []DeadCount
	for rows.Next() {
		var c DeadCount
		if err := rows.Scan(&c.TaskID, &c.TaskName, &c.Free, &c.Redriving, &c.OldestRun, &c.NewestRun); err != nil {
			return nil, fmt.Errorf("count dead subtasks: %w", err)
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

// DeadTask returns the task of which subtasks are dead and that is called so, by the run of the one that died last; the
// newest, if several are; 0 if none is. It counts nothing: of each task it looks at one row.
func (s *Store) DeadTask(ctx context.Context, name string) (int64, error) {
	var id int64
	err := s.Data.Writer(ctx).Raw(`SELECT t.task_id FROM (SELECT DISTINCT task_id FROM subtask_dead) t
JOIN run r ON r.id = (SELECT d.run_id FROM subtask_dead d WHERE d.task_id = t.task_id ORDER BY d.dead_at DESC, d.run_id DESC LIMIT 1)
WHERE r.task_name = ? ORDER BY t.task_id DESC LIMIT 1`, name).Row().Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("look for the dead subtasks of a task called %q: %w", name, err)
	}
	return id, nil
}

// DeadTaskName is what a task was called when the one of its dead subtasks that died last was made; "" when that run is gone.
func (s *Store) DeadTaskName(ctx context.Context, taskID int64) (string, error) {
	var names []string
	err := s.Data.Writer(ctx).Raw("SELECT COALESCE(r.task_name, '') FROM (SELECT run_id FROM subtask_dead WHERE task_id = ? ORDER BY dead_at DESC LIMIT 1) d LEFT JOIN run r ON r.id = d.run_id",
		taskID).Scan(&names).Error
	if err != nil {
		return "", fmt.Errorf("read what task %d was called: %w", taskID, err)
	}
	return strings.Join(names, ""), nil
}

// CountDeadByMedia returns how many dead subtasks each media has.
func (s *Store) CountDeadByMedia(ctx context.Context) (map[string]int64, error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT media, COUNT(*) FROM subtask_dead GROUP BY media").Rows()
	if err != nil {
		return nil, fmt.Errorf("count dead subtasks: %w", err)
	}
	defer rows.Close()
	counts := map[string]int64{}
	for rows.Next() {
		var media string
		var n int64
		if err := rows.Scan(&media, &n); err != nil {
			return nil, fmt.Errorf("count dead subtasks: %w", err)
		}
		counts[media] = n
	}
	return counts, rows.Err()
}

// DeadSubtask returns one dead subtask, or ErrNotFound.
func (s *Store) DeadSubtask(ctx context.Context, k task.Key) (DeadSubtask, error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT "+deadColumns+deadFrom+"WHERE d.run_id = ? AND d.account_id = ? AND d.part = ?",
		k.RunID, k.AccountID, k.Part).Rows()
	if err != nil {
		return DeadSubtask{}, fmt.Errorf("read dead subtask %v: %w", k, err)
	}
	defer rows.Close()
	if !rows.Next() {
		return DeadSubtask{}, errors.Join(rows.Err(), fmt.Errorf("dead subtask %v: %w", k, ErrNotFound))
	}
	d, err := scanDead(rows)
	if err != nil {
		return DeadSubtask{}, fmt.Errorf("read dead subtask %v: %w", k, err)
	}
	return d, nil
}

// SubtaskLog is what a day's log tells of a subtask.
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

// SubtaskLog returns a subtask's row, or ErrNotFound, also when its day's table was dropped.
func (s *Store) SubtaskLog(ctx context.Context, k task.Key) (SubtaskLog, error) {
	found, err := s.subtasks(ctx, LogTable(k.RunID), "run_id = ? AND account_id = ? AND part = ?", k.RunID, k.AccountID, k.Part)
	if err != nil {
		return SubtaskLog{}, fmt.Errorf("read the log of subtask %v: %w", k, err)
	}
	if len(found) == 0 {
		return SubtaskLog{}, fmt.Errorf("log of subtask %v: %w", k, ErrNotFound)
	}
	return found[0].SubtaskLog, nil
}

// deadBatch is how many dead subtasks are changed in one transaction.
const deadBatch = 250

// DropDead deletes up to limit of the dead subtasks that a filter chooses and no run is taking up, and returns how many
// it deleted. What it deletes is gone.
func (s *Store) DropDead(ctx context.Context, f task.DeadFilter, limit int) (int64, error) {
	var dropped int64
	for after := (task.Key{}); limit > 0; {
		keys, err := s.freeDead(ctx, f, 0, after, min(limit, deadBatch))
		if err != nil || len(keys) == 0 {
			return dropped, err
		}
		var n int64
		err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
			n, err = s.deleteDead(tx, 0, keys)
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

// freeDead returns the next dead subtasks, but for those of one run, that a filter chooses and no run is taking up, by
// key.
func (s *Store) freeDead(ctx context.Context, f task.DeadFilter, butRun int64, after task.Key, limit int) ([]task.Key, error) {
	where, args := s.Data.deadWhere(f)
	// Not as a comparison of rows: MySQL reads the whole table for that.
	args = append(args, butRun, after.RunID, after.RunID, after.AccountID, after.AccountID, after.Part, limit)
	rows, err := s.Data.Writer(ctx).Raw("SELECT d.run_id, d.account_id, d.part FROM subtask_dead d WHERE "+where+
		` AND d.redrive_run_id = 0 AND d.run_id <> ? AND d.run_id >= ? AND (d.run_id > ? OR d.account_id > ? OR (d.account_id = ? AND d.part > ?))
ORDER BY d.run_id, d.account_id, d.part LIMIT ?`, args...).Rows()
	if err != nil {
		return nil, fmt.Errorf("read dead subtasks: %w", err)
	}
	defer rows.Close()
	var keys []task.Key
	for rows.Next() {
		var k task.Key
		if err := rows.Scan(&k.RunID, &k.AccountID, &k.Part); err != nil {
			return nil, fmt.Errorf("read dead subtasks: %w", err)
		}
		keys = append(keys, k)
	}
	return keys, rows.Err()
}

// deleteDead deletes those of the dead subtasks that still have the mark, and returns how many.
func (s *Store) deleteDead(tx *gorm.DB, mark int64, keys []task.Key) (int64, error) {
	if len(keys) == 0 {
		return 0, nil
	}
	where := " WHERE t.redrive_run_id = ?"
	if s.Data.dialect == SQLiteDialect {
		where = " AND redrive_run_id = ?"
	}
	sql, args := s.Data.deleteSQL(deadTable.Name, subtaskKey, rowsOfKeys(keys))
	res := tx.Exec(sql+where, append(args, mark)...)
	return res.RowsAffected, res.Error
}

// appendNew appends what is not there yet.
func appendNew[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

package dead

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/sqldb"
	"adsync/base/task"
)

// DeadGroup is the dead subtasks of one error print.
type DeadGroup struct {
	Print     string
	Count     int64
	Redriving int64 // those of Count that a run redrives
	First     time.Time
	Last      time.Time
	Example   string // the text of one of the errors
	Classes   []string
	TaskIDs   []int64
}

// DeadTotal is how many dead subtasks a filter chooses, and how many of them a run redrives.
type DeadTotal struct{ All, Redriving int64 }

// DeadGroups returns the dead subtasks by error print, the most frequent first, and the total of all groups.
func (s DeadSubtasks) DeadGroups(
	ctx context.Context, f task.DeadFilter, limit int,
) (groups []DeadGroup, total DeadTotal, err error) {
	where, args := deadWhere(s.Data, f)
	index := ""
	columns := "COUNT(*), SUM(CASE WHEN d.redrive_run_id > 0 THEN 1 ELSE 0 END), CAST(MIN(d.dead_at) AS CHAR)," +
		" CAST(MAX(d.dead_at) AS CHAR)"
	grouped := " GROUP BY d.error_print, d.error_class, d.task_id"
	switch {
	case f.Text != "":
		// Row by row, in the table's order: each row must be read, by print they are scattered over the table, and
		// thousands of groups cost the server more than sending the rows.
		columns, grouped = "1, CASE WHEN d.redrive_run_id > 0 THEN 1 ELSE 0 END, CAST(d.dead_at AS CHAR), NULL", ""
		if f.Print == "" && s.Data.Dialect() != sqldb.SQLiteDialect {
			index = " IGNORE INDEX (print, tally)"
		}
	case f.AccountID == 0 && f.RunID == 0 && f.TaskID == 0:
		index = s.Data.Dialect().ForceIndex("subtask_dead", "tally") // It has all columns of the query, in this order.
		grouped += " ORDER BY d.error_print, d.error_class, d.task_id"
	}
	rows, err := s.Data.Writer(ctx).Raw("SELECT d.error_print, d.error_class, d.task_id, "+columns+" FROM subtask_dead d"+
		index+" WHERE "+where+grouped, args...).Rows()
	if err != nil {
		return nil, total, fmt.Errorf("group dead subtasks: %w", err)
	}
	defer rows.Close()
	byPrint := map[string]*deadGroup{}
	// There may be hundreds of thousands: repeated values are not allocated.
	var errorPrint, errorClass, first, last sql.RawBytes
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
		class = sqldb.TextOf(errorClass, class)
		g.add(count, redriving, first, last)
		g.Classes, g.TaskIDs = sqldb.AppendNew(g.Classes, class), sqldb.AppendNew(g.TaskIDs, id)
		total.All, total.Redriving = total.All+count, total.Redriving+redriving
	}
	if err := sqldb.FirstError(rows.Err(), rows.Close()); err != nil {
		return nil, total, fmt.Errorf("group dead subtasks: %w", err)
	}
	for _, g := range byPrint {
		if err := g.times(); err != nil {
			return nil, total, fmt.Errorf("group dead subtasks: %w", err)
		}
		groups = append(groups, g.DeadGroup)
	}
	slices.SortFunc(groups, func(a, b DeadGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Print, b.Print))
	})
	groups = groups[:min(limit, len(groups))]
	for i := range groups {
		slices.Sort(groups[i].Classes)
		slices.Sort(groups[i].TaskIDs)
	}
	return groups, total, s.fillExamples(ctx, f, groups)
}

// deadGroup is a group under construction, with its times as texts, which sort like the times.
type deadGroup struct {
	DeadGroup
	first, last []byte
}

// add adds a part of the group. If last is nil, it equals first.
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

// times parses the texts.
func (g *deadGroup) times() error {
	var first, last sqldb.Time
	if err := sqldb.FirstError(first.Scan(g.first), last.Scan(g.last)); err != nil {
		return err
	}
	g.First, g.Last = first.Time, last.Time
	return nil
}

// examplesPerStatement is how many groups' examples one statement reads.
const examplesPerStatement = 50

// fillExamples sets each group's example to the text of the subtask that died last.
func (s DeadSubtasks) fillExamples(ctx context.Context, f task.DeadFilter, groups []DeadGroup) error {
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
			where, args := deadWhere(s.Data, one)
			selects = append(selects, "SELECT * FROM (SELECT d.error_print, d.error_text FROM subtask_dead d WHERE "+where+
				" AND d.dead_at = ? LIMIT 1) g"+strconv.Itoa(i))
			all = append(append(all, args...), sqldb.At(some[i].Last))
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
	TaskName  string // that of the newest of their runs; "" if that is gone
	Free      int64  // those that no run redrives
	Redriving int64
	OldestRun int64 // of the free ones
	NewestRun int64
}

// CountDead returns how many dead subtasks a filter chooses, by task id.
func (s DeadSubtasks) CountDead(ctx context.Context, f task.DeadFilter) ([]DeadCount, error) {
	where, args := deadWhere(s.Data, f)
	query := s.Data.Writer(ctx).Raw(
		`SELECT c.task_id, COALESCE(r.task_name, ''), c.free, c.redriving, c.oldest, c.newest FROM (
SELECT d.task_id, SUM(CASE WHEN d.redrive_run_id = 0 THEN 1 ELSE 0 END) AS free,
  SUM(CASE WHEN d.redrive_run_id = 0 THEN 0 ELSE 1 END) AS redriving,
  COALESCE(MIN(CASE WHEN d.redrive_run_id = 0 THEN d.run_id END), 0) AS oldest,
  COALESCE(MAX(CASE WHEN d.redrive_run_id = 0 THEN d.run_id END), 0) AS newest, MAX(d.run_id) AS named
FROM subtask_dead d WHERE `+where+` GROUP BY d.task_id) c LEFT JOIN run r ON r.id = c.named ORDER BY c.task_id`,
		args...)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, c *DeadCount) error {
		return rows.Scan(&c.TaskID, &c.TaskName, &c.Free, &c.Redriving, &c.OldestRun, &c.NewestRun)
	})
	if err != nil {
		return nil, fmt.Errorf("count dead subtasks: %w", err)
	}
	return all, nil
}

// DeadParams is how many dead subtasks of a task, which no run redrives, had the same changes of its params.
type DeadParams struct {
	OwnParams            string          // Order.OwnParams of their runs
	Params               json.RawMessage // the changes
	Free                 int64
	OldestRun, NewestRun int64
}

// CountDeadParams returns how many dead subtasks a filter chooses that no run redrives and whose runs were ordered with
// changes of the task's params, by these.
func (s DeadSubtasks) CountDeadParams(ctx context.Context, f task.DeadFilter) ([]DeadParams, error) {
	where, args := deadWhere(s.Data, f)
	query := s.Data.Writer(ctx).Raw(`SELECT c.own_params, c.free, c.oldest, c.newest, r.settings FROM (
SELECT x.own_params, COUNT(*) AS free, MIN(d.run_id) AS oldest, MAX(d.run_id) AS newest
FROM subtask_dead d JOIN run x ON x.id = d.run_id
WHERE d.redrive_run_id = 0 AND x.own_params <> '' AND `+where+` GROUP BY x.own_params) c
JOIN run r ON r.id = c.oldest ORDER BY c.oldest`, args...)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, c *DeadParams) error {
		var text string
		if err := rows.Scan(&c.OwnParams, &c.Free, &c.OldestRun, &c.NewestRun, &text); err != nil {
			return err
		}
		var settings task.Settings
		if err := json.Unmarshal([]byte(text), &settings); err != nil {
			return fmt.Errorf("settings of run %d: %w", c.OldestRun, err)
		}
		if settings.Order != nil {
			c.Params = settings.Order.Params
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count dead subtasks by their params: %w", err)
	}
	return all, nil
}

// CountDeadByMedia returns how many dead subtasks each media has.
func (s DeadSubtasks) CountDeadByMedia(ctx context.Context) (map[string]int64, error) {
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

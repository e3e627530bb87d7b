package copies

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/sqldb"
)

// keysMax is up to how many rows of a table, or of a window, are compared. Each takes about 50 bytes.
const keysMax = 5_000_000

// CopyTable runs a copy once, and returns how many rows it wrote and deleted. A run that is repeated, or begins while
// another is under way, has the effect of one. today is the last day of the window, in UTC. The error names what is
// wrong and what would be right; it is ErrOvertaken if a later run has begun.
func (s CopyRows) CopyTable(ctx context.Context, c TableCopy, sources Sources, today day.Day) (rows int, err error) {
	return s.RunCopy(ctx, &c, func(state *State) (int, error) {
		plan, err := s.PlanCopy(ctx, c, sources)
		if err != nil {
			return 0, OneLine(err)
		}
		r := run{CopyRows: s, plan: plan, state: state}
		err = r.run(ctx, today)
		return r.rows, err
	})
}

// RunCopy runs work as a run of a copy, and records its end with how many rows it wrote and deleted. The work writes
// through WriteCopy. The error names the copy, unless it is ErrOvertaken: a later run has begun.
func (s CopyRows) RunCopy(ctx context.Context, c *TableCopy, work func(state *State) (rows int, err error)) (int,
	error) {
	state, err := s.begin(ctx, c)
	if err != nil {
		return 0, err
	}
	rows, err := work(&state)
	if errors.Is(err, ErrOvertaken) || errors.Is(ctx.Err(), context.Canceled) { // Another try records the end.
		return rows, err
	}
	if err != nil {
		err = fmt.Errorf("copy %s: %w", c.Name, err)
	}
	return rows, sqldb.FirstError(err, s.end(context.WithoutCancel(ctx), &state, rows, err))
}

// run is one run of a copy.
type run struct {
	CopyRows
	plan  *Plan
	state *State
	rows  int
}

func (r *run) run(ctx context.Context, today day.Day) error {
	c := &r.plan.of
	if c.CursorColumn != "" {
		if err := r.changed(ctx); err != nil {
			return err
		}
	}
	switch {
	case c.WindowDays.Valid:
		return r.replace(ctx, string(today.Add(1-int(c.WindowDays.Int64))))
	case c.CursorColumn == "":
		return r.replace(ctx, "")
	}
	return nil
}

// changed copies the rows from the cursor on, less the overlap. Rows without a value in the cursor column are copied
// each time.
func (r *run) changed(ctx context.Context) error {
	p := r.plan
	now, err := p.from.Now(ctx)
	if err != nil {
		return p.from.failed(err)
	}
	read := slices.Concat(p.columns, []column{p.cursor})
	column := quote(p.cursor.name)
	query := "SELECT " + selectedAll(p.from.Dialect, read) + " FROM " + quote(p.of.SourceTable)
	var args []any
	if r.state.CursorValue != "" {
		from, err := p.startAt(r.state.CursorValue)
		if err != nil {
			return err
		}
		query += " WHERE " + column + " >= ? OR " + column + " IS NULL"
		args = []any{from}
	}
	last := len(p.columns)
	return p.from.each(ctx, read, query+" ORDER BY "+column, args, func(rows [][]any) error {
		cursor := r.state.CursorValue
		if value := rows[len(rows)-1][last]; value != nil {
			if cursor, err = p.cursorAt(value, now); err != nil {
				return err
			}
		}
		for i := range rows {
			rows[i] = rows[i][:last]
		}
		return r.put(ctx, rows, cursor)
	})
}

// put writes a piece of the source's rows.
func (r *run) put(ctx context.Context, rows [][]any, cursor string) error {
	p := r.plan
	for _, row := range rows {
		for i, value := range row {
			if value == nil && i < p.keys() {
				return fmt.Errorf("%s has a row with NULL in the key column %s: give it a value, or choose other key_columns",
					p.of.SourceTable, p.columns[i].name)
			}
			// SQLite has no such whole numbers.
			if n, is := value.(uint64); is && n > math.MaxInt64 && r.Data.Dialect() == sqldb.SQLiteDialect {
				row[i] = strconv.FormatUint(n, 10)
			}
		}
	}
	if err := r.CopyRows.put(ctx, p, r.state, rows, cursor); err != nil {
		if _, away := sqldb.Unavailable(err); away || errors.Is(err, ErrOvertaken) || ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("write %s: %w: give the column a type that holds the source's values", p.of.Target(), err)
	}
	r.rows += len(rows)
	return nil
}

// momentLayout is how a cursor's moment is written. Digits after the last one that is not 0 are left out: as texts,
// earlier moments come first also where they have other fractions.
const momentLayout = "2006-01-02 15:04:05.999999"

// parseMoment reads a moment as databases write it.
func parseMoment(text string) (time.Time, error) {
	if len(text) == len(time.DateOnly) {
		return time.Parse(time.DateOnly, text)
	}
	return time.Parse(momentLayout, text)
}

// startAt returns the value at which a run begins to read.
func (p *Plan) startAt(cursor string) (any, error) {
	overlap := time.Duration(p.of.OverlapSeconds) * time.Second
	if n, err := strconv.ParseInt(cursor, 10, 64); err == nil {
		return n, p.refuseOverlap()
	}
	if n, err := strconv.ParseUint(cursor, 10, 64); err == nil {
		return n, p.refuseOverlap()
	}
	at, err := parseMoment(cursor)
	if err != nil {
		return nil, p.noCursor(cursor)
	}
	if overlap == 0 {
		return cursor, nil
	}
	return at.Add(-overlap).Format(momentLayout), nil
}

func (p *Plan) refuseOverlap() error {
	if p.of.OverlapSeconds == 0 {
		return nil
	}
	return fmt.Errorf("cursor_column: %s holds numbers, which have no seconds: set overlap_seconds to 0", p.cursor.name)
}

func (p *Plan) noCursor(text string) error {
	return fmt.Errorf("cursor_column: %s holds %.40q: want a whole number, or a moment such as 2026-11-21 10:00:00",
		p.cursor.name, text)
}

// cursorAt returns the cursor for the last value that was read. A moment after the present one in UTC would hide the
// changes until then.
func (p *Plan) cursorAt(value any, now time.Time) (string, error) {
	text := keyText(value)
	if _, err := strconv.ParseUint(strings.TrimPrefix(text, "-"), 10, 64); err == nil {
		return text, p.refuseOverlap()
	}
	at, err := parseMoment(text)
	if err != nil {
		return "", p.noCursor(text)
	}
	if at.After(now) {
		text = now.UTC().Format(momentLayout)
	}
	return text, nil
}

// keySum identifies a key.
type keySum [16]byte

// replace copies all rows from a day on, or the whole table without one, and deletes the rows of the target that the
// source no longer has.
func (r *run) replace(ctx context.Context, since string) error {
	p := r.plan
	where, args := "", []any(nil)
	if since != "" {
		where, args = " WHERE "+quote(p.of.DayColumn)+" >= ?", []any{since}
	}
	keys := map[keySum]struct{}{}
	query := "SELECT " + selectedAll(p.from.Dialect, p.columns) + " FROM " + quote(p.of.SourceTable) + where
	err := p.from.each(ctx, p.columns, query, args, func(rows [][]any) error {
		for _, row := range rows {
			keys[sumOf(row[:p.keys()])] = struct{}{}
		}
		if len(keys) > keysMax {
			return fmt.Errorf("%s has more than %d rows to compare: set cursor_column, and window_days for fewer days",
				p.of.SourceTable, keysMax)
		}
		return r.put(ctx, rows, r.state.CursorValue)
	})
	if err != nil {
		return err
	}
	empty := len(keys) == 0
	gone, err := r.gone(ctx, keys, where, args)
	switch {
	case err != nil:
		return err
	case len(keys) > 0:
		return fmt.Errorf("key_columns: %s of %s have other values in %s than they were given: give the columns %s there "+
			"the same types as in the source; nothing was deleted", plural.Count(len(keys), "row", "rows"), p.of.SourceTable,
			p.of.Target(), strings.Join(p.of.Keys(), ", "))
	case empty && len(gone) > 0:
		return fmt.Errorf("%s of the source %s has no rows, and %s has %d: nothing was deleted: if that is right, delete "+
			"them with DELETE FROM %s%s", p.of.SourceTable, p.of.Source, p.of.Target(), len(gone), p.of.Target(),
			strings.Replace(where, "?", "'"+since+"'", 1))
	}
	if err := r.remove(ctx, p, r.state, gone); err != nil {
		return fmt.Errorf("delete rows of %s: %w", p.of.Target(), err)
	}
	r.rows += len(gone)
	return nil
}

// gone returns the keys of the target's rows that are not among keys, and removes from keys those that the target has.
func (r *run) gone(ctx context.Context, keys map[keySum]struct{}, where string, args []any) (gone [][]any, err error) {
	p, dialect := r.plan, r.Data.Dialect()
	of := p.target[:p.keys()]
	query := r.Data.Latest(ctx).Raw("SELECT "+selectedAll(dialect, of)+" FROM "+quote(p.of.Target())+where, args...)
	err = sqldb.EachRow(query, func(rows *sql.Rows) error {
		key, _, err := scanRow(rows, dialect, of)
		if err != nil {
			return err
		}
		sum := sumOf(key)
		if _, there := keys[sum]; !there {
			gone = append(gone, key)
		}
		delete(keys, sum)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the keys of %s: %w", p.of.Target(), err)
	}
	return gone, nil
}

// sumOf returns the sum of a key's values as texts.
func sumOf(key []any) keySum {
	h := sha256.New()
	for _, value := range key {
		text := keyText(value)
		_, _ = fmt.Fprintf(h, "%d:", len(text)) // A hash returns no errors.
		_, _ = h.Write([]byte(text))
	}
	return keySum(h.Sum(nil)[:16])
}

// keyText returns a value as the text that both databases have for it.
func keyText(value any) string {
	switch v := value.(type) {
	case []byte:
		return string(v)
	case string:
		return v
	}
	return fmt.Sprint(value)
}

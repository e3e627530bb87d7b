package copies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/config"
	"adsync/base/sqldb"
)

// Plan is how the rows of a copy are read and written. PlanCopy alone makes one.
type Plan struct {
	of      TableCopy
	from    *Source
	columns []column // of the source, those of the key first, as they are written
	target  []column // the same columns of the target
	cursor  column   // of the source, if the copy has one
	// LeftOut are the columns of the source that the target lacks.
	LeftOut []string
}

// Columns returns the names of the columns that are copied, those of the key first.
func (p *Plan) Columns() []string { return namesOf(p.columns) }

func namesOf(columns []column) []string {
	all := make([]string, len(columns))
	for i, c := range columns {
		all[i] = c.name
	}
	return all
}

// keys returns how many of the columns are the key.
func (p *Plan) keys() int { return len(p.of.Keys()) }

// table returns the target for statements.
func (p *Plan) table() sqldb.Table {
	quoted := make([]string, len(p.target))
	for i, c := range p.target {
		quoted[i] = quote(c.name)
	}
	return sqldb.Table{Name: quote(p.of.Target()), Key: quoted[:p.keys()], Columns: quoted[p.keys():]}
}

// find returns the column of a name. Names of columns do not differ by case alone.
func find(columns []column, name string) (column, bool) {
	i := slices.IndexFunc(columns, func(c column) bool { return strings.EqualFold(c.name, name) })
	if i < 0 {
		return column{}, false
	}
	return columns[i], true
}

// PlanCopy reads the columns of both tables. It returns joined errors with everything that is wrong, each with what
// would be right. It writes nothing.
func (s CopyRows) PlanCopy(ctx context.Context, c TableCopy, sources Sources) (*Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Plan{of: c}
	var errs []error
	var read []column
	var err error
	if p.from, err = sources.Of(&c); err != nil {
		errs = append(errs, err)
	} else if read, err = p.from.columns(ctx, c.SourceTable); err != nil {
		errs = append(errs, fmt.Errorf("source_table: %s of the source %s cannot be read: %w: correct the name, start the "+
			"server, or give the user SELECT on it", c.SourceTable, c.Source, err))
	}
	written, keys, err := s.targetOf(ctx, &c)
	if err != nil {
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if errs = append(p.match(read, written), p.checkKeys(keys)...); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p, nil
}

// match pairs the columns of both tables, and returns what does not fit.
func (p *Plan) match(read, written []column) (errs []error) {
	refuse := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	c, target := &p.of, p.of.Target()
	var lacking []string
	for _, to := range written {
		from, there := find(read, to.name)
		switch {
		case !there:
			lacking = append(lacking, to.name)
		case !identifier.MatchString(to.name):
			refuse("column %q of %s: rename it: want up to 64 letters, digits and underscores", to.name, target)
		default:
			p.columns, p.target = append(p.columns, from), append(p.target, to)
		}
	}
	if len(lacking) > 0 {
		refuse("column %s: %s has it, and %s of the source %s lacks it: drop it from %s, or add it to the source",
			strings.Join(lacking, ", "), target, c.SourceTable, c.Source, target)
	}
	for _, from := range read {
		if _, there := find(written, from.name); !there {
			p.LeftOut = append(p.LeftOut, from.name)
		}
	}
	for i, name := range c.Keys() {
		at := slices.IndexFunc(p.target, func(to column) bool { return strings.EqualFold(to.name, name) })
		if at < i {
			refuse("key_columns: %s is not a column of both tables, or is named twice: name the columns of the key of %s", name,
				target)
			continue
		}
		p.target[i], p.target[at] = p.target[at], p.target[i]
		p.columns[i], p.columns[at] = p.columns[at], p.columns[i]
		if kind := p.target[i].kind; !isKeyKind(kind) {
			refuse("key_columns: %s is a %s in %s: want whole numbers, texts or moments in a key", name, kind, target)
		}
	}
	if c.CursorColumn != "" {
		var there bool
		if p.cursor, there = find(read, c.CursorColumn); !there {
			refuse("cursor_column: %s of the source %s has no column %s: name one that rises with each change", c.SourceTable,
				c.Source, c.CursorColumn)
		} else if strings.Contains(p.cursor.kind, "INT") {
			if err := p.refuseOverlap(); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if c.DayColumn != "" {
		p.checkDay(read, written, refuse)
	}
	return errs
}

// checkDay reports a column of days that cannot choose the rows of a window.
func (p *Plan) checkDay(read, written []column, refuse func(format string, args ...any)) {
	for _, in := range []struct {
		table   string
		columns []column
	}{{p.of.SourceTable + " of the source " + p.of.Source, read}, {p.of.Target(), written}} {
		switch day, there := find(in.columns, p.of.DayColumn); {
		case !there:
			refuse("day_column: %s has no column %s: name one that both tables have", in.table, p.of.DayColumn)
		case strings.Contains(day.kind, "INT") || !isKeyKind(day.kind):
			refuse("day_column: %s is a %s in %s: want a DATE, a DATETIME or a text such as 2026-11-21", day.name, day.kind,
				in.table)
		}
	}
}

// isKeyKind reports whether equal values of a type are the same value. Fractions are compared as floating-point
// numbers.
func isKeyKind(kind string) bool {
	return !slices.ContainsFunc([]string{"DECIMAL", "NUMERIC", "FLOAT", "DOUBLE", "REAL"},
		func(k string) bool { return strings.Contains(kind, k) })
}

// checkKeys reports unique keys of the target that are not the key of the copy.
func (p *Plan) checkKeys(keys [][]string) (errs []error) {
	target, want := p.of.Target(), sortedNames(p.of.Keys())
	found := false
	for _, key := range keys {
		if slices.Equal(sortedNames(key), want) {
			found = true
			continue
		}
		errs = append(errs, fmt.Errorf("the unique key (%s) of %s: drop it, or make it key_columns: a row could replace "+
			"another one", strings.Join(key, ", "), target))
	}
	if !found {
		errs = append(errs, fmt.Errorf("key_columns: %s has no primary or unique key on exactly (%s): ALTER TABLE %s ADD "+
			"PRIMARY KEY (%s)", target, strings.Join(p.of.Keys(), ", "), target, strings.Join(p.of.Keys(), ", ")))
	}
	return errs
}

func sortedNames(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strings.ToLower(name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// targetOf returns the columns and the unique keys of the table that a copy writes.
func (s CopyRows) targetOf(ctx context.Context, c *TableCopy) ([]column, [][]string, error) {
	tables, err := s.Data.Tables(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(tables, c.Target()) {
		return nil, nil, fmt.Errorf("the data database has no table %s: create it with the columns that you want of %s, and "+
			"with a primary key on (%s)", c.Target(), c.SourceTable, strings.Join(c.Keys(), ", "))
	}
	rows, err := s.Data.Latest(ctx).Raw("SELECT * FROM " + quote(c.Target()) + " WHERE 1 = 0").Rows()
	if err != nil {
		return nil, nil, fmt.Errorf("read the columns of %s: %w", c.Target(), err)
	}
	columns, err := columnsOf(rows)
	if err != nil {
		return nil, nil, fmt.Errorf("read the columns of %s: %w", c.Target(), err)
	}
	keys, err := uniqueKeys(s.Data.Latest(ctx), c.Target())
	return columns, keys, err
}

// uniqueKeys returns the columns of each unique key of a table. A key over a part of a text, or of some rows only,
// has an additional column without a name, so that it is no copy's key.
func uniqueKeys(db *gorm.DB, table string) (keys [][]string, err error) {
	query := db.Raw("SELECT index_name, COALESCE(column_name, ''), COALESCE(sub_part, '') "+
		"FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = ? AND non_unique = 0 "+
		"ORDER BY index_name, seq_in_index", table)
	if sqldb.Dialect(db.Name()) == sqldb.SQLiteDialect {
		// The primary key of whole numbers has no index.
		query = db.Raw("SELECT '' AS name, name AS part, '' AS of_some FROM pragma_table_info(?) WHERE pk > 0 UNION ALL "+
			"SELECT i.name, COALESCE(c.name, ''), CASE i.partial WHEN 1 THEN 'some' ELSE '' END FROM pragma_index_list(?) i, "+
			"pragma_index_info(i.name) c WHERE i.\"unique\" = 1 ORDER BY 1", table, table)
	}
	last := "none"
	err = sqldb.EachText(query, func(index, part, some string) {
		if index != last {
			keys, last = append(keys, nil), index
		}
		key := &keys[len(keys)-1]
		if *key = append(*key, part); some != "" {
			*key = append(*key, "")
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the keys of %s: %w", table, err)
	}
	return keys, nil
}

// OneLine returns joined errors as one error of one line.
func OneLine(err error) error {
	var texts []string
	for _, e := range config.Flatten(err) {
		texts = append(texts, e.Error())
	}
	return errors.New(strings.Join(texts, "; "))
}

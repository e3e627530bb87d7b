package store

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// Statements over a list of keys join it, as a derived table o, to the table t, in this order. With "key IN (…)"
// MySQL and MariaDB read a small table whole instead, and then wait for the rows that others have locked.

// valueList is a table of n rows of placeholders with the given column names.
func (d *DB) valueList(columns []string, n int) string {
	var b strings.Builder
	if d.dialect == SQLiteDialect {
		b.WriteString("(SELECT ")
		for i, c := range columns {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "column%d AS %s", i+1, c)
		}
		b.WriteString(" FROM (VALUES " + Tuples(n, len(columns)) + "))")
		return b.String()
	}
	b.WriteString("(SELECT ")
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("? AS " + c)
	}
	b.WriteString(strings.Repeat(" UNION ALL SELECT "+strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", "), n-1))
	b.WriteString(")")
	return b.String()
}

// lookUp is what follows FROM in a SELECT of the rows t of table that have one of n keys.
func (d *DB) lookUp(table string, key []string, n int) string {
	return d.valueList(key, n) + " AS o" + d.inOrder() + table + " AS t ON " + sameKeys(key)
}

// lookUpKeys is the same for given keys, with its arguments.
func (d *DB) lookUpKeys(table string, key []string, keys [][]any) (sql string, args []any) {
	v := d.valuesOf(key, key, keys)
	on, onArgs := d.onKeys(v, table, key, keys, sameKeys(key))
	return d.list(v) + " AS o" + d.inOrder() + table + " AS t ON " + on, slices.Concat(v.args, onArgs)
}

// onKeys is the condition on which a table's row is one of the list's, whose rows begin with its key.
func (d *DB) onKeys(v values, table string, key []string, rows [][]any, condition string) (on string, args []any) {
	on, args = v.in(condition)
	shards, shardArgs := d.onShards(table, "t.", key, rows)
	if len(shardArgs) < 2 {
		return on, args // The condition has the one value itself.
	}
	return on + shards, slices.Concat(args, shardArgs)
}

// inOrder joins a table to the rows before it, in their order.
func (d *DB) inOrder() string {
	if d.dialect == SQLiteDialect {
		return " CROSS JOIN " // which SQLite never reorders
	}
	return " STRAIGHT_JOIN "
}

func sameKeys(key []string) string {
	equal := make([]string, len(key))
	for i, k := range key {
		equal[i] = "t." + k + " = o." + k
	}
	return strings.Join(equal, " AND ")
}

// values is a list of rows for a statement. Columns that say the same in all rows are kept apart, since what a statement costs is mostly the reading of its
// list: such a column is a value of the statement, and no column of the list.
type values struct {
	columns []string
	rows    int
	args    []any          // row by row
	same    map[string]any // by column
}

// valuesOf returns rows for a statement that joins them to a table by a key.
func (d *DB) valuesOf(columns, key []string, rows [][]any) values {
	v := values{rows: len(rows), same: map[string]any{}}
	var kept []int
	for c, column := range columns {
		last := c == len(columns)-1 && len(kept) == 0 // The list has one column at least.
		// With a part of the key known, SQLite prefers to look for it first, and at all of the list for each row that has it.
		whole := d.dialect == SQLiteDialect && slices.Contains(key, column)
		if last || whole || !allSame(rows, c) {
			kept, v.columns = append(kept, c), append(v.columns, column)
		} else {
			v.same[column] = rows[0][c]
		}
	}
	v.args = make([]any, 0, len(rows)*len(kept))
	for _, row := range rows {
		for _, c := range kept {
			v.args = append(v.args, row[c])
		}
	}
	return v
}

// allSame tells whether all rows have the same in a column, as far as it is easily told.
func allSame(rows [][]any, column int) bool {
	first := rows[0][column]
	switch first.(type) {
	case string, int, int64, Time:
	default:
		return false
	}
	for _, row := range rows[1:] {
		if row[column] != first {
			return false
		}
	}
	return true
}

var ofList = regexp.MustCompile(`\bo\.([a-z_]+)`)

// in returns an expression on the list's rows, called o, with what is the same in all of them in its place.
func (v values) in(expression string) (sql string, args []any) {
	sql = ofList.ReplaceAllStringFunc(expression, func(name string) string {
		value, same := v.same[name[len("o."):]]
		if !same {
			return name
		}
		args = append(args, value)
		return "?"
	})
	return sql, args
}

// list is the table of v's rows.
func (d *DB) list(v values) string { return d.valueList(v.columns, v.rows) }

// deleteByKeys deletes rows by their whole primary key, in the order of keys.
func (d *DB) deleteByKeys(tx *gorm.DB, table string, key []string, keys [][]any) error {
	step := d.rowsPerStatement(len(key))
	for len(keys) > 0 {
		batch := keys[:min(step, len(keys))]
		keys = keys[len(batch):]
		sql, args := d.deleteSQL(table, key, batch)
		if err := tx.Exec(sql, args...).Error; err != nil {
			return fmt.Errorf("delete %d rows of %s: %w", len(batch), table, err)
		}
	}
	return nil
}

func (d *DB) deleteSQL(table string, key []string, keys [][]any) (sql string, args []any) {
	if d.dialect == SQLiteDialect {
		columns := strings.Join(key, ", ")
		return "DELETE FROM " + table + " WHERE (" + columns + ") IN (SELECT " + columns + " FROM " + d.valueList(key, len(keys)) + ")", flatten(keys, len(key))
	}
	from, args := d.lookUpKeys(table, key, keys)
	return "DELETE t FROM " + from, args
}

// valueUpdate is an UPDATE that gives each row values of its own.
type valueUpdate struct {
	table   string
	key     []string    // the primary key, named alike in the table and in columns
	columns []string    // of the values
	set     [][2]string // column and expression; the row is t, its values are o. No expression may read a column set before it.
	where   string      // a further condition on t and o, or ""
}

// updateByValues runs u for rows of u.columns, of which there is one at least. The table's rows are locked in the order that these are given in.
func (d *DB) updateByValues(tx *gorm.DB, u valueUpdate, rows [][]any) error {
	_, err := d.countByValues(tx, u, rows)
	return err
}

// countByValues does the same and returns how many of the table's rows it has changed.
func (d *DB) countByValues(tx *gorm.DB, u valueUpdate, rows [][]any) (int64, error) {
	sql, args := d.updateSQL(u, rows)
	return d.execMany(tx, sql, args, false)
}

func (d *DB) updateSQL(u valueUpdate, rows [][]any) (sql string, args []any) {
	v := d.valuesOf(u.columns, u.key, rows)
	on := sameKeys(u.key)
	if u.where != "" {
		on += " AND " + u.where
	}
	on, onArgs := d.onKeys(v, u.table, u.key, rows, on)
	if d.dialect == SQLiteDialect {
		set, setArgs := v.in(assignments("", u.set))
		return "UPDATE " + u.table + " AS t SET " + set + " FROM " + d.list(v) + " AS o WHERE " + on, slices.Concat(setArgs, v.args, onArgs)
	}
	set, setArgs := v.in(assignments("t.", u.set))
	return "UPDATE " + d.list(v) + " AS o STRAIGHT_JOIN " + u.table + " AS t ON " + on + " SET " + set, slices.Concat(v.args, onArgs, setArgs)
}

func assignments(prefix string, set [][2]string) string {
	parts := make([]string, len(set))
	for i, s := range set {
		parts[i] = prefix + s[0] + " = " + s[1]
	}
	return strings.Join(parts, ", ")
}

func flatten(rows [][]any, width int) []any {
	args := make([]any, 0, len(rows)*width)
	for _, row := range rows {
		args = append(args, row...)
	}
	return args
}

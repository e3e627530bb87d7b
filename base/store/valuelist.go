package store

import (
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/plural"
)

// Statements over a list of keys join it, as a derived table o, to the table t, in this order. With "key IN (…)", or in an order of its own choice, a server
// may read a small table whole instead, and then waits for the rows that others have locked.
//
// An UPDATE or DELETE begins with one_row (see docs/adr/0007-lists-after-one-row.md).

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

// lookUpKeys is the same for a list of keys, with its arguments.
func (d *DB) lookUpKeys(table string, key []string, keys *values) (sql string, args []any) {
	on, onArgs := d.onKeys(keys, table, sameKeys(key))
	list, listArgs := d.list(keys)
	return list + " AS o" + d.inOrder() + table + " AS t ON " + on, slices.Concat(listArgs, onArgs)
}

// onKeys is the condition on which a table's row is one of the list's, with the shards of these.
func (d *DB) onKeys(v *values, table, condition string) (on string, args []any) {
	on, args = v.in(condition)
	shards, shardArgs := d.onShardsOf(table, v)
	return on + shards, slices.Concat(args, shardArgs)
}

// changeByKeys is what follows UPDATE, or DELETE t FROM, on MySQL: the rows t of table that are one of the list's.
func changeByKeys(list, table, on string) string {
	return "one_row STRAIGHT_JOIN " + list + " AS o STRAIGHT_JOIN " + table + " AS t ON one_row.id = 1 AND " + on
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

// deleteByKeys deletes rows by their whole primary key, in the order of keys.
func (d *DB) deleteByKeys(tx *gorm.DB, table string, key []string, keys [][]any) error {
	step := d.rowsPerStatement(len(key))
	for len(keys) > 0 {
		n, err := d.fitting(table, len(key), keys, step)
		if err != nil {
			return fmt.Errorf("delete rows of %s: %w", table, err)
		}
		batch := keys[:n]
		keys = keys[n:]
		sql, args := d.deleteSQL(table, key, batch)
		if err := tx.Exec(sql, args...).Error; err != nil {
			return fmt.Errorf("delete %s of %s: %w", plural.Count(len(batch), "row", "rows"), table, err)
		}
	}
	return nil
}

func (d *DB) deleteSQL(table string, key []string, keys [][]any) (sql string, args []any) {
	if d.dialect == SQLiteDialect {
		columns := strings.Join(key, ", ")
		return "DELETE FROM " + table + " WHERE (" + columns + ") IN (SELECT " + columns + " FROM " + d.valueList(key, len(keys)) + ")", flatten(keys, len(key))
	}
	v := d.valuesOf(key, key, keys)
	on, onArgs := d.onKeys(v, table, sameKeys(key))
	list, listArgs := d.list(v)
	return "DELETE t FROM " + changeByKeys(list, table, on), slices.Concat(listArgs, onArgs)
}

// valueUpdate is an UPDATE that gives each row values of its own.
type valueUpdate struct {
	table   string
	key     []string    // the primary key, named alike in the table and in columns
	columns []string    // of the values; none of a list that is made elsewhere
	set     [][2]string // column and expression; the row is t, its values are o. No expression may read a column set before it.
	where   string      // a further condition on t and o, or ""
}

// updateByValues runs u for rows of u.columns. The table's rows are locked in the order that these are given in.
func (d *DB) updateByValues(tx *gorm.DB, u valueUpdate, rows [][]any) error {
	for len(rows) > 0 {
		n, err := d.fitting(u.table, len(u.key), rows, len(rows))
		if err != nil {
			return err
		}
		sql, args := d.updateSQL(u, d.valuesOf(u.columns, u.key, rows[:n]))
		if _, err := d.execMany(tx, sql, args, false); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func (d *DB) updateSQL(u valueUpdate, v *values) (sql string, args []any) {
	on := sameKeys(u.key)
	if u.where != "" {
		on += " AND " + u.where
	}
	on, onArgs := d.onKeys(v, u.table, on)
	list, listArgs := d.list(v)
	if d.dialect == SQLiteDialect {
		set, setArgs := v.in(assignments("", u.set))
		return "UPDATE " + u.table + " AS t SET " + set + " FROM " + list + " AS o WHERE " + on, slices.Concat(setArgs, listArgs, onArgs)
	}
	set, setArgs := v.in(assignments("t.", u.set))
	return "UPDATE " + changeByKeys(list, u.table, on) + " SET " + set, slices.Concat(listArgs, onArgs, setArgs)
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

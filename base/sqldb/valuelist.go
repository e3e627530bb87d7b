package sqldb

import (
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/plural"
)

// Statements over a list of keys join it, as a derived table o, to the table t, in this order. With "key IN (…)", or
// in its own order, a server may read a small table whole instead, and then wait for rows that others have locked.
//
// An UPDATE or DELETE begins with one_row (see docs/adr/0007-lists-after-one-row.md).

// ValueList returns a table of n rows of placeholders with the given column names.
func ValueList(d *DB, columns []string, n int) string {
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

// LookUp returns what follows FROM in a SELECT of the rows t of table that have one of n keys.
func LookUp(d *DB, table string, key []string, n int) string {
	return ValueList(d, key, n) + " AS o" + inOrder(d) + table + " AS t ON " + sameKeys(key)
}

// LookUpKeys is LookUp for a list of keys, with its arguments.
func LookUpKeys(d *DB, table string, key []string, keys *Values) (sql string, args []any) {
	on, onArgs := onKeys(d, keys, table, sameKeys(key))
	list, listArgs := d.List(keys)
	return list + " AS o" + inOrder(d) + table + " AS t ON " + on, slices.Concat(listArgs, onArgs)
}

// onKeys returns the condition that a table's row is one of the list's, with their shards.
func onKeys(d *DB, v *Values, table, condition string) (on string, args []any) {
	on, args = v.In(condition)
	shards, shardArgs := onShardsOf(d, table, v)
	return on + shards, slices.Concat(args, shardArgs)
}

// changeByKeys returns what follows UPDATE, or DELETE t FROM, on MySQL: the rows t of table that are in the list.
func changeByKeys(list, table, on string) string {
	return "one_row STRAIGHT_JOIN " + list + " AS o STRAIGHT_JOIN " + table + " AS t ON one_row.id = 1 AND " + on
}

// inOrder joins a table to the rows before it, in their order.
func inOrder(d *DB) string {
	if d.dialect == SQLiteDialect {
		return " CROSS JOIN " // SQLite never reorders it.
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

// DeleteByKeys deletes rows by their whole primary key, in the order of keys.
func DeleteByKeys(d *DB, tx *gorm.DB, table string, key []string, keys [][]any) error {
	step := d.RowsPerStatement(len(key))
	for len(keys) > 0 {
		n, err := d.Fitting(table, len(key), keys, step)
		if err != nil {
			return fmt.Errorf("delete rows of %s: %w", table, err)
		}
		batch := keys[:n]
		keys = keys[n:]
		sql, args := DeleteSQL(d, table, key, batch)
		if err := tx.Exec(sql, args...).Error; err != nil {
			return fmt.Errorf("delete %s of %s: %w", plural.Count(len(batch), "row", "rows"), table, err)
		}
	}
	return nil
}

// DeleteSQL returns the statement of DeleteByKeys for some keys.
func DeleteSQL(d *DB, table string, key []string, keys [][]any) (sql string, args []any) {
	if d.dialect == SQLiteDialect {
		columns := strings.Join(key, ", ")
		return "DELETE FROM " + table + " WHERE (" + columns + ") IN (SELECT " + columns + " FROM " +
			ValueList(d, key, len(keys)) + ")", Flatten(keys, len(key))
	}
	v := d.ValuesOf(key, key, keys)
	on, onArgs := onKeys(d, v, table, sameKeys(key))
	list, listArgs := d.List(v)
	return "DELETE t FROM " + changeByKeys(list, table, on), slices.Concat(listArgs, onArgs)
}

// ValueUpdate is an UPDATE that gives each row its own values.
type ValueUpdate struct {
	Table   string
	Key     []string // the primary key, with the same names in the table and in Columns
	Columns []string // of the values; none if the list is built elsewhere
	// column and expression; the row is t, its values are o. No expression may read a column set before it.
	Set   [][2]string
	Where string // a further condition on t and o, or ""
}

// UpdateByValues runs u for rows of u.Columns. The table's rows are locked in the order of rows.
func UpdateByValues(d *DB, tx *gorm.DB, u ValueUpdate, rows [][]any) error {
	for len(rows) > 0 {
		n, err := d.Fitting(u.Table, len(u.Key), rows, len(rows))
		if err != nil {
			return err
		}
		sql, args := UpdateSQL(d, u, d.ValuesOf(u.Columns, u.Key, rows[:n]))
		if _, err := d.ExecMany(tx, sql, args, false); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// UpdateSQL returns the statement of UpdateByValues for some rows.
func UpdateSQL(d *DB, u ValueUpdate, v *Values) (sql string, args []any) {
	on := sameKeys(u.Key)
	if u.Where != "" {
		on += " AND " + u.Where
	}
	on, onArgs := onKeys(d, v, u.Table, on)
	list, listArgs := d.List(v)
	if d.dialect == SQLiteDialect {
		set, setArgs := v.In(Assignments("", u.Set))
		return "UPDATE " + u.Table + " AS t SET " + set + " FROM " + list + " AS o WHERE " + on,
			slices.Concat(setArgs, listArgs, onArgs)
	}
	set, setArgs := v.In(Assignments("t.", u.Set))
	return "UPDATE " + changeByKeys(list, u.Table, on) + " SET " + set, slices.Concat(listArgs, onArgs, setArgs)
}

// Assignments returns what follows SET: columns, each with a prefix, and their expressions.
func Assignments(prefix string, set [][2]string) string {
	parts := make([]string, len(set))
	for i, s := range set {
		parts[i] = prefix + s[0] + " = " + s[1]
	}
	return strings.Join(parts, ", ")
}

// Flatten returns the values of rows one after the other.
func Flatten(rows [][]any, width int) []any {
	args := make([]any, 0, len(rows)*width)
	for _, row := range rows {
		args = append(args, row...)
	}
	return args
}

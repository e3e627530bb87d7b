package sqldb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/plural"
)

// Table is the shape of an upsert: the columns of the one unique key, then the others.
type Table struct {
	Name    string
	Key     []string
	Columns []string // the rest, version last if the table has one
}

// RowsPerStatement returns how many rows of width values go into one statement. MySQL accepts 65,535 placeholders,
// but its state for them must stay in a processor's cache: 28,000 take a sixth longer than four times 7,000. SQLite
// accepts 32,766, but its driver searches all of them for each one: binding a statement of 7,000 takes longer than
// running it, and rows of forty values in statements of 500 take half as long as in statements of 1,000.
func (d *DB) RowsPerStatement(width int) int {
	if d.dialect == SQLiteDialect {
		return max(1, 500/width)
	}
	return max(1, min(1000, 7_000/width))
}

// upsertRows is the maximum number of rows in a statement of Upsert. Raw rows are some hundred bytes long each, and
// the driver allocates a new buffer for each packet of more than 256 KB.
const upsertRows = 250

// Upsert writes rows of key and column values, in this order, in as few statements as the limits allow. Of rows with
// the same key it writes the last one. Rows are sorted by key first: concurrent batches in one order do not deadlock.
// Rows are not kept, but the slice itself is reordered.
func (d *DB) Upsert(tx *gorm.DB, table Table, rows [][]any) error {
	rows = SortByKey(rows, len(table.Key))
	width := len(table.Key) + len(table.Columns)
	step := min(d.RowsPerStatement(width), upsertRows)
	args := make([]any, 0, min(step, len(rows))*width)
	for len(rows) > 0 {
		n, err := d.Fitting(table.Name, len(table.Key), rows, step)
		if err != nil {
			return fmt.Errorf("upsert %s: %w", table.Name, err)
		}
		batch := rows[:n]
		rows, args = rows[n:], args[:0]
		for _, row := range batch {
			if len(row) != width {
				return fmt.Errorf("upsert %s: a row has %d values for %d columns", table.Name, len(row), width)
			}
			args = append(args, row...)
		}
		if _, err := d.ExecMany(tx, d.upsertSQL(table, len(batch)), args, len(batch) == step); err != nil {
			return fmt.Errorf("upsert %s of %s: %w", plural.Count(len(batch), "row", "rows"), table.Name, err)
		}
	}
	return nil
}

func (d *DB) upsertSQL(table Table, n int) string {
	var b strings.Builder
	columns := append(slices.Clone(table.Key), table.Columns...)
	b.WriteString("INSERT INTO " + table.Name + " (" + strings.Join(columns, ", ") + ") VALUES " + Tuples(n, len(columns)))
	if len(table.Columns) == 0 {
		// Nothing to update: an existing row stays as it is.
		table.Columns = table.Key[:1]
	}
	if d.dialect == SQLiteDialect {
		b.WriteString(" ON CONFLICT (" + strings.Join(table.Key, ", ") + ") DO UPDATE SET ")
	} else {
		b.WriteString(" ON DUPLICATE KEY UPDATE ")
	}
	for i, c := range table.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		if d.dialect == SQLiteDialect {
			b.WriteString(c + " = excluded." + c)
		} else {
			b.WriteString(c + " = VALUES(" + c + ")")
		}
	}
	return b.String()
}

// Tuples returns n groups of width placeholders: "(?,?),(?,?)".
func Tuples(n, width int) string {
	tuple := "(" + strings.TrimSuffix(strings.Repeat("?,", width), ",") + ")"
	return strings.TrimSuffix(strings.Repeat(tuple+",", n), ",")
}

// DeleteStale deletes rows of results by their whole primary key, sorted, if their version is below the given one.
func (d *DB) DeleteStale(tx *gorm.DB, table string, key []string, keys [][]any, below int64) error {
	return d.DeleteByTuples(tx, table, key, SortByKey(keys, len(key)), "version < ?", below)
}

// DeleteByTuples deletes rows by their whole primary key, in the order of keys, if a condition holds for them. A join
// with a list of values would compare ascii key columns in another character set and so without the index. A list of
// tuples keeps the index.
func (d *DB) DeleteByTuples(tx *gorm.DB, table string, key []string, keys [][]any, condition string, arg any) error {
	step := d.RowsPerStatement(len(key))
	for len(keys) > 0 {
		n, err := d.Fitting(table, len(key), keys, step)
		if err != nil {
			return fmt.Errorf("delete rows of %s: %w", table, err)
		}
		batch := keys[:n]
		keys = keys[n:]
		args := make([]any, 0, len(batch)*len(key)+1)
		for _, k := range batch {
			args = append(args, k...)
		}
		sql := "DELETE FROM " + table + " WHERE " + d.InTuples(key, len(batch)) + " AND " + condition
		shards, shardArgs := OnShards(d, table, key, batch)
		args = append(append(args, arg), shardArgs...)
		if err := tx.Exec(sql+shards, args...).Error; err != nil {
			return fmt.Errorf("delete %s of %s: %w", plural.Count(len(batch), "row", "rows"), table, err)
		}
	}
	return nil
}

// InTuples returns the condition that a row has one of n keys.
func (d *DB) InTuples(key []string, n int) string {
	if n == 1 { // For a single tuple, MariaDB would read and lock the whole table in a DELETE.
		return strings.Join(key, " = ? AND ") + " = ?"
	}
	list := Tuples(n, len(key))
	if d.dialect == SQLiteDialect {
		list = "VALUES " + list // SQLite accepts row values on the right of IN only so.
	}
	return "(" + strings.Join(key, ", ") + ") IN (" + list + ")"
}

// SortByKey sorts batches and removes duplicates; the last of equal keys wins. No other code does this.
func SortByKey(rows [][]any, width int) [][]any {
	slices.SortStableFunc(rows, func(a, b []any) int {
		for i := range width {
			if c := compare(a[i], b[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	out := rows[:0]
	for i, row := range rows {
		if i+1 < len(rows) && sameKey(row, rows[i+1], width) {
			continue
		}
		out = append(out, row)
	}
	return out
}

func sameKey(a, b []any, width int) bool {
	for i := range width {
		if compare(a[i], b[i]) != 0 {
			return false
		}
	}
	return true
}

// compare orders key values of the same kind. A key holds only integers, days and text.
func compare(a, b any) int {
	switch a := a.(type) {
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b)
		}
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	case int:
		if b, ok := b.(int); ok {
			return cmp.Compare(a, b)
		}
	case day.Day:
		if b, ok := b.(day.Day); ok {
			return cmp.Compare(a, b)
		}
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

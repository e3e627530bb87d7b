package sqldb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"adsync/base/rawtable"
)

// UpsertOf returns a raw table's shape for DB.Upsert.
func UpsertOf(t rawtable.Table) Table { return Table{Name: t.Name, Key: t.Key(), Columns: t.Values()} }

// EnsureRawTables creates missing raw tables and adds missing columns to a table. It never changes or drops a column.
// It may be repeated and may run concurrently.
func (s *Databases) EnsureRawTables(ctx context.Context, tables []rawtable.Table) error {
	for _, t := range tables {
		if err := s.Data.Writer(ctx).Exec(createRawSQL(s.Data, t)).Error; err != nil {
			return fmt.Errorf("create table %s: %w", t.Name, err)
		}
		have, err := columnsOf(ctx, s.Data, t.Name)
		if err != nil {
			return err
		}
		for _, c := range t.Columns {
			if slices.Contains(have, c.Name) {
				continue
			}
			if err := s.Data.Writer(ctx).Exec("ALTER TABLE " + t.Name + " ADD COLUMN " +
				columnSQL(s.Data, c.Name, c.Kind)).Error; err != nil {
				return fmt.Errorf("add column %s to %s: %w", c.Name, t.Name, err)
			}
		}
	}
	return nil
}

// columnsOf returns the names of a table's columns.
func columnsOf(ctx context.Context, d *DB, table string) ([]string, error) {
	rows, err := d.Writer(ctx).Raw("SELECT * FROM " + table + " WHERE 1 = 0").Rows()
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err := FirstError(err, rows.Err()); err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	return names, nil
}

func columnType(d *DB, k rawtable.Kind) string {
	if d.dialect == SQLiteDialect {
		return map[rawtable.Kind]string{rawtable.Int: "INTEGER", rawtable.Instant: "DATETIME"}[k]
	}
	return map[rawtable.Kind]string{rawtable.Int: "BIGINT", rawtable.Instant: "DATETIME(3)"}[k]
}

// columnSQL defines a typed column.
func columnSQL(d *DB, name string, k rawtable.Kind) string {
	if k == rawtable.Text {
		return name + " " + d.TextType(name, 255) + " NULL"
	}
	return name + " " + columnType(d, k) + " NULL"
}

func createRawSQL(d *DB, t rawtable.Table) string {
	sqlite := d.dialect == SQLiteDialect
	pick := func(mysql, lite string) string {
		if sqlite {
			return lite
		}
		return mysql
	}
	types := map[string]string{
		"day": "DATE", "account_id": pick("BIGINT", "INTEGER"), "hour": pick("TINYINT", "INTEGER"),
		"level": d.asciiType("level", 16), "object_id": d.asciiType("object_id", 64),
		"fund_type": d.asciiType("fund_type", 64),
	}
	var b strings.Builder
	b.WriteString("CREATE TABLE IF NOT EXISTS " + t.Name + " (\n")
	for _, k := range t.Key() {
		b.WriteString("  " + k + " " + types[k] + " NOT NULL,\n")
	}
	for _, c := range t.Columns {
		b.WriteString("  " + columnSQL(d, c.Name, c.Kind) + ",\n")
	}
	b.WriteString("  row_json " + pick("MEDIUMTEXT", "TEXT") + " NOT NULL,\n")
	if t.Shape == rawtable.Objects {
		b.WriteString("  last_seen_at " + columnType(d, rawtable.Instant) + " NOT NULL,\n  deleted_at " +
			columnType(d, rawtable.Instant) + " NULL,\n")
	}
	b.WriteString("  version " + columnType(d, rawtable.Int) + " NOT NULL,\n")
	b.WriteString("  PRIMARY KEY (" + strings.Join(t.Key(), ", ") + ")\n)")
	b.WriteString(pick(" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", " WITHOUT ROWID") +
		Placing(d, t.Name))
	return b.String()
}

package backup

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/base/telemetry"
)

// WriteBackup writes a backup of the config database and of the ledger from a UTC day on, and returns the number of
// rows. at is recorded as its time. The tables must be at this program's version.
func (b Backups) WriteBackup(ctx context.Context, to io.Writer, at time.Time, from day.Day) (int64, error) {
	if err := b.CheckSchema(ctx); err != nil {
		return 0, err
	}
	versions, err := b.Versions(ctx)
	if err != nil {
		return 0, err
	}
	w := newWriter(to)
	err = w.line(line{Head: &Head{Format: formatVersion, At: at.UTC(), Program: telemetry.ReadBuild().Version,
		Versions: versions, LedgerFrom: from}})
	if err == nil {
		err = b.writeLedger(ctx, w, from)
	}
	if err == nil {
		err = b.writeConfig(ctx, w)
	}
	if err == nil {
		err = w.close()
	}
	if err != nil {
		return 0, fmt.Errorf("write a backup: %w", err)
	}
	return w.tail.total(), nil
}

func (b Backups) writeConfig(ctx context.Context, w *writer) error {
	tables, err := sqldb.TablesOf(configName)
	if err != nil {
		return err
	}
	return b.Config.Snapshot(ctx, func(tx *gorm.DB) error {
		for _, name := range tables {
			if err := w.table(b.Config, tx, configName, ledgerTable{name: name}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b Backups) writeLedger(ctx context.Context, w *writer, from day.Day) error {
	rows := ledger.RunRows{Databases: b.Databases}
	days, err := rows.LogDays(ctx)
	if err != nil {
		return err
	}
	tables, err := b.Data.Tables(ctx)
	if err != nil {
		return err
	}
	first := strconv.FormatInt(task.FirstRunID(from), 10)
	return b.Data.Snapshot(ctx, func(tx *gorm.DB) error {
		newest, err := newestTicks(tx)
		if err != nil {
			return err
		}
		fill := strings.NewReplacer("{first}", first, "{newest}", newest)
		for _, t := range ledgerTables {
			if err := w.table(b.Data, tx, dataName, ledgerTable{t.name, fill.Replace(t.where)}); err != nil {
				return err
			}
		}
		for _, d := range days {
			for _, name := range logTablesOf(d) {
				if d < from || !slices.Contains(tables, name) {
					continue
				}
				if err := w.table(b.Data, tx, dataName, ledgerTable{name: name}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// newestTicks returns the runs of the newest tick of each task, as a list of SQL that is never empty.
func newestTicks(tx *gorm.DB) (string, error) {
	ids := []int64{0}
	err := sqldb.EachRow(tx.Raw("SELECT t.run_id FROM (SELECT task_id, MAX(planned_at) AS planned_at FROM tick "+
		"GROUP BY task_id) n JOIN tick t ON t.task_id = n.task_id AND t.planned_at = n.planned_at"),
		func(rows *sql.Rows) error {
			ids = append(ids, 0)
			return rows.Scan(&ids[len(ids)-1])
		})
	if err != nil {
		return "", fmt.Errorf("read the newest ticks: %w", err)
	}
	return sqldb.Numbers(ids), nil
}

// logTablesOf returns the names of the tables of a day of the log.
func logTablesOf(d day.Day) []string {
	digits := strings.ReplaceAll(d.String(), "-", "")
	return []string{sqldb.LogTablePrefix + digits, sqldb.FailureTablePrefix + digits}
}

// writer writes the lines of a backup.
type writer struct {
	zip    *gzip.Writer
	buffer *bufio.Writer
	hash   hash.Hash // of the lines so far
	json   *json.Encoder
	tail   Tail
}

func newWriter(to io.Writer) *writer {
	w := &writer{hash: sha256.New(), tail: Tail{Rows: map[string]int64{}}}
	w.zip, _ = gzip.NewWriterLevel(to, gzip.BestSpeed) // The level exists.
	w.buffer = bufio.NewWriterSize(io.MultiWriter(w.zip, w.hash), 1<<16)
	w.json = json.NewEncoder(w.buffer)
	w.json.SetEscapeHTML(false)
	return w
}

func (w *writer) line(l any) error { return w.json.Encode(l) }

// close writes the tail.
func (w *writer) close() error {
	if err := w.buffer.Flush(); err != nil {
		return err
	}
	w.tail.SHA256 = hex.EncodeToString(w.hash.Sum(nil))
	return errors.Join(w.line(line{Tail: &w.tail}), w.buffer.Flush(), w.zip.Close())
}

// table writes the rows of a table.
func (w *writer) table(db *sqldb.DB, tx *gorm.DB, database string, t ledgerTable) error {
	columns, err := columnsOf(tx, t.name)
	if err != nil {
		return err
	}
	name := database + "." + t.name
	if err := w.line(line{Table: &tableHeader{name, columns}}); err != nil {
		return err
	}
	w.tail.Rows[name] = 0
	query := "SELECT " + selected(db.Dialect(), columns) + " FROM " + t.name
	if t.where != "" {
		query += " WHERE " + t.where
	}
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	var types []*sql.ColumnType
	err = sqldb.EachRow(tx.Raw(query), func(rows *sql.Rows) error {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if types == nil {
			if types, err = rows.ColumnTypes(); err != nil {
				return err
			}
		}
		for i := range row {
			if row[i], err = plain(row[i], types[i].DatabaseTypeName()); err != nil {
				return fmt.Errorf("%s.%s: %w", t.name, columns[i], err)
			}
		}
		w.tail.Rows[name]++
		return w.line(row)
	})
	if err != nil {
		return fmt.Errorf("read %s: %w", t.name, err)
	}
	return nil
}

// columnsOf returns the names of a table's columns.
func columnsOf(tx *gorm.DB, table string) ([]string, error) {
	rows, err := tx.Raw("SELECT * FROM " + table + " WHERE 1 = 0").Rows()
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err := sqldb.FirstError(err, rows.Err()); err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	return names, nil
}

// selected returns the list of columns to select. In SQLite a plus before a column hides its declared type, by which
// the driver would change a text into a time.
func selected(dialect sqldb.Dialect, columns []string) string {
	sign := ""
	if dialect == sqldb.SQLiteDialect {
		sign = "+"
	}
	return sign + quoted(columns, ", "+sign)
}

// quoted returns a list of columns.
func quoted(columns []string, separator string) string {
	return "`" + strings.Join(columns, "`"+separator+"`") + "`"
}

// plain returns a value of a column as JSON has it: a number, a text, or nil.
func plain(value any, declared string) (any, error) {
	switch v := value.(type) {
	case time.Time:
		if declared == "DATE" {
			return v.Format(time.DateOnly), nil
		}
		return v.UTC().Format(sqldb.TimeLayout), nil
	case []byte:
		switch strings.TrimPrefix(declared, "UNSIGNED ") {
		case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL":
			return json.Number(v), nil
		}
		return plain(string(v), declared)
	case string:
		if !utf8.ValidString(v) {
			return nil, errors.New("a value is no UTF-8, and a backup cannot hold it")
		}
	}
	return value, nil
}

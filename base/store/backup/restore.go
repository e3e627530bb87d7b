package backup

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
)

// Restored says what a restore has written.
type Restored struct {
	Head Head  `json:"head"`
	Rows int64 `json:"rows"`
}

// Restore writes a backup into new databases, which were migrated to the version of the backup and have no rows but
// those of the migration. With configOnly it writes the config database alone. Before the first write it reads the
// whole file and checks its sum. After an error the data database may have some of the rows: the config database,
// which comes last, has all of its rows or none.
func (b Backups) Restore(ctx context.Context, file io.ReadSeeker, configOnly bool) (Restored, error) {
	head, err := check(file)
	if err != nil {
		return Restored{}, err
	}
	done := Restored{Head: head}
	if err := b.fits(ctx, head); err != nil {
		return done, err
	}
	if err := b.refuseRows(ctx, configOnly); err != nil {
		return done, err
	}
	if !configOnly {
		n, err := b.restoreData(ctx, file)
		done.Rows += n
		if err != nil {
			return done, fmt.Errorf("restore the data database: %w: drop it, create it again, run `adsync migrate up`, "+
				"and restore again", err)
		}
	}
	n, err := b.restoreConfig(ctx, file)
	if err != nil {
		return done, fmt.Errorf("restore the config database, which has no rows of the backup yet: %w", err)
	}
	done.Rows += n
	return done, nil
}

// check reads the whole file.
func check(file io.ReadSeeker) (Head, error) {
	r, err := open(file)
	if err != nil {
		return Head{}, err
	}
	return r.Head, r.each(func(*tableHeader, []byte) error { return nil })
}

// open reads the file from its start.
func open(file io.ReadSeeker) (*reader, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return newReader(file)
}

// fits refuses tables of another version than those of the backup.
func (b Backups) fits(ctx context.Context, head Head) error {
	if err := b.CheckSchema(ctx); err != nil {
		return err
	}
	have, err := b.Versions(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{configName, dataName} {
		if was := head.Versions[name]; was != have[name] {
			return fmt.Errorf("the backup is of version %d of the %s database, and the tables are at %d: with adsync %s, "+
				"which made it, migrate new databases and restore it, then run `adsync migrate up` of the newer release", was, name,
				have[name], head.Program)
		}
	}
	return nil
}

// refuseRows returns an error if a database is in use.
func (b Backups) refuseRows(ctx context.Context, configOnly bool) error {
	tables, err := sqldb.TablesOf(configName)
	if err != nil {
		return err
	}
	tables = slices.DeleteFunc(tables, func(name string) bool { return seededTables[name] })
	if err := b.empty(ctx, b.Config, configName, tables); err != nil || configOnly {
		return err
	}
	tables = nil
	for _, t := range ledgerTables {
		tables = append(tables, t.name)
	}
	all, err := b.Data.Tables(ctx)
	if err != nil {
		return err
	}
	for _, name := range all {
		if _, ok := dayOf(name); ok {
			tables = append(tables, name)
		}
	}
	return b.empty(ctx, b.Data, dataName, tables)
}

func (b Backups) empty(ctx context.Context, db *sqldb.DB, database string, tables []string) error {
	for _, name := range tables {
		has, err := sqldb.Exists(db.Writer(ctx), "SELECT 1 FROM "+name+" LIMIT 1")
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if has {
			return fmt.Errorf("the %s database has rows in %s: stop all processes, create a new, empty database, "+
				"run `adsync migrate up` for it, and restore again", database, name)
		}
	}
	return nil
}

// restoreData writes the rows of the data database, in many transactions.
func (b Backups) restoreData(ctx context.Context, file io.ReadSeeker) (int64, error) {
	logs := ledger.RunRows{Databases: b.Databases}
	return restoreTables(file, dataName, func(name string) (bool, error) {
		if d, ok := dayOf(name); ok {
			return true, logs.EnsureLogTable(ctx, d)
		}
		return slices.ContainsFunc(ledgerTables, func(t ledgerTable) bool { return t.name == name }), nil
	}, b.Data, func(write func(tx *gorm.DB) error) error { return b.Data.Tx(ctx, write) })
}

// restoreConfig replaces the rows of the config database in one transaction.
func (b Backups) restoreConfig(ctx context.Context, file io.ReadSeeker) (n int64, err error) {
	tables, err := sqldb.TablesOf(configName)
	if err != nil {
		return 0, err
	}
	// It is not repeated after a deadlock: there is none, as no other process runs.
	err = b.Config.Writer(ctx).Transaction(func(tx *gorm.DB) error {
		for _, name := range tables {
			if err := tx.Exec("DELETE FROM " + name).Error; err != nil {
				return fmt.Errorf("empty %s: %w", name, err)
			}
		}
		n, err = restoreTables(file, configName,
			func(name string) (bool, error) { return slices.Contains(tables, name), nil }, b.Config,
			func(write func(tx *gorm.DB) error) error { return write(tx) })
		return err
	})
	return n, err
}

// restoreTables writes the rows of a database. known reports whether a table may be in a backup, and creates it if
// need be. in runs a function in a transaction.
func restoreTables(file io.ReadSeeker, database string, known func(table string) (bool, error), db *sqldb.DB,
	in func(write func(tx *gorm.DB) error) error) (written int64, err error) {
	r, err := open(file)
	if err != nil {
		return 0, err
	}
	w := inserter{db: db, in: in}
	err = r.each(func(table *tableHeader, text []byte) error {
		name, ours := strings.CutPrefix(table.Name, database+".")
		if !ours {
			return nil
		}
		if w.header != table {
			if err := w.flush(); err != nil {
				return err
			}
			if ok, err := known(name); err != nil || !ok {
				return sqldb.FirstError(err, fmt.Errorf("the backup has rows of %s, and this program does not know it", name))
			}
			if err := w.begin(name, table); err != nil {
				return err
			}
		}
		row, err := values(text, len(table.Columns))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		written++
		return w.add(row)
	})
	if err == nil {
		err = w.flush()
	}
	return written, err
}

// restoreBatch is how many rows are written in one transaction.
const restoreBatch = 2000

// inserter writes the rows of a table at a time.
type inserter struct {
	db     *sqldb.DB
	in     func(write func(tx *gorm.DB) error) error
	table  string
	header *tableHeader
	rows   [][]any
}

// begin begins a table. It refuses one whose columns are not those of the backup.
func (w *inserter) begin(table string, header *tableHeader) error {
	w.table, w.header = table, header
	return w.in(func(tx *gorm.DB) error {
		have, err := columnsOf(tx, table)
		if err != nil {
			return err
		}
		want := slices.Sorted(slices.Values(header.Columns))
		slices.Sort(have)
		if !slices.Equal(have, want) {
			return fmt.Errorf("the table %s has the columns %s, and in the backup %s", table, strings.Join(have, ", "),
				strings.Join(want, ", "))
		}
		return nil
	})
}

func (w *inserter) add(row []any) error {
	if w.rows = append(w.rows, row); len(w.rows) < restoreBatch {
		return nil
	}
	return w.flush()
}

// flush writes the rows that were added.
func (w *inserter) flush() error {
	if len(w.rows) == 0 {
		return nil
	}
	err := w.in(func(tx *gorm.DB) error {
		width := len(w.header.Columns)
		step := w.db.RowsPerStatement(width)
		for rows := w.rows; len(rows) > 0; {
			n, err := w.db.Fitting(w.table, 1, rows, step)
			if err != nil {
				return err
			}
			text := "INSERT INTO " + w.table + " (" + quoted(w.header.Columns, ", ") + ") VALUES " + sqldb.Tuples(n, width)
			if _, err := w.db.ExecMany(tx, text, slices.Concat(rows[:n]...), n == step); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return nil
	})
	w.rows = w.rows[:0]
	if err != nil {
		return fmt.Errorf("insert into %s: %w", w.table, err)
	}
	return nil
}

var logTable = regexp.MustCompile(`^(?:` + sqldb.LogTablePrefix + `|` + sqldb.FailureTablePrefix +
	`)(\d{4})(\d{2})(\d{2})$`)

// dayOf returns the day of a table of the log.
func dayOf(table string) (day.Day, bool) {
	found := logTable.FindStringSubmatch(table)
	if found == nil {
		return "", false
	}
	d, err := day.Parse(strings.Join(found[1:], "-"))
	return d, err == nil
}

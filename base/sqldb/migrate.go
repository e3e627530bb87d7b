package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"

	"adsync/migrations"
)

// MigrationStatus is one migration of one database.
type MigrationStatus struct {
	Database string // "config", "data" or "jobs"
	Version  int64
	Name     string
	Applied  bool
}

// SchemaError means that a database's tables do not match this program.
type SchemaError struct {
	Database string
	Have     int64 // the database's version
	Want     int64 // this program's version; equal to Have if an earlier migration is missing
}

func (e *SchemaError) Error() string {
	switch {
	case e.Have == e.Want:
		return fmt.Sprintf(
			"the %s database is at version %d, but lacks one of the changes before it: run `adsync migrate up`", e.Database,
			e.Have)
	case e.Have < e.Want:
		return fmt.Sprintf("the %s database is at version %d, this program needs %d: run `adsync migrate up`", e.Database,
			e.Have, e.Want)
	}
	return fmt.Sprintf("the %s database is at version %d, newer than this program's %d: run a newer adsync", e.Database,
		e.Have, e.Want)
}

// Schema is the tables of a set of migrations in a database.
type Schema struct {
	db  *DB
	set string
}

// SchemaOf returns the tables of a set, which is a folder of migrations.
func SchemaOf(d *DB, set string) Schema { return Schema{d, set} }

func (s *Databases) schema(database string) Schema { return SchemaOf(s.database(database), database) }

func (t Schema) provider() (*goose.Provider, error) {
	dialect := goose.DialectMySQL
	if t.db.dialect == SQLiteDialect {
		dialect = goose.DialectSQLite3
	}
	files, err := migrationFiles(t.db, t.set)
	if err != nil {
		return nil, err
	}
	pool, err := t.db.SQL()
	if err != nil {
		return nil, err
	}
	// Each database has its own table of versions, so that both may use one MySQL schema. Numbers are assigned when a
	// change is begun, and changes land in another order.
	return goose.NewProvider(dialect, pool, files, goose.WithTableName(versionTable(t.set)),
		goose.WithAllowOutofOrder(true))
}

func migrationFiles(d *DB, set string) (fs.FS, error) {
	files, err := fs.Sub(migrations.FS, string(d.dialect)+"/"+set)
	if err == nil && d.shardBy != "" {
		files = placedFiles{files, d}
	}
	return files, err
}

func versionTable(set string) string { return "adsync_" + set + "_version" }

func (s *Databases) database(name string) *DB {
	if name == "data" {
		return s.Data
	}
	return s.Config
}

var databases = []string{"config", "data"}

// migrateWait is how long one migration waits for another.
const migrateWait = 2 * time.Minute

// MigrateUp brings both databases to this program's version, and creates the partitions of the coming days.
// Concurrent calls run one after the other.
func (s *Databases) MigrateUp(ctx context.Context) error {
	for _, name := range databases {
		err := s.schema(name).MigrateUp(ctx, func() error {
			if name != "data" {
				return nil
			}
			return errors.Join(ensureOneRow(ctx, s.Data), s.ensureComingPartitions(ctx))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// MigrateUp applies the missing migrations, and then calls finish under the same lock. Concurrent calls run one after
// the other.
func (t Schema) MigrateUp(ctx context.Context, finish func() error) error {
	if err := t.migrateLocked(ctx, finish); err != nil {
		return fmt.Errorf("migrate the %s database: %w", t.set, err)
	}
	return nil
}

func (t Schema) migrateLocked(ctx context.Context, finish func() error) error {
	p, err := t.provider()
	if err != nil {
		return err
	}
	if err := checkBinlog(ctx, t.db); err != nil {
		return err
	}
	unlock, err := lockMigrations(ctx, t.db)
	if err != nil {
		return err
	}
	defer unlock()
	if err = repairVersions(ctx, t.db, versionTable(t.set)); err == nil {
		err = t.dropWidthTriggers(ctx)
	}
	if err == nil {
		err = t.migrateUp(ctx, p)
	}
	if err == nil {
		err = errors.Join(t.createWidthTriggers(ctx), setVersionCharset(ctx, t.db, versionTable(t.set)))
	}
	if err != nil {
		return err
	}
	return finish()
}

// migrateUp applies the missing migrations. MySQL commits an ALTER TABLE immediately. If a migration ended between
// that and the record of its version, its columns or keys exist already, and it is finished statement by statement.
func (t Schema) migrateUp(ctx context.Context, p *goose.Provider) error {
	for {
		_, err := p.Up(ctx)
		partial, ok := errors.AsType[*goose.PartialError](err)
		if !ok || !alreadyAltered(partial.Err) {
			return err
		}
		if err := t.finishMigration(ctx, partial.Failed.Source.Path); err != nil {
			return err
		}
		note := "INSERT INTO " + versionTable(t.set) + " (version_id, is_applied) VALUES (?, ?)"
		if err := t.db.Writer(ctx).Exec(note, partial.Failed.Source.Version, true).Error; err != nil {
			return err
		}
	}
}

// finishMigration runs a migration that was partly applied: its other statements may be repeated.
func (t Schema) finishMigration(ctx context.Context, file string) error {
	files, err := migrationFiles(t.db, t.set)
	if err != nil {
		return err
	}
	text, err := fs.ReadFile(files, file)
	if err != nil {
		return err
	}
	up, _, _ := strings.Cut(string(text), "-- +goose Down")
	for statement := range strings.SplitSeq(up, ";\n") { // All statements end so.
		if statement = withoutComments(statement); statement == "" {
			continue
		}
		if err := t.db.Writer(ctx).Exec(statement).Error; err != nil && !alreadyAltered(err) {
			return fmt.Errorf("finish %s: %w", file, err)
		}
	}
	return nil
}

// ErrStatementBinlog means that the server cannot write what adsync writes.
var ErrStatementBinlog = errors.New(
	"the server's binlog_format is STATEMENT, with which it refuses every change of a row at the isolation level READ " +
		"COMMITTED: " +
		"set it to ROW or MIXED, in the server's configuration and by SET GLOBAL, and reconnect")

// checkBinlog returns ErrStatementBinlog if the server's binary log contains only statements (its error 1665).
func checkBinlog(ctx context.Context, d *DB) error {
	if d.dialect == SQLiteDialect {
		return nil
	}
	pool, err := d.SQL()
	if err != nil {
		return err
	}
	set, err := variables(ctx, pool, "log_bin", "binlog_format")
	if err != nil {
		return err
	}
	if statementBinlog(set) {
		return ErrStatementBinlog
	}
	return nil
}

func statementBinlog(set map[string]string) bool {
	return set["binlog_format"] == "STATEMENT" && (set["log_bin"] == "ON" || set["log_bin"] == "1")
}

// blankVersions reports whether a table of versions exists without a row. MySQL commits the creation of the table
// immediately, and goose, which then writes the first row, treats an empty table as damaged. A first migration leaves
// such a table if it is killed in between, or if the server refuses the row.
func blankVersions(ctx context.Context, d *DB, table string) (bool, error) {
	tables, err := d.Tables(ctx)
	if err != nil || !slices.Contains(tables, table) {
		return false, err
	}
	filled, err := Exists(d.Writer(ctx), "SELECT 1 FROM "+table+" LIMIT 1")
	if err != nil {
		return false, fmt.Errorf("read %s: %w", table, err)
	}
	return !filled, nil
}

// repairVersions adds the first row to an empty table of versions. It is called under the lock of migrations.
func repairVersions(ctx context.Context, d *DB, table string) error {
	blank, err := blankVersions(ctx, d, table)
	if err == nil && blank {
		err = d.Writer(ctx).Exec("INSERT INTO "+table+" (version_id, is_applied) VALUES (0, ?)", true).Error
	}
	return err
}

// setVersionCharset gives goose's table the character set of all others: goose leaves it to the database.
func setVersionCharset(ctx context.Context, d *DB, table string) error {
	if d.dialect == SQLiteDialect {
		return nil
	}
	other, err := Exists(d.Writer(ctx),
		"SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ? AND table_collation <> "+
			"'utf8mb4_bin'", table)
	if err == nil && other {
		err = d.Writer(ctx).Exec("ALTER TABLE " + table + " CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin").Error
	}
	if err != nil {
		return fmt.Errorf("set the character set of %s: %w", table, err)
	}
	return nil
}

// ErrNoOneRow means that changes by lists of keys would have no effect.
var ErrNoOneRow = errors.New("the table one_row of the data database has no row: run `adsync migrate up`")

// checkOneRow returns ErrNoOneRow if the table is empty that changes by lists of keys begin with.
func checkOneRow(ctx context.Context, d *DB) error {
	there, err := Exists(d.Writer(ctx), "SELECT 1 FROM one_row WHERE id = 1")
	if err != nil {
		return fmt.Errorf("read one_row: %w", err)
	}
	if !there {
		return ErrNoOneRow
	}
	return nil
}

// ensureOneRow adds the row of one_row, in case a restored database lacks it.
func ensureOneRow(ctx context.Context, d *DB) error {
	if err := checkOneRow(ctx, d); !errors.Is(err, ErrNoOneRow) {
		return err
	}
	return d.Writer(ctx).Exec(d.dialect.InsertIgnore() + "one_row (id) VALUES (1)").Error
}

// alreadyAltered reports whether a statement failed because the column or the key that it adds exists.
func alreadyAltered(err error) bool {
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (e.Number == 1060 || e.Number == 1061)
}

// lockMigrations blocks a server's other migrations until unlock: MySQL commits each change of a table immediately,
// and a column cannot be added twice.
func lockMigrations(ctx context.Context, d *DB) (unlock func(), err error) {
	if d.dialect == SQLiteDialect {
		return func() {}, nil // One writer at a time, and a migration is one transaction.
	}
	pool, err := d.SQL()
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, err
	}
	// The session is idle while the migrations run in others, and would otherwise end with the lock.
	if _, err := conn.ExecContext(ctx, "SET SESSION wait_timeout = 86400"); err != nil {
		conn.Close()
		return nil, err
	}
	var got sql.NullInt64
	// A lock belongs to the server, not to a schema: deployments that share a server wait for each other for a moment.
	err = conn.QueryRowContext(ctx, "SELECT GET_LOCK('adsync_migrate', ?)", int(migrateWait.Seconds())).Scan(&got)
	if err == nil && got.Int64 != 1 {
		err = fmt.Errorf("another migration has been running for %s", migrateWait)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return func() {
		// The lock ends with its session at the latest.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK('adsync_migrate')")
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // The pool must not keep a session with another setting.
		conn.Close()
	}, nil
}

// MigrateDown reverts the newest migration of each database, with the data in its tables.
func (s *Databases) MigrateDown(ctx context.Context) error {
	for _, name := range databases {
		if err := s.schema(name).MigrateDown(ctx); err != nil {
			return err
		}
	}
	return nil
}

// MigrateDown reverts the newest migration, with the data in its tables.
func (t Schema) MigrateDown(ctx context.Context) error {
	p, err := t.provider()
	if err != nil {
		return err
	}
	if err = t.dropWidthTriggers(ctx); err == nil {
		_, err = p.Down(ctx)
	}
	if err != nil && !errors.Is(err, goose.ErrNoNextVersion) {
		return fmt.Errorf("migrate the %s database down: %w", t.set, err)
	}
	return nil
}

// versions returns the newest version that a database has, which this program may not know, and every migration that
// this program knows, oldest first.
func (t Schema) versions(ctx context.Context) (have int64, all []MigrationStatus, err error) {
	p, err := t.provider()
	if err != nil {
		return 0, nil, err
	}
	isBlank, err := blankVersions(ctx, t.db, versionTable(t.set))
	if err != nil {
		return 0, nil, fmt.Errorf("version of the %s database: %w", t.set, err)
	}
	if isBlank {
		for _, source := range p.ListSources() {
			all = append(all, MigrationStatus{Database: t.set, Version: source.Version, Name: source.Path})
		}
		return 0, all, nil
	}
	list, err := p.Status(ctx)
	if err == nil {
		have, err = p.GetDBVersion(ctx)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("version of the %s database: %w", t.set, err)
	}
	for _, m := range list {
		all = append(all, MigrationStatus{Database: t.set, Version: m.Source.Version, Name: m.Source.Path,
			Applied: m.State == goose.StateApplied})
	}
	return have, all, nil
}

// MigrationStatus returns every migration that this program knows, oldest first.
func (s *Databases) MigrationStatus(ctx context.Context) ([]MigrationStatus, error) {
	var all []MigrationStatus
	for _, name := range databases {
		known, err := s.schema(name).MigrationStatus(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, known...)
	}
	return all, nil
}

// MigrationStatus returns every migration that this program knows, oldest first.
func (t Schema) MigrationStatus(ctx context.Context) ([]MigrationStatus, error) {
	_, known, err := t.versions(ctx)
	return known, err
}

// CheckSchema returns a SchemaError for each database whose tables are older or newer than this program, and
// ErrNoOneRow if that row is missing.
func (s *Databases) CheckSchema(ctx context.Context) error {
	var errs []error
	for _, name := range databases {
		err := s.schema(name).Check(ctx)
		if _, other := errors.AsType[*SchemaError](err); err != nil && !other {
			return err
		}
		if err == nil && name == "data" {
			err = checkOneRow(ctx, s.Data)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Check returns a SchemaError if the tables are older or newer than this program.
func (t Schema) Check(ctx context.Context) error {
	if err := checkBinlog(ctx, t.db); err != nil {
		return fmt.Errorf("%s database: %w", t.set, err)
	}
	have, known, err := t.versions(ctx)
	if err != nil {
		return err
	}
	want := known[len(known)-1].Version
	if have != want || slices.ContainsFunc(known, func(m MigrationStatus) bool { return !m.Applied }) {
		return &SchemaError{Database: t.set, Have: have, Want: want}
	}
	return nil
}

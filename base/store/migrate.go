package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"

	"adsync/migrations"
)

// MigrationStatus is one migration of one database.
type MigrationStatus struct {
	Database string // "config" or "data"
	Version  int64
	Name     string
	Applied  bool
}

// SchemaError says that a database's tables are not those of this program.
type SchemaError struct {
	Database string
	Have     int64 // the database's version
	Want     int64 // this program's version
}

func (e *SchemaError) Error() string {
	if e.Have < e.Want {
		return fmt.Sprintf("the %s database is at version %d, this program needs %d: run `adsync migrate up`", e.Database, e.Have, e.Want)
	}
	return fmt.Sprintf("the %s database is at version %d, newer than this program's %d: run a newer adsync", e.Database, e.Have, e.Want)
}

func (s *Store) provider(database string) (*goose.Provider, error) {
	db := s.database(database)
	dialect := goose.DialectMySQL
	if db.dialect == SQLiteDialect {
		dialect = goose.DialectSQLite3
	}
	files, err := fs.Sub(migrations.FS, string(db.dialect)+"/"+database)
	if err != nil {
		return nil, err
	}
	pool, err := db.SQL()
	if err != nil {
		return nil, err
	}
	// A table name each, so that both may live in one MySQL schema.
	return goose.NewProvider(dialect, pool, files, goose.WithTableName("adsync_"+database+"_version"))
}

func (s *Store) database(name string) *DB {
	if name == "data" {
		return s.Data
	}
	return s.Config
}

var databases = []string{"config", "data"}

// migrateWait is how long one migration waits for another.
const migrateWait = 2 * time.Minute

// MigrateUp brings both databases to this program's version. It may run while others run it: one after the other.
func (s *Store) MigrateUp(ctx context.Context) error {
	for _, name := range databases {
		p, err := s.provider(name)
		if err != nil {
			return err
		}
		unlock, err := s.database(name).lockMigrations(ctx)
		if err != nil {
			return fmt.Errorf("migrate the %s database: %w", name, err)
		}
		_, err = p.Up(ctx)
		unlock()
		if err != nil {
			return fmt.Errorf("migrate the %s database: %w", name, err)
		}
	}
	return nil
}

// lockMigrations keeps a server's other migrations waiting until unlock: MySQL commits each change of a table by
// itself, and a column cannot be added twice.
func (d *DB) lockMigrations(ctx context.Context) (unlock func(), err error) {
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
	var got sql.NullInt64
	// A lock belongs to the server, not to a schema: deployments that share one wait for each other for a moment.
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
		conn.Close()
	}, nil
}

// MigrateDown takes the newest migration of each database back, with the data in its tables.
func (s *Store) MigrateDown(ctx context.Context) error {
	for _, name := range databases {
		p, err := s.provider(name)
		if err != nil {
			return err
		}
		if _, err := p.Down(ctx); err != nil && !errors.Is(err, goose.ErrNoNextVersion) {
			return fmt.Errorf("migrate the %s database down: %w", name, err)
		}
	}
	return nil
}

// MigrationStatus lists every migration that this program knows, oldest first.
func (s *Store) MigrationStatus(ctx context.Context) ([]MigrationStatus, error) {
	var all []MigrationStatus
	for _, name := range databases {
		p, err := s.provider(name)
		if err != nil {
			return nil, err
		}
		list, err := p.Status(ctx)
		if err != nil {
			return nil, fmt.Errorf("status of the %s database: %w", name, err)
		}
		for _, m := range list {
			all = append(all, MigrationStatus{Database: name, Version: m.Source.Version, Name: m.Source.Path, Applied: m.State == goose.StateApplied})
		}
	}
	return all, nil
}

// CheckSchema returns a SchemaError for each database whose tables are older or newer than this program.
func (s *Store) CheckSchema(ctx context.Context) error {
	var errs []error
	for _, name := range databases {
		p, err := s.provider(name)
		if err != nil {
			return err
		}
		have, want, err := p.GetVersions(ctx)
		if err != nil {
			return fmt.Errorf("version of the %s database: %w", name, err)
		}
		if have != want {
			errs = append(errs, &SchemaError{Database: name, Have: have, Want: want})
		}
	}
	return errors.Join(errs...)
}

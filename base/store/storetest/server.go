package storetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	_ "github.com/go-sql-driver/mysql" // opens the server on which tests create their databases
	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
)

// onServer returns a migrated, empty store on the server that ServerEnv names. On MariaDB its databases are copies,
// which takes far less time than all migrations.
func onServer(t testing.TB) *store.Store {
	t.Helper()
	cfg := Config(t)
	all, err := copied()
	require.NoError(t, err)
	if all == nil {
		return open(t, cfg)
	}
	for i, d := range []sqldb.Database{cfg.Config, cfg.Data} {
		require.NoError(t, all[i].fill(d.Writer.Reveal()))
	}
	return Open(t, cfg)
}

// newDatabases creates two empty databases, which drop removes.
func newDatabases(server string) (cfg sqldb.Config, drop func() error, err error) {
	db, err := sql.Open("mysql", server)
	if err != nil {
		return cfg, nil, err
	}
	defer db.Close()
	var names []string
	drop = func() error {
		db, err := sql.Open("mysql", server)
		if err != nil {
			return err
		}
		defer db.Close()
		var errs []error
		for _, name := range names {
			_, err := db.Exec("DROP DATABASE IF EXISTS " + name)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	for _, d := range []struct {
		name string
		into *sqldb.Database
	}{{"config", &cfg.Config}, {"data", &cfg.Data}} {
		name := "adsync_test_" + d.name + "_" + strings.ToLower(rand.Text())
		names = append(names, name)
		if _, err := db.Exec("CREATE DATABASE " + name + " CHARACTER SET utf8mb4"); err != nil {
			return cfg, nil, errors.Join(err, drop())
		}
		*d.into = sqldb.Database{Driver: sqldb.MySQL, MaxOpenConns: 8,
			Writer: secret.NewText(strings.TrimSuffix(server, "/") + "/" + name)}
	}
	return cfg, drop, nil
}

// database is what is in a migrated database.
type database []table

type table struct { // or a view
	create string
	insert string // of one row
	rows   [][]any
}

// copied returns a migrated config and data database of the server, or nil if that is not MariaDB. They are read once
// a process.
var copied = sync.OnceValues(func() ([]database, error) {
	server := os.Getenv(ServerEnv)
	db, err := sql.Open("mysql", server)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var version string
	if err := db.QueryRow("SELECT VERSION()").Scan(&version); err != nil || !strings.Contains(version, "MariaDB") {
		return nil, err
	}
	cfg, drop, err := newDatabases(server)
	if err != nil {
		return nil, err
	}
	defer func() { _ = drop() }()
	s, err := store.Open(context.Background(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.MigrateUp(context.Background()), s.Close()); err != nil {
		return nil, err
	}
	var all []database
	for _, d := range []sqldb.Database{cfg.Config, cfg.Data} {
		read, err := readDatabase(d.Writer.Reveal())
		if err != nil {
			return nil, fmt.Errorf("read a migrated database: %w", err)
		}
		all = append(all, read)
	}
	return all, nil
})

func readDatabase(dsn string) (all database, err error) {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	const list = "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = ? " +
		"ORDER BY table_name"
	names, err := texts(db, list, "BASE TABLE")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		var t table
		if err := db.QueryRow("SHOW CREATE TABLE "+name).Scan(&name, &t.create); err != nil {
			return nil, err
		}
		if err := t.read(db, name); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if names, err = texts(db, list, "VIEW"); err != nil {
		return nil, err
	}
	for _, name := range names {
		var t table
		var set, collation string
		if err := db.QueryRow("SHOW CREATE VIEW "+name).Scan(&name, &t.create, &set, &collation); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func texts(db *sql.DB, query string, args ...any) (all []string, err error) {
	rows, err := db.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

// read reads the rows that migrations have written.
func (t *table) read(db *sql.DB, name string) error {
	rows, err := db.Query("SELECT * FROM " + name) //nolint:gosec // It is a table of the schema.
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	t.insert = "INSERT INTO " + name + " VALUES " + sqldb.Tuples(1, len(columns))
	for rows.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		t.rows = append(t.rows, row)
	}
	return rows.Err()
}

// fill makes the tables with their rows in an empty database, on one connection.
func (d database) fill(dsn string) error {
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, t := range d {
		if _, err := db.Exec(t.create); err != nil {
			return err
		}
		for _, row := range t.rows {
			if _, err := db.Exec(t.insert, row...); err != nil {
				return err
			}
		}
	}
	return nil
}

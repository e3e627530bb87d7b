// Package storetest gives each test a separate migrated store.
package storetest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
)

// ServerEnv names a MySQL or MariaDB server for tests: a DSN without a database, for example
// "root@tcp(127.0.0.1:3306)/". Without it New opens SQLite.
const ServerEnv = "ADSYNC_TEST_MYSQL"

// New returns a migrated, empty store that is removed with the test: on the server that ServerEnv names, otherwise on
// SQLite.
func New(t testing.TB) *store.Store {
	t.Helper()
	if os.Getenv(ServerEnv) != "" {
		return onServer(t)
	}
	cfg := sqlite(t.TempDir())
	files, err := migrated()
	require.NoError(t, err)
	for i, d := range []sqldb.Database{cfg.Config, cfg.Data} {
		require.NoError(t, os.WriteFile(d.Writer.Reveal(), files[i], 0o600))
	}
	return Open(t, cfg)
}

// migrated returns the files of a migrated config and data database. They are made once a process, since that takes
// far longer than a copy.
var migrated = sync.OnceValues(func() (files [2][]byte, err error) {
	dir, err := os.MkdirTemp("", "adsync-storetest-")
	if err != nil {
		return files, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cfg := sqlite(dir)
	s, err := store.Open(context.Background(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return files, err
	}
	// Closing all connections moves the contents of the logs into the files.
	if err := errors.Join(s.MigrateUp(context.Background()), s.Close()); err != nil {
		return files, err
	}
	for i, d := range []sqldb.Database{cfg.Config, cfg.Data} {
		if files[i], err = os.ReadFile(d.Writer.Reveal()); err != nil {
			return files, err
		}
	}
	return files, nil
})

// NewSQLite is New on SQLite in any case: for bubbles of testing/synctest, whose time does not wait for a server's
// answers.
func NewSQLite(t testing.TB) *store.Store {
	t.Helper()
	return open(t, sqlite(t.TempDir()))
}

func open(t testing.TB, cfg sqldb.Config) *store.Store {
	t.Helper()
	s := Open(t, cfg)
	require.NoError(t, s.MigrateUp(context.Background()))
	return s
}

// Open returns the store of a configuration as it is; it is closed with the test.
func Open(t testing.TB, cfg sqldb.Config) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Config returns the configuration of two new, empty databases that are removed with the test.
func Config(t testing.TB) sqldb.Config {
	t.Helper()
	server := os.Getenv(ServerEnv)
	if server == "" {
		return sqlite(t.TempDir())
	}
	cfg, drop, err := newDatabases(server)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop()) })
	return cfg
}

func sqlite(dir string) sqldb.Config {
	return sqldb.Config{
		Config: sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(filepath.Join(dir, "config.db")),
			MaxOpenConns: 4},
		Data: sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(filepath.Join(dir, "data.db")), MaxOpenConns: 4},
	}
}

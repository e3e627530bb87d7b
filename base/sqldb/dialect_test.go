package sqldb_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

// A # ended the name: both databases were in one file, named by the part before it.
func TestOpen_TakesSQLiteFilesOfAnyName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), `#1 50%41?mode=ro&x ü`)
	require.NoError(t, os.Mkdir(dir, 0o750))
	file := func(name string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(filepath.Join(dir, name)), MaxOpenConns: 2}
	}
	s, err := store.Open(t.Context(), sqldb.Config{Config: file("config.db"), Data: file("data.db")},
		slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.Close())
	for _, name := range []string{"config.db", "data.db"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Positive(t, info.Size(), name)
	}
}

// SQLite has one connection that writes. Reads must not wait for it.
func TestCurrent_IsReadWhileSQLiteWrites(t *testing.T) {
	t.Parallel()
	s := storetest.NewSQLite(t)
	tx := s.Data.Writer(t.Context()).Begin()
	require.NoError(t, tx.Error)
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := s.DailySpend(ctx, []int64{1}, []day.Day{"2026-11-20"})
	require.NoError(t, err)
	_, err = s.PulledDays(ctx, []int64{1}, "report_daily", settings.AccountLevel, []day.Day{"2026-11-20"})
	require.NoError(t, err)
}

package store_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/store"
)

// A # ended the name: both databases were one file, of the name before it.
func TestOpen_TakesSQLiteFilesOfAnyName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), `#1 50%41?mode=ro&x ü`)
	require.NoError(t, os.Mkdir(dir, 0o750))
	file := func(name string) store.Database {
		return store.Database{Driver: store.SQLite, Writer: secret.NewText(filepath.Join(dir, name)), MaxOpenConns: 2}
	}
	s, err := store.Open(t.Context(), store.Config{Config: file("config.db"), Data: file("data.db")}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.Close())
	for _, name := range []string{"config.db", "data.db"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Positive(t, info.Size(), name)
	}
}

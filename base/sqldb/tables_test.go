package sqldb_test

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
)

func TestTables_ANewDatabaseHasNone(t *testing.T) {
	t.Parallel()
	cfg := storetest.Config(t)
	s, err := store.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	tables, err := s.Config.Tables(t.Context())
	require.NoError(t, err)
	require.Empty(t, tables)
	require.NoError(t, s.Config.Writer(t.Context()).Exec("CREATE TABLE sales (id INTEGER)").Error)
	require.NoError(t, s.Config.Writer(t.Context()).Exec("CREATE VIEW best AS SELECT id FROM sales").Error)
	tables, err = s.Config.Tables(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"best", "sales"}, tables)
	tables, err = s.Data.Tables(t.Context())
	require.NoError(t, err)
	require.Empty(t, tables, "the other database is separate")
}

func TestDatabase_NameHidesCredentials(t *testing.T) {
	t.Parallel()
	for writer, want := range map[string]string{
		"adsync:hunter2@tcp(db.example.com:3307)/adsync_data": "db.example.com:3307/adsync_data",
		"adsync:hunter2@tcp(db)/adsync_data?tls=true":         "db:3306/adsync_data",
		"hunter2": "a database with an invalid DSN",
	} {
		require.Equal(t, want, sqldb.Database{Driver: sqldb.MySQL, Writer: secret.NewText(writer)}.Name())
	}
	require.Equal(t, "dir/data.db", sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText("dir/data.db")}.Name())
}

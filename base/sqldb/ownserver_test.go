package sqldb_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/test/services/local"
)

// ownServer starts a MariaDB with its own settings, in addition to the one of all other tests, and returns a
// connection to it and the settings of two empty databases on it.
func ownServer(t *testing.T, settings ...string) (*sql.DB, sqldb.Config) {
	t.Helper()
	if os.Getenv(storetest.ServerEnv) == "" {
		t.Skip("needs a MariaDB")
	}
	ports := local.NewPorts()
	t.Cleanup(ports.Release)
	server := &local.MariaDB{Settings: append([]string{"--innodb-buffer-pool-size=64M",
		"--innodb-flush-log-at-trx-commit=0"}, settings...)}
	running, err := local.LaunchAll(t.Context(), t.TempDir(), ports, t.Output(), server)
	for _, s := range running {
		t.Cleanup(func() { require.NoError(t, s.Kill()) })
	}
	require.NoError(t, err)
	require.NoError(t, server.CreateDatabases(t.Context(), "adsync_config", "adsync_data"))
	db, err := sql.Open("mysql", server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	// This is a user without SUPER, to whom read_only and max_connections apply.
	execute(t, db, "CREATE USER adsync@'%' IDENTIFIED BY 'hunter2'")
	execute(t, db, "GRANT ALL ON adsync_config.* TO adsync@'%'")
	execute(t, db, "GRANT ALL ON adsync_data.* TO adsync@'%'")
	of := func(name string) sqldb.Database {
		return sqldb.Database{Driver: sqldb.MySQL, Writer: secret.NewText(fmt.Sprintf("adsync:hunter2@tcp(%s)/%s",
			server.Addr(), name)), MaxOpenConns: 4}
	}
	return db, sqldb.Config{Config: of("adsync_config"), Data: of("adsync_data")}
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement)
	require.NoError(t, err, statement)
}

// TestMigrateUp_OnABinaryLogOfStatements is a first installation on a server with binlog_format=STATEMENT, before and
// after the setting is corrected.
func TestMigrateUp_OnABinaryLogOfStatements(t *testing.T) {
	t.Parallel()
	server, cfg := ownServer(t, "--log-bin", "--server-id=1", "--binlog-format=STATEMENT")
	s := storetest.Open(t, cfg)
	require.ErrorIs(t, s.MigrateUp(t.Context()), sqldb.ErrStatementBinlog)
	require.ErrorIs(t, s.CheckSchema(t.Context()), sqldb.ErrStatementBinlog)
	tables, err := s.Data.Tables(t.Context())
	require.NoError(t, err)
	require.Empty(t, tables, "nothing was created that would have to be dropped")

	// An older release has left its table of versions, without the row that the server refused.
	for _, database := range []string{"config", "data"} {
		execute(t, server, "CREATE TABLE adsync_"+database+".adsync_"+database+
			"_version (id SERIAL, version_id BIGINT NOT NULL, is_applied BOOLEAN NOT NULL, tstamp TIMESTAMP NULL DEFAULT "+
			"NOW(), PRIMARY KEY (id))")
	}
	execute(t, server, "SET GLOBAL binlog_format = 'ROW'")
	corrected := storetest.Open(t, cfg)
	require.NoError(t, corrected.MigrateUp(t.Context()))
	require.NoError(t, corrected.CheckSchema(t.Context()))
}

// TestUnavailable_IsWhatAServerInTroubleAnswers causes each trouble on a real server. Each error is recognised as the
// server's, and the work succeeds when the trouble is over.
func TestUnavailable_IsWhatAServerInTroubleAnswers(t *testing.T) {
	t.Parallel()
	server, cfg := ownServer(t, "--max-user-connections=100") // Only a setting that is not 0 at the start can be changed.
	execute(t, server, "CREATE TABLE adsync_data.note (id INT PRIMARY KEY, text VARCHAR(10))")
	for i, tt := range []struct {
		name       string
		begin, end string // of the trouble
		hold       int    // connections that stay open
		want       string
	}{
		{"too many connections", "SET GLOBAL max_connections = 10", "SET GLOBAL max_connections = 500", 12,
			"Error 1040: Too many connections"},
		{"too many connections of the user", "SET GLOBAL max_user_connections = 2", "SET GLOBAL max_user_connections = 100",
			2, "Error 1203 (42000)"},
		{"a server that only takes reads", "SET GLOBAL read_only = 1", "SET GLOBAL read_only = 0", 0, "only takes reads"},
		{"a locked account", "ALTER USER adsync@'%' ACCOUNT LOCK", "ALTER USER adsync@'%' ACCOUNT UNLOCK", 0, "Error 4151"},
		{"a user without the right", "REVOKE ALL ON adsync_data.* FROM adsync@'%'",
			"GRANT ALL ON adsync_data.* TO adsync@'%'", 0, "Error 104"},
	} {
		held, err := sql.Open("mysql", cfg.Data.Writer.Reveal())
		require.NoError(t, err)
		for range tt.hold {
			conn, err := held.Conn(t.Context())
			require.NoError(t, err)
			require.NoError(t, conn.PingContext(t.Context()))
			defer conn.Close()
		}
		execute(t, server, tt.begin)
		s, err := store.New(t.Context(), cfg, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		write := func() error {
			table := sqldb.Table{Name: "note", Key: []string{"id"}, Columns: []string{"text"}}
			return s.Data.Upsert(s.Data.Writer(t.Context()), table, [][]any{{i, "x"}})
		}
		err = write()
		execute(t, server, tt.end)
		require.Error(t, err, tt.name)
		reason, unavailable := sqldb.Unavailable(err)
		require.True(t, unavailable, "%s: %v", tt.name, err)
		require.Contains(t, reason, tt.want, tt.name)
		require.NotContains(t, reason, "hunter2")
		require.NoError(t, write(), "%s: it is over", tt.name)
		require.NoError(t, s.Close())
		require.NoError(t, held.Close())
	}
}

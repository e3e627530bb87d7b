package sqldb_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"adsync/base/checkup"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
)

// allRights are those that docs/servers.md lists.
const allRights = "SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, CREATE VIEW"

func TestCheckUp_NamesEachMissingRightAndItsGrant(t *testing.T) {
	t.Parallel()
	cfg := storetest.Config(t)
	if cfg.Data.Driver == sqldb.SQLite {
		t.Skip("SQLite has no users")
	}
	owner, err := sql.Open("mysql", cfg.Config.Writer.Reveal())
	require.NoError(t, err)
	defer owner.Close()
	c, err := mysql.ParseDSN(cfg.Data.Writer.Reveal())
	require.NoError(t, err)
	user := c.DBName[len(c.DBName)-20:]
	execute(t, owner, "CREATE USER "+user+"@'127.0.0.1' IDENTIFIED BY 'hunter2'")
	defer execute(t, owner, "DROP USER "+user+"@'127.0.0.1'")
	execute(t, owner, fmt.Sprintf("GRANT %s ON %s.* TO %s@'127.0.0.1'", allRights, c.DBName, user))
	c.User, c.Passwd = user, "hunter2"
	cfg.Data.Writer = secret.NewText(c.FormatDSN())
	cfg.Data.Replicas = []secret.Text{cfg.Data.Writer}

	check := func() map[string]checkup.Finding {
		s, err := store.New(t.Context(), cfg, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close()) }()
		found := map[string]checkup.Finding{}
		for _, f := range s.CheckUp(t.Context()) {
			require.NotContains(t, f.Detail+f.Remedy, "hunter2")
			found[f.Server+": "+f.Check] = f
		}
		return found
	}
	found := check()
	for about, f := range found {
		require.Equal(t, checkup.OK, f.State, "%s: %+v", about, f)
	}
	require.Equal(t, allRights, found["data database: rights"].Detail)
	require.Contains(t, found["data database: reached"].Detail, "as "+user+"@127.0.0.1 in "+c.DBName)
	require.Equal(t, "SELECT", found["data database, replica 1: rights"].Detail)

	// The listed rights, each missing once.
	for _, right := range []string{"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "DROP", "INDEX",
		"CREATE VIEW"} {
		execute(t, owner, fmt.Sprintf("REVOKE %s ON %s.* FROM %s@'127.0.0.1'", right, c.DBName, user))
		f := check()["data database: right "+right]
		require.Equal(t, checkup.Fault, f.State, right)
		require.Contains(t, f.Detail, "denied to user '"+user+"'", right)
		require.Equal(t, fmt.Sprintf("GRANT %s ON `%s`.* TO '%s'@'127.0.0.1'", right, c.DBName, user), f.Remedy)
		if right == "SELECT" {
			require.Equal(t, checkup.Fault, check()["data database, replica 1: right SELECT"].State)
		}
		execute(t, owner, f.Remedy) // The remedy grants the right.
		require.NotContains(t, check(), "data database: right "+right)
	}

	execute(t, owner, "ALTER USER "+user+"@'127.0.0.1' WITH MAX_USER_CONNECTIONS 3")
	few := check()["data database: max_user_connections"]
	require.Equal(t, checkup.Warning, few.State)
	require.Contains(t, few.Detail, "3, and each process opens up to 16 connections (twice max_open_conns)")
	execute(t, owner, "ALTER USER "+user+"@'127.0.0.1' ACCOUNT LOCK")
	locked := check()["data database: reached"]
	require.Equal(t, checkup.Fault, locked.State)
	require.Contains(t, locked.Remedy, "correct the user")
}

func TestCheckUp_NamesSettingsOfTheServer(t *testing.T) {
	t.Parallel()
	server, cfg := ownServer(t, "--log-bin", "--server-id=1", "--binlog-format=STATEMENT", "--max-allowed-packet=4M",
		"--max-connections=10")
	execute(t, server, "SET GLOBAL read_only = 1")
	cfg.Data.MaxOpenConns = 32
	s := storetest.Open(t, cfg)
	found := map[string]checkup.Finding{}
	for _, f := range s.CheckUp(t.Context()) {
		found[f.Server+": "+f.Check] = f
	}
	require.Equal(t, checkup.Fault, found["data database: binlog_format"].State)
	require.Equal(t, checkup.Fault, found["config database: read_only"].State)
	require.Equal(t, checkup.Warning, found["data database: max_allowed_packet"].State)
	require.Contains(t, found["data database: max_connections"].Detail,
		"10, and each process opens up to 64 connections (twice max_open_conns)")
	require.NotContains(t, found, "config database: max_connections", "it opens 4 at most")
	var tables int
	require.NoError(t, server.QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema LIKE 'adsync%'").Scan(&tables))
	require.Zero(t, tables, "a check creates nothing")
}

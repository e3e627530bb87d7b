package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
)

// A real server refuses an order's statements for each reason that is the server's and not the order's.
func TestOrder_OfADatabaseThatRefusesWrites(t *testing.T) {
	t.Parallel()
	server := os.Getenv(storetest.ServerEnv)
	if server == "" {
		t.Skip("needs a MariaDB")
	}
	for name, tt := range map[string]struct {
		limits string // of the user
		grants string
		hold   int // open connections of the user in addition to the pool's
		want   string
	}{
		"the user has as many connections as it may": {limits: "MAX_USER_CONNECTIONS 2", grants: "ALL", hold: 2,
			want: "Error 1226 (42000)"},
		"the user has opened as many an hour": {limits: "MAX_CONNECTIONS_PER_HOUR 1", grants: "ALL", hold: 1,
			want: "Error 1226 (42000)"},
		"the user lacks a right": {limits: "MAX_USER_CONNECTIONS 0", grants: "SELECT",
			want: "Error 1142 (42000): INSERT command denied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := storetest.Config(t)
			owner := storetest.Open(t, cfg)
			require.NoError(t, owner.MigrateUp(t.Context()))
			limited := limitedUser(t, owner, cfg, tt.limits, tt.grants, tt.hold)

			b := &bench{t: t, store: owner, producer: &fakeProducer{tasks: nil}}
			b.producer.tasks = append(b.producer.tasks, daily())
			b.serve(b.producer, registry(owner), fixedClock{})
			b.account("tulip", "9001", "active", "Asia/Shanghai", "")
			b.store = limited
			b.serve(b.producer, registry(limited), fixedClock{})
			w := b.post(dailyRun, `{"accounts": ["9001"], "from": "2026-11-18", "to": "2026-11-20"}`)
			require.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body.String())
			require.Equal(t, "5", w.Header().Get("Retry-After"))
			detail := b.problem(w).Detail
			require.Contains(t, detail, "The database cannot serve the request now ("+tt.want)
			require.NotContains(t, detail, "INSERT INTO", "no statement is shown")
		})
	}
}

// limitedUser opens the databases of cfg as a new user, and keeps some connections of this user open.
func limitedUser(t *testing.T, owner *store.Store, cfg sqldb.Config, limits, grants string, hold int) *store.Store {
	t.Helper()
	as := cfg
	name := ""
	for i, d := range []*sqldb.Database{&as.Config, &as.Data} {
		c, err := mysql.ParseDSN(d.Writer.Reveal())
		require.NoError(t, err)
		if i == 0 {
			name = "u" + strings.TrimPrefix(c.DBName, "adsync_test_config_")
			name = name[:min(len(name), 30)]
			root(t, owner, "CREATE USER "+name+"@'%' IDENTIFIED BY 'hunter2' WITH "+limits)
			t.Cleanup(func() { root(t, owner, "DROP USER "+name+"@'%'") })
		}
		root(t, owner, fmt.Sprintf("GRANT %s ON %s.* TO %s@'%%'", grants, c.DBName, name))
		c.User, c.Passwd = name, "hunter2"
		d.Writer = secret.NewText(c.FormatDSN())
		if i == 0 {
			pool, err := sql.Open("mysql", c.FormatDSN())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, pool.Close()) })
			for range hold {
				conn, err := pool.Conn(t.Context())
				require.NoError(t, err)
				t.Cleanup(func() { _ = conn.Close() })
			}
		}
	}
	s, err := store.New(t.Context(), as, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func root(t *testing.T, s *store.Store, statement string) {
	t.Helper()
	require.NoError(t, s.Config.Writer(context.Background()).Exec(statement).Error)
}

package sqldb_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/storetest"
)

// Also a DSN of MySQL that was written where a path belongs has a password.
func TestOpenReadOnly_KeepsSecretsOutOfItsErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ driver, dsn, want string }{
		{sqldb.MySQL, "hunter2", "not a DSN: want user:password@tcp(host:3306)/name"},
		{sqldb.MySQL, "ada:hunter2@tcp(127.0.0.1:1)/adsync?nobody_knows=hunter2", "the DSN's nobody_knows is refused"},
		{sqldb.MySQL, "ada:hunter2@tcp(127.0.0.1:1)/adsync", "connection refused"},
		{sqldb.SQLite, "ada:hunter2@tcp(127.0.0.1:1)/adsync?timeout=3s", "unable to open database file"},
		{sqldb.SQLite, filepath.Join(t.TempDir(), "hunter2"), "unable to open database file"},
	} {
		pool, err := sqldb.OpenReadOnly(c.driver, secret.NewText(c.dsn), sqldb.PatienceDefault, 1)
		if err == nil {
			err = pool.PingContext(t.Context())
			require.NoError(t, pool.Close())
		}
		require.ErrorContains(t, err, c.want, c.dsn)
		require.NotContains(t, err.Error(), "hunter2", c.dsn)
		require.NotContains(t, err.Error(), "_pragma", c.dsn)
	}
}

func TestOpenReadOnly_CannotWrite(t *testing.T) {
	t.Parallel()
	cfg := storetest.Config(t)
	s := storetest.Open(t, cfg)
	require.NoError(t, s.MigrateUp(t.Context()))
	if cfg.Data.Driver == sqldb.MySQL {
		t.Skip("there the rights of the user decide")
	}
	pool, err := sqldb.OpenReadOnly(cfg.Data.Driver, cfg.Data.Writer, sqldb.PatienceDefault, 2)
	require.NoError(t, err)
	defer pool.Close()
	var n int
	require.NoError(t, pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM publication").Scan(&n))
	_, err = pool.ExecContext(t.Context(), "DELETE FROM publication")
	require.ErrorContains(t, err, "readonly")
}

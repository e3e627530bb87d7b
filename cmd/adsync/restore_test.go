package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/storetest"
)

// databasesOf returns the databases of sqliteEnviron.
func databasesOf(environ []string) sqldb.Config {
	file := func(name string) sqldb.Database {
		path := ""
		for _, v := range environ {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				path = value
			}
		}
		return sqldb.Database{Driver: sqldb.SQLite, Writer: secret.NewText(path), MaxOpenConns: 1}
	}
	return sqldb.Config{Config: file("ADSYNC_STORE_CONFIG_WRITER"), Data: file("ADSYNC_STORE_DATA_WRITER")}
}

func TestRestore_IntoNewDatabases(t *testing.T) {
	t.Parallel()
	old, next := sqliteEnviron(t), sqliteEnviron(t)
	r := adsync(old, "migrate", "up", "--topics=false")
	require.Zero(t, r.code, r.stderr)
	s := storetest.Open(t, databasesOf(old))
	require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE cron_task SET cron = '1 2 3 * *'").Error)
	name := filepath.Join(t.TempDir(), "backup.gz")
	file, err := os.Create(name)
	require.NoError(t, err)
	at := time.Date(2026, 11, 29, 2, 0, 0, 0, time.UTC)
	_, err = s.WriteBackup(t.Context(), file, at, "2026-11-27")
	require.NoError(t, err)
	require.NoError(t, file.Close())

	r = adsync(next, "restore", name)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "run `adsync migrate up`")
	r = adsync(next, "migrate", "up", "--topics=false")
	require.Zero(t, r.code, r.stderr)
	r = adsync(next, "restore", name)
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, `^\d+ rows were restored\. The backup is of 2026-11-29 02:00:00 UTC and has the ledger from `+
		`2026-11-27 on\.\n$`, r.stdout)
	to := storetest.Open(t, databasesOf(next))
	var crons []string
	require.NoError(t, to.Config.Writer(t.Context()).Raw("SELECT DISTINCT cron FROM cron_task").Scan(&crons).Error)
	require.Equal(t, []string{"1 2 3 * *"}, crons)

	r = adsync(next, "restore", name)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "the config database has rows in audit_log", "the restore is recorded")
	require.NoError(t, os.WriteFile(name, []byte("cut"), 0o600))
	r = adsync(next, "restore", name)
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "restore "+name+": it is no backup")
	require.Equal(t, exitUsage, adsync(next, "restore").code)
}

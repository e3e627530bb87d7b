package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// sqliteEnviron puts both databases into files of the test.
func sqliteEnviron(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	return []string{
		"ADSYNC_STORE_CONFIG_DRIVER=sqlite", "ADSYNC_STORE_CONFIG_WRITER=" + filepath.Join(dir, "config.db"),
		"ADSYNC_STORE_DATA_DRIVER=sqlite", "ADSYNC_STORE_DATA_WRITER=" + filepath.Join(dir, "data.db"),
		"ADSYNC_LOG_FORMAT=text",
	}
}

func TestMigrate_UpStatusDown(t *testing.T) {
	t.Parallel()
	environ := sqliteEnviron(t)
	r := adsync(environ, "migrate", "status")
	require.Equal(t, 1, r.code)
	require.Regexp(t, `(?m)^DATABASE +VERSION +NAME +STATE$`, r.stdout)
	for _, database := range []string{"config", "data", "jobs"} {
		require.Regexp(t, `(?m)^`+database+` +1 +\S+\.sql +missing$`, r.stdout)
	}
	require.Contains(t, r.stderr, "run `adsync migrate up`")

	r = adsync(environ, "migrate", "up", "--topics=false")
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t,
		`^The tables are at this program's version\.\n\d+ default tasks were written\.\n$`, r.stdout)
	r = adsync(environ, "migrate", "up", "--topics=false")
	require.Equal(t, result{stdout: "The tables are at this program's version.\n"}, r,
		"it may be repeated, and writes no task twice")

	r = adsync(environ, "migrate", "status")
	require.Zero(t, r.code, r.stderr)
	require.NotContains(t, r.stdout, "missing")

	r = adsync(append(environ, "ADSYNC_BROKER_BROKERS=127.0.0.1:1"), "migrate", "up")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "the tables are ready, the topics are not")

	r = adsync(environ, "migrate", "down", "--yes")
	require.Zero(t, r.code, r.stderr)
	r = adsync(environ, "migrate", "status")
	require.Equal(t, 1, r.code)
	for _, database := range []string{"config", "data", "jobs"} {
		require.Regexp(t, `(?m)^`+database+` +[0-9]+ +\S+\.sql +missing$`, r.stdout)
	}
	require.Zero(t, adsync(environ, "migrate", "up", "--topics=false").code)
}

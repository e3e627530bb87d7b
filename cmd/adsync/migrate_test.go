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
	require.Regexp(t, `(?m)^config +1 +\S+\.sql +missing$`, r.stdout)
	require.Contains(t, r.stderr, "run `adsync migrate up`")

	r = adsync(environ, "migrate", "up")
	require.Equal(t, result{stdout: "The tables are at this program's version.\n"}, r)
	require.Equal(t, r, adsync(environ, "migrate", "up"), "it may be repeated")

	r = adsync(environ, "migrate", "status")
	require.Zero(t, r.code, r.stderr)
	require.NotContains(t, r.stdout, "missing")

	r = adsync(environ, "migrate", "down", "--yes")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 1, adsync(environ, "migrate", "status").code)
}

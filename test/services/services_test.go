package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		want options
		err  string
	}{
		{
			name: "everything after the dashes is the command",
			args: []string{"--", "go", "test", "-run", "X"},
			want: options{only: serviceNames, runtime: "auto", command: []string{"go", "test", "-run", "X"}},
		},
		{
			name: "some services kept running",
			args: []string{"--only", "redis, kafka", "--keep", "--runtime", "local"},
			want: options{only: []string{"redis", "kafka"}, runtime: "local", keep: true},
		},
		{
			name: "servers of files are started last",
			args: []string{"--only", "sftp,redis,ftps", "--keep"},
			want: options{only: []string{"redis"}, files: []string{"sftp", "ftps"}, runtime: "auto", keep: true},
		},
		{name: "an unknown service is named", args: []string{"--only", "postgres", "--keep"},
			err: "--only postgres: want some of"},
		{name: "an unknown runtime is named", args: []string{"--runtime", "podman", "--keep"},
			err: "--runtime podman: want auto"},
		{name: "nothing to do is refused", err: "want either a command"},
		{name: "keep and a command exclude each other", args: []string{"--keep", "--", "true"}, err: "want either a command"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := parseOptions(tt.args, io.Discard)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			if len(got.command) == 0 {
				got.command = nil
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestRunCommand(t *testing.T) {
	t.Parallel()
	code, err := runCommand(t.Context(), []string{"sh", "-c", `test "$ADSYNC_TEST_REDIS" = 127.0.0.1:1`},
		[]string{"ADSYNC_TEST_REDIS=127.0.0.1:1"})
	require.NoError(t, err)
	require.Zero(t, code, "the command sees the addresses")

	code, err = runCommand(t.Context(), []string{"sh", "-c", "exit 7"}, nil)
	require.NoError(t, err)
	require.Equal(t, 7, code, "its exit code is returned")

	code, err = runCommand(t.Context(), []string{"/does/not/exist"}, nil)
	require.Error(t, err)
	require.Equal(t, 127, code)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, err = runCommand(ctx, []string{"sleep", "300"}, nil)
	require.EqualError(t, err, "interrupted")
	require.Equal(t, 130, code)
}

func TestMakeDir_RefusesADirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got, err := makeDir(filepath.Join(dir, "new"), false)
	require.NoError(t, err)
	require.DirExists(t, got)
	_, err = makeDir(dir, false)
	require.ErrorContains(t, err, "want an empty or new directory")
}

func TestTidy_KeepsOnlyTheLogsOfAFailedRun(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "mariadb", "data"), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "logs"), 0o755))
		var printed strings.Builder
		if !failed {
			code, err := tidy(dir, 0, nil, &printed)
			require.NoError(t, err)
			require.Zero(t, code)
			require.NoDirExists(t, dir)
			continue
		}
		code, err := tidy(dir, 3, nil, &printed)
		require.NoError(t, err)
		require.Equal(t, 3, code)
		require.DirExists(t, filepath.Join(dir, "logs"))
		require.NoDirExists(t, filepath.Join(dir, "mariadb"))
		require.Contains(t, printed.String(), filepath.Join(dir, "logs"))
	}
}

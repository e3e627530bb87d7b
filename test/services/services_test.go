package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		{name: "an unknown service is named", args: []string{"--only", "postgres", "--keep"}, err: "--only postgres: want some of"},
		{name: "an unknown runtime is named", args: []string{"--runtime", "podman", "--keep"}, err: "--runtime podman: want auto"},
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

func TestPortPool_TwoRunsNeverShareAPort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := &portPool{dir: dir, low: 32500, high: 32502}
	second := &portPool{dir: dir, low: 32500, high: 32502}
	t.Cleanup(second.release)

	a, err := first.take()
	require.NoError(t, err)
	b, err := second.take()
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	_, err = second.take()
	require.ErrorContains(t, err, "no spare port")

	first.release()
	again, err := second.take()
	require.NoError(t, err)
	require.Equal(t, a, again, "a released port is spare again")
}

func TestProcess_StopEndsTheWholeGroupAndNothingElse(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	bystander := exec.Command("sleep", "300")
	require.NoError(t, bystander.Start())
	defer func() {
		require.NoError(t, bystander.Process.Kill(), "the bystander was still alive")
		_ = bystander.Wait()
	}()

	// The shell and its child both ignore the polite signal, and both hold the pipe open.
	cmd := exec.Command("sh", "-c", `trap "" TERM; sleep 300 & echo up >&3; wait; wait`)
	cmd.ExtraFiles = []*os.File{writer}
	p, err := startProcess("stubborn", cmd)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	_, err = reader.Read(make([]byte, 3))
	require.NoError(t, err)

	p.stop(10 * time.Millisecond)
	_, err = io.ReadAll(reader)
	require.NoError(t, err, "the pipe ends once the last holder is gone")
	require.Error(t, p.err)
	p.stop(10 * time.Millisecond)
}

func TestProcess_StopLetsAProgramEndByItself(t *testing.T) {
	t.Parallel()
	mark := filepath.Join(t.TempDir(), "mark")
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	defer reader.Close()
	cmd := exec.Command("sh", "-c", `trap 'echo tidy > "$0"; exit 0' TERM; echo up >&3; while :; do sleep 0.05; done`, mark)
	cmd.ExtraFiles = []*os.File{writer}
	p, err := startProcess("polite", cmd)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	_, err = reader.Read(make([]byte, 3))
	require.NoError(t, err)

	p.stop(time.Minute)
	require.NoError(t, p.err)
	require.FileExists(t, mark)
}

func TestRunCommand(t *testing.T) {
	t.Parallel()
	code, err := runCommand(t.Context(), []string{"sh", "-c", `test "$ADSYNC_TEST_REDIS" = 127.0.0.1:1`},
		[]string{"ADSYNC_TEST_REDIS=127.0.0.1:1"})
	require.NoError(t, err)
	require.Zero(t, code, "the command sees the addresses")

	code, err = runCommand(t.Context(), []string{"sh", "-c", "exit 7"}, nil)
	require.NoError(t, err)
	require.Equal(t, 7, code, "its exit code is ours")

	code, err = runCommand(t.Context(), []string{"/does/not/exist"}, nil)
	require.Error(t, err)
	require.Equal(t, 127, code)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, err = runCommand(ctx, []string{"sleep", "300"}, nil)
	require.EqualError(t, err, "interrupted")
	require.Equal(t, 130, code)
}

func TestAwaitReady_GivesUpWhenTheServerEnds(t *testing.T) {
	t.Parallel()
	exited := make(chan struct{})
	tries := 0
	err := awaitReady(t.Context(), "redis", func(context.Context) error {
		if tries++; tries == 2 {
			close(exited)
		}
		return errors.New("connection refused")
	}, exited)
	require.EqualError(t, err, "redis ended before it was ready")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = awaitReady(ctx, "redis", func(context.Context) error { return errors.New("connection refused") }, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "connection refused")
}

func TestMakeDir_RefusesADirectoryInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got, err := makeDir(filepath.Join(dir, "new"))
	require.NoError(t, err)
	require.DirExists(t, got)
	_, err = makeDir(dir)
	require.ErrorContains(t, err, "want an empty or new directory")
}

func TestTidy_KeepsOnlyTheLogsOfAFailedRun(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "mariadb", "data"), 0o755))
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "logs"), 0o755))
		var said strings.Builder
		if !failed {
			code, err := tidy(dir, 0, nil, &said)
			require.NoError(t, err)
			require.Zero(t, code)
			require.NoDirExists(t, dir)
			continue
		}
		code, err := tidy(dir, 3, nil, &said)
		require.NoError(t, err)
		require.Equal(t, 3, code)
		require.DirExists(t, filepath.Join(dir, "logs"))
		require.NoDirExists(t, filepath.Join(dir, "mariadb"))
		require.Contains(t, said.String(), filepath.Join(dir, "logs"))
	}
}

func TestOneKafkaVersionEverywhere(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, strings.Count(kafkaPOM, "<version>"+kafkaVersion+"</version>"))
	require.Contains(t, string(composeFile), "apache/kafka:"+kafkaVersion)
	deployment, err := os.ReadFile("../../docker-compose.yml")
	require.NoError(t, err)
	require.Contains(t, string(deployment), "apache/kafka:"+kafkaVersion)
}

// TestServices_AnswerAtTheirAddresses says first, and plainly, when the servers are what is wrong with a run of the
// service tests.
func TestServices_AnswerAtTheirAddresses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		variable string
		server   func(addr string) server
	}{
		{"ADSYNC_TEST_KAFKA", func(addr string) server { return &kafkaServer{addr: addr} }},
		{"ADSYNC_TEST_MYSQL", func(dsn string) server {
			return &mariadbServer{addr: strings.TrimSuffix(strings.TrimPrefix(dsn, "root@tcp("), ")/")}
		}},
		{"ADSYNC_TEST_REDIS", func(addr string) server { return &redisServer{addr: addr} }},
	}
	for _, tt := range tests {
		t.Run(tt.variable, func(t *testing.T) {
			t.Parallel()
			address := os.Getenv(tt.variable)
			if address == "" {
				t.Skip("not set: make test-services sets it")
			}
			require.NoError(t, tt.server(address).ready(t.Context()))
		})
	}
}

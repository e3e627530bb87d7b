package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/checkup"
)

func TestConfigCheck_ChecksTheServers(t *testing.T) {
	t.Parallel()
	environ := serveEnviron(t)
	r := adsync(environ, "config", "check", "--connect")
	require.Zero(t, r.code, r.stdout+r.stderr)
	require.Regexp(t, `(?m)^config database +reached +ok +SQLite$`, r.stdout)
	require.Regexp(t, `(?m)^kafka +reached +ok +127\.0\.0\.1:\d+$`, r.stdout)
	require.Regexp(t, `(?m)^kafka +rights on topics +ok +\d+ topics$`, r.stdout)
	require.Regexp(t, `(?m)^redis +rights +ok`, r.stdout)

	environ = append(environ, "ADSYNC_REDIS_ADDRS=127.0.0.1:1", "ADSYNC_REDIS_PASSWORD=hunter2")
	r = adsync(environ, "config", "check", "--connect")
	require.Equal(t, 1, r.code)
	require.Regexp(t, `(?m)^redis +reached +fault +.*refused`, r.stdout)
	require.Contains(t, r.stdout, "\nWhat to do:\n  redis, reached: start Redis, or correct redis.addrs\n")
	require.Contains(t, r.stderr, "something is wrong with the servers")
	require.NotContains(t, r.stdout+r.stderr, "hunter2")

	r = adsync(environ, "config", "check", "--connect", "--output", "json")
	require.Equal(t, 1, r.code)
	var answer struct {
		OK       bool              `json:"ok"`
		Findings []checkup.Finding `json:"findings"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &answer))
	require.False(t, answer.OK)
	require.Contains(t, answer.Findings, checkup.Finding{Server: "config database", Check: "reached", State: checkup.OK,
		Detail: "SQLite"})

	r = adsync(environ, "config", "check", "--connect", "--for", "unbind")
	require.Zero(t, r.code, "it needs no Redis: %s%s", r.stdout, r.stderr)
	require.NotContains(t, r.stdout, "redis")
}

func TestConfigCheck_RefusesToConnectForCommandsWithTheirOwnServers(t *testing.T) {
	t.Parallel()
	r := adsync(nil, "config", "check", "--connect", "--for", "simulate")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "--connect goes with --for bind, migrate, serve or unbind")
	r = adsync(secretEnviron, "config", "check", "--output", "json")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "--output json goes with --connect")
}

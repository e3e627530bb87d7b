package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuotaSimulate_PrintsTheFiguresOfEachScenario(t *testing.T) {
	t.Parallel()
	r := adsync(nil, "quota", "simulate", "--seconds", "20", "--output", "json", "processes: 3")
	require.Zero(t, r.code, r.stderr)
	var report struct{ Scenarios []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &report))
	require.Len(t, report.Scenarios, 4)
	for _, s := range report.Scenarios {
		for _, field := range []string{"name", "use_ratio", "refused", "overspent", "fairness_error", "convergence_seconds",
			"redis_round_trips_per_call"} {
			require.Contains(t, s, field)
		}
		require.Zero(t, s["refused"])
	}
	r = adsync(nil, "quota", "simulate", "--seconds", "20", "killed")
	require.Zero(t, r.code)
	require.Contains(t, r.stdout, "one of three killed")
	require.Equal(t, 2, strings.Count(r.stdout, "\n"))
}

func TestQuota_RefusesAWrongCommandLine(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"--seconds is 5":         {"simulate", "--seconds", "5"},
		"no scenario has":        {"simulate", "nothing like this"},
		"--output is \"xml\"":    {"drill", "--output", "xml"},
		"--limiter is \"mine\"":  {"drill", "--limiter", "mine"},
		"--parallel is 0":        {"drill", "--parallel", "0"},
		"install Redis, or name": {"drill", "--redis-server", "no-such-program"},
		"arrival_spread":         {"simulate", "--spread", "1ms"},
	} {
		r := adsync(nil, append([]string{"quota"}, args...)...)
		require.Equal(t, 2, r.code, "%v", args)
		require.Contains(t, r.stderr, want)
	}
}

package standalone

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/sqldb"
	"adsync/engine"
	"adsync/media"
	"adsync/simulator"
	"adsync/simulator/control"
	"adsync/simulator/ledger"
	"adsync/simulator/platform"
)

// testSeed is the seed of a world whose large accounts are among the smallest of their kind.
const testSeed = 395

// options run a small world once, on a port of its own.
func options(dir string, out *bytes.Buffer) Options {
	api := httpapi.DefaultConfig()
	api.Listen = "127.0.0.1:0"
	return Options{
		Accounts: 6, Seed: testSeed, DataDir: dir, Once: true, JSON: true,
		API: api, RateLimit: ratelimit.DefaultConfig(), Logger: slog.New(slog.DiscardHandler), Out: out,
	}
}

// once runs a comparison and returns what it printed.
func once(t *testing.T, change func(*Options)) (OnceReport, error) {
	t.Helper()
	var out bytes.Buffer
	o := options("", &out)
	change(&o)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	err := Run(ctx, o)
	var report OnceReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &report), "nothing but one JSON object is printed: %v", err)
	return report, err
}

func TestOnce_EveryRowEqualsTheTruth(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	report, err := once(t, func(o *Options) { o.DataDir, o.Accounts, o.USD = dir, 8, 2 })
	require.NoError(t, err)
	requireOwnDaysAndMoney(t, dir)
	requirePrivate(t, dir)
	require.Zero(t, report.Truth.Differences, "%v", report.Truth.Examples)
	require.Greater(t, report.Truth.RowsCompared, int64(1000))
	require.Greater(t, 2*report.Truth.NonzeroRows, report.Truth.RowsCompared)
	for _, run := range report.Runs {
		require.Equal(t, run.Subtasks, run.Succeeded, "%s", run.Task)
	}
	tables := []string{
		"creative_asset", "report_daily", "report_hourly", "summary_daily", "summary_hourly", "media_account",
		"account_balance", "fund_daily",
		"partner_daily", "wide_daily",
	}
	for _, p := range engine.Platforms() {
		for _, raw := range media.Tables(p) {
			tables = append(tables, raw.Name)
		}
	}
	for _, table := range tables {
		require.Positive(t, report.Truth.Tables[table].Rows, table)
	}
}

// world serves a simulator as `adsync simulate` does.
func outsideWorld(t *testing.T, accounts int) string {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Accounts: accounts, Seed: testSeed, Platforms: fewPlatforms(t)})
	require.NoError(t, err)
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	return server.URL
}

func TestOnce_KeepsWithinTheLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit   int   // calls a second of each app and endpoint
		refused int64 // of a hundred calls, at most
	}{
		"at twice the limits and more": {limit: 8, refused: 1},
		"at less than half of them":    {limit: 400, refused: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keepWithin(t, c.limit, c.refused)
		})
	}
}

// fewPlatforms returns the first two platforms, for tests for which more would only take longer.
func fewPlatforms(t *testing.T) []platform.Platform {
	t.Helper()
	few, err := simulator.Named(engine.PlatformNames()[:2])
	require.NoError(t, err)
	return few
}

// ofEach returns the total number of accounts for a number per platform.
func ofEach(n int) int { return n * len(engine.PlatformNames()) }

// keepWithin runs every task under a limit; the platform's ledger is the judge.
func keepWithin(t *testing.T, limit int, refused int64) {
	t.Helper()
	address := outsideWorld(t, 6)
	var rules []map[string]any
	for _, p := range engine.Platforms()[:2] {
		of := limit
		if slices.ContainsFunc(p.Limits(), func(r grant.Rule) bool { return r.Endpoint == "*" && !r.Each }) {
			of *= 4 // All endpoints share it.
		}
		rules = append(rules, map[string]any{"media": p.Name(), "endpoint": "*", "scope": "app", "period_seconds": 1,
			"limit": of})
	}
	require.NoError(t, control.Client{Address: address}.Post(t.Context(), "limits", map[string]any{"rules": rules}))
	report, err := once(t, func(o *Options) {
		o.Simulator = address
		o.RateLimit.ArrivalSpread = time.Second // Other tests leave this process and the world's process little CPU time.
	})
	require.NoError(t, err)
	require.Zero(t, report.Truth.Differences)

	var calls struct {
		Totals ledger.Counts `json:"totals"`
	}
	require.NoError(t, control.Client{Address: address}.Get(t.Context(), "ledger", &calls))
	require.Positive(t, calls.Totals.Calls)
	var where struct {
		Groups []map[string]any `json:"groups"`
	}
	require.NoError(t, control.Client{Address: address}.Get(t.Context(), "ledger?group=media,endpoint,account", &where))
	for _, g := range where.Groups {
		if g["refused_limit"] != 0. {
			t.Log("refused:", g)
		}
	}
	require.LessOrEqual(t, 100*calls.Totals.Refused, refused*calls.Totals.Calls)
}

func TestOnce_GoesOnWithTheSameData(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	_, err := once(t, func(o *Options) { o.DataDir, o.Platforms = dir, fewPlatforms(t) })
	require.NoError(t, err)
	testQueries(t, filepath.Join(dir, "data.db"))
	report, err := once(t, func(o *Options) { o.DataDir = dir })
	require.NoError(t, err, "a kept world has its platforms")
	require.Zero(t, report.Truth.Differences, "%v", report.Truth.Examples)

	o := options(dir, &bytes.Buffer{})
	o.Accounts = 8
	require.ErrorContains(t, Run(t.Context(), o), "with 6 accounts")

	change(t, filepath.Join(dir, "config.db"), "UPDATE cron_task SET enabled = 0")
	change(t, filepath.Join(dir, "data.db"), "UPDATE report_daily SET cost = cost + 1")
	report, err = once(t, func(o *Options) { o.DataDir = dir })
	require.ErrorIs(t, err, ErrDifferent, "what is printed is the outcome too")
	require.Positive(t, report.Truth.Differences)
}

// change changes rows of a database that no process has open.
func change(t *testing.T, database, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", sqldb.SQLiteFile(database, nil))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

func TestRun_RefusesADirectoryInUse(t *testing.T) {
	t.Parallel()
	dir, err := openDir(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, dir.close()) }()
	err = Run(t.Context(), options(dir.path, &bytes.Buffer{}))
	require.ErrorContains(t, err, "in use by another adsync")
}

func TestDataDir_KeepsItsKeyToItself(t *testing.T) {
	t.Parallel()
	dir, err := openDir(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, dir.close()) }()
	first, err := dir.box()
	require.NoError(t, err)
	sealed, err := first.Seal("token", "place")
	require.NoError(t, err)
	second, err := dir.box()
	require.NoError(t, err)
	plain, err := second.Open(sealed, "place")
	require.NoError(t, err)
	require.Equal(t, "token", plain)
	info, err := os.Stat(dir.file("secret.key"))
	require.NoError(t, err)
	require.Equal(t, "-rw-------", info.Mode().String())
}

func TestRender_IsReadable(t *testing.T) {
	t.Parallel()
	s := status{
		World: time.Date(2026, 11, 21, 4, 5, 6, 0, time.UTC),
		Media: []mediaStatus{{Name: "tulip", Ours: 123_456_780_000, Platform: 125_000_000_000, Accounts: 100, Fresh: 90,
			Late: 9, Parked: 1, OldestAge: 75 * time.Second, Calls: 50, Refused: 2, AllowedAMinute: 600}},
		Runs: []runStatus{{Task: "tulip.report_daily.account", State: "running", Total: 10, Ended: 5, Rate: 2.5},
			{Task: "tulip.adgroup.full", State: "fanning_out", Total: -1, Ended: 3}},
	}
	text := render(s)
	for _, want := range []string{"2026-11-21 12:05:06 +08:00", "123,456.78", "125,000.00", "-1.23 %", "1m15s",
		"50 (600), 2 refused", "5 of 10", "██████████░░░░░░░░░░", "3 of …"} {
		require.Contains(t, text, want)
	}
	require.Equal(t, "never", age(-1))
	require.Contains(t, plain(s), fmt.Sprintf("%d fresh, %d late, %d parked", 90, 9, 1))
}

package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/engine"
	"adsync/simulator"
	"adsync/standalone"

	"adsync/simulator/fault"
)

// alterations is how many random alterations of each kind are tried: go test ./test/e2e -run Alteration -alterations=15
// tries over 100.
var alterations = flag.Uint64("alterations", 1, "random alterations of each kind to try")

// firstSeed is a flag for trying other alterations.
var firstSeed = flag.Uint64("first-seed", 1, "seed of the first alteration of each kind")

func TestComparison_FindsEveryAlteration(t *testing.T) {
	t.Parallel()
	t.Run("none without one", func(t *testing.T) {
		t.Parallel()
		require.Zero(t, newOpenWorld(t).once(t).Truth.Differences)
	})
	for _, what := range []string{
		fault.AlterValue, fault.AlterRow, fault.AlterPage, fault.AlterAccount, fault.AlterDay, fault.AlterHour,
		fault.AlterDeletion,
	} {
		for i := range *alterations {
			seed := *firstSeed + i
			t.Run(fmt.Sprintf("%s of seed %d", what, seed), func(t *testing.T) {
				t.Parallel()
				w := newOpenWorld(t)
				altered := w.alter(t, what, seed)
				require.NotZero(t, w.once(t).Truth.Differences, "not found: %s", altered)
			})
		}
	}
}

// openWorld is a small simulated world inside the test, with limits beyond reach.
type openWorld struct {
	server *httptest.Server
}

func newOpenWorld(t *testing.T) *openWorld {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Accounts: 8, Seed: 395, Frozen: true})
	require.NoError(t, err)
	w := &openWorld{server: httptest.NewServer(sim.Handler())}
	t.Cleanup(func() {
		w.server.Close()
		require.NoError(t, sim.Close())
	})
	var rules []any
	for _, media := range engine.PlatformNames() {
		for _, scope := range []string{"app", "account"} {
			for _, seconds := range []int{1, 60} {
				rules = append(rules, map[string]any{"media": media, "endpoint": "*", "scope": scope, "period_seconds": seconds,
					"limit": 100_000})
			}
		}
	}
	status, body := call(t, http.MethodPost, w.server.URL+"/_sim/limits", map[string]any{"rules": rules})
	require.Equal(t, http.StatusOK, status, string(body))
	return w
}

// alter makes the world serve one thing differently from the truth, and returns its description.
func (w *openWorld) alter(t *testing.T, what string, seed uint64) string {
	t.Helper()
	status, body := call(t, http.MethodPost, w.server.URL+"/_sim/faults",
		map[string]any{"kind": "alter", "what": what, "seed": seed})
	require.Less(t, status, 300, string(body))
	return string(body)
}

// once pulls the whole world into empty tables and compares them with the truth.
func (w *openWorld) once(t *testing.T) standalone.OnceReport {
	t.Helper()
	api := httpapi.DefaultConfig()
	api.Listen = "127.0.0.1:0"
	var out bytes.Buffer
	err := standalone.Run(t.Context(), standalone.Options{
		Simulator: w.server.URL, Once: true, JSON: true, DataDir: t.TempDir(),
		API: api, RateLimit: ratelimit.DefaultConfig(), Logger: slog.New(slog.DiscardHandler), Out: &out,
	})
	var report standalone.OnceReport
	require.NoError(t, json.Unmarshal(out.Bytes(), &report), out.String())
	require.ErrorIs(t, err, report.Check()) // of nil: nil
	require.False(t, slices.ContainsFunc(report.Runs, func(r standalone.RunReport) bool { return r.State.Open() }))
	return report
}

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
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/httpapi"
	"adsync/base/ratelimit"
	"adsync/engine"
	"adsync/simulator"
	"adsync/standalone"

	"adsync/simulator/fault"
	"adsync/test/platforms/simclient"
)

// worlds is how many worlds are altered: go test ./test/e2e -run Alteration -worlds=9 makes every alteration on every
// platform.
var worlds = flag.Int("worlds", 1, "altered worlds to try")

// firstSeed is a flag for trying other alterations.
var firstSeed = flag.Uint64("first-seed", 1, "seed of the first world's alterations")

// In each world every platform has an alteration of another kind. One of them has none.
func TestComparison_FindsEveryAlteration(t *testing.T) {
	t.Parallel()
	kinds := []string{
		"", fault.AlterValue, fault.AlterRow, fault.AlterPage, fault.AlterAccount, fault.AlterDay, fault.AlterHour,
		fault.AlterUnit, fault.AlterDeletion,
	}
	for i := range *worlds {
		t.Run(fmt.Sprintf("world %d", i+1), func(t *testing.T) {
			t.Parallel()
			w := newOpenWorld(t)
			altered := map[string]string{}
			for at, media := range engine.PlatformNames() {
				// In as many worlds as there are kinds, each platform has each of them once.
				if what := kinds[(at*2+i*5)%len(kinds)]; what != "" {
					altered[media] = w.alter(t, media, what, *firstSeed+uint64(i))
				}
			}
			found := map[string]int64{}
			for table, report := range w.once(t).Truth.Tables {
				media, _, _ := strings.Cut(table, "_")
				found[media] += report.Differences
			}
			for _, media := range engine.PlatformNames() {
				require.Equal(t, altered[media] != "", found[media] > 0, "%s has %d differences: %s", media, found[media],
					altered[media])
			}
		})
	}
}

// openWorld is a small simulated world inside the test, with limits beyond reach.
type openWorld struct {
	server *httptest.Server
}

func newOpenWorld(t *testing.T) *openWorld {
	t.Helper()
	sim, err := simulator.New(simulator.Config{Accounts: simclient.OfEach(2), Seed: 721, Frozen: true})
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
	status, body := call(t, http.MethodGet, w.server.URL+"/_sim/limits", nil)
	require.Equal(t, http.StatusOK, status, string(body))
	var told struct {
		Assumed map[string]map[string]int `json:"assumed"`
	}
	require.NoError(t, json.Unmarshal(body, &told))
	atOnce := map[string]any{}
	for media, assumed := range told.Assumed {
		if _, ok := assumed["task_polls"]; ok { // A file that is not believed is created repeatedly.
			atOnce[media] = map[string]any{"task_polls": 0}
		}
	}
	status, body = call(t, http.MethodPost, w.server.URL+"/_sim/limits", map[string]any{"rules": rules,
		"assumed": atOnce})
	require.Equal(t, http.StatusOK, status, string(body))
	return w
}

// alter makes a platform serve one thing differently from the truth, and returns its description.
func (w *openWorld) alter(t *testing.T, media, what string, seed uint64) string {
	t.Helper()
	status, body := call(t, http.MethodPost, w.server.URL+"/_sim/faults",
		map[string]any{"kind": "alter", "media": media, "what": what, "seed": seed})
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

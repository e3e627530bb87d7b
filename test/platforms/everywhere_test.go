package platforms_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"adsync/docs"
	"adsync/engine"
	"adsync/simulator"
	"adsync/standalone/verify"
	"adsync/test/compose"
	"adsync/upkeep"
)

// A platform that one of these does not know is not simulated, not compared, not scaled, or answered with what its description has no word for.
func TestPlatforms_AreKnownEverywhere(t *testing.T) {
	t.Parallel()
	names := engine.PlatformNames()
	sim, err := simulator.New(simulator.Config{Accounts: len(names), Frozen: true})
	require.NoError(t, err)
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	var index struct{ Media []string }
	require.NoError(t, json.Unmarshal(world{address: server.URL}.get(t, "", nil), &index))
	require.ElementsMatch(t, names, index.Media, "simulator/spec.go: platforms")
	require.ElementsMatch(t, names, verify.Platforms(), "standalone/verify/spec.go: worlds")
	require.ElementsMatch(t, names, compose.Platforms, "test/compose/figures.go: Platforms")

	var api struct {
		Components struct {
			Schemas map[string]struct{ Enum []string }
		}
	}
	require.NoError(t, yaml.Unmarshal(docs.OpenAPI, &api))
	require.ElementsMatch(t, names, api.Components.Schemas["Media"].Enum, "docs/openapi.yaml: components.schemas.Media")

	text, err := os.ReadFile("../../deploy/helm/adsync/values.yaml")
	require.NoError(t, err)
	var values struct {
		Keda struct{ Medias []string }
	}
	require.NoError(t, yaml.Unmarshal(text, &values))
	require.ElementsMatch(t, slices.Concat(names, []string{upkeep.Name}), values.Keda.Medias, "deploy/helm/adsync/values.yaml: keda.medias")
}

package platforms_test

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/engine"
	"adsync/simulator"
	"adsync/standalone/verify"
	"adsync/test/platforms/simclient"
	"adsync/upkeep"
)

// A platform that is missing from one of these lists is not simulated, compared or scaled.
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
	require.NoError(t, json.Unmarshal(simclient.World{Address: server.URL}.Get(t, "", nil), &index))
	require.ElementsMatch(t, names, index.Media, "simulator/platforms.go")
	require.ElementsMatch(t, names, verify.Platforms(), "standalone/verify/platforms.go")

	text, err := os.ReadFile("../../deploy/helm/adsync/medias.txt")
	require.NoError(t, err)
	require.ElementsMatch(t, slices.Concat(names, []string{upkeep.Name}), strings.Fields(string(text)),
		"deploy/helm/adsync/medias.txt: run make generate")
}

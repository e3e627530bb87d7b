// Package simulated_test tests the platform's package against its simulated platform.
package simulated_test

import (
	"testing"
	"time"

	"adsync/base/store/results"
	"adsync/media/oceanengine"
	"adsync/simulator"
	"adsync/test/platforms/simclient"

	"github.com/stretchr/testify/require"
)

// The rows have an ad's audience, and its changes are logged.
func TestAudience_IsPulledAndItsChangesAreLogged(t *testing.T) {
	t.Parallel()
	x := simclient.NewPuller(t, oceanengine.New(), simulator.Config{Accounts: simclient.OfEach(5), Seed: 1})
	pull := func() { x.Pull(t, "project", 1, "full", `{"mode":"full"}`) }
	pull()
	var rows, aimed int
	const query = "SELECT COUNT(*), COUNT(CASE WHEN JSON_EXTRACT(row_json, ?) = ? THEN 1 END) FROM oceanengine_project"
	require.NoError(t, x.Store.Data.Writer(t.Context()).Raw(query, "$.audience.city[0]", 11).Row().Scan(&rows, &aimed))
	require.Positive(t, rows)
	require.Equal(t, rows, aimed)

	// In this world an audience changes within the next day.
	x.World.Order(t, "clock", map[string]any{"now": x.Server.Today.Add(1).Start(simclient.Zone).Add(14 * time.Hour)})
	pull()
	changes, err := x.Store.ConfigChanges(t.Context(), results.ChangeFilter{AccountID: 1, Field: "audience"},
		results.ConfigChange{}, 10)
	require.NoError(t, err)
	require.NotEmpty(t, changes)
	require.Equal(t, "campaign", changes[0].Level)
	require.NotEqual(t, changes[0].Before, changes[0].After)
}

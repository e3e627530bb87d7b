package platforms_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/results"
	"adsync/simulator"
)

// Whom an ad is shown to stands in the rows, and a change of it among the changes.
func TestAudience_IsPulledAndItsChangesAreTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		platform, list, table, field string
		level, part                  string
		region                       int
	}{
		{"tencent", "adgroup", "tencent_adgroup", "targeting", "adgroup", "$.targeting.geo_location.regions[0]", 110_000},
		{"oceanengine", "project", "oceanengine_project", "audience", "campaign", "$.audience.city[0]", 11},
	} {
		t.Run(c.platform, func(t *testing.T) {
			t.Parallel()
			x := newTrapped(t, listed(t, c.platform), simulator.Config{Accounts: ofEach(5), Seed: 1})
			pull := func() { x.pull(t, c.list, 1, "full", `{"mode":"full"}`) }
			pull()
			db := x.store.Data.Writer(t.Context())
			var rows, aimed int
			query := "SELECT COUNT(*), COUNT(CASE WHEN JSON_EXTRACT(row_json, ?) = ? THEN 1 END) FROM " + c.table
			require.NoError(t, db.Raw(query, c.part, c.region).Row().Scan(&rows, &aimed))
			require.Positive(t, rows)
			require.Equal(t, rows, aimed)

			// In this world something is aimed anew within the next day.
			x.world.order(t, "clock", map[string]any{"now": x.server.Today.Add(1).Start(zone).Add(14 * time.Hour)})
			pull()
			changes, err := x.store.ConfigChanges(t.Context(), results.ChangeFilter{AccountID: 1, Field: c.field}, results.ConfigChange{}, 10)
			require.NoError(t, err)
			require.NotEmpty(t, changes)
			require.Equal(t, c.level, changes[0].Level)
			require.NotEqual(t, changes[0].Before, changes[0].After)
		})
	}
}

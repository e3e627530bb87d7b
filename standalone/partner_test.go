package standalone

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/copies"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
)

func TestSources_OneOfTheSimulatedWorldsNameIsRefused(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Options{Sources: copies.SourcesConfig{"simulated": {}}})
	require.EqualError(t, err, "sources.simulated: rename it: this is the simulated world's own source")
}

// A copy of the user's is left alone.
func TestSeedPartnerCopy_TakesAFreeName(t *testing.T) {
	t.Parallel()
	s := &stack{store: storetest.New(t)}
	own := copies.TableCopy{Name: "partner", Source: "erp", SourceTable: "orders", KeyColumns: "id", Enabled: true}
	require.NoError(t, s.store.PutTableCopy(t.Context(), settings.Editor{}, own.Name, func(c *copies.TableCopy) error {
		*c = own
		return nil
	}))
	seeded := copies.TableCopy{Name: "partner_", Source: "simulated", SourceTable: "partner_daily", Into: "partner_daily",
		KeyColumns: "id", CursorColumn: "updated_at", OverlapSeconds: 900, Enabled: true}
	for range 2 {
		require.NoError(t, s.seedPartnerCopy(t.Context()))
		all, err := s.store.TableCopies(t.Context())
		require.NoError(t, err)
		require.Equal(t, []copies.TableCopy{own, seeded}, all)
	}
}

package standalone

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/store/storetest"
)

func TestSeedReports_TakesARelativeDataDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := openDir("data")
	require.NoError(t, err)
	defer func() { require.NoError(t, dir.close()) }()
	s := &stack{dir: dir, store: storetest.NewSQLite(t), world: &world{clock: clock.System{}}}
	require.NoError(t, s.seedReports(t.Context()))

	d, err := s.store.Destination(t.Context(), sampleDestination)
	require.NoError(t, err)
	here, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "data", reportsDir), d.Address)
	require.DirExists(t, d.Address)
	subscriptions, err := s.store.AllSubscriptions(t.Context())
	require.NoError(t, err)
	require.Len(t, subscriptions, len(Samples))
}

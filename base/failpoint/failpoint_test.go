//go:build chaos

package failpoint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/failpoint"
)

func TestHit_StrikesOnceAfterTheGivenPasses(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ADSYNC_FAILPOINTS", dir)
	struck := func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "struck"))
		return string(text)
	}
	failpoint.Hit("a.point")
	require.Empty(t, struck(), "not armed")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.point"), []byte("wait 1ms after=2\n"), 0o600))
	failpoint.Hit("another.point")
	failpoint.Hit("a.point")
	failpoint.Hit("a.point")
	require.Empty(t, struck(), "two passes are skipped")
	failpoint.Hit("a.point")
	require.Equal(t, "a.point\n", struck())
	failpoint.Hit("a.point")
	require.Equal(t, "a.point\n", struck(), "it strikes once")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.point"), []byte("panic"), 0o600))
	require.PanicsWithValue(t, "the failpoint a.point", func() { failpoint.Hit("a.point") })
	failpoint.Hit("a.point")
}

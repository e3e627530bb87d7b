package place_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/place"
)

func TestDir_FollowsNoLinkOutOfTheDirectory(t *testing.T) {
	t.Parallel()
	dir, other := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(other, filepath.Join(dir, "out")))
	p, err := place.Open(t.Context(), place.Config{Kind: place.KindDir, Address: dir})
	require.NoError(t, err)
	_, err = p.Upload(t.Context(), file("out/sales.csv", 1, "x"), noKeep)
	require.ErrorContains(t, err, filepath.Join(dir, "out"))
	entries, err := os.ReadDir(other)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestPlace_RefusesNamesThatAreNoFiles(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"dir", "sftp"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, kind)
			p := r.open(t)
			r.write("a/b.csv", "x")
			_, _, err := p.Visible(t.Context(), file("a", 1, "x"))
			require.True(t, place.Refused(err), "%v", err)
			err = p.Delete(t.Context(), "a")
			require.True(t, place.Refused(err), "%v", err)
			_, err = p.Upload(t.Context(), file("a/b.csv/c.csv", 1, "x"), noKeep)
			require.Error(t, err)
			require.Equal(t, []string{"a/b.csv"}, r.files())
		})
	}
}

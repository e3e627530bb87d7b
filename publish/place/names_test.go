package place_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/place"
)

func TestNames_HasTheVisibleFilesOfADirectory(t *testing.T) {
	t.Parallel()
	each(t, func(r *rig) {
		t := r.t
		p := r.open(t)
		for _, dir := range []string{"", "backups", "no/such"} {
			names, err := p.Names(t.Context(), dir)
			require.NoError(t, err)
			require.Empty(t, names)
		}
		r.write("backups/b.gz", "1")
		r.write("backups/销售.gz", "2")
		r.write("backups/a.gz", "3")
		r.write("backups/below/c.gz", "4")
		r.write("backups.gz", "5")
		upload(t, p, file("backups/d.gz", 1, "6"))
		names, err := p.Names(t.Context(), "backups")
		require.NoError(t, err)
		require.Equal(t, []string{"a.gz", "b.gz", "销售.gz"}, names)
		names, err = p.Names(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, []string{"backups.gz"}, names)
		_, err = p.Names(t.Context(), "../backups")
		require.True(t, place.Refused(err))
	})
}

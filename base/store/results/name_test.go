package results_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/store/storetest"
)

func TestWriteNames_KeepsEachNameSinceItHeld(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	count := func(where string) (n int) {
		require.NoError(t, s.Data.Writer(t.Context()).Raw("SELECT COUNT(*) FROM "+where).Row().Scan(&n))
		return n
	}
	write := func(names map[string]string) {
		require.NoError(t, s.WriteNames(t.Context(), "tenth", 7, "adgroup", names))
	}
	write(nil)
	write(map[string]string{"11": "Sunny", "12": "Rainy"})
	write(map[string]string{"11": "Sunny"})
	require.Equal(t, 2, count("object_name"), "an unchanged name has no second row")
	write(map[string]string{"11": "Windy"})
	write(map[string]string{"11": "Sunny"})
	require.Equal(t, 3, count("object_name WHERE object_id = '11'"), "also within a millisecond")
	require.Equal(t, 1, count("object_name WHERE object_id = '11' AND name = 'Sunny' AND since ="+
		" (SELECT MAX(since) FROM object_name WHERE object_id = '11')"))
	require.Equal(t, 1, count("wide_day WHERE account_id = 7"), "the wide table follows")
}

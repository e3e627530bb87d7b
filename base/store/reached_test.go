package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/store/storetest"
)

func TestReached_CountsThoseWhoReachRedis(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	now, last, err := s.OtherReached(t.Context(), "a", time.Minute)
	require.NoError(t, err)
	require.False(t, now)
	require.Zero(t, last, "nobody ever did")
	for i, process := range []string{"a", "b", "a", "c"} {
		members, err := s.Reached(t.Context(), process)
		require.NoError(t, err)
		require.Equal(t, []int{1, 2, 2, 3}[i], members)
	}
	now, last, err = s.OtherReached(t.Context(), "a", time.Minute)
	require.NoError(t, err)
	require.True(t, now)
	require.Equal(t, 2, last, "itself is no other")

	// One that ended some time before Redis was reached last had no part; those that reached it last had, however long ago.
	old := func(process string, ago string) {
		require.NoError(t, s.Data.Writer(t.Context()).Exec("UPDATE redis_reached SET seen_at = ? WHERE process = ?", ago, process).Error)
	}
	moment, err := s.Data.Now(t.Context())
	require.NoError(t, err)
	at := func(ago time.Duration) string { return moment.Add(-ago).Format("2006-01-02 15:04:05.000") }
	old("a", at(10*time.Minute))
	old("b", at(10*time.Minute+2*time.Second))
	old("c", at(11*time.Minute))
	now, last, err = s.OtherReached(t.Context(), "d", time.Minute)
	require.NoError(t, err)
	require.False(t, now)
	require.Equal(t, 2, last)
	members, err := s.Reached(t.Context(), "d")
	require.NoError(t, err)
	require.Equal(t, 1, members)
}

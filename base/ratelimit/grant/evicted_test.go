package grant

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Redis that is short of memory evicts single keys under most policies (maxmemory-policy).
func TestShared_AnEvictedCalendarIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		key  Key
	}{
		{"moments", Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Second, Limit: 10, Share: 1}},
		{"a burst", Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Hour, Limit: 40, Share: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all, client, _ := ledgers(t, 1)
			first, err := all[0].Request(t.Context(), "m", some(100, tt.key))
			require.NoError(t, err)
			require.NotEmpty(t, first.Wants[0].Starts)
			require.NoError(t, client.Del(t.Context(), all[0].name(tt.key, "granted")).Err())
			second, err := all[0].Request(t.Context(), "m", some(100, tt.key))
			require.NoError(t, err)
			require.Empty(t, second.Wants[0].Starts, "everything until the horizon is already granted")
		})
	}
}

func TestShared_WithoutTheLastMomentsNothingIsGrantedWithinTheHorizon(t *testing.T) {
	t.Parallel()
	all, client, keys := ledgers(t, 1)
	a := some(5, Key{Media: "m", Endpoint: "x", Scope: ScopePlatform, Period: time.Second, Limit: 50, Share: 1})
	require.NoError(t, client.Del(t.Context(), keys.Of("m", "last")).Err())
	got, err := all[0].Request(t.Context(), "m", a)
	require.NoError(t, err)
	require.Empty(t, got.Wants[0].Starts)
	require.InDelta(t, horizon, got.Wants[0].Opens, horizon/10)
}

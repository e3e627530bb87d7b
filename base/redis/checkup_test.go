package redis_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/checkup"
	"adsync/base/redis"
	"adsync/base/redis/redistest"
)

func TestCheckUp_NamesProblems(t *testing.T) {
	t.Parallel()
	client, keys := redistest.New(t)
	if os.Getenv(redistest.Env) == "" {
		t.Skip("needs a server with users and settings")
	}
	own := []string{"~" + keys.Prefix() + ":*", "&" + keys.Prefix() + ":*", "+@read", "+@write", "+@scripting",
		"+@connection", "+@pubsub", "+time"}
	states := func(rights ...string) map[string]checkup.State {
		found := map[string]checkup.State{}
		for _, f := range redis.CheckUp(t.Context(), redistest.As(t, client, rights...), keys) {
			require.Equal(t, "redis", f.Server)
			require.NotContains(t, f.Detail+f.Remedy, "hunter2")
			found[f.Check] = f.State
		}
		return found
	}
	require.Equal(t, map[string]checkup.State{"reached": checkup.OK, "rights": checkup.OK, "maxmemory-policy": checkup.OK},
		states(append(own, "+info")...))
	require.Equal(t, map[string]checkup.State{"reached": checkup.OK, "rights": checkup.Fault,
		"maxmemory-policy": checkup.Skipped}, states(own...))
	require.Equal(t, map[string]checkup.State{"reached": checkup.OK, "rights": checkup.Fault,
		"maxmemory-policy": checkup.OK}, states("+@all", "allkeys"))

	policy, err := redis.EvictionPolicy(t.Context(), client)
	require.NoError(t, err)
	require.Equal(t, "noeviction", policy)
	require.NoError(t, client.Close())
	require.Equal(t, checkup.Fault, redis.CheckUp(t.Context(), client, keys)[0].State)
}

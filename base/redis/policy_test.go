package redis

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adsync/base/checkup"
)

func TestCheckUp_WarnsOfAPolicyThatEvictsKeys(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string]checkup.State{
		"noeviction": checkup.OK, "allkeys-random": checkup.Warning, "volatile-lru": checkup.Warning, "": checkup.OK,
	} {
		m := miniredis.RunT(t)
		m.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
			if cmd != "INFO" {
				return false
			}
			c.WriteBulk("# Memory\r\nused_memory:1\r\nmaxmemory_policy:" + policy + "\r\nmaxmemory:0\r\n")
			return true
		})
		client := goredis.NewClient(&goredis.Options{Addr: m.Addr()})
		found := CheckUp(t.Context(), client, NewKeys("adsync"))
		require.Equal(t, "maxmemory-policy", found[2].Check)
		require.Equal(t, want, found[2].State, policy)
		require.NoError(t, client.Close())
	}
}

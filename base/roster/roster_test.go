package roster_test

import (
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"adsync/base/redis"
	"adsync/base/redis/redistest"
	"adsync/base/roster"
)

func process(id string) roster.Process {
	return roster.Process{
		ID: id, Node: "node", Version: "v1", Commit: "c", StartedAt: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
		Pools: []roster.Pool{{Media: "tulip", Lane: "normal", Running: 3, Capacity: 32, Limited: 1, Partitions: []int{0, 2}}},
	}
}

func ids(t *testing.T, r *roster.Roster) (all []string) {
	t.Helper()
	list, err := r.List(t.Context())
	require.NoError(t, err)
	for _, p := range list {
		all = append(all, p.ID)
	}
	return all
}

func TestRoster_ListsReports(t *testing.T) {
	t.Parallel()
	client, keys := redistest.New(t)
	one, other := roster.New(client, keys), roster.New(client, keys)
	require.Empty(t, ids(t, one))
	require.NoError(t, one.Report(t.Context(), process("b")))
	require.NoError(t, one.Report(t.Context(), process("a")))
	require.Equal(t, []string{"a", "b"}, ids(t, other))
	list, err := other.List(t.Context())
	require.NoError(t, err)
	require.Less(t, list[0].Age, roster.Life)
	list[0].Age = 0
	require.Equal(t, process("a"), list[0])
	require.NoError(t, other.Leave(t.Context(), "a"))
	require.Equal(t, []string{"b"}, ids(t, one))

	require.Empty(t, ids(t, roster.New(client, redis.NewKeys(keys.Prefix()+":another"))),
		"another deployment's are not ours")
	require.NoError(t, client.HSet(t.Context(), keys.Of("roster", "consumers"), "later", "another format").Err())
	require.Equal(t, []string{"b"}, ids(t, one))
}

func TestRoster_ForgetsTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.NewVirtual(t)
		client := server.Client(t)
		keys := redis.NewKeys("test")
		r := roster.New(client, keys)
		require.NoError(t, r.Report(t.Context(), process("dead")))
		for range 3 {
			time.Sleep(roster.Interval)
			require.NoError(t, r.Report(t.Context(), process("alive")))
		}
		require.Equal(t, []string{"alive", "dead"}, ids(t, r), "it may have been delayed")
		list, err := r.List(t.Context())
		require.NoError(t, err)
		require.Zero(t, list[0].Age)
		require.Equal(t, roster.Life, list[1].Age)
		time.Sleep(time.Second)
		require.Equal(t, []string{"alive"}, ids(t, r))

		for range 125 { // over ten minutes
			time.Sleep(roster.Interval)
			require.NoError(t, r.Report(t.Context(), process("alive")))
		}
		require.Equal(t, []string{"alive"}, ids(t, r))
		require.EqualValues(t, 1, client.HLen(t.Context(), keys.Of("roster", "consumers")).Val(),
			"nothing is kept of dead processes permanently")
		time.Sleep(time.Hour)
		require.ErrorIs(t, client.Get(t.Context(), keys.Of("roster", "consumers")).Err(), goredis.Nil)
	})
}

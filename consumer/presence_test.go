package consumer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/broker"
	"adsync/base/redis"
	"adsync/base/redis/redistest"
	"adsync/base/roster"
	"adsync/media"
)

func TestConsumer_TellsTheRosterWhatItDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redistest.NewVirtual(t)
		client := server.Client(t)
		book := roster.New(client, redis.NewKeys("test"))
		release := make(chan struct{})
		c, s, k := newFaked(t, handler("acme.report", func(context.Context, media.Work) (media.Result, error) {
			<-release
			return media.Result{}, nil
		}))
		c.deps.Roster = book
		require.NoError(t, c.Start(t.Context()))
		list := func() []roster.Process {
			all, err := book.List(t.Context())
			require.NoError(t, err)
			return all
		}
		end := k.member(acmeNormal).assigned.begin(t.Context(),
			[]broker.Assignment{{Topic: "t", Partition: 3, Committed: 1}, {Topic: "t", Partition: 0, Committed: 1}})
		k.member(acmeNormal).deliver(message(s.wants(envelope(1)), ""))
		time.Sleep(roster.Interval + time.Millisecond)
		all := list()
		require.Len(t, all, 1)
		require.Equal(t, "n1", all[0].Node)
		require.NotEmpty(t, all[0].Version)
		require.Less(t, all[0].Age, time.Second)
		require.Equal(t, []roster.Pool{{Media: "acme", Lane: "normal", Running: 1, Capacity: 4, Partitions: []int{0, 3}}},
			all[0].Pools)

		close(release)
		end(t.Context())
		server.Mini.SetError("LOADING")
		time.Sleep(roster.Life)
		server.Mini.SetError("")
		time.Sleep(roster.Interval)
		require.Equal(t, []roster.Pool{{Media: "acme", Lane: "normal", Capacity: 4, Partitions: []int{}}}, list()[0].Pools,
			"it is back when Redis is")
		c.Stop()
		require.Empty(t, list(), "who stops leaves")
	})
}

package overview_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/client"
	"adsync/producer/overview"
)

func TestCache_OneReadServesAllViewers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		c := overview.NewCache(func(context.Context) overview.Overview {
			reads++
			<-time.After(time.Second)
			return overview.Overview{Overview: client.Overview{At: time.Now()}}
		})
		var viewers sync.WaitGroup
		for range 50 {
			viewers.Go(func() { require.False(t, c.Get(t.Context()).At.IsZero()) })
		}
		viewers.Wait()
		require.Equal(t, 1, reads)

		<-time.After(19 * time.Second)
		c.Get(t.Context())
		require.Equal(t, 1, reads, "a read that took a second is not repeated within 20")
		<-time.After(time.Second)
		c.Get(t.Context())
		require.Equal(t, 2, reads)
	})
}

func TestCache_AViewerWhoHangsUpEndsNoRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := overview.NewCache(func(ctx context.Context) overview.Overview {
			select {
			case <-ctx.Done():
				return overview.Overview{}
			case <-time.After(time.Second):
				return overview.Overview{Overview: client.Overview{At: time.Now()}}
			}
		})
		ctx, hangUp := context.WithCancel(t.Context())
		go c.Get(ctx)
		synctest.Wait()
		hangUp()
		require.False(t, c.Get(t.Context()).At.IsZero())
	})
}

func TestCache_KeepsTheLastFiguresWhileTheTablesAreUnreadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var away, hangs atomic.Bool
		c := overview.NewCache(func(context.Context) overview.Overview {
			if hangs.Load() {
				<-time.After(time.Minute)
			}
			if away.Load() {
				return overview.Overview{Overview: client.Overview{Troubles: []client.Trouble{{What: "tables", Why: "gone"}},
					Limits: []client.LimitOverview{{Media: "now"}}}}
			}
			return overview.Overview{Overview: client.Overview{At: time.Now(), Media: []client.MediaOverview{{Name: "tulip"}},
				Limits: []client.LimitOverview{{Media: "then"}}}}
		})
		first := c.Get(t.Context())
		away.Store(true)
		<-time.After(overview.AgeMin)
		o := c.Get(t.Context())
		require.Equal(t, []client.Trouble{{What: "tables", Why: "gone"}}, o.Troubles)
		require.Equal(t, first.At, o.At, "they come with their moment")
		require.Equal(t, first.Media, o.Media)
		require.Equal(t, "now", o.Limits[0].Media, "the limits could be read")

		hangs.Store(true)
		<-time.After(overview.AgeMin)
		began := time.Now()
		o = c.Get(t.Context())
		require.Equal(t, 3*time.Second, time.Since(began), "a viewer waits for at most 3 s")
		require.Equal(t, first.At, o.At)
		require.NotEmpty(t, o.Troubles)
		hangs.Store(false)
		away.Store(false)
		<-time.After(2 * time.Minute)
		o = c.Get(t.Context())
		require.Empty(t, o.Troubles)
		require.True(t, o.At.After(first.At))
	})
}

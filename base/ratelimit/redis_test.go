package ratelimit

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/redis"
	"adsync/base/redis/redistest"
)

var quiet = slog.New(slog.DiscardHandler)

func newRedis(t testing.TB) (*Redis, goredis.UniversalClient, redis.Keys) {
	t.Helper()
	client, keys := redistest.New(t)
	return NewRedis(client, keys, testSpread, quiet), client, keys
}

// A day's limit of 1000: 950 are allowed, 47 at once, and the next a minute and a half later, so that tests on a real clock
// are not in a hurry.
var perDay = Key{Media: "m", Endpoint: "*", Scope: ScopeApp, Subject: "1", Period: 24 * time.Hour, Limit: 1000, Share: 0.95}

const perDayBurst = 47

func TestRedis_GrantsWhatIsThereAndTellsWhenToComeBack(t *testing.T) {
	t.Parallel()
	r, client, keys := newRedis(t)
	ctx := t.Context()

	g, err := r.Take(ctx, []Key{perDay}, 40)
	require.NoError(t, err)
	require.Equal(t, 40, g.N)
	require.Len(t, g.Delays, 40)
	require.Zero(t, g.RetryAfter, "seven are left")
	require.Zero(t, g.By)

	g, err = r.Take(ctx, []Key{perDay}, 40)
	require.NoError(t, err)
	require.Equal(t, perDayBurst-40, g.N, "the rest is granted, not hidden")
	require.Equal(t, perDay, g.By)
	every := microseconds(paceOf(perDay, testSpread, 1).every)
	require.InDelta(t, every, g.RetryAfter, float64(every/10))

	g, err = r.Take(ctx, []Key{perDay}, 1)
	require.NoError(t, err)
	require.Zero(t, g.N)

	names, err := client.Keys(ctx, keys.Prefix()+":*").Result()
	require.NoError(t, err)
	require.Len(t, names, 2, "a pace and a count")
	for _, name := range names {
		require.Contains(t, name, "{m}", "a cluster keeps all keys of a media together")
		ttl, err := client.PTTL(ctx, name).Result()
		require.NoError(t, err)
		require.Positive(t, ttl, "%s would stay for ever", name)
	}
}

func TestRedis_TakesUnderAllKeysOrNone(t *testing.T) {
	t.Parallel()
	r, _, _ := newRedis(t)
	ctx := t.Context()
	account := perDay
	account.Scope, account.Limit = ScopeAccount, 1

	g, err := r.Take(ctx, []Key{perDay, account}, 5)
	require.NoError(t, err)
	require.Equal(t, 1, g.N)
	require.Equal(t, account, g.By)
	for range 100 {
		g, err = r.Take(ctx, []Key{perDay, account}, 5)
		require.NoError(t, err)
		require.Zero(t, g.N)
	}
	g, err = r.Take(ctx, []Key{perDay}, TakeMax)
	require.NoError(t, err)
	require.Equal(t, perDayBurst-1, g.N, "calls refused for the account cost the app nothing")
}

func TestRedis_ConcurrentTakersShareOneLedger(t *testing.T) {
	t.Parallel()
	client, keys := redistest.New(t)
	ctx := t.Context()
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		r := NewRedis(client, keys, testSpread, quiet)
		for range 4 {
			wg.Go(func() {
				for range 10 {
					if g, err := r.Take(ctx, []Key{perDay}, 2); err == nil {
						granted.Add(int64(g.N))
					}
				}
			})
		}
	}
	wg.Wait()
	require.EqualValues(t, perDayBurst, granted.Load())
}

func TestRedis_Pause(t *testing.T) {
	t.Parallel()
	r, _, _ := newRedis(t)
	ctx := t.Context()
	point := pausePoint(Call{Media: "m", Endpoint: "x", App: "1"}, ScopeApp)
	take := func() Grant {
		g, err := r.Take(ctx, []Key{perDay, point}, 1)
		require.NoError(t, err)
		return g
	}
	require.Equal(t, 1, take().N)

	require.NoError(t, r.Pause(ctx, point, time.Hour))
	require.NoError(t, r.Pause(ctx, point, time.Minute), "a shorter pause")
	g := take()
	require.Zero(t, g.N)
	require.Equal(t, point, g.By)
	require.InDelta(t, time.Hour, g.RetryAfter, float64(time.Minute), "does not shorten the longer one")

	require.NoError(t, r.Pause(ctx, point, 0))
	require.Equal(t, 1, take().N)
	require.NoError(t, r.Pause(ctx, point, 1000*time.Hour))
	require.LessOrEqual(t, take().RetryAfter, PauseMax)
}

func TestRedis_EdgesOfTake(t *testing.T) {
	t.Parallel()
	spread := testSpread
	r, _, _ := newRedis(t)
	for name, l := range map[string]Limiter{"redis": r, "local": NewLocal(spread, 1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			g, err := l.Take(ctx, nil, 3)
			require.NoError(t, err)
			require.Equal(t, 3, g.N, "nothing limits it")
			require.Len(t, g.Delays, 3)
			for _, n := range []int{0, -5} {
				g, err = l.Take(ctx, []Key{perDay}, n)
				require.NoError(t, err)
				require.Zero(t, g.N)
			}
			other := perDay
			other.Media = "other"
			_, err = l.Take(ctx, []Key{perDay, other}, 1)
			require.ErrorIs(t, err, errMixedMedia)

			point := Key{Media: "m", Scope: ScopePlatform}
			g, err = l.Take(ctx, []Key{point}, TakeMax+5)
			require.NoError(t, err)
			require.Equal(t, TakeMax, g.N)

			cancelled, cancel := context.WithCancel(ctx)
			cancel()
			_, err = l.Take(cancelled, []Key{perDay}, 1)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

// The script and its twin in Go must decide alike, so that what is proven of the one holds for the other.
func TestRedis_ScriptDecidesAsGrantDoes(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := goredis.NewClient(&goredis.Options{Addr: m.Addr()})
	t.Cleanup(func() { _ = client.Close() })
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
		r := NewRedis(client, redis.NewKeys(fmt.Sprint("run", run)), testSpread, quiet)
		var keys []Key
		for i := range rapid.IntRange(1, 3).Draw(rt, "keys") {
			keys = append(keys, drawKey(rt, i, 1))
		}
		if rapid.Bool().Draw(rt, "with a pause point") {
			keys = append(keys, Key{Media: "m", Scope: ScopePlatform})
		}
		ready := make([]int64, len(keys))
		paces := make([]pace, len(keys))
		for range rapid.IntRange(1, 20).Draw(rt, "asks") {
			now = now.Add(microseconds(step(rt)))
			m.SetTime(now)
			for i := range keys {
				if keys[i].Limit > 0 && rapid.IntRange(0, 9).Draw(rt, "edit") == 0 {
					keys[i].Limit = rapid.IntRange(1, 90).Draw(rt, "edited")
				}
				paces[i] = paceOf(keys[i], testSpread, 1)
			}
			last := len(keys) - 1
			if keys[last].Limit == 0 && rapid.IntRange(0, 9).Draw(rt, "pause") == 0 {
				d := step(rt)
				require.NoError(rt, r.Pause(context.Background(), keys[last], microseconds(d)))
				ready[last] = max(ready[last], now.UnixMicro()+d)
				if d == 0 {
					ready[last] = 0
				}
			}
			n := rapid.IntRange(1, 50).Draw(rt, "n")
			before := append([]int64(nil), ready...)
			delays, retry, by := grant(now.UnixMicro(), ready, paces, n)
			if len(delays) == 0 {
				copy(ready, before) // The script writes nothing when it grants nothing.
			}
			names, args := make([]string, len(keys)), []any{n, lookahead.Microseconds()}
			for i, k := range keys {
				names[i] = r.name(k)
				args = append(args, paces[i].every, paces[i].tolerance)
			}
			got, err := takeScript.Run(context.Background(), client, names, args...).Int64Slice()
			require.NoError(rt, err)
			require.Equal(rt, append([]int64{retry, int64(by + 1)}, delays...), got)
		}
	})
}

func TestRedis_ACountWithoutExpiryIsStartedAnew(t *testing.T) {
	t.Parallel()
	client, keys := redistest.New(t)
	var out bytes.Buffer
	r := NewRedis(client, keys, testSpread, slog.New(slog.NewTextHandler(&out, nil)))
	ctx := t.Context()
	require.NoError(t, client.Set(ctx, keys.Of("m", perDay.parts("count")...), 5000, 0).Err())

	g, err := r.Take(ctx, []Key{perDay}, 1)
	require.NoError(t, err)
	require.Equal(t, 1, g.N, "a key that never expires must not stop an app for ever")
	require.Contains(t, out.String(), "lost its expiry")
}

func TestRedis_AFullCountHoldsBackUntilItsWindowEnds(t *testing.T) {
	t.Parallel()
	r, client, keys := newRedis(t)
	ctx := t.Context()
	require.NoError(t, client.Set(ctx, keys.Of("m", perDay.parts("count")...), 1000, time.Hour).Err())

	g, err := r.Take(ctx, []Key{perDay}, 1)
	require.NoError(t, err)
	require.Zero(t, g.N, "the limit was lowered to what the window holds already")
	require.Equal(t, perDay, g.By)
	require.InDelta(t, time.Hour, g.RetryAfter, float64(time.Minute))
}

func TestRedis_SurvivesALossOfItsScripts(t *testing.T) {
	t.Parallel()
	r, client, _ := newRedis(t)
	ctx := t.Context()
	for range 2 {
		g, err := r.Take(ctx, []Key{perDay}, 1)
		require.NoError(t, err)
		require.Equal(t, 1, g.N)
		require.NoError(t, client.ScriptFlush(ctx).Err())
	}
}

func BenchmarkRedis_Take(b *testing.B) {
	r, _, _ := newRedis(b)
	for _, bm := range []struct {
		name string
		keys []Key
	}{
		{"one second", []Key{{Media: "m", Scope: ScopeApp, Subject: "1", Period: time.Second, Limit: 1e6, Share: 1}}},
		{"second and minute and two pause points", []Key{
			{Media: "m", Scope: ScopeApp, Subject: "1", Period: time.Second, Limit: 1e6, Share: 1},
			{Media: "m", Scope: ScopeApp, Subject: "1", Period: time.Minute, Limit: 6e7, Share: 1},
			{Media: "m", Scope: ScopeApp, Subject: "1"},
			{Media: "m", Scope: ScopePlatform},
		}},
	} {
		b.Run(bm.name, func(b *testing.B) {
			ctx := b.Context()
			for b.Loop() {
				if _, err := r.Take(ctx, bm.keys, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

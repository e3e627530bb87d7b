package ratelimit

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLocal_GrantsAtTheMembersPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLocal(testSpread, 2)
		key := Key{Media: "m", Scope: ScopeApp, Subject: "1", Period: time.Second, Limit: 20, Share: 1}
		took := 0
		for began := time.Now(); time.Since(began) < time.Minute; {
			g, err := l.Take(t.Context(), []Key{key}, 5)
			require.NoError(t, err)
			took += g.N
			time.Sleep(g.RetryAfter)
		}
		require.InDelta(t, 60/0.11, took, 2, "a half of 20 a second, spread over 1.1 s")
	})
}

func TestLocal_SpendHoldsBackAndKeepsPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		l := NewLocal(testSpread, 1)
		point := Key{Media: "m", Scope: ScopePlatform}
		require.NoError(t, l.Pause(ctx, point, time.Hour))
		l.Spend()

		g, err := l.Take(ctx, []Key{perDay}, 100)
		require.NoError(t, err)
		require.Zero(t, g.N, "the burst counts as used up")
		every := microseconds(paceOf(perDay, testSpread, 1).every)
		require.Equal(t, every-lookahead, g.RetryAfter)
		time.Sleep(10 * every)
		g, err = l.Take(ctx, []Key{perDay}, 100)
		require.NoError(t, err)
		require.Equal(t, 10, g.N, "what has come back since is granted")

		require.Equal(t, map[Key]time.Duration{point: time.Hour - 10*every}, l.pauses())
	})
}

func TestLocal_ForgetsWhatNoLongerMatters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := NewLocal(testSpread, 1)
		for i := range 100 * sweepMin {
			key := Key{Media: "m", Scope: ScopeAccount, Subject: fmt.Sprint(i), Period: time.Second, Limit: 10, Share: 1}
			_, err := l.Take(t.Context(), []Key{key}, 1)
			require.NoError(t, err)
			time.Sleep(time.Millisecond)
		}
		require.Less(t, len(l.ready), 2*sweepMin)
	})
}

func BenchmarkLocal_Take(b *testing.B) {
	l := NewLocal(testSpread, 1)
	keys := []Key{
		{Media: "m", Scope: ScopeApp, Subject: "1", Period: time.Second, Limit: 1e9, Share: 1},
		{Media: "m", Scope: ScopeApp, Subject: "1"},
		{Media: "m", Scope: ScopePlatform},
	}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Take(ctx, keys, 1); err != nil {
			b.Fatal(err)
		}
	}
}

package ratelimit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
)

// A platform that allows less than its rule refuses fewer and fewer calls, and what it does allow is used.
func TestWaiter_LearnsALimitThatIsLowerThanItsRule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		letRequestsEnd(t)
		const real = 140 // a minute
		rules := grant.NewRules()
		require.NoError(t,
			rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Minute, Limit: 200}}))
		w := NewLocal(testSpread, rules, nil)
		call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
		var mu sync.Mutex
		var taken []time.Time
		var refused, accepted atomic.Int64
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for await(ctx, w, call) == nil {
					mu.Lock()
					now := time.Now()
					full := len(taken) >= real && now.Sub(taken[len(taken)-real]) < time.Minute
					if !full {
						taken = append(taken, now)
					}
					mu.Unlock()
					if !full {
						accepted.Add(1)
						continue
					}
					refused.Add(1)
					_ = w.Pause(ctx, call, grant.ScopeApp, time.Second)
				}
			})
		}
		time.Sleep(10 * time.Minute)
		learned, used := refused.Load(), accepted.Load()
		time.Sleep(30 * time.Minute)
		stop()
		wg.Wait()
		// 190 a minute would be refused fifty times in each minute.
		require.Less(t, refused.Load()-learned, int64(60), "refused while the limit was learned: %d", learned)
		require.Greater(t, accepted.Load()-used, int64(30*real*85/100))
	})
}

// The reported use of a window tightens a limit before anything is refused, if more is used than ours.
func TestWaiter_LearnsWhatOthersUseOfALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rules := grant.NewRules()
		require.NoError(t, rules.Set([]grant.Rule{
			{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Minute, Limit: 200},
			{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 20},
			{Media: "m", Endpoint: "*", Scope: grant.ScopeAccount, Period: time.Minute, Limit: 200},
		}))
		w := NewLocal(testSpread, rules, nil)
		call := grant.Call{Media: "m", Endpoint: "x", App: "1", Account: "2"}
		part := func(scope grant.Scope, period time.Duration) float64 {
			common, own := rules.Cover(call, time.Now())
			for _, k := range append(common, own...) {
				if k.Scope == scope && k.Period == period {
					return grant.Tightened(w.dispatcher("m").pauses[k.AnyWindow()], time.Now())
				}
			}
			return 0
		}
		report := func(left float64) {
			require.NoError(t, w.Used(t.Context(), call, grant.ScopeApp,
				[]Usage{{Period: time.Minute, Left: left}, {Period: 24 * time.Hour, Left: 0}}))
		}
		report(0.05)
		require.InDelta(t, 1, part(grant.ScopeApp, time.Minute), 1e-9, "our share leaves that much")
		report(0.02)
		report(0.01)
		require.InDelta(t, 0.9, part(grant.ScopeApp, time.Minute), 1e-9, "calls under way add nothing new")
		require.InDelta(t, 1, part(grant.ScopeApp, time.Second), 1e-9)
		require.InDelta(t, 1, part(grant.ScopeAccount, time.Minute), 1e-9)
		for range 20 {
			time.Sleep(6 * time.Second)
			report(0)
		}
		require.InDelta(t, 0.5, part(grant.ScopeApp, time.Minute), 1e-2, "never less than a half")
		time.Sleep(5 * time.Minute)
		require.InDelta(t, 0.75, part(grant.ScopeApp, time.Minute), 1e-2)
		time.Sleep(5 * time.Minute)
		require.InDelta(t, 1, part(grant.ScopeApp, time.Minute), 1e-9)
	})
}

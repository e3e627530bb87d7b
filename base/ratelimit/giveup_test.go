package ratelimit

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
)

// A call is granted at the moment at which its caller stops waiting. The grant goes to the next waiting call, or is
// kept for a later one.
func TestWaiter_AGrantWithoutACallerGoesToTheNextCall(t *testing.T) {
	t.Parallel()
	for _, isNext := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			letRequestsEnd(t)
			rules := grant.NewRules()
			require.NoError(t,
				rules.Set([]grant.Rule{{Media: "m", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Minute, Limit: 1,
					Share: 1}}))
			w := newWaiter(grant.NewMemory(testSpread, 1), testSpread, rules, newMetrics(nil))
			call := grant.Call{Media: "m", Endpoint: "x", App: "1"}
			require.NoError(t, await(t.Context(), w, call), "the one call of this minute")
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			var impatient error
			go func() { impatient = await(ctx, w, call) }()
			synctest.Wait()
			next := make(chan time.Duration, 1)
			if isNext {
				go func() {
					if await(t.Context(), w, call) == nil {
						next <- time.Since(began)
					}
				}()
				synctest.Wait()
			}

			d := w.dispatcher("m")
			d.mu.Lock()
			tickets := d.lines[lineOf(call, Importance(ctx))].waiting
			require.NotEmpty(t, tickets)
			cancel()
			d.end(tickets[0], outcome{slot: slot{from: time.Now(), until: time.Now().Add(time.Hour), call: call}})
			d.mu.Unlock()
			synctest.Wait()
			require.ErrorIs(t, impatient, context.Canceled)
			if isNext {
				require.Zero(t, <-next)
			} else {
				require.NoError(t, await(t.Context(), w, call))
				require.Zero(t, time.Since(began), "it does not wait for another minute")
			}
			requireIdle(t, w)
		})
	}
}

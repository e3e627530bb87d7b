package usage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
	"adsync/client"
	"adsync/producer/usage"
)

func TestLeft_ShowsTheLongestPeriodsFirstThenTheFullest(t *testing.T) {
	t.Parallel()
	state := func(endpoint string, period time.Duration, limit, used int, part float64) grant.LimitState {
		return grant.LimitState{
			Key: grant.Key{
				Media: "tulip", Endpoint: endpoint, Scope: grant.ScopeApp, Subject: "7", Period: period, Limit: limit, Share: 0.5,
			},
			Window: used, Part: part,
		}
	}
	day := state("*", 24*time.Hour, 2000, 250, 1)
	day.Key.Window = "2026-11-21"
	over := state("c", time.Minute, 100, 48, 0.9)
	over.Unit = grant.UnitRows
	states := []grant.LimitState{state("a", time.Minute, 100, 10, 1), over, state("b", time.Minute, 1000, 400, 1), day}

	left := func(endpoint, unit, period string, allowed, used, left int64) client.LimitLeft {
		return client.LimitLeft{Media: "tulip", Endpoint: endpoint, Scope: "app", Subject: "7", Unit: unit, Period: period,
			Allowed: allowed, Used: used, Left: left}
	}
	want := []client.LimitLeft{
		left("*", "calls", "24h0m0s", 1000, 250, 750),
		left("c", "rows", "1m0s", 45, 48, 0), // calls before the limit was tightened
		left("b", "calls", "1m0s", 500, 400, 100),
		left("a", "calls", "1m0s", 50, 10, 40),
	}
	want[0].WindowBegan = "2026-11-21"
	require.Equal(t, want, usage.Left(states))
	require.Equal(t, []client.LimitLeft{}, usage.Left(nil))
}

package engine

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/redis/redistest"
	"adsync/base/store/storetest"
)

// What one process learns of a limit with an unknown number, all know, also after Redis has lost everything.
func TestLimits_LearnAnUnknownNumber(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	client, keys := redistest.New(t)
	log := slog.New(slog.DiscardHandler)
	process := func() *limits {
		l := newLimits(s, nil, log, prometheus.NewRegistry())
		l.media = []string{"tulip"}
		l.waiter = ratelimit.New(ratelimit.DefaultConfig(), client, keys, nil, l.rules, nil, log)
		require.NoError(t, l.reload(t.Context()))
		return l
	}
	rule := grant.Rule{Media: "tulip", Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Second, Limit: 20,
		LimitMax: 100, Costs: "x=1, y=2"}
	require.NoError(t, s.AddRateLimit(t.Context(), rule))
	call := grant.Call{Media: "tulip", Endpoint: "x", App: "1"}
	a, b := process(), process()

	// Many calls wait, so the number is too low.
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range 200 {
		go func() { _, _ = a.waiter.Wait(ctx, call) }()
	}
	require.Eventually(t, func() bool {
		states, _, err := b.waiter.State(t.Context(), "tulip")
		return err == nil && len(states) == 1 && len(states[0].Lanes) == 1 && states[0].Lanes[0].Wanted > 100
	}, time.Minute, 10*time.Millisecond)
	a.learn(t.Context())
	known, err := s.LearnedLimits(t.Context())
	require.NoError(t, err)
	require.Len(t, known, 1)
	require.Equal(t, 20, known[0].Limit, "it is tried for a while")

	before := known[0]
	earlier := before
	earlier.At = earlier.At.Add(-time.Hour)
	first, err := s.LearnLimit(t.Context(), before, earlier)
	require.NoError(t, err)
	require.True(t, first)
	first, err = s.LearnLimit(t.Context(), before, earlier)
	require.NoError(t, err)
	require.False(t, first, "another process has learned something since")
	require.Eventually(t, func() bool {
		// Waiting calls count while they wait. A step is made at most once a minute, however often learn runs.
		b.learn(t.Context())
		known, err = s.LearnedLimits(t.Context())
		return err == nil && known[0].Limit != 20
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, a.reload(t.Context()))
	states, _, err := a.waiter.State(t.Context(), "tulip")
	require.NoError(t, err)
	require.Equal(t, []int{21, 100}, []int{states[0].Limit, states[0].LimitMax})

	require.NoError(t, a.waiter.Pause(t.Context(), call, grant.ScopeApp, time.Second))
	a.learn(t.Context())
	known, err = s.LearnedLimits(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{19, 21}, []int{known[0].Limit, known[0].Refused}, "the platform has refused 21")
	require.NoError(t, redistest.Lose(t.Context(), client, keys))
	require.NoError(t, b.reload(t.Context()))
	require.NoError(t, a.reload(t.Context()))
	again, err := s.LearnedLimits(t.Context())
	require.NoError(t, err)
	require.Equal(t, known, again)
}

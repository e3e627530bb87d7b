package simulated_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/ratelimit/grant"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/oceanengine"
	"adsync/media/pull"
	"adsync/simulator"
	"adsync/test/platforms/simclient"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// promotions pulls the days of an account by promotion.
type promotions struct {
	t        *testing.T
	process  simclient.Process
	world    simclient.World
	handler  media.Handler
	from, to day.Day
}

func newPromotions(t *testing.T) *promotions {
	t.Helper()
	platform := oceanengine.New()
	server := simclient.ServeWorld(simulator.Config{Accounts: simclient.OfEach(20), Seed: 7}, platform.Name())(t)
	p := simclient.Start(t, platform, server)
	require.NoError(t, p.Rules.Set([]grant.Rule{}))
	account := simclient.OneAccount{ID: 1, Media: platform.Name(), ExternalID: server.Accounts[0], TokenID: p.Login,
		Zone: simclient.Zone, Currency: "CNY"}
	handlers := media.NewRegistry(pull.Handlers(platform, pull.Deps{
		Store: p.Store, Accounts: account, Caller: p.Client, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(),
	})...)
	handler, ok := handlers.Get(platform.Name() + ".report_daily")
	require.True(t, ok)
	return &promotions{
		t: t, process: p, world: simclient.Of(t, platform.Name(), server),
		handler: handler, from: server.Today.Add(-6), to: server.Today.Add(-1),
	}
}

func (p *promotions) pull() (media.Result, error) {
	return p.handler.Run(p.t.Context(), media.Work{
		Key:    task.Key{RunID: 1, AccountID: 1, Part: p.from.String() + ".." + p.to.String()},
		Params: json.RawMessage(`{"level":"adgroup","days":7}`),
	})
}

func (p *promotions) states() map[results.CoverageState]int {
	p.t.Helper()
	coverage, err := p.process.Store.ReadCoverage(p.t.Context(), 1, p.from, p.to)
	require.NoError(p.t, err)
	states := map[results.CoverageState]int{}
	for _, c := range coverage {
		states[c.State]++
	}
	return states
}

func TestReports_RowsThatDoNotAddUpToThePlatformsSumAreNotBelieved(t *testing.T) {
	t.Parallel()
	p := newPromotions(t)
	result, err := p.pull()
	require.NoError(t, err)
	require.Equal(t, map[results.CoverageState]int{results.Complete: 6}, p.states())
	calls := result.Calls
	require.Greater(t, calls, 1, "the sums are those of several pages")

	lie := map[string]any{"kind": "wrong_sum", "media": p.world.Media, "endpoint": "v3.0/report/custom/get",
		"count": calls}
	p.world.Order(t, "faults", lie)
	result, err = p.pull()
	require.NoError(t, err)
	require.Equal(t, 2*calls, result.Calls, "it is pulled again")
	require.Equal(t, map[results.CoverageState]int{results.Complete: 6}, p.states())

	lie["count"] = 3 * calls
	p.world.Order(t, "faults", lie)
	_, err = p.pull()
	require.ErrorContains(t, err, "the platform's own sum is")
	require.Equal(t, map[results.CoverageState]int{results.Partial: 6}, p.states(), "it is never complete")

	_, err = p.pull()
	require.NoError(t, err)
	require.Equal(t, map[results.CoverageState]int{results.Complete: 6}, p.states())
}

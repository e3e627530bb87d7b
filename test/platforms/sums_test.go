package platforms_test

import (
	"encoding/json"
	"log/slog"
	"net/url"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/ratelimit/grant"
	"adsync/base/store/results"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/pull"
	"adsync/simulator"
)

// promotions pulls the days of an Ocean Engine account by promotion.
type promotions struct {
	t        *testing.T
	process  process
	world    world
	handler  media.Handler
	from, to day.Day
}

func newPromotions(t *testing.T) *promotions {
	t.Helper()
	platform := listed(t, "oceanengine")
	server := serveWorld(simulator.Config{Accounts: ofEach(20), Seed: 7}, platform.Name())(t)
	address, err := url.Parse(server.BaseURL)
	require.NoError(t, err)
	p := start(t, platform, server)
	require.NoError(t, p.rules.Set([]grant.Rule{}))
	account := oneAccount{ID: 1, Media: platform.Name(), ExternalID: server.Accounts[0], TokenID: p.login, Zone: zone, Currency: "CNY"}
	handlers := media.NewRegistry(pull.Handlers(platform, pull.Deps{
		Store: p.store, Accounts: account, Caller: p.client, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})...)
	handler, ok := handlers.Get("oceanengine.report_daily")
	require.True(t, ok)
	return &promotions{
		t: t, process: p, world: world{media: platform.Name(), address: address.Scheme + "://" + address.Host},
		handler: handler, from: server.Today.Add(-6), to: server.Today.Add(-1),
	}
}

func (p *promotions) pull() (media.Result, error) {
	return p.handler.Run(p.t.Context(), media.Work{
		Key: task.Key{RunID: 1, AccountID: 1, Part: p.from.String() + ".." + p.to.String()}, Params: json.RawMessage(`{"level":"adgroup","days":7}`),
	})
}

func (p *promotions) states() map[results.CoverageState]int {
	p.t.Helper()
	coverage, err := p.process.store.ReadCoverage(p.t.Context(), 1, p.from, p.to)
	require.NoError(p.t, err)
	states := map[results.CoverageState]int{}
	for _, c := range coverage {
		states[c.State]++
	}
	return states
}

func TestOceanEngine_RowsThatDoNotAddUpToThePlatformsSumAreNotBelieved(t *testing.T) {
	t.Parallel()
	p := newPromotions(t)
	result, err := p.pull()
	require.NoError(t, err)
	require.Equal(t, map[results.CoverageState]int{results.Complete: 6}, p.states())
	calls := result.Calls
	require.Greater(t, calls, 1, "the sums are those of several pages")

	lie := map[string]any{"kind": "wrong_sum", "media": p.world.media, "endpoint": "v3.0/report/custom/get", "count": calls}
	p.world.order(t, "faults", lie)
	result, err = p.pull()
	require.NoError(t, err)
	require.Equal(t, 2*calls, result.Calls, "it was pulled again")
	require.Equal(t, map[results.CoverageState]int{results.Complete: 6}, p.states())

	lie["count"] = 3 * calls
	p.world.order(t, "faults", lie)
	_, err = p.pull()
	require.ErrorContains(t, err, "the platform's own sum is")
	require.Equal(t, map[results.CoverageState]int{results.Partial: 6}, p.states(), "it is never called complete")

	_, err = p.pull()
	require.NoError(t, err)
	require.Equal(t, map[results.CoverageState]int{results.Complete: 6}, p.states())
}

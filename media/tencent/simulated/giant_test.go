package simulated_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"adsync/base/clock"
	"adsync/base/ratelimit/grant"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/pull"
	"adsync/media/tencent"
	"adsync/simulator"
	"adsync/test/platforms/simclient"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// An account with more creatives a day than the platform returns for one query is pulled whole.
func TestReports_AGiantsDaysArePulledWhole(t *testing.T) {
	t.Parallel()
	platform := tencent.New()
	server := simclient.ServeWorld(simulator.Config{Accounts: simclient.OfEach(2), Seed: 7, Giant: 20_000},
		platform.Name())(t)
	p := simclient.Start(t, platform, server)
	require.NoError(t, p.Rules.Set([]grant.Rule{})) // the world has no limits either
	giant := simclient.OneAccount{ID: 1, Media: platform.Name(), ExternalID: server.Accounts[0], TokenID: p.Login,
		Zone: simclient.Zone, Currency: "CNY"}
	handlers := media.NewRegistry(pull.Handlers(platform, pull.Deps{
		Store: p.Store, Accounts: giant, Caller: p.Client, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(),
	})...)
	handler, ok := handlers.Get(platform.Name() + ".report_daily")
	require.True(t, ok)
	from, to := server.Today.Add(-2), server.Today.Add(-1)
	result, err := handler.Run(t.Context(), media.Work{
		Key:    task.Key{RunID: 1, AccountID: 1, Part: from.String() + ".." + to.String()},
		Params: json.RawMessage(`{"level":"creative","days":2}`),
	})
	require.NoError(t, err)
	truth := server.Rows(t, "report_daily", "creative", giant.ExternalID, from, to)
	require.Greater(t, len(truth), 20_000)
	require.Equal(t, len(truth), result.Rows)
	var want, got int64
	for _, row := range truth {
		want += row.Metrics["cost"]
	}
	require.NoError(t,
		p.Store.Data.Writer(t.Context()).Raw("SELECT SUM(cost) FROM report_daily_creative").Row().Scan(&got))
	require.Equal(t, want, got)
	t.Logf("%d rows by %d calls", result.Rows, result.Calls)
}

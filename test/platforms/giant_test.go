package platforms_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/ratelimit/grant"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/pull"
	"adsync/simulator"
)

// oneAccount knows a single account.
type oneAccount media.Account

func (a oneAccount) Account(context.Context, int64) (media.Account, error) {
	return media.Account(a), nil
}

// An account with more creatives a day than Tencent gives out for one query is pulled whole.
func TestTencent_AGiantsDaysArePulledWhole(t *testing.T) {
	t.Parallel()
	platform := listed(t, "tencent")
	server := serveWorld(simulator.Config{Accounts: ofEach(2), Seed: 7, Giant: 20_000}, platform.Name())(t)
	p := start(t, platform, server)
	require.NoError(t, p.rules.Set([]grant.Rule{})) // the world has none either
	giant := oneAccount{ID: 1, Media: platform.Name(), ExternalID: server.Accounts[0], TokenID: p.login, Zone: zone, Currency: "CNY"}
	handlers := media.NewRegistry(pull.Handlers(platform, pull.Deps{
		Store: p.store, Accounts: giant, Caller: p.client, Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})...)
	handler, ok := handlers.Get("tencent.report_daily")
	require.True(t, ok)
	from, to := server.Today.Add(-2), server.Today.Add(-1)
	result, err := handler.Run(t.Context(), media.Work{
		Key: task.Key{RunID: 1, AccountID: 1, Part: from.String() + ".." + to.String()}, Params: json.RawMessage(`{"level":"creative","days":2}`),
	})
	require.NoError(t, err)
	truth := server.Rows(t, "report_daily", "creative", giant.ExternalID, from, to)
	require.Greater(t, len(truth), 20_000)
	require.Equal(t, len(truth), result.Rows)
	var want, got int64
	for _, row := range truth {
		want += row.Metrics["cost"]
	}
	require.NoError(t, p.store.Data.Writer(t.Context()).Raw("SELECT SUM(cost) FROM report_daily_creative").Row().Scan(&got))
	require.Equal(t, want, got)
	t.Logf("%d rows by %d calls", result.Rows, result.Calls)
}

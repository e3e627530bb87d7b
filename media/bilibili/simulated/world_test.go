// Package simulated_test tests the platform's package against its simulated platform.
package simulated_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/secret"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/bilibili"
	"adsync/media/mediatest"
	"adsync/media/pull"
	"adsync/simulator"
	simulated "adsync/simulator/bilibili"
	"adsync/simulator/platform"
	"adsync/test/platforms/simclient"
)

// world is a simulated platform without limits, whose clock stands, and a process that pulls its first account.
type world struct {
	simclient.Process
	simclient.World
	t        *testing.T
	handlers *media.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	start := time.Date(2026, 11, 21, 15, 34, 56, 0, simclient.Zone)
	sim, err := simulator.New(simulator.Config{Accounts: 60, Seed: 7, Frozen: true, Start: start,
		Platforms: []platform.Platform{simulated.New()}})
	require.NoError(t, err)
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	w := &world{t: t, World: simclient.World{Media: bilibili.Name, Address: server.URL}}
	var rules []any
	for _, scope := range []string{"app", "account"} {
		rules = append(rules, map[string]any{"media": bilibili.Name, "endpoint": "*", "scope": scope,
			"period_seconds": 1, "limit": 0})
	}
	w.Order(t, "limits", map[string]any{"rules": rules})
	app := w.app()
	login := app.Logins[0]
	w.Process = simclient.Start(t, bilibili.New(), &mediatest.Server{
		BaseURL: server.URL + "/bilibili/takumi/api/open_api", Zone: simclient.Zone, Today: day.Of(start, simclient.Zone),
		App: media.App{ID: app.AppID, Secret: secret.NewText(app.Secret)}, Access: secret.NewText(login.Access),
		Refresh: secret.NewText(login.Refresh), Accounts: login.Accounts,
	})
	require.NoError(t, w.Rules.Set(nil)) // Its calls wait for no limit.
	w.handlers = media.NewRegistry(pull.Handlers(bilibili.New(), pull.Deps{Store: w.Store, Caller: w.Client,
		Accounts: simclient.OneAccount(w.account(0)), Clock: w.Keeper.Clock, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry()})...)
	return w
}

// app has what an app and its logins reach.
type app struct {
	AppID  string `json:"app_id"`
	Secret string `json:"secret"`
	Logins []struct {
		Access   string   `json:"access_token"`
		Refresh  string   `json:"refresh_token"`
		Accounts []string `json:"account_ids"`
	} `json:"logins"`
}

// app returns the credentials of the first app as they are now.
func (w *world) app() app {
	w.t.Helper()
	var credentials map[string]struct {
		Apps []app `json:"apps"`
	}
	require.NoError(w.t, json.Unmarshal(w.Get(w.t, "credentials", nil), &credentials))
	return credentials[bilibili.Name].Apps[0]
}

func (w *world) account(i int) media.Account {
	return media.Account{ID: int64(i + 1), Media: bilibili.Name, ExternalID: w.Server.Accounts[i], TokenID: w.Login,
		Zone: simclient.Zone, Currency: "CNY"}
}

// assume changes behaviour that no source states.
func (w *world) assume(name string, value int) {
	w.t.Helper()
	w.Order(w.t, "limits", map[string]any{"assumed": map[string]any{bilibili.Name: map[string]any{name: value}}})
}

// run delivers a subtask of the first account once.
func (w *world) run(ctx context.Context, name, part, params string) error {
	w.t.Helper()
	handler, ok := w.handlers.Get(bilibili.Name + "." + name)
	require.True(w.t, ok, name)
	_, err := handler.Run(ctx, media.Work{Key: task.Key{RunID: 1, AccountID: 1, Part: part},
		Params: json.RawMessage(params)})
	return err
}

func (w *world) pull(name, part, params string) {
	w.t.Helper()
	require.NoError(w.t, w.run(w.t.Context(), name, part, params), "%s %s", name, part)
}

// figures are the cost, impressions and clicks of a row, in the units of public tables.
type figures [3]int64

// truth returns the rows of a report of the first account and one day.
func (w *world) truth(report, level string, d day.Day) map[string]figures {
	w.t.Helper()
	rows := map[string]figures{}
	for _, f := range w.Truth(w.t, url.Values{"kind": {report}, "level": {level}, "account": {w.Server.Accounts[0]},
		"from": {d.String()}, "to": {d.String()}}) {
		rows[fmt.Sprint(f.Day, " ", f.Hour, " ", f.Object)] = figures{f.Metrics["cost"], f.Metrics["impressions"],
			f.Metrics["clicks"]}
	}
	return rows
}

// written returns the same of the public table.
func (w *world) written(report, level string) map[string]figures {
	w.t.Helper()
	var found []struct {
		Day                       day.Day
		Hour                      int
		ObjectID                  string
		Cost, Impressions, Clicks int64
	}
	hour := ""
	if report == "report_hourly" {
		hour = "hour, "
	}
	require.NoError(w.t, w.Store.Data.Writer(w.t.Context()).Raw("SELECT day, "+hour+
		"object_id, cost, impressions, clicks FROM "+report+" WHERE level = ?", level).Scan(&found).Error)
	rows := map[string]figures{}
	for _, r := range found {
		rows[fmt.Sprint(r.Day, " ", r.Hour, " ", r.ObjectID)] = figures{r.Cost, r.Impressions, r.Clicks}
	}
	return rows
}

func (w *world) clear(table string) {
	w.t.Helper()
	require.NoError(w.t, w.Store.Data.Writer(w.t.Context()).Exec("DELETE FROM "+table).Error)
}

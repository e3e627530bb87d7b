// Package simulated_test tests the platform's package against its simulated platform.
package simulated_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/client"
	"adsync/media/kuaishou"
	"adsync/media/pull"
	"adsync/media/token"
	"adsync/simulator"
	simulated "adsync/simulator/kuaishou"
	"adsync/simulator/platform"
)

var china = time.FixedZone("UTC+8", 8*60*60)

// unlimited grants all calls at once.
type unlimited struct{}

func (unlimited) Wait(context.Context, grant.Call) (g ratelimit.Grant, err error)        { return g, nil }
func (unlimited) Settle(grant.Call, ratelimit.Grant, int)                                {}
func (unlimited) Pause(context.Context, grant.Call, grant.Scope, time.Duration) error    { return nil }
func (unlimited) Used(context.Context, grant.Call, grant.Scope, []ratelimit.Usage) error { return nil }
func (w *world) Login(context.Context, int64) (token.Login, error)                       { return w.login, nil }
func (w *world) App(context.Context, string) (media.App, error)                          { return w.login.App, nil }
func (w *world) Refused(int64, int64, *media.Error)                                      {}
func (w *world) Renew(_ context.Context, _, _ int64, why *media.Error) (l token.Login, _ error) {
	return l, why
}

// Now implements clock.Clock: the world's clock stands.
func (w *world) Now() time.Time { return w.now }

// Until implements clock.Clock.
func (w *world) Until(at time.Time) time.Duration { return at.Sub(w.now) }

// Account implements pull.Accounts.
func (w *world) Account(_ context.Context, id int64) (media.Account, error) {
	return media.Account{ID: id, Media: kuaishou.Name, ExternalID: w.account, TokenID: 1, Zone: china,
		Currency: "CNY"}, nil
}

// world is a simulated platform with one account that is pulled.
type world struct {
	t        *testing.T
	address  string
	now      time.Time
	login    token.Login
	account  string
	refresh  string
	store    *store.Store
	client   *client.Client
	handlers *media.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 21, 15, 34, 56, 0, china), store: storetest.New(t)}
	sim, err := simulator.New(simulator.Config{Accounts: 6, Seed: 7, Frozen: true, Start: w.now,
		Platforms: []platform.Platform{simulated.New()}})
	require.NoError(t, err)
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	w.address = server.URL
	var credentials map[string]struct {
		BasePath string `json:"base_url_path"`
		Apps     []struct {
			AppID  string `json:"app_id"`
			Secret string `json:"secret"`
			Logins []struct {
				Access   string   `json:"access_token"`
				Refresh  string   `json:"refresh_token"`
				Accounts []string `json:"account_ids"`
			} `json:"logins"`
		} `json:"apps"`
	}
	require.NoError(t, json.NewDecoder(w.get("credentials")).Decode(&credentials))
	of := credentials[kuaishou.Name]
	w.account, w.refresh = of.Apps[0].Logins[0].Accounts[0], of.Apps[0].Logins[0].Refresh
	w.login = token.Login{ID: 1, Generation: 1, Access: secret.NewText(of.Apps[0].Logins[0].Access),
		App: media.App{ID: of.Apps[0].AppID, Secret: secret.NewText(of.Apps[0].Secret)}}
	require.NoError(t, w.store.EnsureRawTables(t.Context(), media.Tables(kuaishou.New())))
	inner := client.NewHTTP()
	t.Cleanup(inner.CloseIdleConnections)
	log := slog.New(slog.DiscardHandler)
	w.client = client.New(client.Options{Platform: kuaishou.New(), Waiter: unlimited{}, Tokens: w, Logger: log,
		Transport:  client.NewTransport(kuaishou.New(), server.URL+of.BasePath, inner),
		Registerer: prometheus.NewRegistry()})
	w.handlers = media.NewRegistry(pull.Handlers(kuaishou.New(), pull.Deps{Store: w.store, Accounts: w, Caller: w.client,
		Clock: w, Logger: log, Registerer: prometheus.NewRegistry()})...)
	return w
}

func (w *world) get(path string) *bufio.Reader {
	w.t.Helper()
	resp, err := http.Get(w.address + "/_sim/" + path)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(w.t, http.StatusOK, resp.StatusCode, path)
	return bufio.NewReader(resp.Body)
}

// pull delivers a subtask until it succeeds and returns how often it was deferred.
func (w *world) pull(name, part, params string) (deferred int) {
	w.t.Helper()
	handler, ok := w.handlers.Get(kuaishou.Name + "." + name)
	require.True(w.t, ok, name)
	for range 10 {
		_, err := handler.Run(w.t.Context(), media.Work{Key: task.Key{RunID: 1, AccountID: 1, Part: part},
			Params: json.RawMessage(params)})
		if err == nil {
			return deferred
		}
		require.ErrorAs(w.t, err, new(*media.DeferError), "%s %s", name, part)
		deferred++
	}
	require.Fail(w.t, "it never succeeds", "%s %s", name, part)
	return 0
}

// fact is a line of the simulator's truth.
type fact struct {
	Day     string
	Hour    int
	Object  string
	Metrics map[string]int64
	Count   *int
}

// truth returns the cost, impressions and clicks of each row of a report, in the units of public tables.
func (w *world) truth(report, level string, from, to day.Day) map[string][3]int64 {
	w.t.Helper()
	rows := map[string][3]int64{}
	lines := json.NewDecoder(w.get(fmt.Sprintf("truth?media=%s&kind=%s&level=%s&account=%s&from=%s&to=%s", kuaishou.Name,
		report, level, w.account, from, to)))
	for {
		var f fact
		require.NoError(w.t, lines.Decode(&f))
		if f.Count != nil {
			require.Len(w.t, rows, *f.Count)
			return rows
		}
		rows[fmt.Sprint(f.Day, " ", f.Hour, " ", f.Object)] = [3]int64{f.Metrics["cost"], f.Metrics["impressions"],
			f.Metrics["clicks"]}
	}
}

// written returns the same of the public table.
func (w *world) written(report, level string) map[string][3]int64 {
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
	require.NoError(w.t, w.store.Data.Writer(w.t.Context()).Raw("SELECT day, "+hour+
		"object_id, cost, impressions, clicks FROM "+report+" WHERE level = ?", level).Scan(&found).Error)
	rows := map[string][3]int64{}
	for _, r := range found {
		rows[fmt.Sprint(r.Day, " ", r.Hour, " ", r.ObjectID)] = [3]int64{r.Cost, r.Impressions, r.Clicks}
	}
	return rows
}

// levels are the public levels whose reports hold all rows of the truth, by the truth's name.
var levels = map[string]string{"account": "account", "campaign": "project", "adgroup": "ad", "creative": "creative"}

func TestReports_EqualTheTruthByPagesAndByFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	today := day.Of(w.now, china)
	for level, of := range levels {
		params := `{"level":"` + level + `"}`
		from, to := today.Add(-3), today.Add(-1)
		require.Zero(t, w.pull("report_daily", from.String()+".."+to.String(), params), "the last week comes in pages")
		require.NotEmpty(t, w.written("report_daily", level))
		require.Equal(t, w.truth("report_daily", of, from, to), w.written("report_daily", level))
		require.NoError(t, w.store.Data.Writer(t.Context()).Exec("DELETE FROM report_daily").Error)

		from, to = today.Add(-60), today.Add(-55)
		require.Positive(t, w.pull("report_daily", from.String()+".."+to.String(), params), "older days come as files")
		require.NotEmpty(t, w.written("report_daily", level))
		require.Equal(t, w.truth("report_daily", of, from, to), w.written("report_daily", level))

		require.Positive(t, w.pull("report_hourly", from.String(), params))
		require.NotEmpty(t, w.written("report_hourly", level))
		require.Equal(t, w.truth("report_hourly", of, from, from), w.written("report_hourly", level))
	}
	require.Zero(t, storetest.RowsIn(t, w.store, "file_pull"))
}

func TestLists_ArePulledWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for list, of := range map[string]string{"campaign": "project", "unit": "unit", "image": "image", "video": "video"} {
		w.pull(list, "1", `{"mode":"full"}`)
		count := 0
		lines := json.NewDecoder(w.get("truth?media=" + kuaishou.Name + "&kind=" + of + "&account=" + w.account))
		for {
			var f fact
			require.NoError(t, lines.Decode(&f))
			if f.Count != nil {
				break
			}
			count++
		}
		require.Positive(t, count, list)
		require.Equal(t, count, storetest.RowsIn(t, w.store, "kuaishou_"+list), list)
	}
	require.Positive(t, storetest.RowsIn(t, w.store, "kuaishou_unit WHERE day_budget_li > 0 AND cpa_bid_li > 0"))
	require.Positive(t, storetest.RowsIn(t, w.store, "kuaishou_unit WHERE deleted_at IS NOT NULL"), "status -2")
	w.pull("balance", "1", "")
	require.Positive(t, storetest.RowsIn(t, w.store, "account_balance"))
}

func TestOperations_TellWhoChangedWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	today := day.Of(w.now, china)
	part := today.Add(-6).String() + ".." + today.String()
	w.pull("operations", part, `{"days":7}`)
	count := storetest.RowsIn(t, w.store, "config_change")
	require.Positive(t, count)
	require.Zero(t, storetest.RowsIn(t, w.store,
		"config_change WHERE changed_by NOT IN ('advertiser', 'system', 'marketing API') OR changed_at IS NULL"))
	require.Positive(t, storetest.RowsIn(t, w.store, "config_change WHERE level = 'adgroup' AND field = 'put_status'"))
	w.pull("operations", part, `{"days":7}`)
	require.Equal(t, count, storetest.RowsIn(t, w.store, "config_change"), "nothing twice")
}

func TestAccounts_AreFoundWithTheirNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var found []media.FoundAccount
	err := kuaishou.New().Accounts(t.Context(), w.client.ForLogin(1), "", func(page []media.FoundAccount) error {
		found = append(found, page...)
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	seen := map[string]bool{}
	for _, a := range found {
		require.False(t, seen[a.ExternalID], "each comes once")
		seen[a.ExternalID] = true
		require.NotEmpty(t, a.Name, a.ExternalID)
		require.Equal(t, "CNY", a.Currency)
		require.Empty(t, a.Faults)
	}
}

// A name that is taken is a job that is looked for, not a mistake.
func TestFiles_ATakenNameIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := kuaishou.New().Reports()[0].Files
	account, err := w.Account(t.Context(), 1)
	require.NoError(t, err)
	api, q := w.client.For(account), media.ReportQuery{From: "2026-09-01", To: "2026-09-02"}
	id, err := files.Create(t.Context(), api, "adsync-1", q)
	require.NoError(t, err)
	found, err := files.Find(t.Context(), api, "adsync-1")
	require.NoError(t, err)
	require.Equal(t, id, found)
	found, err = files.Find(t.Context(), api, "adsync-2")
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = files.State(t.Context(), api, "1"+id)
	require.ErrorIs(t, err, media.ErrJobGone)
	again, err := files.Create(t.Context(), api, "adsync-1", q)
	require.NoError(t, err)
	require.Equal(t, id, again)
}

func TestRefresh_OnlyARefusedTokenEndsALogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	class := func(app media.App, token string) media.Class {
		_, err := kuaishou.New().Refresh(t.Context(), w.client.Transport, app, token)
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, "%v", err)
		require.NotContains(t, err.Error(), token)
		require.False(t, e.Expired)
		return e.Class
	}
	require.Equal(t, media.Auth, class(w.login.App, "0123456789abcdef"))
	wrong := media.App{ID: w.login.App.ID, Secret: secret.NewText("another-one")}
	require.Equal(t, media.Invalid, class(wrong, w.refresh))
	tokens, err := kuaishou.New().Refresh(t.Context(), w.client.Transport, w.login.App, w.refresh)
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, tokens.AccessExpires)
	require.Equal(t, 30*24*time.Hour, tokens.RefreshExpires)
	require.NotEqual(t, w.refresh, tokens.Refresh.Reveal())
}

var _ clock.Clock = (*world)(nil)

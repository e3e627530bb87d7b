// Package simulated_test tests the platform's package against its simulated platform.
package simulated_test

import (
	"bufio"
	"bytes"
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
	"adsync/media/pull"
	"adsync/media/tiktok"
	"adsync/media/token"
	"adsync/simulator"
	"adsync/simulator/platform"
	simulated "adsync/simulator/tiktok"
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
	return media.Account{ID: id, Media: tiktok.Name, ExternalID: w.account, TokenID: 1, Zone: w.zone,
		Currency: "CNY"}, nil
}

// world is a simulated platform with one account that is pulled.
type world struct {
	t        *testing.T
	address  string
	base     string // below the address
	now      time.Time
	login    token.Login
	account  string
	accounts []string
	zone     *time.Location
	store    *store.Store
	client   *client.Client
	handlers *media.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOf(t, 0, china)
}

// newWorldOf returns a world where one account in so many is in the USA; 0 is none.
func newWorldOf(t *testing.T, usd int, zone *time.Location) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 21, 15, 34, 56, 0, china), store: storetest.New(t), zone: zone}
	sim, err := simulator.New(simulator.Config{Accounts: 6, Seed: 7, Frozen: true, Start: w.now, USD: usd,
		Platforms: []platform.Platform{simulated.New()}})
	require.NoError(t, err)
	server := httptest.NewServer(sim.Handler())
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	w.address = server.URL
	// The clock stands, so that no call would fall out of the window of the limit.
	w.post(server.URL+"/_sim/limits", map[string]any{"rules": []map[string]any{{"media": tiktok.Name, "endpoint": "*",
		"scope": "app", "period_seconds": 1, "limit": 0}}})
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
	of := credentials[tiktok.Name]
	require.Empty(t, of.Apps[0].Logins[0].Refresh)
	w.accounts, w.base = of.Apps[0].Logins[0].Accounts, of.BasePath
	w.account = w.accounts[0]
	w.login = token.Login{ID: 1, Generation: 1, Access: secret.NewText(of.Apps[0].Logins[0].Access),
		App: media.App{ID: of.Apps[0].AppID, Secret: secret.NewText(of.Apps[0].Secret)}}
	require.NoError(t, w.store.EnsureRawTables(t.Context(), media.Tables(tiktok.New())))
	inner := client.NewHTTP()
	t.Cleanup(inner.CloseIdleConnections)
	log := slog.New(slog.DiscardHandler)
	w.client = client.New(client.Options{Platform: tiktok.New(), Waiter: unlimited{}, Tokens: w, Logger: log,
		Transport:  client.NewTransport(tiktok.New(), server.URL+of.BasePath, inner),
		Registerer: prometheus.NewRegistry()})
	w.handlers = media.NewRegistry(pull.Handlers(tiktok.New(), pull.Deps{Store: w.store, Accounts: w, Caller: w.client,
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

func (w *world) post(address string, body any) {
	w.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(w.t, err)
	resp, err := http.Post(address, "application/json", bytes.NewReader(text))
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
	require.Equal(w.t, http.StatusOK, resp.StatusCode, address)
}

// pull delivers a subtask.
func (w *world) pull(name, part, params string) {
	w.t.Helper()
	handler, ok := w.handlers.Get(tiktok.Name + "." + name)
	require.True(w.t, ok, name)
	_, err := handler.Run(w.t.Context(), media.Work{Key: task.Key{RunID: 1, AccountID: 1, Part: part},
		Params: json.RawMessage(params)})
	require.NoError(w.t, err, "%s %s", name, part)
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
	lines := json.NewDecoder(w.get(fmt.Sprintf("truth?media=%s&kind=%s&level=%s&account=%s&from=%s&to=%s", tiktok.Name,
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

// levels are the public levels, by the truth's name.
var levels = map[string]string{"account": "account", "campaign": "project", "adgroup": "ad", "creative": "creative"}

func TestReports_EqualTheTruth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	today := day.Of(w.now, w.zone)
	for level, of := range levels {
		params := `{"level":"` + level + `"}`
		for _, days := range [][2]day.Day{{today.Add(-29), today.Add(-1)}, {today, today}} {
			w.pull("report_daily", days[0].String()+".."+days[1].String(), params)
		}
		require.NotEmpty(t, w.written("report_daily", level))
		require.Equal(t, w.truth("report_daily", of, today.Add(-29), today), w.written("report_daily", level),
			"%s: deleted objects keep their figures", level)

		w.pull("report_hourly", today.Add(-1).String(), params)
		require.NotEmpty(t, w.written("report_hourly", level))
		require.Equal(t, w.truth("report_hourly", of, today.Add(-1), today.Add(-1)), w.written("report_hourly", level))
	}
}

// The clocks of Los Angeles are put back on 1 November 2026: the platform has two rows of the hour that occurs twice.
func TestReports_ADayOf25HoursHasTheSumOfARepeatedHour(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	w := newWorldOf(t, 1, zone)
	const longDay = "2026-11-01"
	for level, of := range levels {
		w.pull("report_hourly", longDay, `{"level":"`+level+`"}`)
		require.Equal(t, w.truth("report_hourly", of, longDay, longDay), w.written("report_hourly", level))
		require.Positive(t, storetest.RowsIn(t, w.store,
			"tiktok_report_hourly WHERE hour = 1 AND level = '"+level+"' AND row_json LIKE '[%'"), "both rows are kept")
	}
	w.pull("report_daily", longDay, `{"level":"account"}`)
	require.Equal(t, w.truth("report_daily", "account", longDay, longDay), w.written("report_daily", "account"))
}

func TestLists_ArePulledWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for list, of := range map[string]string{"campaign": "project", "adgroup": "adgroup", "ad": "creative",
		"image": "image", "video": "video"} {
		w.pull(list, "1", `{"mode":"full"}`)
		count := 0
		lines := json.NewDecoder(w.get("truth?media=" + tiktok.Name + "&kind=" + of + "&account=" + w.account))
		for {
			var f fact
			require.NoError(t, lines.Decode(&f))
			if f.Count != nil {
				break
			}
			count++
		}
		require.Positive(t, count, list)
		require.Equal(t, count, storetest.RowsIn(t, w.store, "tiktok_"+list), list)
	}
	for _, list := range []string{"adgroup", "ad"} {
		require.Positive(t, storetest.RowsIn(t, w.store, "tiktok_"+list+" WHERE deleted_at IS NOT NULL"), list)
	}
	require.Positive(t, storetest.RowsIn(t, w.store,
		"tiktok_adgroup WHERE budget_micros > 0 AND conversion_bid_price_micros > 0"))
	require.Positive(t, storetest.RowsIn(t, w.store, "tiktok_ad WHERE modify_time IS NULL"), "ads of Smart+ campaigns")
	require.Positive(t, storetest.RowsIn(t, w.store, "creative_asset"))
	w.pull("balance", "1", "")
	require.Positive(t, storetest.RowsIn(t, w.store, "account_balance"))
}

func TestAccounts_AreFoundWithTheirDetails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var found []string
	err := tiktok.New().Accounts(t.Context(), w.client.ForLogin(1), "", func(page []media.FoundAccount) error {
		for _, a := range page {
			found = append(found, a.ExternalID)
			require.Empty(t, a.Faults)
			require.NotEmpty(t, a.Name, a.ExternalID)
			require.Equal(t, "Asia/Shanghai", a.Timezone)
			require.Equal(t, "CNY", a.Currency)
		}
		return nil
	})
	require.NoError(t, err)
	require.ElementsMatch(t, w.accounts, found)
}

// The details of one account take no secret of the app: a call with a token alone has them.
func TestDescribe_NeedsNoSecret(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	w := newWorldOf(t, 1, zone)
	w.login.App = media.App{}
	api := w.client.For(media.Account{ID: 1, Media: tiktok.Name, ExternalID: w.account, TokenID: 1, Zone: zone})
	found, err := tiktok.New().Describe(t.Context(), api)
	require.NoError(t, err)
	require.Equal(t, []string{w.account, zone.String(), "USD"}, []string{found.ExternalID, found.Timezone, found.Currency})
	require.NotEmpty(t, found.Name)

	foreign := w.client.For(media.Account{ID: 1, Media: tiktok.Name, ExternalID: "9" + w.account[1:], TokenID: 1,
		Zone: zone})
	_, err = tiktok.New().Describe(t.Context(), foreign)
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, media.Invalid, e.Class)
}

func TestProbe_FindsTheAccountsThatSpend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	today := day.Of(w.now, w.zone)
	var accounts []media.Account
	want := map[int64]bool{}
	for i, id := range w.accounts[:min(len(w.accounts), tiktok.New().ProbeMax())] {
		w.account = id
		accounts = append(accounts, media.Account{ID: int64(i + 1), ExternalID: id, Zone: w.zone})
		for _, figures := range w.truth("report_daily", "account", today, today) {
			if figures[0] > 0 || figures[1] > 0 {
				want[int64(i+1)] = true
			}
		}
	}
	require.NotEmpty(t, want)
	api := w.client.ForLogin(1)
	got, err := tiktok.New().Probe(t.Context(), api, accounts, w.now)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, 1, api.Calls())
}

// A person authorises a login in a browser; a token that was revoked needs that again.
func TestLogin_OnlyAnAuthorisationReplacesARevokedToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, transport := tiktok.New(), w.client.Transport
	list := func() error {
		return p.Accounts(t.Context(), w.client.ForLogin(1), "", func([]media.FoundAccount) error { return nil })
	}
	exchange := func(code string) (media.Authorisation, error) {
		return p.Exchange(t.Context(), transport, w.login.App, secret.NewText(code), "")
	}
	require.NoError(t, list())
	w.post(w.address+w.base+"/oauth2/revoke_token/", map[string]string{"app_id": w.login.App.ID,
		"secret": w.login.App.Secret.Reveal(), "access_token": w.login.Access.Reveal()})
	err := list()
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, media.Auth, e.Class)
	require.True(t, e.Expired, "the keeper of tokens parks a login without a refresh token")
	require.NotContains(t, err.Error(), w.login.Access.Reveal())
	require.NotContains(t, err.Error(), w.login.App.Secret.Reveal())

	code := w.authorise()
	a, err := exchange(code)
	require.NoError(t, err)
	require.True(t, a.Refresh.IsZero())
	require.Zero(t, a.AccessExpires)
	require.Contains(t, w.accounts, a.Login)
	for _, id := range w.accounts {
		require.LessOrEqual(t, a.Login, id, "the login is the smallest of its accounts")
	}
	w.login.Access = a.Access
	require.NoError(t, list())
	_, err = exchange(code)
	e, ok = errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, media.Invalid, e.Class)
	require.Contains(t, err.Error(), "authorise again, a code works once and for an hour")
}

// authorise agrees on the platform's page and returns the code of the callback.
func (w *world) authorise() string {
	w.t.Helper()
	page := tiktok.New().AuthoriseURL(w.address+"/tiktok/portal/auth", media.Ask{AppID: w.login.App.ID,
		RedirectURI: "http://127.0.0.1:1/oauth/tiktok/callback", State: secret.NewText("s1")})
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(page)
	require.NoError(w.t, err)
	require.NoError(w.t, resp.Body.Close())
	callback, err := resp.Location()
	require.NoError(w.t, err)
	return callback.Query().Get(tiktok.New().CodeParameter())
}

var _ clock.Clock = (*world)(nil)

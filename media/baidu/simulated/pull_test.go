// Package simulated_test tests the platform's package against its simulated platform.
package simulated_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
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
	"adsync/media/baidu"
	"adsync/media/client"
	"adsync/media/pull"
	"adsync/media/token"
	"adsync/simulator"
	simulated "adsync/simulator/baidu"
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
func (w *world) App(context.Context, string) (media.App, error)                          { return w.app, nil }
func (w *world) Refused(int64, int64, *media.Error)                                      {}
func (w *world) Renew(_ context.Context, _, _ int64, why *media.Error) (l token.Login, _ error) {
	return l, why
}

// Now implements clock.Clock: the world's clock stands.
func (w *world) Now() time.Time { return w.now }

// Until implements clock.Clock.
func (w *world) Until(at time.Time) time.Duration { return at.Sub(w.now) }

// Account implements pull.Accounts: our ids count the accounts from 1.
func (w *world) Account(_ context.Context, id int64) (media.Account, error) {
	external := w.accounts[id-1]
	return media.Account{ID: id, Media: baidu.Name, ExternalID: external, Name: w.names[external], TokenID: 1, Zone: china,
		Currency: "CNY"}, nil
}

// world is a simulated platform with the accounts of a manager.
type world struct {
	t        *testing.T
	address  string
	now      time.Time
	app      media.App
	login    token.Login
	loginAt  string // the login's name in orders
	refresh  string
	accounts []string
	names    map[string]string
	store    *store.Store
	client   *client.Client
	handlers *media.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 21, 15, 34, 56, 0, china), store: storetest.New(t),
		names: map[string]string{}}
	sim, err := simulator.New(simulator.Config{Accounts: 9, Seed: 7, Frozen: true, Start: w.now,
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
				Login    string
				UserID   string   `json:"user_id"`
				UserName string   `json:"user_name"`
				Access   string   `json:"access_token"`
				Refresh  string   `json:"refresh_token"`
				Accounts []string `json:"account_ids"`
			} `json:"logins"`
		} `json:"apps"`
	}
	require.NoError(t, json.NewDecoder(w.get("credentials")).Decode(&credentials))
	of := credentials[baidu.Name]
	login := of.Apps[0].Logins[0]
	w.accounts, w.refresh, w.loginAt = login.Accounts, login.Refresh, login.Login
	w.app = media.App{ID: of.Apps[0].AppID, Secret: secret.NewText(of.Apps[0].Secret)}
	w.login = token.Login{ID: 1, Generation: 1, Access: secret.NewText(login.Access), App: media.App{ID: w.app.ID},
		Who: media.Login{ID: login.UserID, Name: login.UserName}}
	var none []any
	for _, seconds := range []int{1, 60} {
		none = append(none, map[string]any{"media": baidu.Name, "endpoint": "*", "scope": "app", "period_seconds": seconds,
			"limit": 0})
	}
	w.order("limits", map[string]any{"rules": none})
	w.lines("kind=account", func(f fact) { w.names[f.Account] = f.Name })
	require.NoError(t, w.store.EnsureRawTables(t.Context(), media.Tables(baidu.New())))
	inner := client.NewHTTP()
	t.Cleanup(inner.CloseIdleConnections)
	log := slog.New(slog.DiscardHandler)
	w.client = client.New(client.Options{Platform: baidu.New(), Waiter: unlimited{}, Tokens: w, Logger: log,
		Transport:  client.NewTransport(baidu.New(), server.URL+of.BasePath, inner),
		Registerer: prometheus.NewRegistry()})
	w.handlers = media.NewRegistry(pull.Handlers(baidu.New(), pull.Deps{Store: w.store, Accounts: w, Caller: w.client,
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

// order gives the simulator an order.
func (w *world) order(what string, order map[string]any) {
	w.t.Helper()
	if what != "limits" {
		order["media"] = baidu.Name
	}
	body, err := json.Marshal(order)
	require.NoError(w.t, err)
	resp, err := http.Post(w.address+"/_sim/"+what, "application/json", bytes.NewReader(body))
	require.NoError(w.t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	require.Less(w.t, resp.StatusCode, 300, "%s", answer)
}

// try delivers a subtask of an account once.
func (w *world) try(id int64, name, part, params string) (media.Result, error) {
	w.t.Helper()
	handler, ok := w.handlers.Get(baidu.Name + "." + name)
	require.True(w.t, ok, name)
	return handler.Run(w.t.Context(), media.Work{Key: task.Key{RunID: 1, AccountID: id, Part: part},
		Params: json.RawMessage(params)})
}

func (w *world) pull(id int64, name, part, params string) {
	w.t.Helper()
	_, err := w.try(id, name, part, params)
	require.NoError(w.t, err, "%s %s of account %d", name, part, id)
}

// fact is a line of the simulator's truth.
type fact struct {
	Account, Day, Object, Name, Kind string
	Hour                             int
	Deleted                          bool
	Metrics                          map[string]int64
	Count                            *int
}

func (w *world) lines(query string, each func(fact)) {
	w.t.Helper()
	lines := json.NewDecoder(w.get("truth?media=" + baidu.Name + "&" + query))
	for {
		var f fact
		require.NoError(w.t, lines.Decode(&f))
		if f.Count != nil {
			return
		}
		each(f)
	}
}

// truth returns some figures of each row of a report, in the units of public tables.
func (w *world) truth(report, level, account string, from, to day.Day) map[string][5]int64 {
	w.t.Helper()
	rows := map[string][5]int64{}
	w.lines(fmt.Sprintf("kind=%s&level=%s&account=%s&from=%s&to=%s", report, level, account, from, to), func(f fact) {
		rows[fmt.Sprint(f.Day, " ", f.Hour, " ", f.Object)] = [5]int64{f.Metrics["cost"], f.Metrics["clicks"],
			f.Metrics["conversions"], f.Metrics["pay_amount_d7"], f.Metrics["forms"]}
	})
	return rows
}

// written returns the same of the public table.
func (w *world) written(report, level string, id int64) map[string][5]int64 {
	w.t.Helper()
	var found []struct {
		Day                                           day.Day
		Hour                                          int
		ObjectID                                      string
		Cost, Clicks, Conversions, PayAmountD7, Forms int64
	}
	hour := ""
	if report == "report_hourly" {
		hour = "hour, "
	}
	require.NoError(w.t, w.store.Data.Writer(w.t.Context()).Raw("SELECT day, "+hour+
		"object_id, cost, clicks, conversions, pay_amount_d7, forms FROM "+report+" WHERE level = ? AND account_id = ?",
		level, id).Scan(&found).Error)
	rows := map[string][5]int64{}
	for _, r := range found {
		rows[fmt.Sprint(r.Day, " ", r.Hour, " ", r.ObjectID)] = [5]int64{r.Cost, r.Clicks, r.Conversions, r.PayAmountD7,
			r.Forms}
	}
	return rows
}

// levels are the public levels, by the truth's name.
var levels = map[string]string{"account": "account", "campaign": "project", "adgroup": "ad", "creative": "creative"}

// The accounts 1, 4 and 7 have search campaigns, and the others have feed campaigns.
func TestReports_EqualTheTruth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	today := day.Of(w.now, china)
	from, to := today.Add(-3), today.Add(-1)
	for level, of := range levels {
		for _, id := range []int64{0, 4} {
			account := w.accounts[id]
			params := `{"level":"` + level + `"}`
			w.pull(id+1, "report_daily", from.String()+".."+to.String(), params)
			require.NotEmpty(t, w.written("report_daily", level, id+1), "%s of account %d", level, id)
			require.Equal(t, w.truth("report_daily", of, account, from, to), w.written("report_daily", level, id+1), level)
			w.pull(id+1, "report_hourly", from.String(), params)
			require.NotEmpty(t, w.written("report_hourly", level, id+1))
			require.Equal(t, w.truth("report_hourly", of, account, from, from), w.written("report_hourly", level, id+1), level)
		}
	}
}

// count returns how many objects of a kind an account has that are not deleted.
func (w *world) count(kind, account string) (n int) {
	w.lines("kind="+kind+"&account="+account, func(f fact) {
		if !f.Deleted {
			n++
		}
	})
	return n
}

func TestLists_HaveSearchAndFeed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id := range int64(2) {
		for list, of := range map[string]string{"campaign": "project", "adgroup": "adgroup", "creative": "creative",
			"image": "image", "video": "video"} {
			w.pull(id+1, list, "1", `{"mode":"full"}`)
			count := w.count(of, w.accounts[id])
			require.Positive(t, count, list)
			rows := fmt.Sprintf("baidu_%s WHERE account_id = %d", list, id+1)
			require.Equal(t, count, storetest.RowsIn(t, w.store, rows), list)
		}
		w.pull(id+1, "balance", "1", "")
	}
	require.Positive(t, storetest.RowsIn(t, w.store, "baidu_adgroup WHERE bid_fen > 0 AND modtime IS NOT NULL"), "of feed")
	require.Positive(t, storetest.RowsIn(t, w.store, "baidu_adgroup WHERE bid_fen > 0 AND modtime IS NULL"), "of search")
	require.Positive(t, storetest.RowsIn(t, w.store, "baidu_campaign WHERE budget_fen > 0 AND name <> ''"))
	require.Positive(t, storetest.RowsIn(t, w.store, "creative_asset WHERE kind = 'video'"))
	require.Positive(t, storetest.RowsIn(t, w.store, "creative_asset WHERE kind = 'image' AND signature IS NOT NULL"))
	require.Positive(t, storetest.RowsIn(t, w.store, "account_balance"))
}

// A list has the good part of an answer, and nothing below the id that failed counts as deleted.
func TestLists_OfAFailedIDDeleteNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pull(1, "adgroup", "1", `{"mode":"full"}`)
	all := storetest.RowsIn(t, w.store, "baidu_adgroup")
	w.order("faults", map[string]any{"kind": "part_fails", "endpoint": "json/feed/v1/AdgroupFeedService/getAdgroupFeed",
		"count": 2})
	_, err := w.try(1, "adgroup", "1", `{"mode":"full"}`)
	require.ErrorContains(t, err, "failed")
	require.Equal(t, all, storetest.RowsIn(t, w.store, "baidu_adgroup WHERE deleted_at IS NULL"))
}

// An object that is removed is in no list, and its rows stay in reports.
func TestLists_LackRemovedCreativesAndReportsHaveThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pull(1, "creative", "1", `{"mode":"full"}`)
	all := storetest.RowsIn(t, w.store, "baidu_creative")
	w.order("edits", map[string]any{"account": w.accounts[0], "drop_creatives": true})
	w.pull(1, "creative", "1", `{"mode":"full"}`)
	gone := storetest.RowsIn(t, w.store, "baidu_creative WHERE deleted_at IS NOT NULL")
	require.Positive(t, gone)
	require.Equal(t, all, storetest.RowsIn(t, w.store, "baidu_creative"))
	yesterday := day.Of(w.now, china).Add(-1)
	w.pull(1, "report_daily", yesterday.String()+".."+yesterday.String(), `{"level":"creative"}`)
	require.Equal(t, w.truth("report_daily", "creative", w.accounts[0], yesterday, yesterday),
		w.written("report_daily", "creative", 1))
	require.Positive(t, storetest.RowsIn(t, w.store,
		"report_daily r JOIN baidu_creative c ON c.object_id = r.object_id WHERE c.deleted_at IS NOT NULL"))
}

func (w *world) reportOf(t *testing.T, level string) media.Report {
	t.Helper()
	reports := baidu.New().Reports()
	return reports[slices.IndexFunc(reports, func(r media.Report) bool { return r.Level == level })]
}

// joint returns the accounts whose rows a joint query of all has, and its error.
func (w *world) joint(t *testing.T) (ids []string, err error) {
	t.Helper()
	yesterday := day.Of(w.now, china).Add(-1)
	q := media.ReportQuery{From: yesterday, To: yesterday}
	for id := range w.accounts {
		account, err := w.Account(t.Context(), int64(id+1))
		require.NoError(t, err)
		q.Accounts = append(q.Accounts, account)
	}
	api := w.client.For(media.Account{Media: baidu.Name, TokenID: 1, Zone: china, Currency: "CNY"})
	page, err := w.reportOf(t, "account").Page(t.Context(), api, q, "")
	for _, row := range page.Rows {
		ids = append(ids, row.Account)
	}
	return ids, err
}

// One refused account among several fails no other one, whichever way the platform refuses it.
func TestReports_ARefusedAccountFailsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all, err := w.joint(t)
	require.NoError(t, err)
	require.Greater(t, len(all), 2)
	w.order("accounts", map[string]any{"account": all[0], "state": "revoked"})
	left, err := w.joint(t)
	require.NoError(t, err)
	require.Equal(t, all[1:], left)
	w.order("limits", map[string]any{"assumed": map[string]any{baidu.Name: map[string]any{"refused_part": 0}}})
	_, err = w.joint(t)
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, media.Invalid, e.Class)
}

// Data come as an array with one object, or as the object.
func TestReports_DataAreAnArrayOrAnObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.order("faults", map[string]any{"kind": "other_form",
		"endpoint": "json/sms/service/OpenApiReportService/getReportData", "count": 1})
	yesterday := day.Of(w.now, china).Add(-1)
	for range 2 {
		w.pull(1, "report_daily", yesterday.String()+".."+yesterday.String(), `{"level":"adgroup"}`)
		require.Equal(t, w.truth("report_daily", "ad", w.accounts[0], yesterday, yesterday),
			w.written("report_daily", "adgroup", 1))
	}
}

func TestAccounts_AreThoseOfTheManager(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	found := map[string]string{}
	err := baidu.New().Accounts(t.Context(), w.client.ForLogin(1), "", func(page []media.FoundAccount) error {
		for _, a := range page {
			require.Empty(t, found[a.ExternalID], "each comes once")
			require.Empty(t, a.Faults)
			require.Equal(t, "CNY", a.Currency)
			found[a.ExternalID] = a.Name
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, found, len(w.accounts))
	for _, id := range w.accounts {
		require.Equal(t, w.names[id], found[id])
	}
}

// An account whose name is not known yet is not called under another name.
func TestCalls_NeedTheAccountsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.names = nil
	_, err := w.try(1, "campaign", "1", `{"mode":"full"}`)
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, media.Invalid, e.Class)
	require.ErrorContains(t, err, "baidu.account_list")
}

func TestRefresh_OnlyARefusedTokenEndsALogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := media.WithLogin(t.Context(), w.login.Who)
	class := func(app media.App, token string) media.Class {
		_, err := baidu.New().Refresh(ctx, w.client.Transport, app, token)
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, "%v", err)
		require.NotContains(t, err.Error(), token)
		return e.Class
	}
	require.Equal(t, media.Auth, class(w.app, "0123456789abcdef"))
	require.Equal(t, media.Invalid, class(media.App{ID: w.app.ID, Secret: secret.NewText("another-one")}, w.refresh))
	tokens, err := baidu.New().Refresh(ctx, w.client.Transport, w.app, w.refresh)
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, tokens.AccessExpires)
	require.Equal(t, 30*24*time.Hour, tokens.RefreshExpires)
	require.NotEqual(t, w.refresh, tokens.Refresh.Reveal())
}

// A callback becomes a login with the name that calls need; one whose signature is wrong does not.
func TestExchange_TakesTheWholeCallback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := baidu.New().AuthoriseURL(w.address+"/baidu/oauth/page/index", media.Ask{AppID: w.app.ID,
		RedirectURI: "http://127.0.0.1:1/callback", State: secret.NewText("s&<1>")})
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := browser.Get(page)
	require.NoError(t, err)
	defer resp.Body.Close()
	target, err := resp.Location()
	require.NoError(t, err)
	exchange := func(code string) (media.Authorisation, error) {
		return baidu.New().Exchange(t.Context(), w.client.Transport, w.app, secret.NewText(code), "")
	}
	query := target.Query()
	for _, wrong := range []string{query.Get("authCode"), "userId=1&authCode=2", "%"} {
		_, err := exchange(wrong)
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, media.Invalid, e.Class)
	}
	a, err := exchange(baidu.New().Callback(query))
	require.NoError(t, err)
	require.Equal(t, query.Get("userId"), a.Login)
	require.NotEmpty(t, a.Name)
	require.NotEmpty(t, a.Access.Reveal())
	_, err = exchange(baidu.New().Callback(query))
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, media.Invalid, e.Class, "a code works once")
	query.Del("authCode")
	require.Empty(t, baidu.New().Callback(query))
}

var _ clock.Clock = (*world)(nil)

// Package simulated_test tests the platform's package against its simulated platform.
package simulated_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/tiktok"
	"adsync/media/token"
	"adsync/simulator"
	"adsync/test/platforms/simclient"
)

// levels are the public levels.
var levels = []string{"account", "campaign", "adgroup", "creative"}

// newPuller pulls from a world where one account in so many is in the USA; 0 is none.
func newPuller(t *testing.T, usd int) *simclient.Puller {
	t.Helper()
	return simclient.NewPuller(t, tiktok.New(), simulator.Config{Accounts: simclient.OfEach(6), Seed: 7, USD: usd})
}

func TestReports_EqualTheTruth(t *testing.T) {
	t.Parallel()
	x := newPuller(t, 0)
	today := x.Server.Today
	for _, level := range levels {
		params := `{"level":"` + level + `"}`
		for _, part := range []string{today.Add(-29).String() + ".." + today.Add(-1).String(), today.String()} {
			require.NoError(t, x.Try(t, "report_daily", 1, part, params))
		}
		x.RequireTrue(t, "report_daily", level, 1, today.Add(-29), today) // deleted objects keep their figures

		require.NoError(t, x.Try(t, "report_hourly", 1, today.Add(-1).String(), params))
		x.RequireTrue(t, "report_hourly", level, 1, today.Add(-1), today.Add(-1))
	}
}

// The clocks of Los Angeles are put back on 1 November 2026: the platform has two rows of the hour that occurs twice.
func TestReports_ADayOf25HoursHasTheSumOfARepeatedHour(t *testing.T) {
	t.Parallel()
	x := newPuller(t, 1)
	const longDay = "2026-11-01"
	for _, level := range levels {
		require.NoError(t, x.Try(t, "report_hourly", 1, longDay, `{"level":"`+level+`"}`))
		x.RequireTrue(t, "report_hourly", level, 1, longDay, longDay)
		require.Positive(t, storetest.RowsIn(t, x.Store,
			"tiktok_report_hourly WHERE hour = 1 AND level = '"+level+"' AND row_json LIKE '[%'"), "both rows are kept")
	}
	require.NoError(t, x.Try(t, "report_daily", 1, longDay, `{"level":"account"}`))
	x.RequireTrue(t, "report_daily", "account", 1, longDay, longDay)
}

func TestLists_ArePulledWhole(t *testing.T) {
	t.Parallel()
	x := newPuller(t, 0)
	for _, list := range []string{"campaign", "adgroup", "ad", "image", "video"} {
		x.RequireList(t, list, 1)
	}
	for _, list := range []string{"adgroup", "ad"} {
		require.Positive(t, storetest.RowsIn(t, x.Store, "tiktok_"+list+" WHERE deleted_at IS NOT NULL"), list)
	}
	require.Positive(t, storetest.RowsIn(t, x.Store,
		"tiktok_adgroup WHERE budget_micros > 0 AND conversion_bid_price_micros > 0"))
	require.Positive(t, storetest.RowsIn(t, x.Store, "tiktok_ad WHERE modify_time IS NULL"), "ads of Smart+ campaigns")
	require.Positive(t, storetest.RowsIn(t, x.Store, "creative_asset"))
	require.NoError(t, x.Try(t, "balance", 1, "1", ""))
	require.Positive(t, storetest.RowsIn(t, x.Store, "account_balance"))
}

func TestAccounts_AreFoundWithTheirDetails(t *testing.T) {
	t.Parallel()
	x := newPuller(t, 0)
	var found []string
	err := tiktok.New().Accounts(t.Context(), x.Client.ForLogin(x.Login), "", func(page []media.FoundAccount) error {
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
	require.ElementsMatch(t, x.Server.Accounts, found)
}

// held has the only login of a client, which it never renews.
type held struct{ login token.Login }

func (h *held) Login(context.Context, int64) (token.Login, error) { return h.login, nil }
func (h *held) App(context.Context, string) (media.App, error)    { return h.login.App, nil }
func (*held) Refused(int64, int64, *media.Error)                  {}
func (*held) Renew(_ context.Context, _, _ int64, why *media.Error) (l token.Login, _ error) {
	return l, why
}

// The details of one account take no secret of the app: a call with a token alone has them.
func TestDescribe_NeedsNoSecret(t *testing.T) {
	t.Parallel()
	x := newPuller(t, 1)
	x.Client.Tokens = &held{token.Login{ID: x.Login, Generation: 1, Access: x.Server.Access}}
	account := x.Accounts(t, 1)[0]
	found, err := tiktok.New().Describe(t.Context(), x.Client.For(account))
	require.NoError(t, err)
	require.Equal(t, []string{account.ExternalID, "America/Los_Angeles", "USD"},
		[]string{found.ExternalID, found.Timezone, found.Currency})
	require.NotEmpty(t, found.Name)

	account.ExternalID = "9" + account.ExternalID[1:]
	_, err = tiktok.New().Describe(t.Context(), x.Client.For(account))
	simclient.RequireClass(t, media.Invalid, err)
}

func TestProbe_FindsTheAccountsThatSpend(t *testing.T) {
	t.Parallel()
	x := newPuller(t, 0)
	accounts := x.Accounts(t, min(len(x.Server.Accounts), tiktok.New().ProbeMax()))
	want := map[int64]bool{}
	for _, account := range accounts {
		for _, row := range x.Server.Rows(t, "report_daily", "account", account.ExternalID, x.Server.Today, x.Server.Today) {
			if row.Metrics["cost"] > 0 || row.Metrics["impressions"] > 0 {
				want[account.ID] = true
			}
		}
	}
	require.NotEmpty(t, want)
	api := x.Client.ForLogin(x.Login)
	got, err := tiktok.New().Probe(t.Context(), api, accounts, x.Now())
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, 1, api.Calls())
}

// A person authorises a login in a browser; a token that was revoked needs that again.
func TestLogin_OnlyAnAuthorisationReplacesARevokedToken(t *testing.T) {
	t.Parallel()
	x := newPuller(t, 0)
	app, access := x.Server.App, x.Server.Access
	require.True(t, x.Server.Refresh.IsZero())
	tokens := &held{token.Login{ID: x.Login, Generation: 1, Access: access, App: app}}
	x.Client.Tokens = tokens
	p := tiktok.New()
	list := func() error {
		return p.Accounts(t.Context(), x.Client.ForLogin(x.Login), "", func([]media.FoundAccount) error { return nil })
	}
	exchange := func(code string) (media.Authorisation, error) {
		return p.Exchange(t.Context(), x.Client.Transport, app, secret.NewText(code), "")
	}
	require.NoError(t, list())
	resp, err := http.Post(x.Server.BaseURL+"/oauth2/revoke_token/", "application/json", strings.NewReader(
		`{"app_id":"`+app.ID+`","secret":"`+app.Secret.Reveal()+`","access_token":"`+access.Reveal()+`"}`))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	err = list()
	simclient.RequireClass(t, media.Auth, err)
	e, _ := errors.AsType[*media.Error](err)
	require.True(t, e.Expired, "the keeper of tokens parks a login without a refresh token")
	require.NotContains(t, err.Error(), access.Reveal())
	require.NotContains(t, err.Error(), app.Secret.Reveal())

	code := simclient.Authorise(t, p.AuthoriseURL(x.World.Address+"/tiktok/portal/auth", media.Ask{AppID: app.ID,
		RedirectURI: "http://127.0.0.1:1/oauth/tiktok/callback", State: secret.NewText("s1")})).Get(p.CodeParameter())
	a, err := exchange(code)
	require.NoError(t, err)
	require.True(t, a.Refresh.IsZero())
	require.Zero(t, a.AccessExpires)
	require.Contains(t, x.Server.Accounts, a.Login)
	for _, id := range x.Server.Accounts {
		require.LessOrEqual(t, a.Login, id, "the login is the smallest of its accounts")
	}
	tokens.login.Access = a.Access
	require.NoError(t, list())
	_, err = exchange(code)
	simclient.RequireClass(t, media.Invalid, err)
	require.Contains(t, err.Error(), "authorise again, a code works once and for an hour")
}

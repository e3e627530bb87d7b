// Package simulated_test tests the platform's package against its simulated platform.
package simulated_test

import (
	"errors"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/baidu"
	"adsync/simulator"
	"adsync/test/platforms/simclient"
)

// The accounts of a puller by what they have. Feed campaigns and search campaigns differ in their calls.
const (
	feed   = 1
	search = 2
)

// newPuller makes a puller whose first account has feed campaigns and whose second one has search campaigns.
func newPuller(t *testing.T) *simclient.Puller {
	t.Helper()
	x := simclient.NewPuller(t, baidu.New(), simulator.Config{Accounts: simclient.OfEach(9), Seed: 7})
	kinds := map[string]string{} // only creatives of search campaigns are texts
	for _, f := range x.World.Truth(t, url.Values{"kind": {"creative"}}) {
		kinds[f.Account] = f.Kind
	}
	accounts := x.Server.Accounts
	at := func(isSearch bool) int {
		return slices.IndexFunc(accounts, func(id string) bool {
			return kinds[id] != "" && isSearch == (kinds[id] == "text")
		})
	}
	for i, isSearch := range []bool{feed - 1: false, search - 1: true} {
		of := at(isSearch)
		require.GreaterOrEqual(t, of, 0)
		accounts[i], accounts[of] = accounts[of], accounts[i]
	}
	return x
}

func TestReports_EqualTheTruth(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	from, to := x.Server.Today.Add(-3), x.Server.Today.Add(-1)
	for _, level := range []string{"account", "campaign", "adgroup", "creative"} {
		for _, id := range []int64{feed, search} {
			params := `{"level":"` + level + `"}`
			require.NoError(t, x.Try(t, "report_daily", id, from.String()+".."+to.String(), params))
			x.RequireTrue(t, "report_daily", level, id, from, to)
			require.NoError(t, x.Try(t, "report_hourly", id, from.String(), params))
			x.RequireTrue(t, "report_hourly", level, id, from, from)
		}
	}
}

func TestLists_HaveSearchAndFeed(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	for _, id := range []int64{feed, search} {
		for _, list := range []string{"campaign", "adgroup", "creative", "image", "video"} {
			x.RequireList(t, list, id)
		}
		require.NoError(t, x.Try(t, "balance", id, "1", ""))
	}
	require.Positive(t, storetest.RowsIn(t, x.Store, "baidu_adgroup WHERE bid_fen > 0 AND modtime IS NOT NULL"), "of feed")
	require.Positive(t, storetest.RowsIn(t, x.Store, "baidu_adgroup WHERE bid_fen > 0 AND modtime IS NULL"), "of search")
	require.Positive(t, storetest.RowsIn(t, x.Store, "baidu_campaign WHERE budget_fen > 0 AND name <> ''"))
	require.Positive(t, storetest.RowsIn(t, x.Store, "creative_asset WHERE kind = 'video'"))
	require.Positive(t, storetest.RowsIn(t, x.Store, "creative_asset WHERE kind = 'image' AND signature IS NOT NULL"))
	require.Positive(t, storetest.RowsIn(t, x.Store, "account_balance"))
}

// A list has the good part of an answer, and nothing below the id that failed counts as deleted.
func TestLists_OfAFailedIDDeleteNothing(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	require.NoError(t, x.Try(t, "adgroup", feed, "1", `{"mode":"full"}`))
	all := storetest.RowsIn(t, x.Store, "baidu_adgroup")
	x.World.Order(t, "faults", map[string]any{"media": baidu.Name, "kind": "part_fails", "count": 2,
		"endpoint": "json/feed/v1/AdgroupFeedService/getAdgroupFeed"})
	err := x.Try(t, "adgroup", feed, "1", `{"mode":"full"}`)
	require.ErrorContains(t, err, "failed")
	require.Equal(t, all, storetest.RowsIn(t, x.Store, "baidu_adgroup WHERE deleted_at IS NULL"))
}

// An object that is removed is in no list, and its rows stay in reports.
func TestLists_LackRemovedCreativesAndReportsHaveThem(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	require.NoError(t, x.Try(t, "creative", feed, "1", `{"mode":"full"}`))
	all := storetest.RowsIn(t, x.Store, "baidu_creative")
	x.World.Order(t, "edits", map[string]any{"media": baidu.Name, "account": x.Server.Accounts[0], "drop_creatives": true})
	require.NoError(t, x.Try(t, "creative", feed, "1", `{"mode":"full"}`))
	gone := storetest.RowsIn(t, x.Store, "baidu_creative WHERE deleted_at IS NOT NULL")
	require.Positive(t, gone)
	require.Equal(t, all, storetest.RowsIn(t, x.Store, "baidu_creative"))
	yesterday := x.Server.Today.Add(-1)
	require.NoError(t, x.Try(t, "report_daily", feed, yesterday.String()+".."+yesterday.String(), `{"level":"creative"}`))
	x.RequireTrue(t, "report_daily", "creative", feed, yesterday, yesterday)
	require.Positive(t, storetest.RowsIn(t, x.Store,
		"report_daily r JOIN baidu_creative c ON c.object_id = r.object_id WHERE c.deleted_at IS NOT NULL"))
}

// joint returns the accounts whose rows a joint query of all has, and its error.
func joint(t *testing.T, x *simclient.Puller) (ids []string, err error) {
	t.Helper()
	yesterday := x.Server.Today.Add(-1)
	q := media.ReportQuery{From: yesterday, To: yesterday, Accounts: x.Accounts(t, len(x.Server.Accounts))}
	reports := baidu.New().Reports()
	report := reports[slices.IndexFunc(reports, func(r media.Report) bool { return r.Level == "account" })]
	page, err := report.Page(t.Context(), x.Client.For(media.Account{Media: baidu.Name, TokenID: x.Login,
		Zone: simclient.Zone, Currency: "CNY"}), q, "")
	for _, row := range page.Rows {
		ids = append(ids, row.Account)
	}
	return ids, err
}

// One refused account among several fails no other one, whichever way the platform refuses it.
func TestReports_ARefusedAccountFailsNoOther(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	all, err := joint(t, x)
	require.NoError(t, err)
	require.Greater(t, len(all), 2)
	x.World.Order(t, "accounts", map[string]any{"media": baidu.Name, "account": all[0], "state": "revoked"})
	left, err := joint(t, x)
	require.NoError(t, err)
	require.Equal(t, all[1:], left)
	x.World.Order(t, "limits", map[string]any{"assumed": map[string]any{baidu.Name: map[string]any{"refused_part": 0}}})
	_, err = joint(t, x)
	simclient.RequireClass(t, media.Invalid, err)
}

// Data come as an array with one object, or as the object.
func TestReports_DataAreAnArrayOrAnObject(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	x.World.Order(t, "faults", map[string]any{"media": baidu.Name, "kind": "other_form",
		"endpoint": "json/sms/service/OpenApiReportService/getReportData", "count": 1})
	yesterday := x.Server.Today.Add(-1)
	for range 2 {
		require.NoError(t, x.Try(t, "report_daily", feed, yesterday.String()+".."+yesterday.String(), `{"level":"adgroup"}`))
		x.RequireTrue(t, "report_daily", "adgroup", feed, yesterday, yesterday)
	}
}

func TestAccounts_AreThoseOfTheManager(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	found := map[string]string{}
	err := baidu.New().Accounts(t.Context(), x.Client.ForLogin(x.Login), "", func(page []media.FoundAccount) error {
		for _, a := range page {
			require.Empty(t, found[a.ExternalID], "each comes once")
			require.Empty(t, a.Faults)
			require.Equal(t, "CNY", a.Currency)
			found[a.ExternalID] = a.Name
		}
		return nil
	})
	require.NoError(t, err)
	require.Len(t, found, len(x.Server.Accounts))
	for _, id := range x.Server.Accounts {
		require.Equal(t, x.Server.Names[id], found[id])
	}
}

// An account whose name is not known yet is not called under another name.
func TestCalls_NeedTheAccountsName(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	x.Server.Names = nil
	err := x.Try(t, "campaign", feed, "1", `{"mode":"full"}`)
	simclient.RequireClass(t, media.Invalid, err)
	require.ErrorContains(t, err, "baidu.account_list")
}

func TestRefresh_OnlyARefusedTokenEndsALogin(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	ctx := media.WithLogin(t.Context(), x.Server.Login)
	app, refresh := x.Server.App, x.Server.Refresh.Reveal()
	class := func(app media.App, token string) media.Class {
		_, err := baidu.New().Refresh(ctx, x.Client.Transport, app, token)
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, "%v", err)
		require.NotContains(t, err.Error(), token)
		return e.Class
	}
	require.Equal(t, media.Auth, class(app, "0123456789abcdef"))
	require.Equal(t, media.Invalid, class(media.App{ID: app.ID, Secret: secret.NewText("another-one")}, refresh))
	tokens, err := baidu.New().Refresh(ctx, x.Client.Transport, app, refresh)
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, tokens.AccessExpires)
	require.Equal(t, 30*24*time.Hour, tokens.RefreshExpires)
	require.NotEqual(t, refresh, tokens.Refresh.Reveal())
}

// A callback becomes a login with the name that calls need; one whose signature is wrong does not.
func TestExchange_TakesTheWholeCallback(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	query := simclient.Authorise(t, baidu.New().AuthoriseURL(x.World.Address+"/baidu/oauth/page/index", media.Ask{
		AppID: x.Server.App.ID, RedirectURI: "http://127.0.0.1:1/callback", State: secret.NewText("s&<1>")}))
	exchange := func(code string) (media.Authorisation, error) {
		return baidu.New().Exchange(t.Context(), x.Client.Transport, x.Server.App, secret.NewText(code), "")
	}
	for _, wrong := range []string{query.Get("authCode"), "userId=1&authCode=2", "%"} {
		_, err := exchange(wrong)
		simclient.RequireClass(t, media.Invalid, err)
	}
	a, err := exchange(baidu.New().Callback(query))
	require.NoError(t, err)
	require.Equal(t, query.Get("userId"), a.Login)
	require.NotEmpty(t, a.Name)
	require.NotEmpty(t, a.Access.Reveal())
	_, err = exchange(baidu.New().Callback(query))
	simclient.RequireClass(t, media.Invalid, err) // a code works once
	query.Del("authCode")
	require.Empty(t, baidu.New().Callback(query))
}

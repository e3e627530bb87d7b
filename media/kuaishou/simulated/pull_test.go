// Package simulated_test tests the platform's package against its simulated platform.
package simulated_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/secret"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/kuaishou"
	"adsync/simulator"
	"adsync/test/platforms/simclient"
)

func newPuller(t *testing.T) *simclient.Puller {
	t.Helper()
	return simclient.NewPuller(t, kuaishou.New(), simulator.Config{Accounts: simclient.OfEach(6), Seed: 7})
}

func TestReports_EqualTheTruthByPagesAndByFiles(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	today := x.Server.Today
	for _, level := range []string{"account", "campaign", "adgroup", "creative"} {
		params := `{"level":"` + level + `"}`
		from, to := today.Add(-3), today.Add(-1)
		require.NoError(t, x.Try(t, "report_daily", 1, from.String()+".."+to.String(), params),
			"the last week comes in pages")
		x.RequireTrue(t, "report_daily", level, 1, from, to)
		require.NoError(t, x.Store.Data.Writer(t.Context()).Exec("DELETE FROM report_daily").Error)

		from, to = today.Add(-60), today.Add(-55)
		x.Again = 0
		x.Pull(t, "report_daily", 1, from.String()+".."+to.String(), params)
		require.Positive(t, x.Again, "older days come as files")
		x.RequireTrue(t, "report_daily", level, 1, from, to)

		x.Again = 0
		x.Pull(t, "report_hourly", 1, from.String(), params)
		require.Positive(t, x.Again, "older hours come as files")
		x.RequireTrue(t, "report_hourly", level, 1, from, from)
	}
	require.Zero(t, storetest.RowsIn(t, x.Store, "file_pull"))
}

func TestLists_ArePulledWhole(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	for _, list := range []string{"campaign", "unit", "creative", "image", "video"} {
		x.RequireList(t, list, 1)
	}
	require.Positive(t, storetest.RowsIn(t, x.Store, "kuaishou_unit WHERE day_budget_li > 0 AND cpa_bid_li > 0"))
	require.Positive(t, storetest.RowsIn(t, x.Store, "kuaishou_unit WHERE deleted_at IS NOT NULL"), "status -2")
	require.Positive(t, storetest.RowsIn(t, x.Store, "kuaishou_creative WHERE photo_id IS NULL"), "of packages")
	require.Positive(t, storetest.RowsIn(t, x.Store, "kuaishou_campaign WHERE ad_type = '0'"), "0 is a code")
	x.Pull(t, "balance", 1, "1", "")
	require.Positive(t, storetest.RowsIn(t, x.Store, "account_balance"))
}

func TestOperations_NameWhoChangedWhat(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	part := x.Server.Today.Add(-6).String() + ".." + x.Server.Today.String()
	x.Pull(t, "operations", 1, part, `{"days":7}`)
	count := storetest.RowsIn(t, x.Store, "config_change")
	require.Positive(t, count)
	require.Zero(t, storetest.RowsIn(t, x.Store,
		"config_change WHERE changed_by NOT IN ('advertiser', 'system', 'marketing API') OR changed_at IS NULL"))
	require.Positive(t, storetest.RowsIn(t, x.Store, "config_change WHERE level = 'adgroup' AND field = 'put_status'"))
	x.Pull(t, "operations", 1, part, `{"days":7}`)
	require.Equal(t, count, storetest.RowsIn(t, x.Store, "config_change"), "nothing twice")
}

func TestAccounts_AreFoundWithTheirNames(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	found := map[string]string{}
	err := kuaishou.New().Accounts(t.Context(), x.Client.ForLogin(x.Login), "", func(page []media.FoundAccount) error {
		for _, a := range page {
			require.NotContains(t, found, a.ExternalID, "each comes once")
			require.Equal(t, "CNY", a.Currency)
			require.Empty(t, a.Faults)
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

// A name that is taken is a job that is looked for, not a mistake.
func TestFiles_ATakenNameIsFound(t *testing.T) {
	t.Parallel()
	x := newPuller(t)
	files := kuaishou.New().Reports()[0].Files
	account, err := x.Account(t.Context(), 1)
	require.NoError(t, err)
	api, q := x.Client.For(account), media.ReportQuery{From: "2026-09-01", To: "2026-09-02"}
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
	x := newPuller(t)
	refresh := x.Server.Refresh.Reveal()
	class := func(app media.App, token string) media.Class {
		_, err := kuaishou.New().Refresh(t.Context(), x.Client.Transport, app, token)
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, "%v", err)
		require.NotContains(t, err.Error(), token)
		require.False(t, e.Expired)
		return e.Class
	}
	require.Equal(t, media.Auth, class(x.Server.App, "0123456789abcdef"))
	wrong := media.App{ID: x.Server.App.ID, Secret: secret.NewText("another-one")}
	require.Equal(t, media.Invalid, class(wrong, refresh))
	tokens, err := kuaishou.New().Refresh(t.Context(), x.Client.Transport, x.Server.App, refresh)
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, tokens.AccessExpires)
	require.Equal(t, 30*24*time.Hour, tokens.RefreshExpires)
	require.NotEqual(t, refresh, tokens.Refresh.Reveal())
}

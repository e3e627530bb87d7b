package platforms_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/account"
	"adsync/media/mediatest"
	"adsync/media/pull"
	"adsync/test/platforms/simclient"
)

// life follows the accounts of a login over some time of the world.
type life struct {
	simclient.Process
	t        *testing.T
	platform media.Platform
	world    simclient.World
	at       time.Time
}

func newLife(t *testing.T, platform media.Platform, server *mediatest.Server) *life {
	t.Helper()
	l := &life{
		Process: simclient.Start(t, platform, server), t: t, platform: platform,
		at:    time.Date(2026, 11, 21, 15, 34, 56, 0, simclient.Zone),
		world: simclient.Of(t, platform.Name(), server),
	}
	l.pass(0)
	l.run(account.Handler(account.Options{Platform: platform, Caller: l.Client, Store: l.Store,
		Logger: slog.New(slog.DiscardHandler)}), task.Key{Part: ledger.LoginPart(l.Login)}, "")
	return l
}

// pass moves the world's clock, for the platform and for us.
func (l *life) pass(d time.Duration) {
	l.t.Helper()
	l.at = l.at.Add(d)
	l.world.Order(l.t, "clock", map[string]any{"now": l.at})
	require.NoError(l.t, l.AnyCall(l.t, l.platform)) // The client learns the platform's time from its answers.
}

// Account implements pull.Accounts.
func (l *life) Account(ctx context.Context, id int64) (media.Account, error) {
	a, err := l.Store.Account(ctx, id)
	return media.Account{ID: a.ID, Media: a.Media, ExternalID: a.ExternalID, Name: a.Name, TokenID: a.TokenID,
		Zone: simclient.Zone, Currency: a.Currency}, err
}

// options returns the options of the handlers at the present moment.
func (l *life) options() account.LifeOptions {
	return account.LifeOptions{
		Platform: l.platform, Store: l.Store, Calls: l.Client, Clock: clock.NewScaled(l.at, 1, true),
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}
}

func (l *life) run(h media.Handler, key task.Key, params string) media.Result {
	l.t.Helper()
	result, err := h.Run(l.t.Context(), media.Work{Key: key, PlannedAt: l.at, Params: json.RawMessage(params)})
	require.NoError(l.t, err)
	return result
}

func (l *life) probe() media.Result {
	l.t.Helper()
	return l.run(l.options().ProbeHandler(), task.Key{Part: "probe"}, "")
}

// figures returns the handler that pulls an account's days, as engine makes it.
func (l *life) figures() media.Handler {
	l.t.Helper()
	o := l.options()
	handlers := pull.Handlers(l.platform, pull.Deps{Store: l.Store, Accounts: l, Caller: l.Client, Clock: o.Clock,
		Logger: o.Logger, Registerer: o.Registerer})
	h, ok := media.NewRegistry(handlers...).Get(l.platform.Name() + ".report_daily")
	require.True(l.t, ok)
	return o.Parks(h)
}

const weekOfFigures = `{"level":"account","days":7}`

// checkActivity pulls the last days of all accounts, as the nightly look-back does, and sets their tiers.
func (l *life) checkActivity() {
	l.t.Helper()
	parts, err := l.figures().Parts(media.Plan{PlannedAt: l.at, Zone: simclient.Zone,
		Params: json.RawMessage(weekOfFigures)})
	require.NoError(l.t, err)
	for _, part := range parts { // An account's calls are apart, within its limits.
		for id := range l.accounts("") {
			l.run(l.figures(), task.Key{RunID: 1, AccountID: id, Part: part}, weekOfFigures)
		}
	}
	o := l.options()
	l.run(account.ActivityHandler(account.ActivityOptions{Platform: l.platform, Store: l.Store, Clock: o.Clock,
		Logger: o.Logger}), task.Key{Part: "activity"}, "")
}

// accounts returns the platform's ids of our accounts of a tier, or of all.
func (l *life) accounts(tier string) map[int64]string {
	l.t.Helper()
	var rows []struct {
		ID         int64
		ExternalID string
	}
	err := l.Store.Config.Writer(l.t.Context()).Raw(
		"SELECT id, external_id FROM media_account WHERE ? IN ('', tier) ORDER BY id", tier).Scan(&rows).Error
	require.NoError(l.t, err)
	all := map[int64]string{}
	for _, r := range rows {
		all[r.ID] = r.ExternalID
	}
	return all
}

// probeCalls returns the number of calls that probe so many accounts of a login and zone.
func (l *life) probeCalls(accounts int) int {
	l.t.Helper()
	if prober, ok := l.platform.(media.Prober); ok {
		most := prober.ProbeMax()
		return (accounts + most - 1) / most
	}
	reports := l.platform.Reports()
	daily := reports[slices.IndexFunc(reports, func(r media.Report) bool { return r.Level == "account" && !r.Hourly })]
	most := max(daily.AccountsMax, 1)
	// A page may take several calls: of search and of feed advertising, for example.
	one, err := l.Account(l.t.Context(), 1)
	require.NoError(l.t, err)
	api := l.Client.For(one)
	_, err = daily.Page(l.t.Context(), api, media.ReportQuery{From: l.Server.Today, To: l.Server.Today}, "")
	require.NoError(l.t, err)
	return (accounts + most - 1) / most * api.Calls()
}

// The platform publishes figures every three minutes, and the probe runs every ten: an account is active at the first
// run after its first figures. A run makes as few calls as the platform allows for the inactive accounts, and none for
// the others.
func TestProbe_AnAccountThatSpendsAgainIsActiveAtTheNextRun(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		l := newLife(t, platform, server)
		l.checkActivity()
		sleeping := l.accounts(settings.TierInactive)
		require.Greater(t, len(sleeping), 10, "a third of the accounts is silent")
		require.Less(t, len(sleeping), len(server.Accounts)/2)
		require.Equal(t, media.Result{Calls: l.probeCalls(len(sleeping))}, l.probe(), "all are still inactive")

		// An account with ads begins to spend a moment after a run: the longest wait.
		woken, id := "", int64(0)
		most := 0 // ads: the more an account has, the sooner one of them spends
		for of, externalID := range sleeping {
			ads := slices.DeleteFunc(l.world.Truth(t, url.Values{"kind": {l.world.AdKind()}, "account": {externalID}}),
				func(ad simclient.Fact) bool { return ad.Deleted })
			if len(ads) > most || len(ads) == most && externalID < woken {
				woken, id, most = externalID, of, len(ads)
			}
		}
		l.world.Order(t, "accounts", map[string]any{"media": platform.Name(), "account": woken, "wake": true})
		spends := func() bool {
			return len(server.Rows(t, "report_daily", "account", woken, server.Today, server.Today)) > 0
		}
		require.False(t, spends())
		began := l.at
		for !spends() {
			require.Contains(t, l.accounts(settings.TierInactive), id)
			require.Less(t, l.at.Sub(began), time.Hour, "it never spends")
			l.pass(10 * time.Minute)
			require.Equal(t, l.probeCalls(len(sleeping)), l.probe().Calls)
		}
		require.NotContains(t, l.accounts(settings.TierInactive), id, "the first run that can see it makes it active")
		require.LessOrEqual(t, l.at.Sub(began), 20*time.Minute, "this account's first figures are out in the first minutes")

		// The next tick of today's figures includes the account, and the probe no longer does.
		scope, err := l.Store.FanOutAccounts(t.Context(), platform.Name(), []string{settings.TierActive}, id-1, 1)
		require.NoError(t, err)
		require.Equal(t, id, scope[0].ID)
		l.pass(10 * time.Minute)
		require.Equal(t, l.probeCalls(len(sleeping)-1), l.probe().Calls)
	})
}

func TestParking_AClosedAccountIsNotPulledUntilItOpens(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		l := newLife(t, platform, server)
		l.checkActivity()
		before := len(l.accounts(settings.TierActive))
		var id int64
		for of, externalID := range l.accounts(settings.TierActive) {
			if externalID == server.Accounts[1] {
				id = of
			}
		}
		l.world.Order(t, "accounts", map[string]any{"media": platform.Name(), "account": server.Accounts[1],
			"state": "frozen"})
		key := task.Key{RunID: 2, AccountID: id, Part: server.Today.String()}
		result, err := l.figures().Run(t.Context(), media.Work{Key: key, PlannedAt: l.at,
			Params: json.RawMessage(weekOfFigures)})
		require.Error(t, err)
		require.Equal(t, 2, result.Calls, "the pull's call, and one that confirms it")
		row, err := l.Store.Account(t.Context(), id)
		require.NoError(t, err)
		require.Regexp(t, `^(frozen|revoked): invalid error \d+`, row.Parked)
		scope, err := l.Store.FanOutAccounts(t.Context(), platform.Name(), []string{settings.TierActive}, 0, 1000)
		require.NoError(t, err)
		require.Len(t, scope, before-1)

		l.pass(10 * time.Minute)
		l.probe()
		l.world.Order(t, "accounts", map[string]any{"media": platform.Name(), "account": server.Accounts[1], "state": "open"})
		l.pass(10 * time.Minute)
		l.probe()
		row, err = l.Store.Account(t.Context(), id)
		require.NoError(t, err)
		require.NotEmpty(t, row.Parked, "the second gap is of twenty minutes")
		l.pass(10 * time.Minute)
		l.probe()
		row, err = l.Store.Account(t.Context(), id)
		require.NoError(t, err)
		require.Empty(t, row.Parked)
		scope, err = l.Store.FanOutAccounts(t.Context(), platform.Name(), []string{settings.TierActive}, 0, 1000)
		require.NoError(t, err)
		require.Len(t, scope, before)
	})
}

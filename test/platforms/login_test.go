package platforms_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"adsync/base/clock"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/task"
	"adsync/engine"
	"adsync/media"
	"adsync/media/account"
	"adsync/media/client"
	"adsync/media/mediatest"
	"adsync/media/token"
	"adsync/simulator"
)

// process is what of a real process calls a platform: client, keeper and tables, with one login.
type process struct {
	server *mediatest.Server
	store  *store.Store
	keeper *token.Keeper
	client *client.Client
	login  int64
	rules  *grant.Rules
}

// worldClock is the platform's time, which the simulated world makes stand still.
type worldClock struct{ transport *client.Transport }

func (c worldClock) Now() time.Time { return c.transport.Now() }

func (worldClock) Until(t time.Time) time.Duration { return time.Until(t) }

var _ clock.Clock = worldClock{}

func start(t *testing.T, platform media.Platform, server *mediatest.Server) process {
	t.Helper()
	p := process{server: server, store: storetest.New(t), rules: grant.NewRules()}
	require.NoError(t, p.store.EnsureRawTables(t.Context(), media.Tables(platform)))
	require.NoError(t, p.rules.Set(platform.Limits()))
	box, err := secret.NewBox(secret.NewKey("k"))
	require.NoError(t, err)
	require.NoError(t, token.PutApp(t.Context(), p.store, box, platform.Name(), server.App.ID, server.App.Secret))
	// Before the first answer the platform's time is not known: the pair must be good by the machine's clock too.
	now := time.Now()
	p.login, err = token.PutLogin(t.Context(), p.store, box, settings.Token{
		Media: platform.Name(), AppID: server.App.ID, Login: "somebody", AccessExpires: now.AddDate(1, 0, 0), RefreshExpires: now.AddDate(2, 0, 0),
	}, server.Access, server.Refresh)
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	inner := client.NewHTTP()
	t.Cleanup(inner.CloseIdleConnections)
	transport := client.NewTransport(platform, server.BaseURL, inner)
	log := slog.New(slog.DiscardHandler)
	p.keeper = token.New(token.Options{
		Platform: platform, Transport: transport, Store: p.store, Box: box, Clock: worldClock{transport}, Logger: log, Registerer: registry,
	})
	t.Cleanup(p.keeper.Close)
	p.client = client.New(client.Options{
		Platform: platform, Transport: transport, Tokens: p.keeper, Logger: log, Registerer: registry,
		Waiter: ratelimit.NewLocal(50*time.Millisecond, p.rules, nil),
	})
	return p
}

func eachPlatform(t *testing.T, test func(t *testing.T, platform media.Platform, server *mediatest.Server)) {
	t.Helper()
	for _, p := range engine.Platforms() {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			test(t, p, serve(p.Name())(t))
		})
	}
}

func (p process) anyCall(t *testing.T, platform media.Platform) error {
	t.Helper()
	api := p.client.For(media.Account{ID: 1, Media: platform.Name(), ExternalID: p.server.Accounts[0], TokenID: p.login, Zone: zone, Currency: "CNY"})
	_, err := platform.Reports()[0].Page(t.Context(), api, media.ReportQuery{From: p.server.Today, To: p.server.Today}, "")
	return err
}

func TestAccountList_FillsTheTables(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		p := start(t, platform, server)
		handler := account.Handler(account.Options{Platform: platform, Caller: p.client, Store: p.store, Logger: slog.New(slog.DiscardHandler)})
		work := media.Work{Key: task.Key{RunID: 1, Part: fmt.Sprintf("login:%d", p.login)}}
		for range 2 {
			result, err := handler.Run(t.Context(), work)
			require.NoError(t, err)
			require.Equal(t, len(server.Accounts), result.Rows)
			require.Positive(t, result.Calls)
		}
		for table, query := range map[string]string{
			"media_account":              "SELECT COUNT(*) FROM media_account WHERE tier = 'active' AND name <> '' AND currency = 'CNY' AND timezone = 'Asia/Shanghai'",
			platform.Name() + "_account": "SELECT COUNT(*) FROM " + platform.Name() + "_account WHERE version > 0 AND row_json LIKE '{%}'",
		} {
			db := p.store.Data
			if table == "media_account" {
				db = p.store.Config
			}
			var rows int
			require.NoError(t, db.Writer(t.Context()).Raw(query).Scan(&rows).Error)
			require.Equal(t, len(server.Accounts), rows, table)
		}
		_, err := handler.Run(t.Context(), media.Work{Key: task.Key{Part: "login:77"}})
		require.ErrorContains(t, err, "login 77")
	})
}

func TestKeeper_RefreshesAtThePlatformAndKeepsThePair(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		p := start(t, platform, server)
		require.NoError(t, p.anyCall(t, platform))
		for generation := int64(2); generation <= 4; generation++ {
			server.Expire(t)
			require.NoError(t, p.anyCall(t, platform))
			row, err := p.store.Token(t.Context(), p.login)
			require.NoError(t, err)
			require.Equal(t, generation, row.Generation)
			require.Equal(t, settings.TokenOK, row.State)
		}
	})
}

func TestKeeper_ParksALoginWhosePairIsDead(t *testing.T) {
	t.Parallel()
	eachPlatform(t, func(t *testing.T, platform media.Platform, server *mediatest.Server) {
		t.Helper()
		p := start(t, platform, server)
		require.NoError(t, p.anyCall(t, platform))
		u, err := url.Parse(server.BaseURL)
		require.NoError(t, err)
		w := world{media: platform.Name(), address: u.Scheme + "://" + u.Host}
		w.order(t, "faults", map[string]any{"kind": "token_death", "media": platform.Name(), "token": "pair"})
		for range 5 {
			err := p.anyCall(t, platform)
			_, waits := errors.AsType[*media.DeferError](err)
			require.True(t, waits, "it waits, at no attempt: %v", err)
			require.ErrorContains(t, err, "must be authorised again")
		}
		row, err := p.store.Token(t.Context(), p.login)
		require.NoError(t, err)
		require.Equal(t, settings.TokenReauthorise, row.State)
		require.NotEmpty(t, row.StateReason)
	})
}

// A login that authorised a workbench or an agency reaches the advertisers below it, and what is no advertiser is named.
func TestOceanEngine_ALoginsContainersAreExpanded(t *testing.T) {
	t.Parallel()
	platform := listed(t, "oceanengine")
	server := serveWorld(simulator.Config{Accounts: ofEach(500), Seed: 7}, platform.Name())(t)
	w := worldOf(t, platform.Name(), server)
	var credentials map[string]struct {
		Apps []struct {
			Logins []struct {
				Access   string   `json:"access_token"`
				Refresh  string   `json:"refresh_token"`
				Accounts []string `json:"account_ids"`
			} `json:"logins"`
		} `json:"apps"`
	}
	require.NoError(t, json.Unmarshal(w.get(t, "credentials", nil), &credentials))
	logins := credentials[platform.Name()].Apps[0].Logins
	require.Len(t, logins, 5)
	for i, l := range logins {
		of := *server
		of.Access, of.Refresh = secret.NewText(l.Access), secret.NewText(l.Refresh)
		p := start(t, platform, &of)
		require.NoError(t, p.rules.Set([]grant.Rule{})) // the world has none either
		o := account.Options{Platform: platform, Caller: p.client, Store: p.store, Logger: slog.New(slog.DiscardHandler)}
		listed, err := o.List(t.Context(), p.client.ForLogin(p.login), p.login)
		require.NoError(t, err)
		require.Equal(t, len(l.Accounts), listed.Rows, "login %d", i+1)
		var found []string
		require.NoError(t, p.store.Config.Writer(t.Context()).Raw("SELECT external_id FROM media_account ORDER BY external_id").Scan(&found).Error)
		require.ElementsMatch(t, l.Accounts, found)
		if i == 4 {
			require.Contains(t, listed.Note(), "an account of type PLATFORM_ROLE_STAR is no advertiser")
		} else {
			require.Empty(t, listed.Note())
		}
	}
}

func worldOf(t *testing.T, mediaName string, server *mediatest.Server) world {
	t.Helper()
	address, err := url.Parse(server.BaseURL)
	require.NoError(t, err)
	return world{media: mediaName, address: address.Scheme + "://" + address.Host}
}

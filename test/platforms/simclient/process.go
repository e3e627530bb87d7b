package simclient

import (
	"context"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"adsync/base/clock"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/base/store"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/media"
	"adsync/media/client"
	"adsync/media/mediatest"
	"adsync/media/token"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Process is a process's part for a platform: its client with a login, and the tables.
type Process struct {
	Server *mediatest.Server
	Store  *store.Store
	Keeper *token.Keeper
	Client *client.Client
	Login  int64
	Rules  *grant.Rules
}

// worldClock is the platform's time, which stands still in the simulated world.
type worldClock struct{ transport *client.Transport }

func (c worldClock) Now() time.Time { return c.transport.Now() }

func (worldClock) Until(t time.Time) time.Duration { return time.Until(t) }

var _ clock.Clock = worldClock{}

// Start makes a process that has the server's app and login.
func Start(t *testing.T, platform media.Platform, server *mediatest.Server) Process {
	t.Helper()
	p := Process{Server: server, Store: storetest.New(t), Rules: grant.NewRules()}
	require.NoError(t, p.Store.EnsureRawTables(t.Context(), media.Tables(platform)))
	require.NoError(t, p.Rules.Set(platform.Limits()))
	box, err := secret.NewBox(secret.NewKey("k"))
	require.NoError(t, err)
	require.NoError(t, token.PutApp(t.Context(), p.Store, box, platform.Name(), server.App.ID, server.App.Secret))
	// Before the first answer the platform's time is not known: the pair must be good by the machine's clock too.
	now := time.Now()
	p.Login, err = token.PutLogin(t.Context(), p.Store, box, settings.Token{
		Media: platform.Name(), AppID: server.App.ID, Login: "somebody", Name: server.Login.Name,
		AccessExpires: now.AddDate(1, 0, 0), RefreshExpires: now.AddDate(2, 0, 0),
	}, server.Access, server.Refresh)
	require.NoError(t, err)
	registry := prometheus.NewRegistry()
	inner := client.NewHTTP()
	t.Cleanup(inner.CloseIdleConnections)
	transport := client.NewTransport(platform, server.BaseURL, inner)
	log := slog.New(slog.DiscardHandler)
	p.Keeper = token.New(token.Options{
		Platform: platform, Transport: transport, Store: p.Store, Box: box, Clock: worldClock{transport}, Logger: log,
		Registerer: registry,
	})
	t.Cleanup(p.Keeper.Close)
	p.Client = client.New(client.Options{
		Platform: platform, Transport: transport, Tokens: p.Keeper, Logger: log, Registerer: registry,
		Waiter: ratelimit.NewLocal(50*time.Millisecond, p.Rules, nil),
	})
	return p
}

// Of returns the world of a server.
func Of(t *testing.T, mediaName string, server *mediatest.Server) World {
	t.Helper()
	address, err := url.Parse(server.BaseURL)
	require.NoError(t, err)
	return World{Media: mediaName, Address: address.Scheme + "://" + address.Host}
}

// OneAccount is a list with a single account.
type OneAccount media.Account

// Account implements pull.Accounts.
func (a OneAccount) Account(context.Context, int64) (media.Account, error) {
	return media.Account(a), nil
}

// AnyCall makes a call of a report.
func (p Process) AnyCall(t *testing.T, platform media.Platform) error {
	t.Helper()
	api := p.Client.For(media.Account{ID: 1, Media: platform.Name(), ExternalID: p.Server.Accounts[0],
		Name: p.Server.Names[p.Server.Accounts[0]], TokenID: p.Login, Zone: Zone, Currency: "CNY"})
	_, err := platform.Reports()[0].Page(t.Context(), api, media.ReportQuery{From: p.Server.Today, To: p.Server.Today}, "")
	return err
}

package simclient

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/task"
	"adsync/media"
	"adsync/media/pull"
	"adsync/simulator"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Puller pulls like the engine, by the clock of its world, and never waits for a limit.
type Puller struct {
	Process
	t        *testing.T
	World    World
	Platform media.Platform
	Handlers *media.Registry
	Again    int // the number of pulls that were repeated
	accounts map[string]Fact
}

// unlimited never waits: a call that the platform refuses is made again at once.
type unlimited struct{}

func (unlimited) Wait(context.Context, grant.Call) (g ratelimit.Grant, err error) { return g, nil }

func (unlimited) Settle(grant.Call, ratelimit.Grant, int) {}

func (unlimited) Pause(context.Context, grant.Call, grant.Scope, time.Duration) error {
	return nil
}

func (unlimited) Used(context.Context, grant.Call, grant.Scope, []ratelimit.Usage) error {
	return nil
}

// NewPuller makes a puller of a fresh world.
func NewPuller(t *testing.T, platform media.Platform, cfg simulator.Config) *Puller {
	t.Helper()
	server := ServeWorld(cfg, platform.Name())(t)
	x := &Puller{
		Process: Start(t, platform, server), t: t, Platform: platform, World: Of(t, platform.Name(), server),
	}
	x.accounts = x.World.accounts(t)
	x.Client.Waiter = unlimited{}
	x.Handlers = media.NewRegistry(pull.Handlers(platform, pull.Deps{
		Store: x.Store, Accounts: x, Caller: x.Client, Clock: x, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(),
	})...)
	return x
}

// Now implements clock.Clock by the world's clock, which tests set to other times.
func (x *Puller) Now() time.Time {
	var at struct{ Now time.Time }
	if err := json.Unmarshal(x.World.Get(x.t, "clock", nil), &at); err != nil {
		return time.Time{}
	}
	return at.Now
}

// Until implements clock.Clock.
func (x *Puller) Until(at time.Time) time.Duration { return at.Sub(x.Now()) }

// Account implements pull.Accounts: our ids count the server's accounts from 1. An account has the truth's zone and
// currency.
func (x *Puller) Account(_ context.Context, id int64) (media.Account, error) {
	external := x.Server.Accounts[id-1]
	zone, err := time.LoadLocation(x.accounts[external].Zone)
	return media.Account{ID: id, Media: x.Platform.Name(), ExternalID: external, Name: x.Server.Names[external],
		TokenID: x.Login, Zone: zone, Currency: x.accounts[external].Currency}, err
}

// Accounts returns the accounts up to an id.
func (x *Puller) Accounts(t *testing.T, last int) (accounts []media.Account) {
	t.Helper()
	for id := range last {
		account, err := x.Account(t.Context(), int64(id+1))
		require.NoError(t, err)
		accounts = append(accounts, account)
	}
	return accounts
}

// RequireClass requires that a call failed with an error of a class.
func RequireClass(t *testing.T, class media.Class, err error) {
	t.Helper()
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, class, e.Class, "%v", err)
}

// Try pulls once.
func (x *Puller) Try(t *testing.T, name string, id int64, part, params string) error {
	t.Helper()
	h, ok := x.Handlers.Get(x.Platform.Name() + "." + name)
	require.True(t, ok, name)
	_, err := h.Run(t.Context(), media.Work{Key: task.Key{RunID: 1, AccountID: id, Part: part},
		Params: json.RawMessage(params)})
	return err
}

// Pull pulls until it succeeds, at most ten times. Like the engine it repeats only transient and deferred failures.
func (x *Puller) Pull(t *testing.T, name string, id int64, part, params string) {
	t.Helper()
	for range 10 {
		err := x.Try(t, name, id, part, params)
		if err == nil {
			return
		}
		x.Again++
		if _, deferred := errors.AsType[*media.DeferError](err); deferred {
			continue
		}
		failed, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, media.Transient, failed.Class, "%v", err)
	}
	require.Fail(t, "it never succeeds", "%s of account %d", name, id)
}

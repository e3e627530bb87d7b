// Package login authorises logins of the platforms' apps, and binds the accounts that they reach. The API and the
// commands that work on the tables share it. Its errors for callers are problems of the API.
package login

import (
	"context"
	"strconv"

	"adsync/base/clock"
	"adsync/base/store/settings"
	"adsync/base/store/summaries"
	"adsync/client"
	"adsync/media/oauth"
)

// Store is what the package needs of the store.
type Store interface {
	AddAudit(ctx context.Context, a settings.Audit) (int64, error)
	AddBindings(ctx context.Context, actor string, bindings []summaries.Binding) error
	BindAccounts(ctx context.Context, actor string, ids []int64, bound bool) error
	Games(ctx context.Context) ([]string, error)
	LoginAccounts(ctx context.Context, tokenID int64) ([]settings.LoginAccount, error)
	Logins(ctx context.Context, media, appID string) ([]settings.Login, error)
	OAuthState(ctx context.Context, id string) (settings.OAuthState, error)
	PutGame(ctx context.Context, actor, code, name string) error
	SetChoose(ctx context.Context, tokenID int64, choose bool) error
}

// Actions are what a caller may do with logins. Its methods are those of client.Client.
type Actions struct {
	Store Store
	// Flows authorise logins, by the names of their platforms. Only BeginAuthorisation and CompleteAuthorisation need
	// them.
	Flows map[string]*oauth.Flow
	Clock clock.Clock
	Actor string // who it is, for audit_log
}

// ListLogins returns the logins, by id.
func (a Actions) ListLogins(ctx context.Context, of client.ListLoginsParams) (client.LoginList, error) {
	logins, err := a.Store.Logins(ctx, of.Media, of.AppID)
	if err != nil {
		return client.LoginList{}, err
	}
	list := client.LoginList{Logins: make([]client.Login, len(logins))}
	for i, l := range logins {
		list.Logins[i] = describe(l)
	}
	return list, nil
}

// describe returns a login as the API shows it.
func describe(l settings.Login) client.Login {
	return client.Login{ID: strconv.FormatInt(l.ID, 10), Media: l.Media, AppID: l.AppID, Login: l.Login, Name: l.Name,
		State: l.State, Reason: l.StateReason, PullsNewAccounts: !l.Choose}
}

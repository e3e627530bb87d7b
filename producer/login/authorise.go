package login

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"adsync/base/httpapi"
	"adsync/base/secret"
	"adsync/base/store/settings"
	"adsync/client"
	"adsync/media"
	"adsync/media/oauth"
	"adsync/media/token"
)

const (
	// AccountsMax is how many accounts of a login an answer lists.
	AccountsMax = 200
	// The process that handles a callback may die: it has exchangeGrace for the exchange of the code, and storedGrace for
	// the list of accounts.
	exchangeGrace = 2 * time.Minute
	storedGrace   = 3 * time.Minute
)

// BeginAuthorisation writes the app, unless it is known and the request has no secret, and requests an authorisation.
func (a Actions) BeginAuthorisation(ctx context.Context, r client.AuthorisationRequest) (client.AuthorisationStart,
	error) {
	var none client.AuthorisationStart
	flow, ok := a.Flows[r.Media]
	if !ok {
		return none, httpapi.Refused("media", "%q is refused: want one of %s", r.Media,
			strings.Join(slices.Sorted(maps.Keys(a.Flows)), ", "))
	}
	if err := oauth.CheckRedirectURI(r.RedirectURI); err != nil {
		return none, httpapi.Refused("redirect_uri", "%s", err)
	}
	if err := a.putApp(ctx, flow, r.AppID, secret.NewText(r.AppSecret)); err != nil {
		return none, err
	}
	request, err := flow.Begin(ctx, r.AppID, r.RedirectURI, a.Actor)
	if disabled, is := errors.AsType[*media.Error](err); is {
		return none, httpapi.Refused("app_id", "%s: want an app that is enabled, or its secret, which enables it",
			disabled.Message)
	}
	if err != nil {
		return none, err
	}
	return client.AuthorisationStart{ID: request.ID, URL: request.URL, CodeParameter: flow.CodeParameter(),
		ExpiresAt: a.Clock.Now().Add(settings.OAuthStateLasts)}, nil
}

func (a Actions) putApp(ctx context.Context, flow *oauth.Flow, id string, given secret.Text) error {
	if given.IsZero() {
		known, err := flow.HasApp(ctx, id)
		if err == nil && !known {
			err = httpapi.Refused("app_secret", "is missing: want the secret of app %s, which is not known here", id)
		}
		return err
	}
	err := flow.PutApp(ctx, id, given, a.Actor)
	if unusable, is := errors.AsType[*token.UnusableError](err); is {
		return httpapi.Refused("app_secret", "cannot be kept: %s", unusable.Reason)
	}
	return err
}

// CompleteAuthorisation exchanges a code, stores the login and lists its accounts.
func (a Actions) CompleteAuthorisation(ctx context.Context, id string, r client.CodeRequest) (client.Authorisation,
	error) {
	row, err := a.request(ctx, id)
	if err != nil {
		return client.Authorisation{}, err
	}
	flow, ok := a.Flows[row.Media]
	if !ok {
		return client.Authorisation{}, unknown(id)
	}
	_, err = flow.CompleteRequest(ctx, id, secret.NewText(r.Code), a.Actor)
	if refusal, is := errors.AsType[*oauth.Refusal](err); is {
		return client.Authorisation{}, httpapi.NewProblem(Status(refusal.Kind), "%s", refusal.Text)
	}
	if err != nil {
		return client.Authorisation{}, err
	}
	// The exchange may have taken longer than a request may.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return a.GetAuthorisation(ctx, id)
}

// Status returns the status of the answer for a callback that is refused.
func Status(kind oauth.Kind) int {
	switch kind {
	case oauth.Unknown:
		return http.StatusNotFound
	case oauth.Old:
		return http.StatusGone
	case oauth.Used:
		return http.StatusConflict
	case oauth.Stopping:
		return http.StatusServiceUnavailable
	case oauth.Refused:
	}
	return http.StatusBadGateway
}

// GetAuthorisation returns the progress of an authorisation.
func (a Actions) GetAuthorisation(ctx context.Context, id string) (client.Authorisation, error) {
	row, err := a.request(ctx, id)
	if err != nil {
		return client.Authorisation{}, err
	}
	answer := client.Authorisation{ID: id, Media: row.Media, AppID: row.AppID, RedirectURI: row.RedirectURI,
		AskedBy: row.AskedBy, Note: row.Note, State: client.AuthorisationState(row.Step)}
	switch {
	case row.Step == settings.OAuthWaiting && row.Left <= 0:
		answer.State = client.AuthorisationStateExpired
	case row.Step == settings.OAuthExchanging && row.UsedFor > exchangeGrace:
		answer.State = client.AuthorisationStateLost
	case row.Step == settings.OAuthStored && row.UsedFor > storedGrace:
		answer.State = client.AuthorisationStateDone
		if row.Note == "" {
			answer.Note = fmt.Sprintf("Its accounts were not all listed within %s; the task %s.account_list lists them.",
				storedGrace, row.Media)
		}
	}
	if row.Step != settings.OAuthStored && row.Step != settings.OAuthDone {
		return answer, nil
	}
	return answer, a.addLogin(ctx, &answer, row.TokenID)
}

// addLogin adds a login and its accounts to the answer. A login that was deleted since is left out.
func (a Actions) addLogin(ctx context.Context, answer *client.Authorisation, id int64) error {
	logins, err := a.Store.Logins(ctx, answer.Media, answer.AppID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(logins, func(l settings.Login) bool { return l.ID == id })
	if at < 0 {
		return nil
	}
	shown := describe(logins[at])
	answer.Login = &shown
	accounts, err := a.Store.LoginAccounts(ctx, id)
	answer.AccountCount = int64(len(accounts))
	for _, one := range accounts[:min(len(accounts), AccountsMax)] {
		answer.Accounts = append(answer.Accounts, client.LoginAccount{ExternalID: one.ExternalID, Name: one.Name,
			Bound: one.Bound, HasGame: one.Games})
	}
	return err
}

func (a Actions) request(ctx context.Context, id string) (settings.OAuthState, error) {
	row, err := a.Store.OAuthState(ctx, id)
	if errors.Is(err, settings.ErrNoOAuthState) {
		err = unknown(id)
	}
	return row, err
}

func unknown(id string) error {
	return httpapi.NewProblem(http.StatusNotFound,
		"There is no authorisation %.80q: want an id that a request for one returned within the last week.", id)
}

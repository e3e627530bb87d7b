package kuaishou

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"adsync/base/secret"
	"adsync/media"
	"adsync/media/wire"
)

// AuthorisePage implements media.Authoriser.
func (Platform) AuthorisePage() string { return "https://developers.e.kuaishou.com/tools/authorize" }

// Console implements media.Consoler.
func (Platform) Console() string { return "https://developers.e.kuaishou.com" }

// scopes are the permissions to read accounts, ads and reports. The platform takes them as a JSON array.
const scopes = `["ad_query","report_service","account_service"]`

// AuthoriseURL implements media.Authoriser.
func (Platform) AuthoriseURL(page string, ask media.Ask) string {
	return page + "?" + url.Values{
		"app_id": {ask.AppID}, "scope": {scopes}, "redirect_uri": {ask.RedirectURI}, "state": {ask.State.Reveal()},
		"oauth_type": {"advertiser"},
	}.Encode()
}

// CodeParameter implements media.Authoriser. A code works for 10 minutes.
func (Platform) CodeParameter() string { return "auth_code" }

// Exchange implements media.Authoriser (document 3085). The login is the advertiser that agreed. Where the answer does
// not name it, it is the smallest id among the accounts of the new token.
func (p Platform) Exchange(ctx context.Context, transport media.Transport, app media.App, code secret.Text,
	_ string) (media.Authorisation, error) {
	data, err := p.askTokens(ctx, transport, "oauth2/authorize/access_token", app, "auth_code", code)
	if e, ok := errors.AsType[*media.Error](err); ok && e.Class == media.Auth {
		e.Class, e.Expired = media.Invalid, false
		if isOfApp(e) {
			e.Message += ": write the app again"
		} else {
			e.Message += ": authorise again, a code works once and for 10 minutes"
		}
	}
	if err != nil {
		return media.Authorisation{}, err
	}
	tokens, err := readTokens(data)
	if err != nil {
		return media.Authorisation{}, err
	}
	a := media.Authorisation{Tokens: tokens, Login: string(wire.Open(data).ID("advertiser_id"))}
	if a.Login == "" {
		a.Login, err = p.smallestAccount(ctx, transport, app, tokens)
	}
	a.Name = "advertiser " + a.Login
	return a, media.WithoutOwner(err)
}

func (p Platform) smallestAccount(ctx context.Context, transport media.Transport, app media.App,
	tokens media.Tokens) (smallest string, err error) {
	data, err := p.post(ctx, transport, accountsEndpoint, map[string]any{"page_no": 1, "page_size": accountsPage,
		"app_id": json.Number(app.ID), "secret": app.Secret.Reveal(), "access_token": tokens.Access.Reveal()},
		app.Secret, tokens.Access)
	if err != nil {
		return "", err
	}
	ids, _, err := readAccounts(data)
	if err != nil {
		return "", media.Broken(accountsEndpoint, err)
	}
	for _, id := range ids {
		if smallest == "" || len(id) < len(smallest) || len(id) == len(smallest) && id < smallest {
			smallest = id
		}
	}
	if smallest == "" {
		return "", media.Broken(accountsEndpoint, errors.New("the token reaches no account"))
	}
	return smallest, nil
}

// Refresh implements media.Platform (document 3047). Both tokens are new. Whether the old pair still works is not
// documented: adsync does not count on it.
func (p Platform) Refresh(ctx context.Context, transport media.Transport, app media.App,
	refreshToken string) (media.Tokens, error) {
	data, err := p.askTokens(ctx, transport, "oauth2/authorize/refresh_token", app, "refresh_token",
		secret.NewText(refreshToken))
	if e, ok := errors.AsType[*media.Error](err); ok && e.Class == media.Auth {
		if e.Expired = false; isOfApp(e) {
			e.Class = media.Invalid // A wrong app must not end the login.
		}
	}
	if err != nil {
		return media.Tokens{}, err
	}
	return readTokens(data)
}

// isOfApp reports whether the app is refused. One group of codes has the refusals of codes, tokens and apps: only the
// text tells them apart.
func isOfApp(e *media.Error) bool {
	words := strings.ReplaceAll(e.Message, secret.NewText("any").String(), "") // without tokens that were removed
	return strings.Contains(words, "secret") || strings.Contains(words, "app_id")
}

// askTokens calls an endpoint for tokens, with the app's secret and with the code or token to exchange.
func (p Platform) askTokens(ctx context.Context, transport media.Transport, endpoint string, app media.App, name string,
	value secret.Text) (json.RawMessage, error) {
	// The platform requires the app's id as a number; json.Number keeps its digits.
	return p.post(ctx, transport, endpoint, map[string]any{"app_id": json.Number(app.ID), "secret": app.Secret.Reveal(),
		name: value.Reveal()}, app.Secret, value)
}

// post sends a body that holds secrets, which are removed from the error.
func (p Platform) post(ctx context.Context, transport media.Transport, endpoint string, body map[string]any,
	secrets ...secret.Text) (json.RawMessage, error) {
	return media.SecretCall{Address: transport.BaseURL() + "/" + endpoint, Secrets: secrets}.SendJSON(ctx, transport, p,
		body)
}

func readTokens(data json.RawMessage) (media.Tokens, error) {
	answer := wire.Open(data)
	tokens := media.Tokens{
		Access:         secret.NewText(answer.Text("access_token")),
		Refresh:        secret.NewText(answer.Text("refresh_token")),
		AccessExpires:  cmp.Or(answer.Seconds("access_token_expires_in"), answer.Seconds("expires_in")),
		RefreshExpires: answer.Seconds("refresh_token_expires_in"),
	}
	if tokens.Access.IsZero() || tokens.Refresh.IsZero() {
		return media.Tokens{}, &media.Error{Class: media.Transient,
			Message: "the answer to a call for tokens holds no pair of tokens"}
	}
	return tokens, nil
}

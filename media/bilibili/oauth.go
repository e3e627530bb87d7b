package bilibili

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"adsync/base/secret"
	"adsync/media"
	"adsync/media/wire"
)

// The calls for tokens (STACK) and for the login. GUIDE names the second one; its path and fields are not documented.
const (
	tokenEndpoint = "oauth2/token" //nolint:gosec // the name of an endpoint
	userEndpoint  = "oauth2/user"
)

// AuthorisePage implements media.Authoriser (STACK).
func (Platform) AuthorisePage() string {
	return "https://ad.bilibili.com/developer/developer-authorization"
}

// Console implements media.Consoler.
func (Platform) Console() string { return "https://ad.bilibili.com" }

// AuthoriseURL implements media.Authoriser (STACK).
func (Platform) AuthoriseURL(page string, ask media.Ask) string {
	return page + "?" + url.Values{
		"client_id": {ask.AppID}, "redirect_uri": {ask.RedirectURI}, "state": {ask.State.Reveal()},
	}.Encode()
}

// CodeParameter implements media.Authoriser (STACK).
func (Platform) CodeParameter() string { return "code" }

// exchangeFixes holds the remedies for the error codes of an exchange.
var exchangeFixes = map[string]string{
	strconv.Itoa(codeApp):  "client_id or client_secret is wrong: write the app again",
	strconv.Itoa(codeAuth): "authorise again, a code works once and for a short time",
}

// Exchange implements media.Authoriser (STACK). The answer does not name the login: a second call with the new token
// returns it.
func (p Platform) Exchange(ctx context.Context, transport media.Transport, app media.App, code secret.Text,
	redirectURI string) (media.Authorisation, error) {
	data, err := p.askTokens(ctx, transport, app, code, url.Values{
		"grant_type": {"authorization_code"}, "code": {code.Reveal()}, "redirect_uri": {redirectURI},
	})
	if err != nil {
		return media.Authorisation{}, media.WithFix(err, exchangeFixes)
	}
	tokens, err := readTokens(data)
	if err != nil {
		return media.Authorisation{}, err
	}
	return media.OwnerOf(ctx, transport, p, tokens, userEndpoint, func(user *wire.Row) (id, name string) {
		return user.Key("user_id"), user.Text("user_name")
	})
}

// Refresh implements media.Platform. Its parameters follow OAuth 2.0 and are not documented. Both tokens are new, and
// the old pair is dead before the answer comes. An error is of class auth only if it concerns the refresh token.
func (p Platform) Refresh(ctx context.Context, transport media.Transport, app media.App,
	refreshToken string) (media.Tokens, error) {
	data, err := p.askTokens(ctx, transport, app, secret.NewText(refreshToken), url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {refreshToken},
	})
	if e, ok := errors.AsType[*media.Error](err); ok {
		classifyRefresh(e)
	}
	if err != nil {
		return media.Tokens{}, err
	}
	return readTokens(data)
}

// askTokens calls for tokens with the app's secret and a grant, whose value is a code or a refresh token.
func (p Platform) askTokens(ctx context.Context, transport media.Transport, app media.App, value secret.Text,
	form url.Values) (json.RawMessage, error) {
	form.Set("client_id", app.ID)
	form.Set("client_secret", app.Secret.Reveal())
	return media.SecretCall{
		Method: http.MethodPost, Address: transport.BaseURL() + "/" + tokenEndpoint,
		ContentType: "application/x-www-form-urlencoded", Body: []byte(form.Encode()),
		Secrets: []secret.Text{app.Secret, value},
	}.Send(ctx, transport, p)
}

// refreshLife is how long a refresh token lives: the answers do not have it, and STACK assumes 20 days.
const refreshLife = 20 * 24 * time.Hour

func readTokens(data json.RawMessage) (media.Tokens, error) {
	answer := wire.Open(data)
	tokens := media.Tokens{
		Access:        secret.NewText(answer.Text("access_token")),
		Refresh:       secret.NewText(answer.Text("refresh_token")),
		AccessExpires: answer.Seconds("expires_in"), RefreshExpires: refreshLife,
	}
	if tokens.Access.IsZero() || tokens.Refresh.IsZero() {
		return media.Tokens{}, &media.Error{Class: media.Transient,
			Message: "the answer to a call for tokens holds no pair of tokens"}
	}
	return tokens, nil
}

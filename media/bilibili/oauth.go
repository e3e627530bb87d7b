package bilibili

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
	var a media.Authorisation
	// A pair whose owner is unknown cannot be stored, and the code is spent.
	for try := 1; ; try++ {
		if a, err = p.whoAmI(ctx, transport, tokens); err == nil || try == whoTries || ctx.Err() != nil {
			break
		}
	}
	if e, ok := errors.AsType[*media.Error](err); ok {
		e.Message += ": the platform returned tokens but not their login: authorise again"
	}
	return a, err
}

// whoTries is how often the call for the login is tried.
const whoTries = 3

func (p Platform) whoAmI(ctx context.Context, transport media.Transport, tokens media.Tokens) (media.Authorisation,
	error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, transport.BaseURL()+"/"+userEndpoint, http.NoBody)
	if err != nil {
		return media.Authorisation{}, &media.Error{Class: media.Bug, Message: "the base URL is invalid"}
	}
	p.Sign(req, tokens.Access.Reveal(), transport.Now())
	data, err := p.send(transport, req, tokens.Access)
	if err != nil {
		return media.Authorisation{}, err
	}
	user := wire.Open(data)
	a := media.Authorisation{Tokens: tokens, Login: user.Key("user_id"), Name: user.Text("user_name")}
	if user.Lost() {
		return media.Authorisation{}, media.Broken(userEndpoint, errors.New("it does not name the login"))
	}
	return a, nil
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, transport.BaseURL()+"/"+tokenEndpoint,
		strings.NewReader(form.Encode()))
	if err != nil {
		return nil, &media.Error{Class: media.Bug, Message: "the base URL is invalid"}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.send(transport, req, app.Secret, value)
}

// send sends a request that holds secrets, which are removed from the error.
func (p Platform) send(transport media.Transport, req *http.Request, secrets ...secret.Text) (json.RawMessage, error) {
	status, header, answer, err := transport.Do(req)
	if err != nil {
		return nil, err
	}
	data, err := p.Decode(status, header, answer)
	if e, ok := errors.AsType[*media.Error](err); ok {
		e.Redact(secrets...)
	}
	return data, err
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

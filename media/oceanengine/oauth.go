package oceanengine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"adsync/base/secret"
	"adsync/media"
	"adsync/media/wire"
)

var _ media.Authoriser = Platform{}

// AuthorisePage implements media.Authoriser. The documents name no host: this one is in the address on the app's
// console page.
func (Platform) AuthorisePage() string { return "https://ad.oceanengine.com/openapi/audit/oauth.html" }

// Console implements media.Consoler.
func (Platform) Console() string { return "https://open.oceanengine.com" }

// AuthoriseURL implements media.Authoriser (document 1803016515293203). Without a scope it requests all that the app
// has; material_auth also requests the addresses of images and videos.
func (Platform) AuthoriseURL(page string, ask media.Ask) string {
	return page + "?" + url.Values{
		"app_id":        {ask.AppID},
		"redirect_uri":  {ask.RedirectURI},
		"state":         {ask.State.Reveal()},
		"material_auth": {"1"},
	}.Encode()
}

// CodeParameter implements media.Authoriser.
func (Platform) CodeParameter() string { return "auth_code" }

// exchangeFixes holds the remedies for the error codes of an exchange.
var exchangeFixes = map[string]string{
	"40002": "the secret is not the app's: write the app again",
	"40113": "the app is missing or disabled: look at its page on the platform",
	"40115": "authorise again, a code works once and for 10 minutes",
}

// Exchange implements media.Authoriser. The answer does not name the login: a second call with the new token returns
// it. An older pair of the same login is dead from now on.
func (p Platform) Exchange(ctx context.Context, transport media.Transport, app media.App, code secret.Text,
	_ string) (media.Authorisation, error) {
	data, err := p.askTokens(ctx, transport, "oauth2/access_token/", app, "auth_code", code.Reveal())
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

const userEndpoint = "2/user/info/"

func (p Platform) whoAmI(ctx context.Context, transport media.Transport, tokens media.Tokens) (media.Authorisation,
	error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, transport.BaseURL()+"/"+userEndpoint, http.NoBody)
	if err != nil {
		return media.Authorisation{}, &media.Error{Class: media.Bug, Message: "the base URL is invalid"}
	}
	p.Sign(req, tokens.Access.Reveal(), transport.Now())
	status, header, body, err := transport.Do(req)
	if err != nil {
		return media.Authorisation{}, err
	}
	data, err := p.Decode(status, header, body)
	if e, ok := errors.AsType[*media.Error](err); ok {
		e.Redact(tokens.Access)
		return media.Authorisation{}, e
	}
	if err != nil {
		return media.Authorisation{}, err
	}
	user := wire.Open(data)
	a := media.Authorisation{Tokens: tokens, Login: user.Key("id"), Name: user.Text("display_name")}
	if user.Lost() {
		return media.Authorisation{}, media.Broken(userEndpoint, errors.New("it does not name the login"))
	}
	return a, nil
}

// Refresh implements media.Platform. Both tokens are new, and the old pair is dead by the time the answer comes.
func (p Platform) Refresh(ctx context.Context, transport media.Transport, app media.App,
	refreshToken string) (media.Tokens, error) {
	data, err := p.askTokens(ctx, transport, "oauth2/refresh_token/", app, "refresh_token", refreshToken)
	if err != nil {
		return media.Tokens{}, err
	}
	return readTokens(data)
}

// askTokens calls an endpoint for tokens, with the app's secret and with the code or token to exchange.
func (p Platform) askTokens(ctx context.Context, transport media.Transport, endpoint string, app media.App, name,
	value string) (json.RawMessage, error) {
	// The platform requires the app's id as a number; json.Number keeps its digits.
	body, err := json.Marshal(map[string]any{"app_id": json.Number(app.ID), "secret": app.Secret.Reveal(), name: value})
	if err != nil {
		return nil, &media.Error{Class: media.Invalid, Message: "the app's id is not a number"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, transport.BaseURL()+"/"+endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, &media.Error{Class: media.Bug, Message: "the base URL is invalid"}
	}
	req.Header.Set("Content-Type", "application/json")
	status, header, answer, err := transport.Do(req)
	if err != nil {
		return nil, err
	}
	return p.Decode(status, header, answer)
}

func readTokens(data json.RawMessage) (media.Tokens, error) {
	answer := wire.Open(data)
	tokens := media.Tokens{
		Access:         secret.NewText(answer.Text("access_token")),
		Refresh:        secret.NewText(answer.Text("refresh_token")),
		AccessExpires:  answer.Seconds("expires_in"),
		RefreshExpires: answer.Seconds("refresh_token_expires_in"),
	}
	if tokens.Access.IsZero() || tokens.Refresh.IsZero() {
		return media.Tokens{}, &media.Error{Class: media.Transient,
			Message: "the answer to a call for tokens holds no pair of tokens"}
	}
	return tokens, nil
}

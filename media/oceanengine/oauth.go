package oceanengine

import (
	"context"
	"encoding/json"
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
	data, err := p.askTokens(ctx, transport, "oauth2/access_token/", app, "auth_code", code)
	if err != nil {
		return media.Authorisation{}, media.WithFix(err, exchangeFixes)
	}
	tokens, err := readTokens(data)
	if err != nil {
		return media.Authorisation{}, err
	}
	return media.OwnerOf(ctx, transport, p, tokens, userEndpoint, func(user *wire.Row) (id, name string) {
		return user.Key("id"), user.Text("display_name")
	})
}

const userEndpoint = "2/user/info/"

// Refresh implements media.Platform. Both tokens are new, and the old pair is dead by the time the answer comes.
func (p Platform) Refresh(ctx context.Context, transport media.Transport, app media.App,
	refreshToken string) (media.Tokens, error) {
	data, err := p.askTokens(ctx, transport, "oauth2/refresh_token/", app, "refresh_token",
		secret.NewText(refreshToken))
	if err != nil {
		return media.Tokens{}, err
	}
	return readTokens(data)
}

// askTokens calls an endpoint for tokens, with the app's secret and with the code or token to exchange.
func (p Platform) askTokens(ctx context.Context, transport media.Transport, endpoint string, app media.App,
	name string, value secret.Text) (json.RawMessage, error) {
	// The platform requires the app's id as a number; json.Number keeps its digits.
	return media.SecretCall{Address: transport.BaseURL() + "/" + endpoint, Secrets: []secret.Text{app.Secret, value}}.
		SendJSON(ctx, transport, p, map[string]any{"app_id": json.Number(app.ID), "secret": app.Secret.Reveal(),
			name: value.Reveal()})
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

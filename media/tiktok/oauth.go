package tiktok

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"adsync/base/secret"
	"adsync/media"
	"adsync/media/wire"
)

const exchangeEndpoint = "oauth2/access_token/"

// AuthorisePage implements media.Authoriser.
func (Platform) AuthorisePage() string { return "https://business-api.tiktok.com/portal/auth" }

// Console implements media.Consoler.
func (Platform) Console() string { return "https://business-api.tiktok.com/portal" }

// AuthoriseURL implements media.Authoriser. The permissions are those that the app has on the portal.
func (Platform) AuthoriseURL(page string, ask media.Ask) string {
	return page + "?" + url.Values{
		"app_id": {ask.AppID}, "state": {ask.State.Reveal()}, "redirect_uri": {ask.RedirectURI},
	}.Encode()
}

// CodeParameter implements media.Authoriser. A code works for an hour.
func (Platform) CodeParameter() string { return "auth_code" }

// exchangeFixes holds the remedies for the error codes of an exchange.
var exchangeFixes = map[string]string{
	"40110": "authorise again, a code works once and for an hour",
	"40113": "the app's id or secret is not the platform's: write the app again",
}

// Exchange implements media.Authoriser. The answer names no person and no end of the token. The login is the smallest
// id among the accounts that the token reaches. An authorisation that does not include that account is another login.
// Whether it ends the tokens of earlier ones is not documented: adsync does not count on it.
func (p Platform) Exchange(ctx context.Context, transport media.Transport, app media.App, code secret.Text,
	_ string) (media.Authorisation, error) {
	data, err := media.SecretCall{
		Address: transport.BaseURL() + "/" + exchangeEndpoint, Secrets: []secret.Text{app.Secret, code},
	}.SendJSON(ctx, transport, p, map[string]string{"app_id": app.ID, "secret": app.Secret.Reveal(),
		"auth_code": code.Reveal()})
	if err != nil {
		return media.Authorisation{}, media.WithFix(err, exchangeFixes)
	}
	return readAuthorisation(data)
}

func readAuthorisation(data json.RawMessage) (media.Authorisation, error) {
	answer := wire.Open(data)
	a := media.Authorisation{Tokens: media.Tokens{Access: secret.NewText(answer.Text("access_token"))}}
	for _, raw := range answer.List("advertiser_ids") {
		var id wire.ID
		if id.UnmarshalJSON(raw) == nil && id.IsNumber() && (a.Login == "" || isLess(string(id), a.Login)) {
			a.Login = string(id)
		}
	}
	if a.Access.IsZero() || a.Login == "" {
		// The decoder's errors are dropped, as they may contain a part of the answer, which holds the token.
		return media.Authorisation{}, &media.Error{Class: media.Invalid,
			Message: "the answer to an exchange holds no token, or no account that it reaches: authorise again"}
	}
	return a, nil
}

// isLess compares two numbers without leading zeros.
func isLess(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }

// errNoRefresh reports that the platform has no refresh tokens for advertisers.
var errNoRefresh = errors.New("a token of this platform cannot be refreshed: authorise the login again")

// Refresh implements media.Platform. The platform has refresh tokens for other flows only.
func (Platform) Refresh(context.Context, media.Transport, media.App, string) (media.Tokens, error) {
	return media.Tokens{}, &media.Error{Class: media.Auth, Message: errNoRefresh.Error()}
}

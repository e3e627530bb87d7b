package tencent

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"adsync/base/secret"
	"adsync/media"
	"adsync/media/wire"
)

var _ media.Authoriser = Platform{}

// AuthorisePage implements media.Authoriser.
func (Platform) AuthorisePage() string { return "https://developers.e.qq.com/oauth/authorize" }

// Console implements media.Consoler.
func (Platform) Console() string { return "https://developers.e.qq.com" }

// AuthoriseURL implements media.Authoriser. Without a scope it requests all that the app has. The page "OAuth 2.0"
// (如何授权认证) requires a redirect_uri without a port.
func (Platform) AuthoriseURL(page string, ask media.Ask) string {
	return page + "?" + url.Values{
		"client_id":    {ask.AppID},
		"redirect_uri": {ask.RedirectURI},
		"state":        {ask.State.Reveal()},
	}.Encode()
}

// CodeParameter implements media.Authoriser.
func (Platform) CodeParameter() string { return "authorization_code" }

// exchangeFixes holds the remedies for the error codes of an exchange.
var exchangeFixes = map[string]string{
	"11007": "the app's id or secret is not the platform's: write the app again",
	"11009": "authorise again, a code lasts for 5 minutes",
	"11011": "authorise again, from a new address",
	"11013": "authorise again, a code works once",
}

// Exchange implements media.Authoriser. The login is the authorised account: in most cases an organisation, which
// reaches all accounts below it.
func (p Platform) Exchange(ctx context.Context, transport media.Transport, app media.App, code secret.Text,
	redirectURI string) (media.Authorisation, error) {
	data, err := p.askTokens(ctx, transport, app, url.Values{
		"grant_type":         {"authorization_code"},
		"authorization_code": {code.Reveal()},
		"redirect_uri":       {redirectURI},
	})
	if err != nil {
		return media.Authorisation{}, media.WithFix(err, exchangeFixes)
	}
	return readAuthorisation(data)
}

func readAuthorisation(data json.RawMessage) (media.Authorisation, error) {
	tokens, err := readTokens(data)
	if err != nil {
		return media.Authorisation{}, err
	}
	info := wire.Open(data).In("authorizer_info")
	login := cmp.Or(string(info.ID("account_id")), string(info.ID("account_uin")), info.Text("wechat_account_id"))
	if login == "" || tokens.Refresh.IsZero() {
		// The decoder's error is dropped, as it may contain a part of the answer, which holds tokens.
		return media.Authorisation{}, &media.Error{Class: media.Invalid,
			Message: "the answer to an exchange does not name the login, or holds no pair of tokens: authorise again"}
	}
	role := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(info.Text("account_role_type"), "ACCOUNT_ROLE_TYPE_"),
		"_", " "))
	return media.Authorisation{Tokens: tokens, Login: login, Name: strings.TrimSpace(role + " " + login)}, nil
}

// Refresh implements media.Platform. The refresh token stays the same and its life starts again; it is not in the
// answer.
func (p Platform) Refresh(ctx context.Context, transport media.Transport, app media.App,
	refreshToken string) (media.Tokens, error) {
	data, err := p.askTokens(ctx, transport, app, url.Values{"grant_type": {"refresh_token"},
		"refresh_token": {refreshToken}})
	if err != nil {
		return media.Tokens{}, err
	}
	return readTokens(data)
}

// askTokens calls the endpoint for tokens, with the app's secret.
func (p Platform) askTokens(ctx context.Context, transport media.Transport, app media.App,
	query url.Values) (json.RawMessage, error) {
	query.Set("client_id", app.ID)
	query.Set("client_secret", app.Secret.Reveal())
	// The path of the authorisation has no API version.
	address := strings.TrimSuffix(transport.BaseURL(), "/v3.0") + "/oauth/token?" + query.Encode()
	return media.SecretCall{
		Method: http.MethodGet, Address: address, Secrets: []secret.Text{
			app.Secret, secret.NewText(query.Get("authorization_code")), secret.NewText(query.Get("refresh_token")),
		},
	}.Send(ctx, transport, p)
}

func readTokens(data json.RawMessage) (media.Tokens, error) {
	answer := wire.Open(data)
	tokens := media.Tokens{
		Access:         secret.NewText(answer.Text("access_token")),
		Refresh:        secret.NewText(answer.Text("refresh_token")),
		AccessExpires:  answer.Seconds("access_token_expires_in"),
		RefreshExpires: answer.Seconds("refresh_token_expires_in"),
	}
	if tokens.Access.IsZero() {
		return media.Tokens{}, &media.Error{Class: media.Transient, Message: "the answer to a call for tokens holds none"}
	}
	return tokens, nil
}

package invented

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"adsync/base/rawtable"
	"adsync/base/secret"
	"adsync/media"
	"adsync/media/wire"
)

// AuthorisePage implements media.Authoriser.
func (p Platform) AuthorisePage() string { return "https://" + p.Name() + ".example/authorise" }

// AuthoriseURL implements media.Authoriser.
func (Platform) AuthoriseURL(page string, ask media.Ask) string {
	return page + "?" + url.Values{"app": {ask.AppID}, "redirect_uri": {ask.RedirectURI},
		"state": {ask.State.Reveal()}}.Encode()
}

// CodeParameter implements media.Authoriser.
func (Platform) CodeParameter() string { return "code" }

// Exchange implements media.Authoriser.
func (p Platform) Exchange(ctx context.Context, transport media.Transport, app media.App, code secret.Text,
	redirectURI string) (media.Authorisation, error) {
	tokens, answer, err := p.ask(ctx, transport, app, url.Values{"code": {code.Reveal()}, "redirect_uri": {redirectURI}})
	return media.Authorisation{Tokens: tokens, Login: answer.Text("login"), Name: answer.Text("name")}, err
}

// Refresh implements media.Platform.
func (p Platform) Refresh(ctx context.Context, transport media.Transport, app media.App,
	refreshToken string) (media.Tokens, error) {
	tokens, _, err := p.ask(ctx, transport, app, url.Values{"refresh_token": {refreshToken}})
	return tokens, err
}

// ask requests tokens, with the app's secret.
func (p Platform) ask(ctx context.Context, transport media.Transport, app media.App, form url.Values) (media.Tokens,
	*wire.Row, error) {
	form.Set("app", app.ID)
	form.Set("secret", app.Secret.Reveal())
	answer := wire.Open(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, transport.BaseURL()+"/token",
		strings.NewReader(form.Encode()))
	if err != nil {
		return media.Tokens{}, answer, &media.Error{Class: media.Bug, Message: "the base URL is invalid"}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	status, header, body, err := transport.Do(req)
	if err != nil {
		return media.Tokens{}, answer, err
	}
	data, err := p.Decode(status, header, body)
	if err != nil {
		return media.Tokens{}, answer, err
	}
	answer = wire.Open(data)
	tokens := media.Tokens{
		Access: secret.NewText(answer.Text("access_token")), Refresh: secret.NewText(answer.Text("refresh_token")),
		AccessExpires: answer.Seconds("expires_in"), RefreshExpires: answer.Seconds("refresh_expires_in"),
	}
	if tokens.Access.IsZero() {
		return media.Tokens{}, answer, &media.Error{Class: media.Transient, Message: "the answer holds no token"}
	}
	return tokens, answer, nil
}

// AccountTable implements media.Platform.
func (p Platform) AccountTable() rawtable.Table {
	return p.table("account", rawtable.AccountRows, rawtable.Column{Name: "company", Kind: rawtable.Text})
}

// Accounts implements media.Platform. One answer has all accounts. They are in China unless their rows name a zone and
// a currency.
func (Platform) Accounts(ctx context.Context, api media.API, _ string, yield func([]media.FoundAccount) error) error {
	const endpoint = "accounts"
	data, err := api.Get(ctx, endpoint, nil)
	if err != nil {
		return err
	}
	var answer struct {
		List wire.List `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return media.Broken(endpoint, err)
	}
	var found []media.FoundAccount
	for _, raw := range answer.List {
		found = append(found, media.OpenAccount(raw, func(r *wire.Row) media.FoundAccount {
			name := r.Text("name")
			return media.FoundAccount{
				ExternalID: r.KeyNumber("id"), Name: wire.Cut(name),
				Timezone: cmp.Or(r.Text("timezone"), "Asia/Shanghai"), Currency: cmp.Or(r.Text("currency"), "CNY"),
				Raw: []any{wire.Text(r.Text("company"))},
			}
		}))
	}
	return yield(found)
}

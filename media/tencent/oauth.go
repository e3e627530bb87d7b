package tencent

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"adsync/base/secret"
	"adsync/media"
	"adsync/media/wire"
)

// Refresh implements media.Platform. The refresh token stays the same and its life begins anew; it is not in the
// answer.
func (p Platform) Refresh(ctx context.Context, transport media.Transport, app media.App, refreshToken string) (media.Tokens, error) {
	// Authorisation lives beside the versions of the API.
	address := strings.TrimSuffix(transport.BaseURL(), "/v3.0") + "/oauth/token?" + url.Values{
		"client_id":     {app.ID},
		"client_secret": {app.Secret.Reveal()},
		"grant_type":    {"refresh_token"},
		"refresh_token": {refreshToken},
	}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return media.Tokens{}, &media.Error{Class: media.Bug, Message: "the base URL is no URL"}
	}
	status, header, body, err := transport.Do(req)
	if err != nil {
		return media.Tokens{}, err
	}
	data, err := p.Decode(status, header, body)
	if err != nil {
		return media.Tokens{}, err
	}
	return readTokens(data)
}

func readTokens(data json.RawMessage) (media.Tokens, error) {
	var answer struct {
		AccessToken    string   `json:"access_token"`
		RefreshToken   string   `json:"refresh_token"`
		AccessExpires  wire.Int `json:"access_token_expires_in"`
		RefreshExpires wire.Int `json:"refresh_token_expires_in"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.AccessToken == "" {
		// The decoder's words may hold a piece of the answer, and that is tokens.
		return media.Tokens{}, &media.Error{Class: media.Transient, Message: "the answer to a token refresh holds no token"}
	}
	return media.Tokens{
		Access:         secret.NewText(answer.AccessToken),
		Refresh:        secret.NewText(answer.RefreshToken),
		AccessExpires:  time.Duration(answer.AccessExpires.Value) * time.Second,
		RefreshExpires: time.Duration(answer.RefreshExpires.Value) * time.Second,
	}, nil
}

package oceanengine

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"adsync/base/secret"
	"adsync/media"
	"adsync/media/wire"
)

// Refresh implements media.Platform. Both tokens are new, and the old pair is dead by the time the answer comes.
func (p Platform) Refresh(ctx context.Context, transport media.Transport, app media.App, refreshToken string) (media.Tokens, error) {
	// The platform wants the app's id as a number; json.Number keeps its digits.
	body, err := json.Marshal(map[string]any{
		"app_id": json.Number(app.ID), "secret": app.Secret.Reveal(), "refresh_token": refreshToken,
	})
	if err != nil {
		return media.Tokens{}, &media.Error{Class: media.Invalid, Message: "the app's id is no number"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, transport.BaseURL()+"/oauth2/refresh_token/", bytes.NewReader(body))
	if err != nil {
		return media.Tokens{}, &media.Error{Class: media.Bug, Message: "the base URL is no URL"}
	}
	req.Header.Set("Content-Type", "application/json")
	status, header, answer, err := transport.Do(req)
	if err != nil {
		return media.Tokens{}, err
	}
	data, err := p.Decode(status, header, answer)
	if err != nil {
		return media.Tokens{}, err
	}
	return readTokens(data)
}

func readTokens(data json.RawMessage) (media.Tokens, error) {
	var answer struct {
		AccessToken    string   `json:"access_token"`
		RefreshToken   string   `json:"refresh_token"`
		AccessExpires  wire.Int `json:"expires_in"`
		RefreshExpires wire.Int `json:"refresh_token_expires_in"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || answer.AccessToken == "" || answer.RefreshToken == "" {
		// The decoder's words may hold a piece of the answer, and that is tokens.
		return media.Tokens{}, &media.Error{Class: media.Transient, Message: "the answer to a token refresh holds no pair of tokens"}
	}
	return media.Tokens{
		Access:         secret.NewText(answer.AccessToken),
		Refresh:        secret.NewText(answer.RefreshToken),
		AccessExpires:  time.Duration(answer.AccessExpires.Value) * time.Second,
		RefreshExpires: time.Duration(answer.RefreshExpires.Value) * time.Second,
	}, nil
}

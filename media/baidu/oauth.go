package baidu

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"adsync/base/secret"
	"adsync/media"
	"adsync/media/wire"
)

// The page and the calls for tokens are those of page 100441.
const (
	authorisePage = "https://u.baidu.com/oauth/page/index"
	oauthHost     = "https://u.baidu.com"
	// platformID is the documented id of the page. The scopes are the numbers of the document's sample: the app's console
	// names those of the app.
	platformID = "4960345965958561794"
	scopes     = "67,71"
)

// AuthorisePage implements media.Authoriser.
func (Platform) AuthorisePage() string { return authorisePage }

// Console implements media.Consoler.
func (Platform) Console() string { return "https://dev2.baidu.com" }

// AuthoriseURL implements media.Authoriser.
func (Platform) AuthoriseURL(page string, ask media.Ask) string {
	return page + "?" + url.Values{"platformId": {platformID}, "appId": {ask.AppID}, "scope": {scopes},
		"state": {ask.State.Reveal()}, "callback": {ask.RedirectURI}}.Encode()
}

// CodeParameter implements media.Authoriser.
func (Platform) CodeParameter() string { return "authCode" }

// Callback implements media.CallbackReader: the exchange takes the user's id, and checks the signature of everything.
func (Platform) Callback(query url.Values) string {
	if query.Get("authCode") == "" {
		return ""
	}
	return query.Encode()
}

// Exchange implements media.Authoriser. The login is the user that agreed.
func (p Platform) Exchange(ctx context.Context, transport media.Transport, app media.App, code secret.Text,
	_ string) (media.Authorisation, error) {
	query, err := url.ParseQuery(code.Reveal())
	authCode, user := secret.NewText(query.Get("authCode")), query.Get("userId")
	switch {
	case err != nil || authCode.IsZero() || user == "":
		return media.Authorisation{}, &media.Error{Class: media.Invalid, Message: "the code has no userId with it: " +
			"authorise again, and give everything after the question mark of the address at which the browser ended"}
	case !signed(query, app.Secret):
		return media.Authorisation{}, &media.Error{Class: media.Invalid,
			Message: "the signature of the callback is not that of the app's secret: write the app again, then authorise again"}
	}
	data, err := p.askTokens(ctx, transport, "accessToken", map[string]any{"appId": app.ID, "authCode": authCode.Reveal(),
		"secretKey": app.Secret.Reveal(), "grantType": "auth_code", "userId": userNumber(user)}, app.Secret, authCode)
	if e, ok := errors.AsType[*media.Error](err); ok && e.Class == media.Auth {
		e.Class = media.Invalid
		if namesApp(e.Message) {
			e.Message += ": write the app again, then authorise again"
		} else {
			e.Message += ": authorise again, a code works once and for a short time"
		}
	}
	if err != nil {
		return media.Authorisation{}, err
	}
	tokens, err := readTokens(data)
	if err != nil {
		return media.Authorisation{}, err
	}
	if tokens.Refresh.IsZero() {
		return media.Authorisation{}, &media.Error{Class: media.Transient, Message: "the answer has no refreshToken"}
	}
	answer := wire.Open(data)
	a := media.Authorisation{Tokens: tokens, Login: cmp.Or(string(answer.ID("userId")), user)}
	a.Name, err = p.nameOf(ctx, transport, a, answer.Text("openId"))
	return a, media.WithoutOwner(err)
}

// nameOf returns the name of a login, which all calls need.
func (p Platform) nameOf(ctx context.Context, transport media.Transport, a media.Authorisation,
	openID string) (string, error) {
	data, err := p.askTokens(ctx, transport, "getUserInfo", map[string]any{"openId": openID,
		"accessToken": a.Access.Reveal(), "userId": userNumber(a.Login), "needSubList": false}, a.Access)
	if err != nil {
		return "", err
	}
	name := wire.Open(data).Text("masterName")
	if name == "" {
		return "", media.Broken("oauth/getUserInfo", errors.New("there is no masterName"))
	}
	return name, nil
}

// Refresh implements media.Platform. The answer has a new refresh token; an empty one keeps the old. Whether the old
// pair still works is not documented: adsync does not count on it.
func (p Platform) Refresh(ctx context.Context, transport media.Transport, app media.App,
	refreshToken string) (media.Tokens, error) {
	refresh := secret.NewText(refreshToken)
	data, err := p.askTokens(ctx, transport, "refreshToken", map[string]any{"appId": app.ID,
		"refreshToken": refreshToken, "secretKey": app.Secret.Reveal(), "userId": userNumber(media.LoginOf(ctx).ID)},
		app.Secret, refresh)
	if e, ok := errors.AsType[*media.Error](err); ok && e.Class == media.Auth && namesApp(e.Message) {
		// Only the text tells the refusals of the refresh token and of the app apart: a wrong app must not end the login.
		e.Class = media.Invalid
	}
	if err != nil {
		return media.Tokens{}, err
	}
	return readTokens(data)
}

func namesApp(message string) bool {
	text := strings.ToLower(message)
	return strings.Contains(text, "appid") || strings.Contains(text, "secretkey")
}

// userNumber returns a user's id as the number that the platform documents, or the text if it is none.
func userNumber(id string) any {
	if wire.ID(id).IsNumber() {
		return json.Number(id)
	}
	return id
}

// oauthURL returns where calls for tokens are. Another base URL than the platform's serves both hosts.
func oauthURL(base string) string {
	if base == (Platform{}).BaseURL() {
		return oauthHost
	}
	return base
}

// askTokens makes a call for tokens, whose body holds secrets. They are removed from the error.
func (p Platform) askTokens(ctx context.Context, transport media.Transport, name string, body map[string]any,
	secrets ...secret.Text) (json.RawMessage, error) {
	return media.SecretCall{Address: oauthURL(transport.BaseURL()) + "/oauth/" + name,
		ContentType: "application/json;charset=UTF-8", Secrets: secrets}.SendJSON(ctx, transport, p, body)
}

func readTokens(data json.RawMessage) (media.Tokens, error) {
	answer := wire.Open(data)
	tokens := media.Tokens{
		Access: secret.NewText(answer.Text("accessToken")), Refresh: secret.NewText(answer.Text("refreshToken")),
		AccessExpires: answer.Seconds("expiresIn"), RefreshExpires: answer.Seconds("refreshExpiresIn"),
	}
	if tokens.Access.IsZero() {
		return media.Tokens{}, &media.Error{Class: media.Transient, Message: "the answer has no accessToken"}
	}
	return tokens, nil
}

// signed reports whether a callback has the signature of an app: all other parameters as JSON in the order of their
// names, as Base64, encrypted with AES-128-CBC from zeros. How the last block is filled is not documented: with zeros.
func signed(query url.Values, app secret.Text) bool {
	parameters := map[string]string{}
	for name := range query {
		if name != "signature" {
			parameters[name] = query.Get(name)
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(parameters) != nil || len(app.Reveal()) < aes.BlockSize {
		return false
	}
	plain := []byte(base64.StdEncoding.EncodeToString(bytes.TrimSpace(text.Bytes())))
	plain = append(plain, make([]byte, (aes.BlockSize-len(plain)%aes.BlockSize)%aes.BlockSize)...)
	block, err := aes.NewCipher([]byte(app.Reveal()[:aes.BlockSize]))
	if err != nil {
		return false
	}
	//nolint:gosec // The platform's signature starts from zeros.
	cipher.NewCBCEncrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(plain, plain)
	return fmt.Sprintf("%X", plain) == query.Get("signature")
}

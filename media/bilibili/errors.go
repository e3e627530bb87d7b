package bilibili

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
	"adsync/media/wire"
)

// The codes of refused calls for tokens, and of a wrong parameter.
const (
	codeParameter = 40000
	codeApp       = 40002
	codeAuth      = 40003
	codeRefresh   = 40004
	codeReplaced  = 40005
)

// codes is the platform's error table. No source has a code of the platform: all of these are not documented. The
// platform's words decide about any other code: see classify.
var codes = media.Codes{
	40001:        {Class: media.Auth, Expired: true}, // access token missing, expired or replaced
	codeApp:      {Class: media.Invalid},             // client_id or client_secret wrong: the app's row, not the login
	codeAuth:     {Class: media.Invalid},             // authorisation code used, or too old
	codeRefresh:  {Class: media.Auth},                // refresh token unknown or expired
	codeReplaced: {Class: media.Auth},                // refresh token replaced by a later one

	40301: {Class: media.Invalid, Parks: media.Revoked}, // no permission for the account
	40302: {Class: media.Invalid, Parks: media.Frozen},  // account closed

	codeParameter: {Class: media.Bug},
	-429:          {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: limitPause},
	50001:         {Class: media.Transient}, // busy
}

// limitPause is the pause after a refusal by a limit. Which limit refused, and for how long, is not documented.
const limitPause = time.Second

// The words by which refusals are classified whose code is not in the table: those about limits are in GUIDE.
var (
	limitWords   = []string{"频率", "限流", "qps", "traffic"}
	tokenWords   = []string{"access_token", "access token"}
	refreshWords = []string{"refresh_token", "refresh token"}
)

// Decode implements media.Platform. The envelope of tokens and accounts has code 0 for success, the other one the
// status "success"; a refusal has a code, and its text in msg or message (STACK).
func (Platform) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	envelope, unreadable := wire.Envelope(body)
	word := wire.String(envelope["status"])
	message := cmp.Or(wire.String(envelope["message"]), wire.String(envelope["msg"]))
	code, hasCode := envelope["code"]
	var err error
	switch isZero := !hasCode || wire.String(code) == "0"; {
	case word == "success" && isZero && status < http.StatusMultipleChoices:
		if data := envelope["data"]; string(data) != "null" {
			return data, nil
		}
		return nil, nil
	case word != "" && word != "success" && isZero:
		err = media.HTTPError(status, header, message)
	default:
		var data json.RawMessage
		if data, err = codes.Open(status, header, envelope, unreadable); err == nil {
			return data, nil
		}
	}
	if e, ok := errors.AsType[*media.Error](err); ok {
		e.Message = cmp.Or(message, e.Message)
		classify(e, status)
	}
	return nil, err
}

// classify sets the class of a refusal whose code is not in the table, by its HTTP status or its words.
func classify(e *media.Error, status int) {
	switch {
	case e.Class != media.Transient || status >= http.StatusInternalServerError:
	case status == http.StatusUnauthorized || names(e, tokenWords):
		e.Class, e.Expired = media.Auth, true
	case names(e, limitWords):
		e.Class, e.Scope, e.RetryAfter = media.Quota, grant.ScopeApp, max(e.RetryAfter, limitPause)
	}
}

// classifyRefresh sets the class of a refused refresh. Only a refusal of the refresh token is of class auth: any other
// one must not end the login.
func classifyRefresh(e *media.Error) {
	e.Expired = false
	code, err := strconv.ParseInt(e.Code, 10, 64)
	_, known := codes[code]
	known = known && err == nil
	switch {
	case known && (code == codeRefresh || code == codeReplaced):
	case !known && !strings.HasPrefix(e.Code, "http 5") && names(e, refreshWords):
		e.Class = media.Auth
	case e.Class == media.Auth:
		e.Class = media.Transient
	}
}

// names reports whether the text of a refusal has one of some words.
func names(e *media.Error, words []string) bool {
	text := strings.ToLower(e.Message)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

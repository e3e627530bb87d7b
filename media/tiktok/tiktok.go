// Package tiktok implements v1.3 of the Marketing API of TikTok for Business.
//
// Its peculiarities: an access token has no end and cannot be refreshed, so that only another authorisation replaces
// one that was revoked; lists and reports leave out deleted objects unless STATUS_ALL is requested; lists select no
// changes; times of objects are in UTC, days and hours of reports in the account's zone; money is in the account's
// currency, and "-" is a figure without a value; an hour that occurs twice has two rows.
//
// An ad is a creative. The sources of facts are the platform's own client libraries (tiktok-business-api-sdk) and
// others that quote its portal. What none of them states is marked "not documented", and docs/platforms/tiktok.md says
// how to check it against a real account.
package tiktok

import (
	"encoding/json"
	"net/http"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
)

// Name is the media name of TikTok.
const Name = "tiktok"

// Platform implements media.Platform.
type Platform struct{}

var (
	_ media.Platform   = Platform{}
	_ media.Authoriser = Platform{}
	_ media.AppSigner  = Platform{}
	_ media.Consoler   = Platform{}
	_ media.Describer  = Platform{}
	_ media.Prober     = Platform{}
	_ media.Totaler    = Platform{}
)

// New returns the platform.
func New() Platform { return Platform{} }

// Name implements media.Platform.
func (Platform) Name() string { return Name }

// BaseURL implements media.Platform.
func (Platform) BaseURL() string { return "https://business-api.tiktok.com/open_api/v1.3" }

// Limits implements media.Platform. The platform limits an app's queries per second, by the app's tier: 10 for a basic
// app, 20 for an advanced one. It also has an allowance per day, whose size is not documented. Rows of rate_limit
// replace these limits.
func (Platform) Limits() []grant.Rule {
	return []grant.Rule{{Media: Name, Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 10}}
}

// Sign implements media.Platform.
func (Platform) Sign(req *http.Request, accessToken string, _ time.Time) {
	req.Header.Set("Access-Token", accessToken)
}

// Decode implements media.Platform. Errors have HTTP status 200.
func (Platform) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	data, err := codes.Decode(status, header, body)
	return data, withRestriction(err)
}

// asJSON returns the JSON text of a parameter that is not a string, as the platform requires it in the query.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // Only texts and lists of them are passed.
	}
	return string(b)
}

// readTime parses a time of an object, in UTC. The form of files' times is not documented: both are read.
func readTime(text string) (time.Time, error) {
	layout := time.DateTime
	if len(text) > len(layout) || len(text) == len(layout) && text[10] == 'T' {
		layout = time.RFC3339
	}
	return time.Parse(layout, text)
}

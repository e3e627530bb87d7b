// Package tencent speaks the Marketing API v3.0 of Tencent Ads.
//
// What is peculiar about it: every call carries a timestamp and a nonce; business errors come with HTTP 200; money is
// integers of fen; times are Unix seconds and days are those of UTC+8; rows without impressions are not in reports.
//
// Generation v3.0 has no campaigns: below the account are ad groups, and below these dynamic creatives.
package tencent

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
)

// Name is the media name of Tencent Ads.
const Name = "tencent"

// What holds for all accounts of the platform: its days are those of China.
const (
	zoneName = "Asia/Shanghai"
	currency = "CNY"
)

// Platform implements media.Platform.
type Platform struct{}

var _ media.Platform = Platform{}

// New returns the platform.
func New() Platform { return Platform{} }

// Name implements media.Platform.
func (Platform) Name() string { return Name }

// BaseURL implements media.Platform.
func (Platform) BaseURL() string { return "https://api.e.qq.com/v3.0" }

// Limits implements media.Platform. The platform counts the calls of an app to each endpoint per minute, and tells
// the number only on the app's own console page: these are for an app of the lowest level, and rows replace them. The
// rows that calls of reports match are documented; see Rows.
func (Platform) Limits() []grant.Rule {
	return []grant.Rule{
		{Media: Name, Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Second, Limit: 20},
		{Media: Name, Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Minute, Limit: 600},
		{Media: Name, Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: 10 * time.Second, Limit: 40_000,
			Unit: grant.UnitRows},
	}
}

// Sign implements media.Platform: token, time and nonce stand in the query of every call. The platform refuses a time
// that is 300 s off its own, and a nonce that it has seen before.
func (Platform) Sign(req *http.Request, accessToken string, now time.Time) {
	q := req.URL.Query()
	q.Set("access_token", accessToken)
	q.Set("timestamp", strconv.FormatInt(now.Unix(), 10))
	q.Set("nonce", rand.Text()) // 26 characters; the platform takes 32
	req.URL.RawQuery = q.Encode()
}

// Decode implements media.Platform.
func (Platform) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	return codes.Decode(status, header, body)
}

// asJSON is a parameter that is not a string: the platform wants its JSON text in the query.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // Only texts and lists of texts are passed.
	}
	return string(b)
}

// Package tencent implements the Marketing API v3.0 of Tencent Ads.
//
// Its peculiarities: every call carries a timestamp and a nonce; business errors come with HTTP 200; money is in
// whole fen; times are Unix seconds and days are those of UTC+8; reports have no rows without impressions.
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

// The currency and zone of all accounts of the platform.
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

// Limits implements media.Platform. The platform counts an app's calls to each endpoint per minute, and shows the
// limit only on the app's console page: these limits are for an app of the lowest level, and rows of rate_limit
// replace them. The limit of rows that calls of reports match is documented; see Rows.
func (Platform) Limits() []grant.Rule {
	return []grant.Rule{
		{Media: Name, Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Second, Limit: 20},
		{Media: Name, Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Minute, Limit: 600},
		{Media: Name, Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: 10 * time.Second, Limit: 40_000,
			Unit: grant.UnitRows},
	}
}

// Sign implements media.Platform. Token, time and nonce are in the query of every call. The platform refuses a time
// that is 300 s off its own, and a nonce that it has seen before.
func (Platform) Sign(req *http.Request, accessToken string, now time.Time) {
	q := req.URL.Query()
	q.Set("access_token", accessToken)
	q.Set("timestamp", strconv.FormatInt(now.Unix(), 10))
	q.Set("nonce", rand.Text()) // 26 characters; the platform allows 32
	req.URL.RawQuery = q.Encode()
}

// Decode implements media.Platform.
func (Platform) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	return codes.Decode(status, header, body)
}

// asJSON returns the JSON text of a parameter that is not a string, as the platform requires it in the query.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // Only texts and lists of texts are passed.
	}
	return string(b)
}

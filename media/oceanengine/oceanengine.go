// Package oceanengine implements the Marketing API of Ocean Engine (巨量引擎): v3.0, and the endpoints of 2 that it uses.
//
// Its peculiarities: the token is in a header; ids have up to 19 digits; money is in yuan, as JSON floats in lists
// and as texts in reports; times are texts without a zone, in China's time; a refresh kills the old pair of tokens at
// once.
//
// The levels are those of v3.0: a project is a campaign, a promotion an ad group. There are no creatives: a promotion
// has materials, and the report of topic MATERIAL_DATA has figures by promotion and material. A creative in the
// tables is such a pair (see creativeID).
package oceanengine

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
	"adsync/media/wire"
)

// Name is the media name of Ocean Engine.
const Name = "oceanengine"

// The currency and zone of all accounts of the platform.
const (
	zoneName = "Asia/Shanghai"
	currency = "CNY"
)

// china is the zone of all times of the platform. It has had no summer time since the platform exists.
var china = time.FixedZone("UTC+8", 8*60*60)

const timeLayout = "2006-01-02 15:04:05"

// Platform implements media.Platform.
type Platform struct{ topics *topics }

var _ media.Platform = Platform{}

// New returns the platform.
func New() Platform { return Platform{topics: newTopics()} }

// Name implements media.Platform.
func (Platform) Name() string { return Name }

// BaseURL implements media.Platform.
func (Platform) BaseURL() string { return "https://api.oceanengine.com/open_api" }

// Limits implements media.Platform. The platform counts per endpoint in sliding seconds. It shows the limit of an app
// on the app's console page, and does not publish the limit of an advertiser. These limits are for an app of the
// lowest level, and rows of rate_limit replace them.
func (Platform) Limits() []grant.Rule {
	return []grant.Rule{
		{Media: Name, Endpoint: "*", Each: true, Scope: grant.ScopeApp, Period: time.Second, Limit: 20},
		{Media: Name, Endpoint: "*", Each: true, Scope: grant.ScopeAccount, Period: time.Second, Limit: 10},
	}
}

// Sign implements media.Platform.
func (Platform) Sign(req *http.Request, accessToken string, _ time.Time) {
	req.Header.Set("Access-Token", accessToken)
	if strings.HasSuffix(req.URL.Path, "/"+accountsEndpoint) {
		// The only endpoint that reads the token from the query.
		q := req.URL.Query()
		q.Set("access_token", accessToken)
		req.URL.RawQuery = q.Encode()
	}
}

// Decode implements media.Platform.
func (Platform) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	data, err := codes.Decode(status, header, body)
	return data, withPenalty(err, header)
}

// asJSON returns the JSON text of a parameter that is not a string, as the platform requires it in the query.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // Only texts, numbers and lists of them are passed.
	}
	return string(b)
}

// readTime parses a time of the platform.
var readTime = wire.TimeIn(china, timeLayout)

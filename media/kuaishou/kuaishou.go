// Package kuaishou implements the Marketing API of Kuaishou's Magnetic Engine (磁力引擎).
//
// Its peculiarities: almost all reads are POSTs with a JSON body; lists select changes only by the day; bids and
// budgets are in li (thousandths of a yuan), reports and balances in yuan; reports have the last week only, and files
// that the platform makes have half a year; times are texts without a zone, in China's time; the list of accounts
// reports its success with code 1.
//
// Program creatives, which the platform makes from a unit's package, have their own reports. A list returns them by
// package.
//
// A unit is an ad group. Sources of facts are documents of the platform's developer site, by their number. The site's
// pages on tokens, error codes and call limits have no text of their own: what depends on them is marked "not
// documented".
package kuaishou

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
	"adsync/media/wire"
)

// Name is the media name of Kuaishou.
const Name = "kuaishou"

// The currency and zone of all accounts of the platform. The zone of its days is not documented.
const (
	zoneName = "Asia/Shanghai"
	currency = "CNY"
)

// china is the zone of all times of the platform.
var china = time.FixedZone("UTC+8", 8*60*60)

// Platform implements media.Platform.
type Platform struct{}

var (
	_ media.Platform        = Platform{}
	_ media.Authoriser      = Platform{}
	_ media.PostReader      = Platform{}
	_ media.AppSigner       = Platform{}
	_ media.Consoler        = Platform{}
	_ media.OperationLogger = Platform{}
)

// New returns the platform.
func New() Platform { return Platform{} }

// Name implements media.Platform.
func (Platform) Name() string { return Name }

// BaseURL implements media.Platform.
func (Platform) BaseURL() string { return "https://ad.e.kuaishou.com/rest/openapi" }

// Limits implements media.Platform. Developers report 3,000 calls a minute for all endpoints of an app. The limits of
// single endpoints and accounts are not documented: rows of rate_limit may add them.
func (Platform) Limits() []grant.Rule {
	return []grant.Rule{{Media: Name, Endpoint: "*", Scope: grant.ScopeApp, Period: time.Minute, Limit: 3_000}}
}

// Sign implements media.Platform.
func (Platform) Sign(req *http.Request, accessToken string, _ time.Time) {
	if !strings.HasSuffix(req.URL.Path, "/"+accountsEndpoint) { // It takes the token in the body.
		req.Header.Set("Access-Token", accessToken)
	}
}

// Reads implements media.PostReader. All calls read, except those that exchange tokens and the one that creates a job.
func (Platform) Reads(endpoint string) bool {
	return endpoint != jobsEndpoint && (endpoint == accountsEndpoint || !strings.HasPrefix(endpoint, "oauth2/"))
}

// Decode implements media.Platform. The sample of the list of accounts (document 3025) reports its success with code 1
// and "成功".
func (Platform) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	envelope, err := wire.Envelope(body)
	if data := envelope["data"]; status == http.StatusOK && string(envelope["code"]) == "1" &&
		wire.String(envelope["message"]) == "成功" && len(data) > 0 && string(data) != "null" {
		return data, nil
	}
	return codes.Open(status, header, envelope, err)
}

// readTime parses a time of the platform.
var readTime = wire.TimeIn(china, time.DateTime, "2006-01-02 15:04", time.DateOnly)

// rowsOf returns a reader of an endpoint's pages, in the envelope that all of the platform's pages have.
func rowsOf(endpoint string, size int) media.Numbered {
	return media.Numbered{Endpoint: endpoint, Size: size, Rows: "details", Total: "total_count"}
}

// of returns the body of a call for an account.
func of(api media.API, more map[string]any) map[string]any {
	body := map[string]any{"advertiser_id": json.Number(api.Account().ExternalID)}
	maps.Copy(body, more)
	return body
}

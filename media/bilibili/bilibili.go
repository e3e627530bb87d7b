// Package bilibili implements the Marketing API of Bilibili (三连推广 MAPI).
//
// Its peculiarities: the platform publishes no documents. Answers have two envelopes: that of tokens and accounts has a
// code, the other one a status. Lists are bare arrays without a total, and cannot select changes. A report covers one
// day. Spend is in thousandths of a fen, bids, budgets and balances are in yuan. A refresh ends the old pair of tokens
// at once.
//
// A unit is an ad group. Comments name the sources of facts:
//
//   - STACK, a public Go client of this API;
//   - GUIDE, the public guides "B站三连广告 (Bilibili Sanlian Ads MAPI)";
//   - READER, a public program that reads this API's custom reports.
//
// None of them is the platform's own. What no source states is our own choice, and is marked "not documented":
// docs/platforms/bilibili.md says how to check it against a real account.
package bilibili

import (
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
	"adsync/media/wire"
)

// Name is the media name of Bilibili.
const Name = "bilibili"

// The currency and zone of all accounts of the platform. Both are not documented.
const (
	zoneName = "Asia/Shanghai"
	currency = "CNY"
)

// china is the zone of all times of the platform.
var china = time.FixedZone("UTC+8", 8*60*60)

// Platform implements media.Platform.
type Platform struct{}

var (
	_ media.Platform   = Platform{}
	_ media.Authoriser = Platform{}
	_ media.PostReader = Platform{}
	_ media.Consoler   = Platform{}
)

// New returns the platform.
func New() Platform { return Platform{} }

// Name implements media.Platform.
func (Platform) Name() string { return Name }

// BaseURL implements media.Platform (STACK).
func (Platform) BaseURL() string { return "https://cm.bilibili.com/takumi/api/open_api" }

// Limits implements media.Platform. The guides name limits without numbers. These numbers are not documented: rows of
// rate_limit may replace them.
func (Platform) Limits() []grant.Rule {
	return []grant.Rule{
		{Media: Name, Endpoint: "*", Scope: grant.ScopeApp, Period: time.Second, Limit: 100},
		{Media: Name, Endpoint: "*", Scope: grant.ScopeAccount, Period: time.Second, Limit: 5},
	}
}

// Sign implements media.Platform (STACK).
func (Platform) Sign(req *http.Request, accessToken string, _ time.Time) {
	req.Header.Set("Authorization", "Bearer "+accessToken)
}

// Reads implements media.PostReader. All calls read, except those for tokens.
func (Platform) Reads(endpoint string) bool { return endpoint != tokenEndpoint }

// readTime parses a time of the platform. The layout is not documented.
var readTime = wire.TimeIn(china, time.DateTime, time.DateOnly)

// listPage is how many rows a page of a list holds. The greatest size is not documented.
const listPage = 100

// rowsOf returns a reader of an endpoint's pages. data is the array of rows itself, without a total (STACK).
func rowsOf(endpoint string) media.Numbered {
	return media.Numbered{Endpoint: endpoint, Size: listPage, NoTotal: true, Bare: true}
}

// of returns the body of a call for an account, whose id is a number (STACK).
func of(api media.API, more map[string]any) map[string]any {
	body := map[string]any{"account_id": json.Number(api.Account().ExternalID)}
	maps.Copy(body, more)
	return body
}

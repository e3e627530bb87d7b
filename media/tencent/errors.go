package tencent

import (
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
)

// codes is the platform's error table. Unless another source is named, a code comes from the platform's page "Return
// codes" (返回码) of v3.0, which also documents what a caller should do.
var codes = func() media.Codes {
	table := media.Codes{
		// Tokens. A token that another process has just replaced is "invalid" and not "expired", so both codes trigger a
		// search for a newer one.
		11000: {Class: media.Auth, Expired: true}, // access token expired
		11002: {Class: media.Auth, Expired: true}, // access token invalid
		11004: {Class: media.Auth, Expired: true}, // access token malformed
		11005: {Class: media.Auth, Expired: true}, // access token empty
		11010: {Class: media.Auth},                // refresh token malformed
		11012: {Class: media.Auth},                // refresh token expired
		11030: {Class: media.Auth},                // token of unlimited life, which must be migrated

		// Authorisation.
		11007: {Class: media.Invalid}, // client_id invalid: the app's row is wrong, not the login
		11009: {Class: media.Invalid}, // authorisation code expired
		11011: {Class: media.Invalid}, // authorisation code malformed
		11013: {Class: media.Invalid}, // authorisation code used twice
		11014: {Class: media.Invalid}, // endpoint outside the granted scope
		11022: {Class: media.Invalid}, // user_token over its limit
		11101: {Class: media.Invalid}, // user_token missing
		11102: {Class: media.Invalid}, // user_token invalid
		11103: {Class: media.Invalid}, // user_token invalid
		11104: {Class: media.Invalid}, // user_token not verified
		12203: {Class: media.Invalid}, // organisation not allowed for this token

		// The account.
		12201: {Class: media.Invalid, Parks: media.Revoked}, // account not allowed for this token
		12204: {Class: media.Invalid, Parks: media.Revoked}, // account or organisation not allowed for this token
		32211: {Class: media.Invalid, Parks: media.Frozen},  // advertiser inactive

		// Limits, each of an app at an endpoint. After the limit per minute the page "How to send requests" (如何发起请求)
		// demands a stop of five minutes.
		11008: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Minute},
		11016: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Second},     // per second
		11017: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 5 * time.Minute}, // per minute
		// per day; only an hour, so that a wrong answer does not cost a day
		11018: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Hour},
		11019: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Minute},

		// Requests that succeed when they are repeated.
		12100: {Class: media.Transient, Again: true}, // nonce used before
		12101: {Class: media.Transient, Again: true}, // timestamp more than 300 s off: the answer has the right time

		// Requests that are wrong.
		12000: {Class: media.Bug}, // access_token, timestamp or nonce missing
		12003: {Class: media.Bug}, // bad JSON
		12007: {Class: media.Bug}, // unknown URL or method
		12008: {Class: media.Bug}, // fields is not an array
		12009: {Class: media.Bug}, // unknown field
		18001: {Class: media.Bug}, // parameter missing
		18002: {Class: media.Bug}, // parameter of the wrong type
		18003: {Class: media.Bug}, // parameter too large
		18004: {Class: media.Bug}, // parameter too small
		18009: {Class: media.Bug}, // parameter not one of the known values
		18012: {Class: media.Bug}, // too few values
		31060: {Class: media.Bug}, // X-Request-Id used before, with other parameters
		33109: {Class: media.Bug}, // is_deleted and last_modified_time must be filtered together

		// The platform itself.
		10000: {Class: media.Transient},                          // busy; from the return codes of v1.1
		10001: {Class: media.Transient},                          // maintenance; from the return codes of v1.1
		12700: {Class: media.Transient},                          // another caller is changing the object
		51001: {Class: media.Transient, RetryAfter: time.Minute}, // reports cannot be served now
	}
	// System exceptions: network, timeouts, a part of the platform that is down. The page "How to handle errors of the
	// delivery interface" (投放接口错误处理指引) gives the range.
	for code := int64(30000); code <= 30099; code++ {
		table[code] = media.Error{Class: media.Transient}
	}
	return table
}()

// unknownField holds the codes for a request of an unknown field. The page "Return codes" has the first one for it.
// The second one is for any value outside a known set, and the documents describe the fields of a report as such a
// set.
var unknownField = []string{"12009", "18009"}

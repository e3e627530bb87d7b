package oceanengine

import (
	"errors"
	"net/http"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
)

// codes is the platform's error table. The codes come from the platform's page of return codes (document
// 1696710760866831), those of limits also from its page of limits (document 1696710758159360).
var codes = media.Codes{
	// Tokens. A token that another process has just replaced is "invalid" and not "expired".
	40102: {Class: media.Auth, Expired: true}, // access token expired
	40104: {Class: media.Auth, Expired: true}, // access token empty or invalid
	40103: {Class: media.Auth},                // refresh token expired
	40107: {Class: media.Auth},                // refresh token invalid: used before, or authorised again since

	// Authorisation.
	40113: {Class: media.Invalid}, // app missing or disabled
	40115: {Class: media.Invalid}, // auth_code invalid, used or too old
	40118: {Class: media.Invalid}, // endpoint not allowed for this app
	40119: {Class: media.Invalid}, // developer and advertiser are different legal bodies

	// A closed account, a scope that was not granted, or a wrong app secret: one code for all three.
	40002: {Class: media.Invalid, Parks: media.Revoked},

	// Limits: sliding windows of a second, so a short wait is enough unless a header demands more. The platform's own
	// limit applies to the endpoint; its other endpoints can still be called.
	40100: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 3 * time.Second},
	40110: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 2 * time.Second},
	// the text says "not at once"; it occurs for idle accounts too
	40130: {Class: media.Quota, Scope: grant.ScopeAccount, RetryAfter: 30 * time.Second},

	// Requests that are wrong.
	40000: {Class: media.Bug}, // bad or missing parameter, id of another kind
	40105: {Class: media.Bug}, // not in the page: the answer of retired endpoints

	// The platform itself.
	50000: {Class: media.Transient}, // system error or timeout
}

// unknownMetric is the code for a request of an unknown metric, which is the code of any bad parameter. The platform
// removed nine metrics on 2026-06-08 and renamed one on 2026-08-27.
const unknownMetric = "40000"

// withPenalty sets RetryAfter from the header with the time for which an overrun has closed the endpoint.
func withPenalty(err error, header http.Header) error {
	e, ok := errors.AsType[*media.Error](err)
	if !ok || e.Class != media.Quota {
		return err
	}
	if wait, ok := media.Seconds(header.Get("X-RateLimit-RetryIn")); ok { // The penalty is five minutes.
		e.RetryAfter = max(e.RetryAfter, wait)
	}
	return e
}

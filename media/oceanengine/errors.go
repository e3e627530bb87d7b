package oceanengine

import (
	"errors"
	"net/http"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
)

// codes says what is to be done about each of the platform's codes. They come from the platform's page of return codes
// (document 1696710760866831), those of limits also from its page of limits (document 1696710758159360).
var codes = media.Codes{
	// Tokens. A token that another process has just replaced is "invalid" and not "expired".
	40102: {Class: media.Auth, Expired: true}, // access token expired
	40104: {Class: media.Auth, Expired: true}, // access token empty or invalid
	40103: {Class: media.Auth},                // refresh token expired
	40107: {Class: media.Auth},                // refresh token invalid: used before, or authorised anew since

	// Authorisation.
	40113: {Class: media.Invalid}, // app missing or disabled
	40115: {Class: media.Invalid}, // auth_code invalid, used or too old
	40118: {Class: media.Invalid}, // endpoint not allowed for this app
	40119: {Class: media.Invalid}, // developer and advertiser are different legal bodies

	// The account, or a scope that was not granted, or a secret that is not the app's: one code for all three.
	40002: {Class: media.Invalid, Parks: media.Revoked},

	// Limits: sliding windows of a second, so a moment is enough to wait, unless a header says more. The platform's own
	// limit is one of the endpoint; its other endpoints go on.
	40100: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 3 * time.Second},
	40110: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 2 * time.Second},
	// "not at once": it hits idle accounts
	40130: {Class: media.Quota, Scope: grant.ScopeAccount, RetryAfter: 30 * time.Second},

	// Requests that are wrong.
	40000: {Class: media.Bug}, // bad or missing parameter, id of another kind
	40105: {Class: media.Bug}, // not in the page: what retired endpoints answer

	// The platform itself.
	50000: {Class: media.Transient}, // system error or time-out
}

// unknownMetric is the code of a request for a metric that there is not: that of any bad parameter. Nine metrics went
// on 2026-06-08, and one was renamed on 2026-08-27.
const unknownMetric = "40000"

// withPenalty obeys the header that tells how long an overrun has closed the endpoint.
func withPenalty(err error, header http.Header) error {
	e, ok := errors.AsType[*media.Error](err)
	if !ok || e.Class != media.Quota {
		return err
	}
	if wait, ok := media.Seconds(header.Get("X-RateLimit-RetryIn")); ok { // It is five minutes.
		e.RetryAfter = max(e.RetryAfter, wait)
	}
	return e
}

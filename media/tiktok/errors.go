package tiktok

import (
	"errors"
	"strings"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
)

// codes is the platform's error table. The codes and their meanings are those of tiktok_code.py in the platform's own
// library. How long to wait is not documented for any code: the waits are those of client libraries.
var codes = errorTable()

func errorTable() media.Codes {
	table := media.Codes{
		// The answer lacks a part of what was requested, so that it proves nothing about the rest.
		20001: {Class: media.Transient},

		// No permission for the account. A closed account has no code of its own.
		40001: {Class: media.Invalid, Parks: media.Revoked},
		40300: {Class: media.Invalid, Parks: media.Revoked}, // the advertiser does not exist
		40301: {Class: media.Invalid, Parks: media.Revoked}, // the advertiser's role

		// The limit of an app, in queries per second.
		40100: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 2 * time.Second},

		// The platform itself.
		50000: {Class: media.Transient},                              // system error
		50002: {Class: media.Transient},                              // timeout
		60001: {Class: media.Transient, RetryAfter: 5 * time.Minute}, // maintenance
	}
	// Requests that are wrong, of an unknown version, path or object, or sent twice.
	for _, code := range []int64{40000, 40002, 40006, 40007, 40050} {
		table[code] = media.Error{Class: media.Bug}
	}
	// Other limits: whether they are those of an app or an account, and of which period, is not documented.
	for _, code := range []int64{40016, 40132, 40133, 61000} {
		table[code] = media.Error{Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Minute}
	}
	// The access token has expired, is missing or is invalid: the login is parked, as it cannot be refreshed.
	for _, code := range []int64{40102, 40104, 40105} {
		table[code] = media.Error{Class: media.Auth, Expired: true}
	}
	// Authorisations: the sandbox, tokens of other flows, the auth_code, the app, and scopes that it was not granted.
	for _, code := range []int64{40009, 40103, 40107, 40108, 40110, 40113, 40118, 40130, 40131} {
		table[code] = media.Error{Class: media.Invalid}
	}
	return table
}

// unknownMetric is the code for a request of an unknown metric, which is the code of any bad parameter.
const unknownMetric = "40002"

// restricted is how long an app rests after the platform has restricted it. For how long it does so is not documented.
const restricted = 5 * time.Minute

// withRestriction sets RetryAfter where the platform restricts an app that has exceeded its limit repeatedly. Only the
// text differs: "requests from App [...] are temporarily restricted".
func withRestriction(err error) error {
	if e, ok := errors.AsType[*media.Error](err); ok && e.Class == media.Quota &&
		strings.Contains(e.Message, "temporarily restricted") {
		e.RetryAfter = max(e.RetryAfter, restricted)
	}
	return err
}

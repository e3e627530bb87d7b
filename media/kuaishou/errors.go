package kuaishou

import (
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
)

// codes is the platform's error table. The platform's own page of codes has no text: the groups are those of client
// libraries whose authors have compared them with it, and the meaning of a code within its group is not documented. So
// each code about the token makes adsync refresh it once.
var codes = errorTable()

func errorTable() media.Codes {
	table := media.Codes{
		// The limit of an app: libraries wait a minute.
		400001: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Minute},

		// The platform itself.
		400003: {Class: media.Transient},
		410000: {Class: media.Transient},
	}
	// The token or the app's credentials are missing, wrong or expired.
	for _, code := range []int64{402000, 402001, 402002, 402003, 402004, 402005, 402006, 402008, 402009} {
		table[code] = media.Error{Class: media.Auth, Expired: true}
	}
	// No permission: the scope, or the account.
	for _, code := range []int64{400002, 400004, 402007, 402010, 402011, 402012, 402013, 402014, 410001} {
		table[code] = media.Error{Class: media.Invalid, Parks: media.Revoked}
	}
	// Requests that are wrong.
	for _, code := range []int64{401000, 401001, 401002, 401003, 401004, 401005, 410002, 410003, 410004} {
		table[code] = media.Error{Class: media.Bug}
	}
	return table
}

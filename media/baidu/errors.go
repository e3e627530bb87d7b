package baidu

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/media"
)

// codes is the platform's error table. The groups are those of a client library that compares them with the platform;
// the codes 800 to 802, 8002, 8101 and 8102 are those of the cloud gateway. The meaning of a code within its group is
// not documented: each code about the token makes adsync refresh it once.
var codes = errorTable()

func errorTable() media.Codes {
	table := media.Codes{
		800: {Class: media.Transient},
		// The caller is blocked after many wrong credentials: a refresh would not help.
		801: {Class: media.Auth},
		802: {Class: media.Auth},
	}
	add := func(template media.Error, codes ...int64) {
		for _, code := range codes {
			table[code] = template
		}
	}
	add(media.Error{Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Second}, 8501, 8502)
	add(media.Error{Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Minute}, 9011028, 901160, 901245)
	add(media.Error{Class: media.Auth, Expired: true}, 8401, 8402, 8403, 8408, 8410, 8412, 8414, 8415, 8423, 84260,
		84261, 84262, 84263, 84270, 84271, 89403, 89405, 89406, 89407, 894061, 894062, 894063, 894064)
	add(media.Error{Class: media.Invalid, Parks: media.Revoked}, 8104, 8303, 8406, 8407, 8409, 8411, 841210, 9012, 90121,
		90122, 90123, 90124, 901913)
	add(media.Error{Class: media.Bug}, 8002, 8101, 8102)
	return table
}

// statusBusy is the HTTP status with which the gateway refuses calls over a limit.
const statusBusy = 421

// isBusiness reports whether a code is of the groups 901xxx (search) and 925xxx (feed): the request is wrong.
func isBusiness(code int64) bool {
	text := strconv.FormatInt(code, 10)
	return len(text) >= 6 && (text[:3] == "901" || text[:3] == "925")
}

// as returns a failure as an error. Any unknown code with the status of a system error is transient.
func (f failure) as(system bool, header http.Header) *media.Error {
	e, known := codes[f.code.Value]
	switch {
	case known:
	case isBusiness(f.code.Value) && !system:
		e.Class = media.Bug
	default:
		e.Class = media.Transient
	}
	e.RetryAfter = max(e.RetryAfter, media.RetryAfter(header))
	if f.code.Set {
		e.Code = strconv.FormatInt(f.code.Value, 10)
	}
	e.Message = f.message
	return &e
}

// The codes of calls for tokens begin at tokenCodes and end before tokenCodesEnd. badParameter is documented; after all
// others the login has to be authorised again.
const (
	tokenCodes    = 600000
	badParameter  = 600011
	tokenCodesEnd = 700000
)

// decodeOther reads the envelope of calls for tokens, and answers that are not the platform's.
func decodeOther(status int, header http.Header, body []byte) (json.RawMessage, error) {
	if status == statusBusy {
		return nil, &media.Error{Class: media.Quota, Scope: grant.ScopeApp, Code: "http " + strconv.Itoa(status),
			RetryAfter: media.RetryAfter(header)}
	}
	data, err := codes.Decode(status, header, body)
	e, ok := errors.AsType[*media.Error](err)
	if !ok {
		return data, err
	}
	if code, isCode := strconv.Atoi(e.Code); isCode == nil && code >= tokenCodes && code < tokenCodesEnd {
		e.Class = media.Auth
		if code == badParameter {
			e.Class = media.Bug
		}
	}
	return nil, err
}

package media

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"adsync/base/ratelimit/grant"
	"adsync/media/wire"
)

// Codes is a platform's error table: for each code in its envelopes, what an Error of it looks like. Code and Message
// are filled in from the answer. A code that is not in the table is Transient: it is tried again, as often as the task
// allows, and its text stands in the error.
type Codes map[int64]Error

// detailsMax is up to which length in bytes an envelope's "errors" are kept. They are not cut: half a secret could
// not be found in them.
const detailsMax = 500

// Decode reads the envelope {"code": 0, "message": "", "data": …} that several platforms share. It returns the data,
// nil when there is none, or an *Error from the table, with the envelope's "errors" in its text, which name the
// parameters that are wrong; from the status when the body is no such envelope.
func (c Codes) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	var envelope map[string]json.RawMessage
	err := json.Unmarshal(body, &envelope)
	var code wire.Int
	_ = code.UnmarshalJSON(envelope["code"]) // One that cannot be used is none.
	message := wire.String(envelope["message"])
	if err != nil || !code.Set || status >= 500 {
		return nil, HTTPError(status, header, notEnvelope(err, message))
	}
	if code.Value == 0 {
		if status >= 300 {
			return nil, HTTPError(status, header, message)
		}
		if data := envelope["data"]; string(data) != "null" {
			return data, nil
		}
		return nil, nil
	}
	e, known := c[code.Value]
	if !known {
		e = Error{Class: Transient}
		if status == http.StatusTooManyRequests {
			e = Error{Class: Quota, Scope: grant.ScopeApp}
		}
	}
	e.RetryAfter = max(e.RetryAfter, RetryAfter(header))
	e.Code = strconv.FormatInt(code.Value, 10)
	e.Message = cmp.Or(message, wire.String(envelope["message_cn"]))
	if n := len(envelope["errors"]); n > len("null") && n <= detailsMax {
		e.Message += " " + strings.ToValidUTF8(string(envelope["errors"]), "\uFFFD")
	}
	if id := cmp.Or(wire.String(envelope["trace_id"]), wire.String(envelope["request_id"])); id != "" {
		e.Message += " (request " + id + ")"
	}
	return nil, &e
}

func notEnvelope(err error, message string) string {
	if message != "" {
		return message
	}
	if err != nil {
		// The body itself may be a page of any length, and may repeat what was sent.
		return "the answer is not in the platform's format"
	}
	return "the answer has no code"
}

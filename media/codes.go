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

// Codes is a platform's error table: a template of the Error for each code in its envelopes. Code and Message are
// taken from the answer. A code that is not in the table is Transient, so it is retried as often as the task allows;
// its text is in the error.
type Codes map[int64]Error

// detailsMax is the greatest length in bytes at which an envelope's "errors" are kept. Longer ones are dropped and
// not cut: a secret that is cut in half could not be found and redacted.
const detailsMax = 500

// Decode reads the envelope {"code": 0, "message": "", "data": …} that several platforms share. It returns the data,
// or nil if there is none. For another code it returns an *Error from the table; its text includes the envelope's
// "errors", which name the wrong parameters. If the body is not such an envelope, the *Error is made from the status.
func (c Codes) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	envelope, err := wire.Envelope(body)
	return c.Open(status, header, envelope, err)
}

// Open is Decode of what wire.Envelope returned for the body.
func (c Codes) Open(status int, header http.Header, envelope map[string]json.RawMessage, err error) (json.RawMessage,
	error) {
	var code wire.Int
	_ = code.UnmarshalJSON(envelope["code"]) // An unusable code counts as missing.
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
		// The body is not quoted: it may be a page of any length, and may repeat the request.
		return "the answer is not in the platform's format"
	}
	return "the answer has no code"
}

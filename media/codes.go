package media

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"

	"adsync/media/wire"
)

// Codes is a platform's error table: for each code in its envelopes, what an Error of it looks like. Code and Message
// are filled in from the answer. A code that is not in the table is Transient: it is tried again, as often as the task
// allows, and its text stands in the error.
type Codes map[int64]Error

// detailsMax is up to which length in bytes an envelope's "errors" are kept. They are not cut: half a secret could not be found in them.
const detailsMax = 500

// Decode reads the envelope {"code": 0, "message": "", "data": …} that several platforms share. It returns the data,
// nil when there is none, or an *Error from the table, with the envelope's "errors" in its text, which name the parameters that
// are wrong; from the status when the body is no such envelope.
func (c Codes) Decode(status int, header http.Header, body []byte) (json.RawMessage, error) {
	var envelope struct {
		Code      wire.Int        `json:"code"`
		Message   string          `json:"message"`
		Local     string          `json:"message_cn"`
		Details   json.RawMessage `json:"errors"`
		Data      json.RawMessage `json:"data"`
		TraceID   string          `json:"trace_id"`
		RequestID string          `json:"request_id"`
	}
	err := json.Unmarshal(body, &envelope)
	if err != nil || !envelope.Code.Set || status >= 500 {
		return nil, HTTPError(status, header.Get("Retry-After"), notEnvelope(err, envelope.Message))
	}
	if envelope.Code.Value == 0 {
		if status >= 300 {
			return nil, HTTPError(status, header.Get("Retry-After"), envelope.Message)
		}
		if string(envelope.Data) == "null" {
			return nil, nil
		}
		return envelope.Data, nil
	}
	e, known := c[envelope.Code.Value]
	if !known {
		e = Error{Class: Transient}
	}
	e.Code = strconv.FormatInt(envelope.Code.Value, 10)
	e.Message = cmp.Or(envelope.Message, envelope.Local)
	if n := len(envelope.Details); n > len("null") && n <= detailsMax {
		e.Message += " " + string(envelope.Details)
	}
	if id := cmp.Or(envelope.TraceID, envelope.RequestID); id != "" {
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

package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"adsync/client"
)

type (
	// Problem is the answer to a request that failed, in the form of RFC 9457. A handler returns one as its error.
	Problem = client.Problem //nolint:errname // The RFC calls it so.
	// FieldError is a fault of one field or parameter of a request.
	FieldError = client.FieldError
)

// NewProblem returns a problem of the general type. The detail is a sentence for the caller.
func NewProblem(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status,
		Detail: fmt.Sprintf(format, args...)}
}

// Invalid returns the problem of a request whose fields cannot be used.
func Invalid(fields ...FieldError) *Problem {
	p := NewProblem(http.StatusUnprocessableEntity, "The request has values that cannot be used: see errors.")
	p.Errors = fields
	return p
}

// UnavailableError is a handler's error that a server causes which the request needs. It is answered with 503, and
// callers try again.
type UnavailableError struct {
	Server string // such as "database"
	Reason string // the server's own text, without secrets
	Err    error
}

func (e *UnavailableError) Error() string {
	return "the " + e.Server + " is unavailable: " + e.Err.Error()
}

func (e *UnavailableError) Unwrap() error { return e.Err }

// problemOf returns the problem that a caller may see of a handler's error. The text of an unforeseen error is only
// logged.
func problemOf(ctx context.Context, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if ctx.Err() != nil {
		return NewProblem(http.StatusServiceUnavailable,
			"The request took too long and was ended. Request less, or try again later.")
	}
	if e, ok := errors.AsType[*UnavailableError](err); ok {
		return NewProblem(http.StatusServiceUnavailable,
			"The %s cannot serve the request now (%s). If it changes something, check whether it did, and try again later.",
			e.Server, e.Reason)
	}
	return NewProblem(http.StatusInternalServerError,
		"An internal error occurred. The log has its text under the request id in instance.")
}

// answer ends the request with a problem.
func answer(c *gin.Context, p *Problem) {
	full := *p // The caller's problem may be shared by several requests.
	full.Instance = "urn:adsync:request:" + RequestID(c)
	full.Errors = bounded(full.Errors)
	writeProblem(c.Writer, &full)
	c.Abort()
}

const (
	// fieldErrorsMax and errorTextMax bound the answer to a request with very many or very long faults.
	fieldErrorsMax = 50
	errorTextMax   = 1000
)

func bounded(errs []FieldError) []FieldError {
	if more := len(errs) - fieldErrorsMax; more > 0 {
		errs = append(slices.Clone(errs[:fieldErrorsMax]), FieldError{Detail: fmt.Sprintf("and %d more", more)})
	}
	for i, e := range errs {
		if len(e.Field) > errorTextMax || len(e.Detail) > errorTextMax {
			errs = slices.Clone(errs)
			errs[i] = FieldError{Field: shortened(e.Field), Detail: shortened(e.Detail)}
		}
	}
	return errs
}

// shortened leaves out the middle of a long text: its end names what would be right.
func shortened(text string) string {
	if len(text) <= errorTextMax {
		return text
	}
	const half = errorTextMax / 2
	return strings.ToValidUTF8(text[:half], "") + " … " + strings.ToValidUTF8(text[len(text)-half:], "")
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500,"instance":""}`)
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}

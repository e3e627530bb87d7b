package media

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/base/task"
)

// Class determines how an error of a platform is handled. Each platform package maps its codes to classes in one
// table.
type Class string

// The classes.
const (
	Transient Class = "transient" // retry with backoff
	Quota     Class = "quota"     // a call limit was hit: wait for it; costs no attempt
	Auth      Class = "auth"      // the token is not accepted
	Invalid   Class = "invalid"   // the request can never succeed: dead at once
	Bug       Class = "bug"       // our own mistake: dead at once, with an alert
)

// Parking marks an error that concerns the account and not the call: until a person or the platform fixes it, the
// account cannot be pulled, and each try wastes calls.
type Parking string

// The reasons.
const (
	Frozen  Parking = "frozen"  // the platform has closed the account
	Revoked Parking = "revoked" // the login no longer has permission for the account
)

// Error is a failed API call.
type Error struct {
	Class   Class
	Code    string // the platform's own code, "" for transport errors
	Message string // the platform's own words; never holds a token
	// RetryAfter is the wait that the platform demands; zero if the answer has none.
	RetryAfter time.Duration
	// Scope is the scope of the limit in an error of class Quota: calls of that scope pause for RetryAfter.
	Scope grant.Scope
	// Expired means that the access token has expired: refresh it and repeat the call once.
	Expired bool
	// Again means that the answer itself has removed the cause (our clock, a nonce): repeat the call once, immediately.
	Again bool
	// Parks is set if the account itself seems to be closed to us. Some platforms answer in the same way when only an
	// endpoint is closed: the account is parked only if its figures are refused too.
	Parks Parking
	// Field is the requested field that the platform does not know or no longer knows, if the error names one.
	Field string
	Err   error // the transport error below, if any
}

func (e *Error) Error() string {
	s := string(e.Class) + " error"
	if e.Code != "" {
		s += " " + e.Code
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Redact removes secrets from the error's text where a platform echoed one, in plain form or URL-encoded.
func (e *Error) Redact(secrets ...secret.Text) {
	for _, s := range secrets {
		if !s.IsZero() {
			e.Message = strings.ReplaceAll(e.Message, s.Reveal(), s.String())
			e.Message = strings.ReplaceAll(e.Message, url.QueryEscape(s.Reveal()), s.String())
		}
	}
}

// ErrNoHours is wrapped by an Error of class Invalid when the platform returns whole days although hours were
// requested: it keeps hours for some days only. A query of several days is repeated day by day.
var ErrNoHours = errors.New("the platform no longer has the hours of the day")

// ErrRowCap is wrapped by an Error of class Invalid when a day has more rows than the platform returns for one query
// and cannot be split any further.
var ErrRowCap = errors.New("more rows than the platform returns for one query")

// HTTPError returns the error for an answer that is not in the platform's own format: a proxy's page, a broken or an
// empty body. A retry may succeed; the header may have a Retry-After.
func HTTPError(status int, header http.Header, message string) *Error {
	e := &Error{Class: Transient, Code: "http " + strconv.Itoa(status), Message: message, RetryAfter: RetryAfter(header)}
	if status == http.StatusTooManyRequests {
		e.Class, e.Scope = Quota, grant.ScopeApp
	}
	return e
}

// Broken returns the error for an answer whose payload cannot be decoded.
func Broken(endpoint string, err error) *Error {
	return &Error{Class: Transient, Message: "unreadable answer of " + endpoint, Err: err}
}

// parkedLook is when a subtask checks again whether its account is still parked. The leader makes it due as soon as
// the account is unparked; this is the fallback.
const parkedLook = 24 * time.Hour

// WaitForParked makes a subtask wait until its account is unparked. reason is why the account is parked.
func WaitForParked(accountID int64, reason string) *DeferError {
	return &DeferError{After: parkedLook, Reason: "its account is parked, " + reason, WaitsFor: task.ParkedRef(accountID)}
}

// ErrSuperseded ends a subtask whose scope a newer pull has already completed.
var ErrSuperseded = errors.New("a newer pull of the same scope is complete")

// DeferError makes a subtask wait, at no attempt: its quota window is full, its token is being refreshed, or another
// pull holds its scope.
type DeferError struct {
	After  time.Duration
	Reason string
	// WaitsFor names an event that ends the wait early, such as task.ParkedRef; "" for none.
	WaitsFor string
}

func (e *DeferError) Error() string {
	return fmt.Sprintf("deferred for %s: %s", e.After.Round(time.Millisecond), e.Reason)
}

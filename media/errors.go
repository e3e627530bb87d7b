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

// Class says what is to be done about an error of a platform. Each platform package maps its codes to classes in
// one table.
type Class string

// The classes.
const (
	Transient Class = "transient" // try again with backoff
	Quota     Class = "quota"     // a call limit was hit: wait for it; costs no attempt
	Auth      Class = "auth"      // the token is not accepted
	Invalid   Class = "invalid"   // the request can never succeed: dead at once
	Bug       Class = "bug"       // our own mistake: dead at once, and loud
)

// Parking says that an error is about the account and not about the call: until a person or the platform mends it,
// nothing of the account can be pulled, and asking only costs calls.
type Parking string

// The reasons.
const (
	Frozen  Parking = "frozen"  // the platform has closed the account
	Revoked Parking = "revoked" // the login has no permission for the account any more
)

// Error is a failed API call.
type Error struct {
	Class   Class
	Code    string // the platform's own code, "" for transport errors
	Message string // the platform's own words; never holds a token
	// RetryAfter is how long the platform wants us to wait, zero when it did not say.
	RetryAfter time.Duration
	// Scope says whose limit an error of class Quota is about: those calls pause for RetryAfter.
	Scope grant.Scope
	// Expired says that an access token has ended its life: refreshing it and calling again is worth one try.
	Expired bool
	// Again says that the answer itself has mended the cause (our clock, a nonce): calling again at once is worth one try.
	Again bool
	// Parks says that the account itself seems to be closed to us; "" says nothing of it. Some platforms answer the same
	// when only an endpoint is: the account is parked if its figures cannot be asked for either.
	Parks Parking
	// Field is the field of the request that the platform does not know, or not any more, when that is what the error
	// says.
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

// Redact takes secrets out of the error's text, wherever a platform echoed one, as it is or as it stands in an address.
func (e *Error) Redact(secrets ...secret.Text) {
	for _, s := range secrets {
		if !s.IsZero() {
			e.Message = strings.ReplaceAll(e.Message, s.Reveal(), s.String())
			e.Message = strings.ReplaceAll(e.Message, url.QueryEscape(s.Reveal()), s.String())
		}
	}
}

// ErrNoHours is below an Error of class Invalid when the platform answers with whole days where hours were asked for:
// it keeps hours for some days only. A query of several days is asked again day by day.
var ErrNoHours = errors.New("the platform no longer has the hours of the day")

// ErrRowCap is below an Error of class Invalid when a day has more rows than the platform gives out for one query, and
// cannot be cut any further.
var ErrRowCap = errors.New("more rows than the platform gives out for one query")

// HTTPError judges an answer that is not in the platform's own format: a proxy's page, a broken body, an empty one. Any
// such answer may be better in a while; the header may have a Retry-After.
func HTTPError(status int, header http.Header, message string) *Error {
	e := &Error{Class: Transient, Code: "http " + strconv.Itoa(status), Message: message, RetryAfter: RetryAfter(header)}
	if status == http.StatusTooManyRequests {
		e.Class, e.Scope = Quota, grant.ScopeApp
	}
	return e
}

// Broken is the error of an answer whose payload does not read as what was asked for.
func Broken(endpoint string, err error) *Error {
	return &Error{Class: Transient, Message: "unreadable answer of " + endpoint, Err: err}
}

// parkedLook is when a subtask looks again whether its account is still parked. The leader makes it due as soon as
// the account is taken back; this is for whatever might go wrong with that.
const parkedLook = 24 * time.Hour

// WaitForParked sends a subtask back to wait until its account, which is parked for a reason, is taken back.
func WaitForParked(accountID int64, reason string) *DeferError {
	return &DeferError{After: parkedLook, Reason: "its account is parked, " + reason, WaitsFor: task.ParkedRef(accountID)}
}

// ErrSuperseded ends a subtask whose work a newer pull of the same scope has already done.
var ErrSuperseded = errors.New("a newer pull of the same scope is complete")

// DeferError sends a subtask back to wait, at no attempt: its quota window is full, its token is being refreshed, or
// another pull holds its scope.
type DeferError struct {
	After  time.Duration
	Reason string
	// WaitsFor names what ends the wait before its time is over, as task.ParkedRef does; "" is nothing.
	WaitsFor string
}

func (e *DeferError) Error() string {
	return fmt.Sprintf("deferred for %s: %s", e.After.Round(time.Millisecond), e.Reason)
}

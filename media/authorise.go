package media

import (
	"context"
	"errors"
	"net/url"

	"adsync/base/secret"
)

// Authoriser is a platform whose logins are authorised in a browser. The person who holds a login agrees on a page of
// the platform. The page sends the browser back with a code, and the code is exchanged for the login's tokens.
type Authoriser interface {
	Platform
	// AuthorisePage returns the address of the page in production; configuration may replace it.
	AuthorisePage() string
	// AuthoriseURL returns the address to open in a browser. The page requests all permissions that the app has.
	AuthoriseURL(page string, ask Ask) string
	// CodeParameter returns the callback's query parameter that holds the code. The state is always in "state".
	CodeParameter() string
	// Exchange exchanges a code, which works once. An *Error of class Invalid means that the code will never work; its
	// message then names the remedy.
	Exchange(ctx context.Context, transport Transport, app App, code secret.Text, redirectURI string) (Authorisation,
		error)
}

// CallbackReader is an Authoriser whose Exchange takes more of the callback's query than the code.
type CallbackReader interface {
	// Callback returns what Exchange takes in place of the code, as one text; "" if the query lacks the code.
	Callback(query url.Values) string
}

// Ask holds the parameters of a request for an authorisation.
type Ask struct {
	AppID       string
	RedirectURI string
	State       secret.Text
}

// Authorisation is the result of exchanging a code.
type Authorisation struct {
	Tokens
	// Login is the platform's id of the person who agreed. It is the same each time.
	Login string
	// Name is the login's name for people; may be empty.
	Name string
}

// WithFix adds the remedy for its code to a platform's error, for codes in fixes.
func WithFix(err error, fixes map[string]string) error {
	if e, ok := errors.AsType[*Error](err); ok && fixes[e.Code] != "" {
		e.Message += ": " + fixes[e.Code]
	}
	return err
}

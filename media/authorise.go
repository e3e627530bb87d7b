package media

import (
	"context"
	"errors"

	"adsync/base/secret"
)

// Authoriser is a platform whose logins let an app act for them in a browser: the person who holds a login agrees on a
// page of the platform, which sends the browser back with a code, which is exchanged for the login's tokens.
type Authoriser interface {
	Platform
	// AuthorisePage is the address of the page in production; configuration may replace it.
	AuthorisePage() string
	// AuthoriseURL is the address to open in a browser. The page asks for all that the app may do on the platform.
	AuthoriseURL(page string, ask Ask) string
	// CodeParameter is the name of the callback's query parameter that holds the code. The state is always in "state".
	CodeParameter() string
	// Exchange exchanges a code, which works once. An *Error of class Invalid means that it never will; its message then
	// says what does.
	Exchange(ctx context.Context, transport Transport, app App, code secret.Text, redirectURI string) (Authorisation,
		error)
}

// Ask is what an authorisation is asked for with.
type Ask struct {
	AppID       string
	RedirectURI string
	State       secret.Text
}

// Authorisation is what a code is worth.
type Authorisation struct {
	Tokens
	// Login is the platform's id of whoever agreed: the same at the next time.
	Login string
	// Name is what people call it; may be empty.
	Name string
}

// WithFix adds to a platform's error what is to be done about its code, for codes that the table knows.
func WithFix(err error, fixes map[string]string) error {
	if e, ok := errors.AsType[*Error](err); ok && fixes[e.Code] != "" {
		e.Message += ": " + fixes[e.Code]
	}
	return err
}

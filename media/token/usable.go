package token

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"adsync/base/secret"
	"adsync/base/sqldb"
)

const (
	// lengthMax is the longest token that is kept, in bytes. Platforms issue tokens of some dozens to a few thousand
	// bytes. A token of this length, sealed with a key of the longest name, fits its column.
	lengthMax = 32 << 10
	// secretMax is the longest secret of an app, for the same reason.
	secretMax = 512
	// loginMax is the longest id of a login, in characters.
	loginMax = 128
)

// UnusableError reports a value that cannot be kept or sent in a call, and for which a retry fails too. It holds no
// secrets.
type UnusableError struct {
	Reason string // such as "the access token has 70000 bytes: want at most 32768"
}

func (e *UnusableError) Error() string { return e.Reason }

// usablePair returns an *UnusableError for a pair of tokens that cannot be kept or sent. An empty refresh token is
// allowed.
func usablePair(access, refresh secret.Text) error {
	return errors.Join(usable("access token", access, lengthMax), usable("refresh token", refresh, lengthMax))
}

func usable(what string, value secret.Text, most int) error {
	text := value.Reveal()
	switch {
	case len(text) > most:
		return &UnusableError{fmt.Sprintf("the %s has %d bytes: want at most %d", what, len(text), most)}
	case strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }):
		return &UnusableError{fmt.Sprintf("the %s holds control characters or is no UTF-8, so no call can carry it", what)}
	}
	return nil
}

// IsUnusable reports whether an error means that a value cannot be kept. A retry would fail too.
func IsUnusable(err error) bool {
	_, unusable := errors.AsType[*UnusableError](err)
	return unusable || sqldb.IsUnfit(err)
}

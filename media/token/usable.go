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
	// lengthMax is the longest token that is kept, in bytes. Platforms give out tokens of some dozens to a few thousand;
	// one of this length fits its column sealed, with a key of the longest name.
	lengthMax = 32 << 10
	// secretMax is the longest secret of an app, for the same reason.
	secretMax = 512
	// loginMax is the longest id of a login, in characters.
	loginMax = 128
)

// UnusableError is what cannot be kept or called with, whoever tries and how often. It holds no secrets.
type UnusableError struct {
	Reason string // such as "the access token has 70000 bytes: want at most 32768"
}

func (e *UnusableError) Error() string { return e.Reason }

// usablePair returns an *UnusableError for a pair of tokens that cannot be kept or called with. No refresh token is
// as good as any.
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

// IsUnusable reports whether an error says that a value cannot be kept: another try would meet it again.
func IsUnusable(err error) bool {
	_, unusable := errors.AsType[*UnusableError](err)
	return unusable || sqldb.IsUnfit(err)
}

// Package secret keeps secrets out of logs, pages, errors and tables: Text hides a secret in memory from everything
// that prints, and Box seals one for the database.
package secret

import (
	"encoding"
	"fmt"
	"io"
	"log/slog"
)

// hidden is the visible form of a secret.
const hidden = "<secret>"

// Text is a string that must not be seen: every way of printing or encoding it yields "<secret>", or nothing without
// a secret. The zero Text is empty. Compare texts by what Reveal returns, not by ==.
type Text struct {
	// It is a pointer because fmt reaches unexported fields of other structs without calling their methods: of a pointer
	// below the top level it prints only the address.
	value *string
}

var (
	_ fmt.Formatter            = Text{}
	_ slog.LogValuer           = Text{}
	_ encoding.TextMarshaler   = Text{}
	_ encoding.TextUnmarshaler = (*Text)(nil)
)

// NewText wraps a secret string.
func NewText(value string) Text {
	if value == "" {
		return Text{}
	}
	return Text{value: &value}
}

// Reveal returns the secret itself, for the one call that needs it.
func (t Text) Reveal() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}

// IsZero reports whether there is no secret.
func (t Text) IsZero() bool { return t.value == nil }

// String returns "<secret>", or nothing without a secret.
func (t Text) String() string {
	if t.IsZero() {
		return ""
	}
	return hidden
}

// GoString hides the secret from %#v.
func (t Text) GoString() string { return t.String() }

// Format hides the secret from every verb of fmt.
func (t Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, t.String()) }

// LogValue hides the secret from slog.
func (t Text) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText hides the secret from JSON, YAML and all other encoders of text.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the secret from a configuration file, an environment variable or a document.
func (t *Text) UnmarshalText(text []byte) error {
	*t = NewText(string(text))
	return nil
}

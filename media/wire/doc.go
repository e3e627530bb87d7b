// Package wire reads the numbers, ids and amounts of platforms' answers exactly, without floats. On all platforms a
// value that is absent, null, "", "-" or "--" is not set. An unusable value is not set either, and a Fault names it.
// It never affects other rows.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"adsync/base/rawtable"
)

// errEmpty is returned for null and for texts for which rawtable.IsNoValue is true.
var errEmpty = errors.New("empty")

// literal returns the text of a JSON number or string; errEmpty if isUnset.
func literal(data []byte) (string, error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || bytes.Equal(data, []byte("null")):
		return "", errEmpty
	case data[0] == '"':
		s, err := unquoted(data)
		if err != nil {
			return "", err
		}
		if rawtable.IsNoValue(s) {
			return "", errEmpty
		}
		return s, nil
	case data[0] == '-' || ('0' <= data[0] && data[0] <= '9'):
		return string(data), nil
	}
	return "", fmt.Errorf("%.40q is neither a number nor a string", data)
}

// unquoted returns the text of a JSON string.
func unquoted(data []byte) (s string, err error) {
	if end := len(data) - 1; end > 0 && data[end] == '"' && isPlain(data[1:end]) {
		return string(data[1:end]), nil
	}
	err = json.Unmarshal(data, &s)
	return s, err
}

// isPlain reports whether a JSON string's text is what is between its quotes.
func isPlain(inner []byte) bool {
	for _, c := range inner {
		if c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.Valid(inner)
}

// isUnset reports whether the value is null or a text for which rawtable.IsNoValue is true.
func isUnset(data []byte) bool {
	_, err := literal(data)
	return errors.Is(err, errEmpty)
}

// List is a list of an answer; nil if it is not set.
type List []json.RawMessage

// ListOf is Elements of a list that may be unset.
func ListOf(raw json.RawMessage) (List, error) {
	if isUnset(raw) {
		return nil, nil
	}
	return Elements(raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (l *List) UnmarshalJSON(data []byte) (err error) {
	*l, err = ListOf(bytes.Clone(data))
	return err
}

// Cut returns the first 255 characters of a text, as many as a column of rawtable.Text takes.
func Cut(s string) string {
	const limit = 255
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}

// Text returns a text column's value: nil if rawtable.IsNoValue, otherwise the text after Cut.
func Text(s string) any {
	if rawtable.IsNoValue(s) {
		return nil
	}
	return Cut(s)
}

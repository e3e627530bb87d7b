package wire

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// repaired returns JSON text with U+FFFD in place of invalid UTF-8 and of escapes that are half of a character, such
// as "\ud83d" without its other half: decoders replace those silently, and databases' JSON functions refuse them.
func repaired(raw []byte) (out []byte, changed bool) {
	if !utf8.Valid(raw) {
		raw, changed = bytes.ToValidUTF8(raw, []byte("\uFFFD")), true
	}
	const escape = len(`\ud83d`)
	copied := changed
	for i := 0; i < len(raw); {
		at := bytes.IndexByte(raw[i:], '\\')
		if at < 0 {
			break
		}
		i += at
		first := surrogate(raw[i:])
		switch {
		case first == 0:
			i += 2 // Skip another escape, so that an escaped backslash does not start one.
		case utf16.DecodeRune(first, surrogate(raw[min(i+escape, len(raw)):])) != utf8.RuneError:
			i += 2 * escape
		default:
			if !copied {
				raw, copied = slices.Clone(raw), true
			}
			copy(raw[i:], `\ufffd`)
			changed = true
			i += escape
		}
	}
	return raw, changed
}

// surrogate returns the half of a character that is escaped at the start of JSON text; 0 if there is none.
func surrogate(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(unit)) {
		return 0
	}
	return rune(unit)
}

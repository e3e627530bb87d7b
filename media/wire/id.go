package wire

import (
	"errors"
	"fmt"
	"strings"
)

// ID is a platform's id, from a JSON number of any length or a string; "" when it is not set. 0 is not an id.
type ID string

// IsNumber reports whether an id is a number as account ids are: without a sign or a leading zero.
func (id ID) IsNumber() bool {
	return id != "" && id[0] != '0' && strings.Trim(string(id), "0123456789") == ""
}

// idMax is how many characters the columns of ids hold.
const idMax = 64

// UnmarshalJSON implements json.Unmarshaler.
func (id *ID) UnmarshalJSON(data []byte) error {
	text, err := readID(data, func(c byte) bool {
		// Letters, digits and the signs of keys like "a_1-b:2". This refuses "1.5" and "1e3", which are not ids.
		ok := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-' || c == ':'
		return ok && (data[0] == '"' || '0' <= c && c <= '9')
	})
	*id = ID(text)
	return err
}

// readID returns an id if good accepts each of its bytes; "" for 0 and for a value that is not set.
func readID(data []byte, good func(c byte) bool) (string, error) {
	text, err := literal(data)
	if errors.Is(err, errEmpty) || text == "0" {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("id: %w", err)
	}
	if len(text) > idMax {
		return "", fmt.Errorf("id %.20q… is longer than %d characters", text, idMax)
	}
	for i := range len(text) {
		if !good(text[i]) {
			return "", fmt.Errorf("%.40q is not an id", text)
		}
	}
	return text, nil
}

package wire

import (
	"errors"
	"fmt"
)

// TextID is an id that may be any text of printable ASCII, such as a path: "web.business.image/2026"; "" when it is not set.
type TextID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *TextID) UnmarshalJSON(data []byte) error {
	text, err := literal(data)
	if errors.Is(err, errEmpty) || text == "0" {
		*id = ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("id: %w", err)
	}
	if len(text) > idMax {
		return fmt.Errorf("id %.20q… is longer than %d characters", text, idMax)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return fmt.Errorf("%.40q is no id", text)
		}
	}
	*id = TextID(text)
	return nil
}

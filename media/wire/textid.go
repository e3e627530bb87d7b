package wire

// TextID is an id of printable ASCII characters, such as a path: "web.business.image/2026"; "" when it is not set.
type TextID string

// UnmarshalJSON implements json.Unmarshaler.
func (id *TextID) UnmarshalJSON(data []byte) error {
	text, err := readID(data, func(c byte) bool { return c > ' ' && c <= '~' })
	*id = TextID(text)
	return err
}

package wire

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/tidwall/gjson"
)

// Envelope is Fields of a body, which need not be JSON.
func Envelope(body []byte) (map[string]json.RawMessage, error) {
	if !json.Valid(body) {
		return nil, errors.New("the body is not JSON")
	}
	return Fields(body)
}

// Fields returns the fields of an object by name; nil for null. Of fields with the same name the last one counts. The
// object must be valid JSON, such as a field of an Envelope: an answer is checked once, and not again at each level of
// objects within it. The values are parts of it and must not be changed.
func Fields(object json.RawMessage) (map[string]json.RawMessage, error) {
	if is, err := begins(object, '{'); !is {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	split(object, func(name string, value json.RawMessage) { fields[name] = value })
	return fields, nil
}

// Elements returns the elements of a list; nil for null. What Fields says about the object is true of the list.
func Elements(list json.RawMessage) ([]json.RawMessage, error) {
	if is, err := begins(list, '['); !is {
		return nil, err
	}
	elements := []json.RawMessage{}
	split(list, func(_ string, value json.RawMessage) { elements = append(elements, value) })
	return elements, nil
}

// begins reports whether a value begins with a bracket. It returns an error if it does not and is not null.
func begins(raw json.RawMessage, bracket byte) (bool, error) {
	switch raw := bytes.TrimSpace(raw); {
	case len(raw) > 0 && raw[0] == bracket:
		return true, nil
	case string(raw) == "null":
		return false, nil
	case bracket == '{':
		return false, errors.New("it is not an object")
	default:
		return false, errors.New("it is not a list")
	}
}

func split(raw json.RawMessage, each func(name string, value json.RawMessage)) {
	gjson.ParseBytes(raw).ForEach(func(name, value gjson.Result) bool {
		end := value.Index + len(value.Raw)
		each(name.Str, raw[value.Index:end:end])
		return true
	})
}

package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// MergeParams returns params changed by a JSON merge patch (RFC 7396): the patch's fields replace those of params,
// objects are merged, and null removes a field. Numbers keep their digits. An empty patch returns params as they are.
// The error is about JSON that cannot be read.
func MergeParams(params, patch json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(patch)) == 0 {
		return params, nil
	}
	change, err := decode(patch)
	if err != nil {
		return nil, err
	}
	var target any
	if len(bytes.TrimSpace(params)) > 0 {
		if target, err = decode(params); err != nil {
			return nil, err
		}
	}
	return json.Marshal(merge(target, change))
}

func merge(target, patch any) any {
	changes, isObject := patch.(map[string]any)
	if !isObject {
		return patch
	}
	fields, isObject := target.(map[string]any)
	if !isObject {
		fields = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(fields, name)
			continue
		}
		fields[name] = merge(fields[name], value)
	}
	return fields
}

// decode reads one JSON value and keeps the digits of numbers.
func decode(text json.RawMessage) (value any, err error) {
	if !json.Valid(text) { // A decoder would ignore what follows the value.
		return nil, fmt.Errorf("params: %q is not JSON", text)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// OwnParams returns a print of the order's Params: two orders with the same changes have the same one. It is "" for an
// order that changes nothing.
func (o *Order) OwnParams() string {
	if o == nil || len(bytes.TrimSpace(o.Params)) == 0 {
		return ""
	}
	text := []byte(o.Params)
	if value, err := decode(o.Params); err == nil {
		if sorted, err := json.Marshal(value); err == nil {
			text = sorted
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

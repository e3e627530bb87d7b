package task

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SerialTemplateMax is how many characters the template of a serial key may have.
const SerialTemplateMax = 200

// serialKeyMax is how many bytes a serial key may have, as a message's key and in its column. A longer one ends with a
// hash.
const serialKeyMax = 128

// CheckSerialKey returns an error that names the field that a template of a serial key cannot use: one that is neither
// in the params nor in their object "params", or is no text, number or boolean there.
func CheckSerialKey(template string, params json.RawMessage) error {
	if n := utf8.RuneCountInString(template); n > SerialTemplateMax {
		return fmt.Errorf("has %d characters: want up to %d", n, SerialTemplateMax)
	}
	_, err := fillSerialKey(template, params)
	return err
}

// FillSerialKey returns a template with the fields of params filled in: {account} and {part} remain, for
// Envelope.SerialName. A field that params lack is empty, so that such subtasks run one at a time too.
func FillSerialKey(template string, params json.RawMessage) string {
	filled, _ := fillSerialKey(template, params)
	return filled
}

// fillSerialKey is FillSerialKey with the first error. A brace that belongs to no field is doubled, in the template and
// in the result.
func fillSerialKey(template string, params json.RawMessage) (filled string, err error) {
	var top, inner map[string]json.RawMessage
	if len(params) > 0 {
		err = json.Unmarshal(params, &top)
	}
	_ = json.Unmarshal(top["params"], &inner) // Anything but an object has no fields.
	err = errors.Join(err, eachField(template, func(text string) { filled += strings.ReplaceAll(text, "{", "{{") },
		func(name string) error {
			if name == "account" || name == "part" {
				filled += "{" + name + "}"
				return nil
			}
			value, known := top[name]
			if !known {
				value, known = inner[name]
			}
			if !known {
				return fmt.Errorf("{%s}: the params have no field %q, nor does their object params", name, name)
			}
			text, ok := scalar(value)
			if !ok {
				return fmt.Errorf("{%s}: the field %q of the params is no text, number or boolean", name, name)
			}
			filled += strings.ReplaceAll(text, "{", "{{")
			return nil
		}))
	if filled == "" && template != "" {
		filled = "(empty)" // The subtasks of an empty key run one at a time too.
	}
	return filled, err
}

// scalar returns the text of a JSON text, number or boolean.
func scalar(value json.RawMessage) (text string, ok bool) {
	switch {
	case len(value) == 0 || value[0] == '{' || value[0] == '[' || string(value) == "null":
		return "", false
	case value[0] == '"':
		return text, json.Unmarshal(value, &text) == nil
	default:
		return string(value), true
	}
}

// eachField calls literal for each text of a template and field for each {name}, in order. It returns the first error
// of field, or of a field without a name or an end, and calls both for the rest of the template nevertheless.
func eachField(template string, literal func(text string), field func(name string) error) (err error) {
	for template != "" {
		text, rest, found := strings.Cut(template, "{")
		literal(text)
		if !found {
			return err
		}
		if after, doubled := strings.CutPrefix(rest, "{"); doubled {
			literal("{")
			template = after
			continue
		}
		name, after, ended := strings.Cut(rest, "}")
		var wrong error
		switch {
		case !ended:
			wrong = fmt.Errorf("{%s: the field has no end: want {name}, or {{ for a brace", rest)
		case name == "":
			wrong = errors.New("{}: the field has no name: want {name}, or {{ for a brace")
		default:
			wrong = field(name)
		}
		if err == nil {
			err = wrong
		}
		template = after
	}
	return err
}

// SerialKeyOf returns the serial key of a subtask, "" for an empty template: what FillSerialKey returned, with its
// account and part. It has at most 128 bytes.
func SerialKeyOf(filled string, k Key) string {
	var b strings.Builder
	_ = eachField(filled, func(text string) { b.WriteString(text) }, func(name string) error {
		switch name {
		case "account":
			b.WriteString(strconv.FormatInt(k.AccountID, 10))
		case "part":
			b.WriteString(k.Part)
		}
		return nil
	})
	key := strings.ToValidUTF8(b.String(), "\uFFFD")
	if len(key) <= serialKeyMax {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	hash := "#" + hex.EncodeToString(sum[:16])
	return strings.ToValidUTF8(key[:serialKeyMax-len(hash)], "") + hash
}

// outsideRef begins the names of what a subtask waits for while its work continues outside adsync.
const outsideRef = "job:"

// IsOutside reports whether a subtask that waits for ref has work that continues elsewhere meanwhile, such as a job of
// an outside worker.
func IsOutside(ref string) bool { return strings.HasPrefix(ref, outsideRef) }

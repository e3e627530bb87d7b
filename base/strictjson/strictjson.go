// Package strictjson decodes JSON from outside the program: bodies of requests, parameters of tasks, rows that people
// can edit, and files. encoding/json accepts much that is always a mistake: a repeated key, of which the last one
// counts, a key in another case, null for any value, text that is not UTF-8. In an order each of these can lose the
// accounts that it names, and an order without accounts covers the whole scope.
package strictjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error names a value that cannot be used, and what would be right.
type Error struct {
	// Field is the path of the value, such as "who.accounts[2]"; "" is the whole text.
	Field string
	// Detail continues a sentence that begins with the field's name.
	Detail string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return "the JSON " + e.Detail
	}
	return e.Field + ": " + e.Detail
}

// Unmarshal decodes one JSON value into the value that into points to. In addition to what json.Unmarshal refuses, it
// refuses repeated keys at any depth, keys that differ from a field's name only in case, other unknown keys, null,
// text that is not Unicode, and anything after the value. Only a json.RawMessage, and a value of an interface type,
// can be null.
//
// The error is an *Error, except for text that is not JSON, where it is that of encoding/json.
func Unmarshal(data []byte, into any) error {
	if err := checkSyntax(data); err != nil {
		return err
	}
	w := &walker{data: data, d: json.NewDecoder(bytes.NewReader(data))}
	of := reflect.TypeOf(into).Elem()
	if err := w.value(of); err != nil {
		return err
	}
	err := json.Unmarshal(data, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		e := &Error{Field: withoutEmbedded(wrong.Field, of),
			Detail: fmt.Sprintf("want %s, got %s", nameOf(wrong.Type), wrong.Value)}
		if e.Field == "" {
			e.Detail = "is of a wrong type: " + e.Detail
		}
		return e
	}
	return err
}

// checkSyntax refuses what is not one JSON value. It also bounds the depth.
func checkSyntax(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return &Error{Detail: "is empty: want one JSON value"}
	}
	if !utf8.Valid(data) {
		return &Error{Detail: "is not UTF-8: want text in UTF-8"}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return &Error{Detail: "continues after its value: want one JSON value"}
	}
	return nil
}

// walker compares a text with its target type. A nil type accepts any JSON.
type walker struct {
	data []byte
	d    *json.Decoder
	path []step
}

// step is a key, or an index without a key.
type step struct {
	key   string
	index int
}

func (w *walker) refuse(format string, args ...any) error {
	var path strings.Builder
	for _, s := range w.path {
		switch {
		case s.index >= 0:
			path.WriteString("[" + strconv.Itoa(s.index) + "]")
		case path.Len() > 0:
			path.WriteString("." + s.key)
		default:
			path.WriteString(s.key)
		}
	}
	return &Error{Field: path.String(), Detail: fmt.Sprintf(format, args...)}
}

// within checks the value one step further down.
func (w *walker) within(s step, of reflect.Type) error {
	w.path = append(w.path, s)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	return w.value(of)
}

func (w *walker) value(of reflect.Type) error {
	token, err := w.token()
	if err != nil {
		return err
	}
	switch token {
	case nil:
		if of != nil && !takesNull(of) {
			leaveOut := ", or leave the field out"
			if len(w.path) == 0 || w.path[len(w.path)-1].index >= 0 {
				leaveOut = ""
			}
			return w.refuse("is null: want %s%s", nameOf(of), leaveOut)
		}
	case json.Delim('{'):
		err = w.object(bare(of))
	case json.Delim('['):
		err = w.list(bare(of))
	}
	return err
}

func (w *walker) list(of reflect.Type) error {
	var elem reflect.Type
	if of != nil && (of.Kind() == reflect.Slice || of.Kind() == reflect.Array) {
		elem = of.Elem()
	}
	for i := 0; w.d.More(); i++ {
		if err := w.within(step{index: i}, elem); err != nil {
			return err
		}
	}
	_, err := w.d.Token()
	return err
}

func (w *walker) object(of reflect.Type) error {
	var fields map[string]reflect.Type
	var elem reflect.Type
	switch {
	case of == nil:
	case of.Kind() == reflect.Struct:
		fields = fieldsOf(of)
	case of.Kind() == reflect.Map:
		elem = of.Elem()
	}
	seen := map[string]bool{}
	for w.d.More() {
		token, err := w.token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		s, next := step{key: key, index: -1}, elem
		refuse := func(format string, args ...any) error {
			w.path = append(w.path, s)
			return w.refuse(format, args...)
		}
		if seen[key] {
			return refuse("is given twice: want it once")
		}
		seen[key] = true
		if fields != nil {
			var known bool
			if next, known = fields[key]; !known {
				return refuse("there is no such field: %s", instead(key, fields))
			}
		}
		if err := w.within(s, next); err != nil {
			return err
		}
	}
	_, err := w.d.Token()
	return err
}

// token reads one token. encoding/json replaces half of a surrogate pair by U+FFFD, so that two texts become equal.
func (w *walker) token() (json.Token, error) {
	from := w.d.InputOffset()
	token, err := w.d.Token()
	if text, ok := token.(string); ok && strings.ContainsRune(text, utf8.RuneError) {
		written := w.data[from:w.d.InputOffset()]
		if !bytes.ContainsRune(written, utf8.RuneError) && !bytes.Contains(bytes.ToLower(written), []byte(`\ufffd`)) {
			return nil, w.refuse("has half of a surrogate pair: want whole characters")
		}
	}
	return token, err
}

// instead returns what would be right in place of an unknown key.
func instead(key string, fields map[string]reflect.Type) string {
	var names []string
	for name := range fields {
		if strings.EqualFold(name, key) {
			return "want " + strconv.Quote(name) + ", in this case"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "no fields are allowed here"
	}
	slices.Sort(names)
	return "want " + strings.Join(names, ", ")
}

// bare returns the type of a value that is a list or an object, without its pointers; nil if it accepts any JSON, or
// decodes itself.
func bare(of reflect.Type) reflect.Type {
	for of != nil {
		switch {
		case of.Kind() == reflect.Interface, decodesItself(of):
			return nil
		case of.Kind() != reflect.Pointer:
			return of
		}
		of = of.Elem()
	}
	return nil
}

func decodesItself(of reflect.Type) bool {
	p := reflect.PointerTo(of)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func takesNull(of reflect.Type) bool {
	return of.Kind() == reflect.Interface || of == reflect.TypeFor[json.RawMessage]()
}

// fieldsOf returns the types of a struct's fields by their JSON names, including those of embedded structs.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(of) {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-", !f.IsExported(), f.Anonymous && name == "" && bare(f.Type) != nil &&
			bare(f.Type).Kind() == reflect.Struct:
		case name == "":
			fields[f.Name] = f.Type
		default:
			fields[name] = f.Type
		}
	}
	return fields
}

// withoutEmbedded removes the names of embedded structs, which the caller does not know, from the path of a field.
func withoutEmbedded(path string, of reflect.Type) string {
	for {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		first, rest, found := strings.Cut(path, ".")
		if !found || of.Kind() != reflect.Struct {
			return path
		}
		field, ok := of.FieldByName(first)
		if !ok || !field.Anonymous {
			return path
		}
		path, of = rest, field.Type
	}
}

// nameOf returns the JSON name of a Go type.
func nameOf(of reflect.Type) string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	kind := of.Kind().String()
	switch {
	case of != reflect.TypeFor[json.RawMessage]() && decodesItself(of):
		return "a string"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"), strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "slice" || kind == "array":
		return "a list"
	case kind == "struct" || kind == "map":
		return "an object"
	case kind == "bool":
		return "true or false"
	default:
		return "a " + kind
	}
}

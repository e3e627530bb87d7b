package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// wantOf returns the form of a value of the type, as a phrase that completes "want …"; empty for a type without a
// text form.
func wantOf(typ reflect.Type) string {
	switch {
	case typ == durationType:
		return `a duration such as "500ms", "10s" or "72h"`
	case reflect.PointerTo(typ).Implements(unmarshalerType):
		return "text"
	}
	switch typ.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number of at least 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	default:
		return ""
	}
}

// parse turns a scalar's text into a value that can be decoded into typ. The error describes the right form.
func parse(text string, typ reflect.Type) (any, error) {
	want := fmt.Errorf("want %s", wantOf(typ))
	if typ == durationType {
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, want
		}
		return d, nil
	}
	if u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.New(typ)); ok {
		if err := u.UnmarshalText([]byte(text)); err != nil {
			return nil, err
		}
		return text, nil
	}
	// Underscores may separate digits. A leading zero is a mistake more often than an octal number.
	digits := strings.ReplaceAll(text, "_", "")
	switch typ.Kind() {
	case reflect.String:
		return text, nil
	case reflect.Bool:
		if text != "true" && text != "false" {
			return nil, want
		}
		return text == "true", nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(digits, 10, typ.Bits())
		if err != nil {
			return nil, want
		}
		return i, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		u, err := strconv.ParseUint(digits, 10, typ.Bits())
		if err != nil {
			return nil, want
		}
		return u, nil
	case reflect.Float32, reflect.Float64:
		f, err := strconv.ParseFloat(digits, typ.Bits())
		if err != nil {
			return nil, want
		}
		return f, nil
	default:
		return nil, want
	}
}

// format writes a scalar in the form that parse reads. It hides secrets.
func format(v reflect.Value) string {
	if d, ok := reflect.TypeAssert[time.Duration](v); ok {
		return formatDuration(d)
	}
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
		text, err := m.MarshalText()
		if err != nil {
			return ""
		}
		return string(text)
	}
	return fmt.Sprint(v.Interface())
}

// formatDuration leaves out the zero units that time.Duration prints: "72h" and not "72h0m0s".
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

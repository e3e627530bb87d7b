package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"adsync/base/day"
	"adsync/base/rawtable"
)

// Row reads the fields of one row of a platform's answer. An unusable value never fails the row: its field is left
// unset, and Faults names it. Only an unusable key loses the row.
type Row struct {
	raw    json.RawMessage
	fields map[string]json.RawMessage
	within string // the names of the objects around this one, each with a dot
	found  *faults
}

// faults is shared by a row and the objects within it.
type faults struct {
	list []Fault
	lost bool
}

// Open reads a row, which must be valid JSON, as Fields says. It repairs text that is not valid UTF-8 or that holds
// half of an escaped character, with U+FFFD.
func Open(raw json.RawMessage) *Row {
	r := &Row{raw: raw, found: &faults{}}
	r.repair()
	var err error
	if r.fields, err = Fields(r.raw); err != nil || r.fields == nil {
		r.lose("row", "is not a JSON object")
	}
	return r
}

// repair makes the row valid text and adds a fault for each field whose text was not.
func (r *Row) repair() {
	whole, changed := repaired(r.raw)
	if !changed {
		return
	}
	if fields, err := Fields(r.raw); err == nil {
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			if _, changed := repaired(fields[name]); changed {
				r.fault(name, AttributeFault, "is not valid text, and was repaired")
			}
		}
	}
	r.raw = whole
}

// JSON returns the whole row as the platform sent it, repaired.
func (r *Row) JSON() json.RawMessage { return r.raw }

// Fields returns the row's fields by name.
func (r *Row) Fields() map[string]json.RawMessage { return r.fields }

// Faults returns the unusable values found so far.
func (r *Row) Faults() []Fault { return r.found.list }

// Lost reports whether a key is unusable, so that the row's object is unknown.
func (r *Row) Lost() bool { return r.found.lost }

// Add adds faults that another reader found in the row.
func (r *Row) Add(more []Fault) { r.found.list = append(r.found.list, more...) }

func (r *Row) fault(field string, kind FaultKind, why string) {
	r.found.list = append(r.found.list, Fault{Field: r.within + field, Kind: kind, Why: why})
}

func (r *Row) lose(field, why string) {
	r.fault(field, KeyFault, why)
	r.found.lost = true
}

// Lose adds a fault for a key, for callers that read the key themselves.
func (r *Row) Lose(field string, err error) {
	if !r.Lost() {
		r.lose(field, err.Error())
	}
}

// Key returns the row's id.
func (r *Row) Key(field string) string { return string(keyOf[ID](r, field)) }

// KeyNumber is Key for an id that is always a number.
func (r *Row) KeyNumber(field string) string {
	id := ID(r.Key(field))
	if id != "" && !id.IsNumber() {
		r.lose(field, fmt.Sprintf("%.40q is not a number", string(id)))
		return ""
	}
	return string(id)
}

// TextKey is Key for an id that may be any printable text.
func (r *Row) TextKey(field string) string { return string(keyOf[TextID](r, field)) }

func keyOf[T ~string, P interface {
	*T
	json.Unmarshaler
}](r *Row, field string) (id T) {
	if err := P(&id).UnmarshalJSON(r.fields[field]); err != nil {
		r.lose(field, err.Error())
	} else if id == "" && !r.Lost() {
		r.lose(field, "is not set: a row has no id")
	}
	return id
}

// KeyInt returns a key that is a number from least to most, such as an hour.
func (r *Row) KeyInt(field string, least, most int64) int {
	var n Int
	if err := n.UnmarshalJSON(r.fields[field]); err != nil {
		r.lose(field, err.Error())
		return 0
	}
	if !n.Set || n.Value < least || n.Value > most {
		r.lose(field, fmt.Sprintf("%v is not %d to %d", n.Column(), least, most))
		return 0
	}
	return int(n.Value)
}

// KeyText returns a key that is a text.
func (r *Row) KeyText(field string) string {
	text, err := textOf(r.fields[field])
	if err != nil {
		r.lose(field, err.Error())
	}
	return text
}

// KeyDay returns the row's day.
func (r *Row) KeyDay(field string) day.Day {
	text, err := textOf(r.fields[field])
	if err == nil {
		var d day.Day
		if d, err = day.Parse(text); err == nil {
			return d
		}
	}
	r.lose(field, err.Error())
	return ""
}

// KeyUnix returns a key that is a time in Unix seconds; the zero time when it is not set.
func (r *Row) KeyUnix(field string) time.Time {
	var n Int
	err := n.UnmarshalJSON(r.fields[field])
	t := time.Unix(n.Value, 0).UTC()
	switch {
	case err == nil && n.Value == 0:
		return time.Time{}
	case err == nil && !t.Before(timeMin) && !t.After(timeMax):
		return t
	case err == nil:
		err = fmt.Errorf("%d is not a time from 1970 to 9999", n.Value)
	}
	r.lose(field, err.Error())
	return time.Time{}
}

// ID returns the id of another object.
func (r *Row) ID(field string) ID { return attribute[ID](r, field) }

// TextID is ID for an id that may be any printable text.
func (r *Row) TextID(field string) TextID { return attribute[TextID](r, field) }

// Int returns a whole number that a column holds.
func (r *Row) Int(field string) Int { return attribute[Int](r, field) }

func attribute[T any, P interface {
	*T
	json.Unmarshaler
}](r *Row, field string) (value T) {
	if err := P(&value).UnmarshalJSON(r.fields[field]); err != nil {
		r.fault(field, AttributeFault, err.Error())
		var unset T
		return unset
	}
	return value
}

// Scaled returns a number × 10^places for a column: nil when it is not set.
func (r *Row) Scaled(field string, places int) any {
	value, err := attribute[Decimal](r, field).Column(places)
	if err != nil {
		r.fault(field, AttributeFault, err.Error())
		return nil
	}
	return value
}

// Money returns an amount for the unit's column: nil when it is not set.
func (r *Row) Money(field string, unit Unit) any {
	value := attribute[Decimal](r, field)
	if !value.set {
		return nil
	}
	kept, err := value.Exact(units[unit].kept)
	if err != nil {
		r.fault(field, AttributeFault, err.Error())
		return nil
	}
	return kept
}

// Text returns a text; "" when it is not set, or is a word for no value. NUL becomes U+FFFD, as some databases treat
// NUL as the end of a text.
func (r *Row) Text(field string) string {
	text, err := textOf(r.fields[field])
	if err != nil {
		r.fault(field, AttributeFault, err.Error())
		return ""
	}
	if rawtable.IsNoValue(text) {
		return ""
	}
	if strings.ContainsRune(text, 0) {
		r.fault(field, AttributeFault, "holds NUL, and was repaired")
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	return text
}

// Exact returns a text that must not be changed, such as a signature; "" if it would have to be repaired or cut.
func (r *Row) Exact(field string) string {
	text := r.Text(field)
	why := ""
	switch {
	case Cut(text) != text:
		why = "is longer than its column"
	case strings.ContainsRune(text, utf8.RuneError):
		why = "would have to be repaired"
	default:
		return text
	}
	if !slices.ContainsFunc(r.found.list, func(f Fault) bool { return f.Field == r.within+field }) {
		r.fault(field, AttributeFault, why)
	}
	return ""
}

// String returns a JSON text, or the digits of a number; "" for any other value, and for one that is not set.
func String(raw json.RawMessage) string {
	text, err := literal(raw)
	if err != nil {
		return ""
	}
	return text
}

func textOf(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] != '"' {
		return "", fmt.Errorf("%.40q is not a text", raw)
	}
	return unquoted(raw)
}

// Bool returns a truth value, which may also be 1, 0 or a text; false when it is not set.
func (r *Row) Bool(field string) bool {
	value := r.Truth(field)
	return value != nil && *value
}

// Truth is Bool, but returns nil when the value is not set.
func (r *Row) Truth(field string) *bool {
	value, err := TruthOf(r.fields[field])
	if err != nil {
		r.fault(field, AttributeFault, err.Error())
	}
	return value
}

// Flag reads a platform's flag, such as whether a list has more pages. Any value that is set and not false is true,
// so that an unreadable value does not cut a list short.
func Flag(raw json.RawMessage) bool {
	value, err := TruthOf(raw)
	return err != nil || value != nil && *value
}

// TruthOf reads true or false, which may be a number or text; nil if it is not set.
func TruthOf(raw json.RawMessage) (*bool, error) {
	if isUnset(raw) {
		return nil, nil
	}
	text := string(bytes.TrimSpace(raw))
	var value bool
	switch strings.ToLower(strings.Trim(text, `"`)) {
	case "true", "1":
		value = true
	case "false", "0":
	default:
		return nil, fmt.Errorf("%.40q is neither true nor false", text)
	}
	return &value, nil
}

// Unix returns a time from Unix seconds; the zero time when the number is 0 or not set.
func (r *Row) Unix(field string) time.Time {
	n := r.Int(field)
	if !n.Set || n.Value == 0 {
		return time.Time{}
	}
	return r.usable(field, time.Unix(n.Value, 0).UTC(), n.Value)
}

// UnixMilli is Unix for milliseconds.
func (r *Row) UnixMilli(field string) time.Time {
	n := r.Int(field)
	if !n.Set || n.Value == 0 {
		return time.Time{}
	}
	return r.usable(field, time.UnixMilli(n.Value).UTC(), n.Value)
}

// Time returns a time that parse reads from a text; the zero time when it is not set.
func (r *Row) Time(field string, parse func(text string) (time.Time, error)) time.Time {
	text := r.Text(field)
	if rawtable.IsNoValue(text) {
		return time.Time{}
	}
	t, err := parse(text)
	if err != nil {
		r.fault(field, AttributeFault, fmt.Sprintf("%.40q is not a time", text))
		return time.Time{}
	}
	if t.IsZero() {
		return t
	}
	return r.usable(field, t.UTC(), text)
}

// The bounds of a time of a platform's object, which every database stores. Milliseconds that are read as seconds are
// beyond them.
var (
	timeMin = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	timeMax = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
)

func (r *Row) usable(field string, t time.Time, value any) time.Time {
	if t.Before(timeMin) || t.After(timeMax) {
		r.fault(field, AttributeFault, fmt.Sprintf("%.40v is not a time from 1970 to 9999", value))
		return time.Time{}
	}
	return t
}

// secondsMax caps a number of seconds at ten years, as a Duration may not hold more.
const secondsMax = 10 * 365 * 24 * 60 * 60

// Seconds returns a number of seconds as a duration, between 0 and ten years; 0 when it is not set.
func (r *Row) Seconds(field string) time.Duration {
	return time.Duration(min(max(r.Int(field).Value, 0), secondsMax)) * time.Second
}

// In returns an object within the row; an object without fields when it is not set.
func (r *Row) In(field string) *Row {
	inner := &Row{raw: r.fields[field], within: r.within + field + ".", found: r.found}
	if isUnset(inner.raw) {
		return inner
	}
	var err error
	if inner.fields, err = Fields(inner.raw); err != nil {
		r.fault(field, AttributeFault, fmt.Sprintf("%.40q is not an object", inner.raw))
	}
	return inner
}

// Figures returns the object that holds the row's figures. Without it all figures are unknown, and the day is not
// whole.
func (r *Row) Figures(field string) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if raw, ok := r.fields[field]; ok {
		fields, _ = Fields(raw)
	}
	if fields == nil {
		r.fault(field, FigureFault, "is not an object of figures")
	}
	return fields
}

// List returns the elements of a list within the row; nil when it is not set.
func (r *Row) List(field string) []json.RawMessage {
	raw := r.fields[field]
	list, err := ListOf(raw)
	if err != nil {
		r.fault(field, AttributeFault, fmt.Sprintf("%.40q is not a list", raw))
	}
	return list
}

package summaries

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
)

// PartnerBatch is rows that were read from the partner's table.
type PartnerBatch struct {
	Rows []PartnerRow // rows that cannot be kept are Deleted: their earlier values are void
	// Faults are the values that could not be used, by the ids of their rows.
	Faults []PartnerFault
}

// PartnerFault is a value of the partner's table that cannot be used. An attribute is left unset or repaired, a
// figure is NULL, and a row whose key cannot be used is not kept.
type PartnerFault struct {
	ID    int64 // of the row; 0 for rows without a usable id or moment, which are never read
	Media string
	Field string
	Kind  rawtable.FaultKind
	Rows  int64
	Why   string // what is wrong with one of them
}

// partnerTexts are the texts of a row, in the order in which they are read, with the widths of their columns in
// characters.
var partnerTexts = [...]struct {
	name string
	most int
	key  bool // a part of the row's key: printable ASCII
}{{"game", 64, false}, {"os", 16, false}, {"media", 32, true}, {"account", 64, true}, {"level", 16, true},
	{"object_id", 64, true}}

// partnerFigureMax is above every real figure. Some hundreds of such figures still add up to less than a column
// holds.
const partnerFigureMax = 1e16

// readPartnerRow parses the values of a row as the database returns them, and adds unusable ones to the batch's
// faults.
func (b *PartnerBatch) readPartnerRow(id int64, values []any) {
	r := PartnerRow{ID: id}
	var faults []PartnerFault
	add := func(field string, kind rawtable.FaultKind, why error) {
		faults = append(faults, PartnerFault{ID: id, Field: field, Kind: kind, Rows: 1, Why: why.Error()})
	}
	deleted, err := partnerInt(values[0])
	if err != nil {
		add("deleted", rawtable.KeyFault, err)
	}
	if r.Deleted = deleted.Int64 != 0; r.Deleted {
		b.Rows = append(b.Rows, r)
		return
	}
	if r.Day, err = partnerDay(values[1]); err != nil {
		add("day", rawtable.KeyFault, err)
	}
	into := [...]*string{&r.Game, &r.OS, &r.Media, &r.Account, &r.Level, &r.Object}
	texts, figures := values[2:2+len(partnerTexts)], values[2+len(partnerTexts):]
	for i, c := range partnerTexts {
		text, err := partnerText(texts[i], c.most, c.key)
		switch *into[i] = text; {
		case err != nil && c.key:
			add(c.name, rawtable.KeyFault, err)
		case err != nil:
			add(c.name, rawtable.AttributeFault, err)
		}
	}
	for i, name := range PartnerFigures {
		value, err := partnerInt(figures[i])
		if err == nil && (value.Int64 > partnerFigureMax || value.Int64 < -partnerFigureMax) {
			err = fmt.Errorf("%d is outside ±1e16", value.Int64)
		}
		if err != nil {
			add(name, rawtable.FigureFault, err)
			continue
		}
		r.Values[i] = value
	}
	for i := range faults {
		faults[i].Media = r.Media
	}
	if slices.ContainsFunc(faults, func(f PartnerFault) bool { return f.Kind == rawtable.KeyFault }) {
		r = PartnerRow{ID: id, Deleted: true}
	}
	b.Rows, b.Faults = append(b.Rows, r), append(b.Faults, faults...)
}

// quoted returns a value for an error: its first characters, as valid UTF-8.
func quoted(value any) string {
	if raw, ok := value.([]byte); ok {
		value = string(raw)
	}
	return fmt.Sprintf("%.40q", fmt.Sprint(value))
}

// asString returns a value that the database returned as text.
func asString(value any) (text string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case []byte:
		return string(v), true
	}
	return "", false
}

// partnerInt parses a whole number; NULL and the words for no value are not set.
func partnerInt(value any) (n sql.NullInt64, err error) {
	refused := fmt.Errorf("%s is not a whole number", quoted(value))
	whole := func(f float64) (sql.NullInt64, error) {
		if f != math.Trunc(f) || math.Abs(f) >= 1<<53 { // NaN is not equal to itself.
			return sql.NullInt64{}, refused
		}
		return sql.NullInt64{Int64: int64(f), Valid: true}, nil
	}
	switch v := value.(type) {
	case nil:
		return sql.NullInt64{}, nil
	case int64:
		return sql.NullInt64{Int64: v, Valid: true}, nil
	case uint64:
		if v > math.MaxInt64 {
			return sql.NullInt64{}, refused
		}
		return sql.NullInt64{Int64: int64(v), Valid: true}, nil
	case bool:
		if v {
			return sql.NullInt64{Int64: 1, Valid: true}, nil
		}
		return sql.NullInt64{Valid: true}, nil
	case float32:
		return whole(float64(v))
	case float64:
		return whole(v)
	}
	text, ok := asString(value)
	if !ok {
		return sql.NullInt64{}, refused
	}
	if text = strings.TrimSpace(text); rawtable.IsNoValue(text) {
		return sql.NullInt64{}, nil
	}
	digits, fraction, _ := strings.Cut(text, ".") // A DECIMAL has decimal places.
	if n.Int64, err = strconv.ParseInt(digits, 10, 64); err != nil || strings.Trim(fraction, "0") != "" {
		return sql.NullInt64{}, refused
	}
	n.Valid = true
	return n, nil
}

// partnerDay parses a day, or the day of a moment.
func partnerDay(value any) (day.Day, error) {
	text, ok := asString(value)
	switch moment, isTime := value.(time.Time); {
	case isTime:
		text = moment.Format(time.DateOnly)
	case value == nil:
		return "", errors.New("is not set: the row's day is not known")
	case !ok:
		return "", fmt.Errorf("%s is not a day", quoted(value))
	}
	head := text
	if len(text) > len(time.DateOnly) && (text[len(time.DateOnly)] == ' ' || text[len(time.DateOnly)] == 'T') {
		head = text[:len(time.DateOnly)]
	}
	d, err := day.GivenAhead(head, clock.System{}.Now())
	if err != nil {
		return "", fmt.Errorf("%s is refused: %w", quoted(text), err)
	}
	return d, nil
}

// partnerText parses a text of up to most characters, and repairs one that does not fit. A key is not repaired, since
// it would be another's.
func partnerText(value any, most int, key bool) (string, error) {
	text, ok := asString(value)
	if !ok {
		if value == nil {
			return "", nil
		}
		text = fmt.Sprint(value) // A number or a boolean.
	}
	var err error
	switch {
	case !utf8.ValidString(text):
		err = errors.New("is not valid UTF-8")
	case strings.ContainsRune(text, 0):
		err = errors.New("holds NUL")
	case utf8.RuneCountInString(text) > most:
		err = fmt.Errorf("has more than %d characters", most)
	case key && strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' }):
		err = fmt.Errorf("%s is not printable ASCII without spaces", quoted(text))
	}
	if err != nil && !key {
		text = sqldb.Cut(strings.ReplaceAll(text, "\x00", "\uFFFD"), most)
		err = fmt.Errorf("%w, and was repaired", err)
	}
	return text, err
}

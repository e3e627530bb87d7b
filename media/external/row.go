package external

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/strictjson"
	"adsync/media"
	"adsync/media/wire"
)

// The fields of a row that are no metrics.
const (
	fieldID    = "id"
	fieldHour  = "hour"
	fieldName  = "name"
	fieldExtra = "extra"
)

// figureMax is a bound that no figure reaches, in millionths of a currency or as a count: a greater one is a mistake.
const figureMax = 1e17

// accountLevel is the level whose rows have no id.
const accountLevel = "account"

// Form is what the rows of a pull have in common.
type Form struct {
	Level  string
	Hourly bool
	Day    day.Day
	// Columns is the number of typed columns of the raw table. A worker's row leaves them empty.
	Columns int
}

// Read reads a worker's row. A row with another shape than the documented one is refused with a *strictjson.Error,
// which names the field: that is a mistake in the worker. A value of the right shape that cannot be used costs only
// itself: it is a fault of the row, and the row is lost if the value is a key.
func (f Form) Read(raw json.RawMessage) (media.Row, error) {
	fields := map[string]json.RawMessage{}
	if err := strictjson.Unmarshal(raw, &fields); err != nil {
		return media.Row{}, err
	}
	var text bytes.Buffer
	if err := json.Compact(&text, raw); err != nil {
		return media.Row{}, err
	}
	row := media.Row{Day: f.Day, JSON: text.Bytes(), Raw: make([]any, f.Columns)}
	for name := range fields {
		if !f.knows(name) {
			return media.Row{}, &strictjson.Error{Field: name, Detail: "is unknown: want " + f.want()}
		}
	}
	for _, read := range []func(*media.Row, map[string]json.RawMessage) error{f.readID, f.readHour, readName, readExtra,
		readMetrics} {
		if err := read(&row, fields); err != nil {
			return media.Row{}, err
		}
	}
	return row, nil
}

// knows reports whether a row may have a field.
func (f Form) knows(name string) bool {
	switch name {
	case fieldID, fieldName:
		return f.Level != accountLevel
	case fieldHour:
		return f.Hourly
	case fieldExtra:
		return true
	}
	return metric.Index(name) >= 0
}

// want lists the fields of a row for a refusal.
func (f Form) want() string {
	names := slices.DeleteFunc([]string{fieldID, fieldHour, fieldName, fieldExtra},
		func(name string) bool { return !f.knows(name) })
	return strings.Join(append(names, "or a metric of report_daily"), ", ")
}

func (f Form) readID(row *media.Row, fields map[string]json.RawMessage) error {
	if f.Level == accountLevel {
		return nil
	}
	var id wire.ID
	switch err := id.UnmarshalJSON(fields[fieldID]); {
	case err != nil:
		lose(row, fieldID, err.Error())
	case id == "":
		lose(row, fieldID, "is missing")
	default:
		row.Object = string(id)
	}
	return nil
}

func (f Form) readHour(row *media.Row, fields map[string]json.RawMessage) error {
	if !f.Hourly {
		return nil
	}
	text := string(fields[fieldHour])
	if hour, err := strconv.Atoi(text); err == nil && hour >= 0 && hour <= 23 {
		row.Hour = hour
		return nil
	}
	lose(row, fieldHour, fmt.Sprintf("%.40q is not an hour from 0 to 23", text))
	return nil
}

// lose adds a fault of a key, with which the row is lost.
func lose(row *media.Row, field, why string) {
	row.Lost = true
	row.Faults = append(row.Faults, wire.Fault{Field: field, Kind: wire.KeyFault, Why: why})
}

func readName(row *media.Row, fields map[string]json.RawMessage) error {
	text, given := fields[fieldName]
	if !given || string(text) == "null" {
		return nil
	}
	if json.Unmarshal(text, &row.Name) != nil {
		return &strictjson.Error{Field: fieldName, Detail: "is refused: want a text"}
	}
	return nil
}

func readExtra(_ *media.Row, fields map[string]json.RawMessage) error {
	if text, given := fields[fieldExtra]; given && text[0] != '{' {
		return &strictjson.Error{Field: fieldExtra, Detail: "is refused: want an object"}
	}
	return nil
}

// readMetrics reads the figures. What a row does not have is not set, and never 0.
func readMetrics(row *media.Row, fields map[string]json.RawMessage) error {
	for i, m := range metric.All {
		text, given := fields[m.Name]
		if !given || string(text) == "null" {
			continue
		}
		if err := checkShape(m, text); err != nil {
			return err
		}
		places := 0
		if m.Unit == metric.Micros {
			places = 6
		}
		value, set, err := exact(text, places)
		if err != nil {
			row.Faults = append(row.Faults, wire.Fault{Field: m.Name, Kind: wire.FigureFault, Why: err.Error(),
				Metric: m.Name})
		} else if set {
			row.Metrics.Set(i, value)
		}
	}
	return nil
}

// checkShape refuses money that is no text: a JSON number is a floating-point number in most languages.
func checkShape(m metric.Metric, text json.RawMessage) error {
	isText := text[0] == '"'
	switch {
	case m.Unit == metric.Micros && !isText:
		return &strictjson.Error{Field: m.Name,
			Detail: `is refused: want an amount of the account's currency as decimal text, such as "12.34"`}
	case !isText && text[0] != '-' && (text[0] < '0' || text[0] > '9'):
		return &strictjson.Error{Field: m.Name, Detail: "is refused: want a whole number"}
	}
	return nil
}

// exact returns a figure × 10^places. It is not set for a word that means no value.
func exact(text json.RawMessage, places int) (value int64, set bool, err error) {
	var d wire.Decimal
	if err := d.UnmarshalJSON(text); err != nil {
		return 0, false, err
	}
	if !d.IsSet() {
		return 0, false, nil
	}
	if value, err = d.Exact(places); err != nil {
		return 0, false, err
	}
	if value > figureMax || value < -figureMax {
		return 0, false, fmt.Errorf("%d is greater than any figure", value)
	}
	return value, true, nil
}

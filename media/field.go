package media

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"adsync/media/wire"
)

// Fields returns the fields that a query requests: the report's own and the extra ones, without those in Without.
func (q ReportQuery) Fields(own []string) []string {
	var names []string
	for _, name := range slices.Concat(own, q.Extra) {
		if !slices.Contains(q.Without, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// neededMetric is the metric that decides whether an answer is suspect and whether an account is awake.
const neededMetric = "cost"

// Needs reports whether a report cannot omit a field: it is a key of the rows, or the spend.
func (r Report) Needs(field string) bool {
	for _, f := range r.Figures {
		if f.Field == field {
			return f.Metric == neededMetric
		}
	}
	return slices.Contains(r.Keys, field)
}

// NameField sets Field in an Error of one of the codes, with which a platform refuses a request for an unknown field.
// Field becomes the first of the fields that the error's text names. A text that names most of the fields lists the
// known ones, and sets nothing.
func NameField(err error, fields []string, codes ...string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || !slices.Contains(codes, e.Code) {
		return err
	}
	words := strings.FieldsFunc(e.Message, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	var named []string
	for _, field := range fields {
		if slices.Contains(words, field) {
			named = append(named, field)
		}
	}
	if len(named) > 0 && (len(named) == 1 || 2*len(named) <= len(fields)) {
		e.Field = named[0]
	}
	return err
}

// FieldsOf implements Report.Values for rows whose figures are not in an object of their own.
func FieldsOf(row json.RawMessage) (map[string]json.RawMessage, error) { return wire.Fields(row) }

// FieldsIn returns what implements Report.Values for rows whose figures are in an object of their own.
func FieldsIn(object string) func(row json.RawMessage) (map[string]json.RawMessage, error) {
	return func(row json.RawMessage) (map[string]json.RawMessage, error) {
		fields, err := wire.Fields(row)
		if err != nil {
			return nil, err
		}
		figures, ok := fields[object]
		if !ok {
			return nil, nil
		}
		return wire.Fields(figures)
	}
}

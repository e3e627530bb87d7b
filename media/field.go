package media

import (
	"errors"
	"slices"
	"strings"
)

// Fields returns which figures a query asks for, of which own are the report's: those and the extra ones, but for
// those that it goes without.
func (q ReportQuery) Fields(own []string) []string {
	var names []string
	for _, name := range slices.Concat(own, q.Extra) {
		if !slices.Contains(q.Without, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// neededMetric is what the engine itself decides by: whether an answer is suspect, and whether an account is awake.
const neededMetric = "cost"

// Needs tells whether a report cannot do without a field: its rows are kept apart by it, or it is what was spent.
func (r Report) Needs(field string) bool {
	for _, f := range r.Figures {
		if f.Field == field {
			return f.Metric == neededMetric
		}
	}
	return slices.Contains(r.Keys, field)
}

// NameField sets Field in an Error of one of the codes, which a platform answers when a request asks for a field that
// it does not know: to that one of the fields which the error's text names, the first of several. A text that names
// most of them tells which there are, and not which is wrong.
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

package show

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"adsync/client"
)

// Audit prints who changed what.
var Audit = List[client.AuditEntry]{
	Rows: "audit",
	none: "There are no such entries.",
	more: moreBy("--object, --since …"),
	columns: columns[client.AuditEntry]{
		{"AT", func(e *client.AuditEntry) any { return e.At }},
		{"BY", func(e *client.AuditEntry) any { return e.Actor }},
		{"ACTION", func(e *client.AuditEntry) any { return e.Action }},
		{"OBJECT", func(e *client.AuditEntry) any { return e.Object }},
		{"CHANGE", func(e *client.AuditEntry) any {
			if e.Error != "" {
				return "not done: " + e.Error
			}
			return changed(e.Before, e.After)
		}},
	},
}

// changed returns in words how an object changed: field by field if both are objects, otherwise what it is or was.
func changed(before, after json.RawMessage) string {
	was, is := fieldsOf(before), fieldsOf(after)
	if was == nil || is == nil {
		switch {
		case len(before) == 0:
			return string(after)
		case len(after) == 0:
			return "was " + string(before)
		}
		return string(before) + " → " + string(after)
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(was)), maps.Keys(is))
	slices.Sort(names)
	var parts []string
	for _, name := range slices.Compact(names) {
		parts = append(parts, fmt.Sprintf("%s: %s → %s", name, orNone(was[name]), orNone(is[name])))
	}
	return strings.Join(parts, ", ")
}

// fieldsOf returns the fields of a JSON object, and nil of other values.
func fieldsOf(text json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		return nil
	}
	return fields
}

func orNone(value json.RawMessage) string {
	if len(value) == 0 {
		return "none"
	}
	return string(value)
}

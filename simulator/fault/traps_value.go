package fault

import (
	"bytes"
	"strings"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
)

func isReport(c *platform.Call) bool { return strings.Contains(strings.ToLower(c.Endpoint), "report") }

// figureOf returns the field of a figure in a report's rows; "" for other answers.
func figureOf(c *platform.Call) string {
	if !isReport(c) {
		return ""
	}
	return c.Spec.FigureField
}

// keyOf returns the key field of an answer's rows; "" if they have no key.
func keyOf(c *platform.Call) string {
	if isReport(c) {
		for _, name := range c.Spec.DayFields {
			if bytes.Contains(c.Body, []byte(`"`+name+`":`)) {
				return name
			}
		}
		return ""
	}
	return c.Spec.KeyFields[c.Endpoint]
}

// spoils applies a trap that replaces the first value of a field in an answer's rows.
func (t *Traps) spoils(c *platform.Call, id trap.ID, field, value string) bool {
	if field == "" || !t.IsOn(id) {
		return false
	}
	rows := -1
	for _, name := range rowsFields {
		rows = max(rows, bytes.Index(c.Body, []byte(`"`+name+`":[`)))
	}
	if rows < 0 {
		return false
	}
	name := []byte(`"` + field + `":`)
	at := bytes.Index(c.Body[rows:], name)
	if at < 0 || bytes.Contains(c.Body[rows:rows+at], []byte(`"total_metrics"`)) {
		return false
	}
	from := rows + at + len(name)
	length := bytes.IndexAny(c.Body[from:], ",}") // No such value contains one of them.
	if length < 0 || !t.Springs(c, id) {
		return false
	}
	rest := bytes.Clone(c.Body[from+length:])
	c.Body = append(append(c.Body[:from], value...), rest...)
	return true
}

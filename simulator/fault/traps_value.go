package fault

import (
	"bytes"
	"strings"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
)

// figureOf is a figure of a report's rows; "" for answers that are none.
func figureOf(c *platform.Call) string {
	if !strings.Contains(c.Endpoint, "report") {
		return ""
	}
	return c.Spec.FigureField
}

// keyOf is what a row of an answer is known by; "" for answers whose rows have no key.
func keyOf(c *platform.Call) string {
	if strings.Contains(c.Endpoint, "report") {
		for _, name := range c.Spec.DayFields {
			if bytes.Contains(c.Body, []byte(`"`+name+`":`)) {
				return name
			}
		}
		return ""
	}
	return c.Spec.KeyFields[c.Endpoint]
}

// spoils springs a trap that puts another value in the place of the first that a field has in an answer's rows.
func (t *Traps) spoils(c *platform.Call, id trap.ID, field, value string) bool {
	if field == "" || !t.IsOn(id) {
		return false
	}
	rows := max(bytes.Index(c.Body, []byte(`"list":[`)), bytes.Index(c.Body, []byte(`"rows":[`)))
	if rows < 0 {
		return false
	}
	name := []byte(`"` + field + `":`)
	at := bytes.Index(c.Body[rows:], name)
	if at < 0 || bytes.Contains(c.Body[rows:rows+at], []byte(`"total_metrics"`)) {
		return false
	}
	from := rows + at + len(name)
	length := bytes.IndexAny(c.Body[from:], ",}") // No such value has one of them in it.
	if length < 0 || !t.Springs(c, id) {
		return false
	}
	rest := bytes.Clone(c.Body[from+length:])
	c.Body = append(append(c.Body[:from], value...), rest...)
	return true
}

package simulator

import (
	"bytes"
	"strings"
)

// figureOf is a figure of a report's rows; "" for answers that are none.
func figureOf(c *call) string {
	if !strings.Contains(c.endpoint, "report") {
		return ""
	}
	return c.p.figureField
}

// keyOf is what a row of an answer is known by; "" for answers whose rows have no key.
func keyOf(c *call) string {
	if strings.Contains(c.endpoint, "report") {
		for _, name := range c.p.dayFields {
			if bytes.Contains(c.body, []byte(`"`+name+`":`)) {
				return name
			}
		}
		return ""
	}
	return c.p.keyFields[c.endpoint]
}

// spoils springs a trap that puts another value in the place of the first that a field has in an answer's rows.
func (t *traps) spoils(c *call, id trapID, field, value string) bool {
	if field == "" || !t.isOn(id) {
		return false
	}
	rows := max(bytes.Index(c.body, []byte(`"list":[`)), bytes.Index(c.body, []byte(`"rows":[`)))
	if rows < 0 {
		return false
	}
	name := []byte(`"` + field + `":`)
	at := bytes.Index(c.body[rows:], name)
	if at < 0 || bytes.Contains(c.body[rows:rows+at], []byte(`"total_metrics"`)) {
		return false
	}
	from := rows + at + len(name)
	length := bytes.IndexAny(c.body[from:], ",}") // No such value has one of them in it.
	if length < 0 || !t.Springs(c, id) {
		return false
	}
	rest := bytes.Clone(c.body[from+length:])
	c.body = append(append(c.body[:from], value...), rest...)
	return true
}

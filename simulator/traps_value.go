package simulator

import (
	"bytes"
	"strings"
)

// cutCharacter stands in the truth where a name was cut inside a character: what is left of it cannot be read.
const cutCharacter = "\uFFFD"

// adName writes the name of an ad. One that was cut ends with two bytes of the three that its last character has, as from a database that counts bytes.
func (w *jsonWriter) adName(name string) {
	at := len(w.b)
	w.text(name)
	if strings.Contains(name, cutCharacter) {
		w.b = append(w.b[:at], bytes.ReplaceAll(w.b[at:], []byte(cutCharacter), []byte("激")[:2])...)
	}
}

// figureOf is a figure of a report's rows; "" for answers that are none.
func figureOf(c *call) string {
	switch {
	case !strings.Contains(c.endpoint, "report"):
		return ""
	case c.p.name == "tencent":
		return "cost"
	}
	return "stat_cost"
}

// keyOf is what a row of an answer is known by; "" for answers whose rows have no key.
func keyOf(c *call) string {
	switch {
	case strings.Contains(c.endpoint, "report"):
		for _, name := range []string{"date", "stat_time_day", "stat_time_hour"} {
			if bytes.Contains(c.body, []byte(`"`+name+`":`)) {
				return name
			}
		}
	case strings.HasPrefix(c.endpoint, "adgroups/"):
		return "adgroup_id"
	case strings.HasPrefix(c.endpoint, "dynamic_creatives/"):
		return "dynamic_creative_id"
	case strings.Contains(c.endpoint, "promotion/list"):
		return "promotion_id"
	case strings.Contains(c.endpoint, "project/list"):
		return "project_id"
	}
	return ""
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
	if length < 0 || !t.springs(c, id) {
		return false
	}
	rest := bytes.Clone(c.body[from+length:])
	c.body = append(append(c.body[:from], value...), rest...)
	return true
}

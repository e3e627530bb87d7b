package mediatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"adsync/media"
)

// badValues are JSON values that a broken row may have in any field.
var badValues = []string{
	"\"广\xe5\xb9\"",              // a text cut inside a character
	`{"x":[1]}`,                  // another type
	"-1e30",                      // a number beyond all columns
	`"-"`,                        // a word for no value
	`"0000-00-00 25:00:00"`,      // a text that is neither a number nor a time
	"1795000000000",              // milliseconds as seconds
	`"a\u0000b"`, "true", "null", // others
	`"a\ud83d"`, // half of an escaped character
}

// rowsKept is how many rows of a report are read with a broken one among them. More would only take time.
const rowsKept = 5

// badEach is how many of them replace each value.
const badEach = 3

// testUnusable breaks each value of the first row of each list and report in turn. The other rows must stay
// unchanged, and the row itself must be returned or reported as lost.
func testUnusable(t *testing.T, h *harness) {
	t.Helper()
	account, broken := h.tested()[0], 0
	check := func(what string, few bool, page func() (media.Page, error)) {
		h.connect(t, altering((&alteration{remove: true, few: few}).alter))
		others, err := page()
		require.NoError(t, err)
		for field := 0; ; field++ {
			for n := range badEach {
				alter := &alteration{value: badValues[(field*badEach+n)%len(badValues)], field: field,
					few: few}
				h.connect(t, altering(alter.alter))
				got, err := page()
				require.NoError(t, err, "%s: %s as %s", what, alter.name, alter.value)
				if alter.name == "" {
					return // The row has no more fields.
				}
				broken++
				requireOthers(t, fmt.Sprintf("%s: %s as %s", what, alter.name, alter.value), others, got)
			}
		}
	}
	for _, list := range h.platform.Lists() {
		for _, variant := range variantsOf(list.Variants) {
			check(list.Name, false, func() (media.Page, error) {
				return list.Page(t.Context(), h.api(account), media.ListQuery{Variant: variant, Until: h.transport.Now()}, "")
			})
		}
	}
	yesterday := h.server.Today.Add(-1)
	for _, report := range h.platform.Reports() {
		if report.Level != "adgroup" {
			continue
		}
		for _, variant := range variantsOf(report.Variants) {
			check(report.Name, true, func() (media.Page, error) {
				q := media.ReportQuery{Variant: variant, From: yesterday, To: yesterday}
				return report.Page(t.Context(), h.api(account), q, "")
			})
		}
	}
	require.Greater(t, broken, 100)
}

// requireOthers checks that a page has all rows of another, and the broken row, which may be lost.
func requireOthers(t *testing.T, what string, others, got media.Page) {
	t.Helper()
	for _, row := range others.Rows {
		require.True(t, slices.ContainsFunc(got.Rows, func(r media.Row) bool {
			return r.Object == row.Object && r.Day == row.Day && r.Hour == row.Hour && !r.Lost &&
				string(r.JSON) == string(row.JSON)
		}), "%s loses the row %s", what, row.JSON)
	}
	for _, row := range got.Rows {
		require.True(t, utf8.Valid(row.JSON), what)
		require.False(t, row.Lost && len(row.Faults) == 0, what)
	}
	require.GreaterOrEqual(t, counted(got), counted(others)+1, "%s: the row is counted", what)
}

func counted(p media.Page) int {
	if p.Counted != nil {
		return len(p.Counted)
	}
	return len(p.Rows)
}

// alteration breaks one value of the first row of each answer, or removes the row.
type alteration struct {
	value  string
	field  int // the index of the row's value to break
	remove bool
	few    bool   // leaves the answer rowsKept rows at most
	name   string // the name of the broken value; "" when the row has no such value
}

func (a *alteration) alter(body []byte) []byte {
	rows := rowsIn(body)
	if rows == nil {
		return body
	}
	first := rows[0]
	if a.few && len(rows) > rowsKept {
		last := rows[len(rows)-1]
		from := bytes.Index(body, rows[rowsKept])
		to := bytes.LastIndex(body, last) + len(last)
		body = slices.Concat(bytes.TrimSuffix(body[:from], []byte(",")), body[to:])
	}
	if a.remove {
		before, after, _ := bytes.Cut(body, first)
		return slices.Concat(before, bytes.TrimPrefix(after, []byte(",")))
	}
	values := valuesIn(first, "")
	if a.field >= len(values) {
		return body
	}
	v := values[a.field]
	a.name = v.name
	altered := slices.Concat(first[:v.start], []byte(a.value), first[v.end:])
	return bytes.Replace(body, first, altered, 1)
}

// rowsIn returns the first list of several objects in an answer.
func rowsIn(body []byte) []json.RawMessage {
	type envelope struct {
		Data json.RawMessage `json:"data"`
	}
	var answer struct {
		envelope
		Body envelope `json:"body"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	data := answer.Data
	if data == nil {
		data = answer.Body.Data
	}
	var rows []json.RawMessage
	if json.Unmarshal(data, &rows) == nil {
		switch len(rows) {
		case 0:
			return nil
		case 1:
			data = rows[0] // Some reports are a list of one.
		default:
			return rows // Some lists have only rows.
		}
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return nil
	}
	for _, field := range []string{"list", "rows", "details"} {
		if json.Unmarshal(fields[field], &rows) == nil && len(rows) > 1 {
			return rows
		}
	}
	return nil
}

// value is the position of a value that is not an object.
type value struct {
	name       string
	start, end int
}

// valuesIn returns the values of an object and of the objects in it.
func valuesIn(object []byte, within string) (values []value) {
	d := json.NewDecoder(bytes.NewReader(object))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return values
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return values
		}
		end := int(d.InputOffset())
		start := end - len(raw)
		full := within + name.(string)
		if inner := valuesIn(raw, full+"."); len(inner) > 0 {
			for _, v := range inner {
				values = append(values, value{v.name, start + v.start, start + v.end})
			}
			continue
		}
		values = append(values, value{full, start, end})
	}
	return values
}

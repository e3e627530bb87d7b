package mediatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"adsync/media"
	"adsync/media/client"
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
		recorded := recording{}
		h.connect(t, recorded.altered(&alteration{remove: true, few: few}))
		others, err := page()
		require.NoError(t, err)
		for field := 0; ; field++ {
			for n := range badEach {
				alter := &alteration{value: badValues[(field*badEach+n)%len(badValues)], field: field, few: few}
				h.connect(t, recorded.altered(alter))
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

func (a *alteration) alter(body []byte, first json.RawMessage, values []value) []byte {
	if a.remove {
		before, after, _ := bytes.Cut(body, first)
		return slices.Concat(before, bytes.TrimPrefix(after, []byte(",")))
	}
	if a.field >= len(values) {
		return body
	}
	v := values[a.field]
	a.name = v.name
	altered := slices.Concat(first[:v.start], []byte(a.value), first[v.end:])
	return bytes.Replace(body, first, altered, 1)
}

// recording holds the platform's answers by request: a request that is repeated for each broken value is computed and
// read once.
type recording map[string]*answer

type answer struct {
	http.Response
	body []byte
	// first is the first of several rows, and values are its values; nil if the answer has no such row.
	first  json.RawMessage
	values []value
}

// altered returns an HTTP client that alters the answers' first rows. With few, an answer has rowsKept rows at most.
func (r recording) altered(a *alteration) *http.Client {
	inner := client.NewHTTP()
	inner.Timeout = time.Minute
	transport := inner.Transport
	inner.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		key, err := requestKey(req)
		if err != nil {
			return nil, err
		}
		if r[key] == nil {
			if r[key], err = record(transport, req, a.few); err != nil {
				return nil, err
			}
		}
		resp, body := r[key].Response, r[key].body
		if r[key].first != nil {
			body = a.alter(body, r[key].first, r[key].values)
		}
		resp.Header, resp.Request = resp.Header.Clone(), req
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return &resp, nil
	})
	return inner
}

// requestKey returns what determines the answer to a request: all but what differs in each call.
func requestKey(req *http.Request) (string, error) {
	query := req.URL.Query()
	for _, name := range []string{"nonce", "timestamp"} {
		query.Del(name)
	}
	key := req.Method + " " + req.URL.Path + "?" + query.Encode()
	if req.GetBody == nil {
		return key, nil
	}
	reader, err := req.GetBody()
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(reader)
	return key + "\n" + string(body), err
}

func record(transport http.RoundTripper, req *http.Request, few bool) (*answer, error) {
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	a := &answer{Response: *resp}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return nil, err
	}
	a.Header.Del("Content-Length")
	rows := rowsIn(a.body)
	if rows == nil {
		return a, nil
	}
	if few && len(rows) > rowsKept {
		last := rows[len(rows)-1]
		from := bytes.Index(a.body, rows[rowsKept])
		to := bytes.LastIndex(a.body, last) + len(last)
		a.body = slices.Concat(bytes.TrimSuffix(a.body[:from], []byte(",")), a.body[to:])
	}
	a.first, a.values = rows[0], valuesIn(rows[0], "")
	return a, nil
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

package api_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/libopenapi/datamodel/high/base"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/httpapi"
	"adsync/base/store/ledger"
	"adsync/base/task"
	"adsync/client"
	"adsync/producer"
)

// hostile are texts that a caller may send in place of any value.
var hostile = []string{
	"", " ", "\x00", "\t\n", "'", "\"", "\\", "' OR 1=1 --", "%", "_", "../..", "/", "null", "true", "-1", "0", "1e400",
	"NaN", "9223372036854775807", "9223372036854775808",
	"-9223372036854775808", "184467440737095516160", "0x10", "１２", "é", "é", "ß", "İ", "😀", "\u202e", "\u200b",
	"\ufeff",
	"\ufffd", "\xff", "\xed\xa0\x80",
	"\xf0\x9f\x98", "a\xc3", strings.Repeat("x", 513), strings.Repeat("漢", 600), strings.Repeat("9", 400), "2026-13-45",
	"0000-00-00", "0000-01-01", "9999-12-31",
	"-0001-01-01", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59-23:59", "1969-12-31T23:59:59Z", "2026-11-21T10:30:00",
	"2026-11-21T25:00:00Z", "2262-04-12T00:00:00Z",
	"{}", "[]", "[[", "${jndi:x}", "<script>", "%00", "%zz", ";", "tulip/", "/9001", "tulip/9001/x",
}

// fuzzed is a server with data of every kind, and the names of that data.
type fuzzed struct {
	*bench
	*description
	known  map[string][]string // values by the names of parameters and fields
	tokens map[string]string   // of pages, by operation
}

func newFuzzed(t *testing.T) *fuzzed {
	t.Helper()
	unusable := good(9, "bad.one", "tulip.report_daily", "")
	unusable.Usable = false
	b := setup(t, daily(), unusable, good(2, "tulip.token_refresh", "tulip.token_refresh", ""))
	tasks := b.producer.Tasks()
	b.producer.reload = func() []producer.Task { return tasks }
	one, two := b.account("tulip", "9001", "active", "Asia/Shanghai", ""),
		b.account("tulip", "9002", "inactive", "no such zone", "")
	run := b.deadRun(diedAt, 1, dailyName, "code 7: account 9001 is refused", one, two)
	recent := b.deadRun(now.Add(-time.Hour), 1, dailyName, "code 8", one)
	b.addWaiting(run, one, task.Deferred, "pause:77", diedAt.Add(time.Minute))
	b.addWaiting(run, two, task.Retrying, "", diedAt.Add(time.Minute))
	require.NoError(t, b.store.AddOrder(t.Context(),
		ledger.RunOrder{RunID: 78, TaskID: 1, Request: task.Order{Scope: task.ScopeAll}, OrderedAt: now}))
	require.NoError(t, b.store.AddStop(t.Context(),
		task.Stop{ID: 79, Verb: task.Pause, Kind: task.StopMedia, Target: "tulip", TargetName: "tulip", Reason: "r", By: "b",
			OrderedAt: now}))
	b.put("/api/v1/destinations/depot", `{"kind": "dir", "address": "`+t.TempDir()+`"}`)
	b.put(ordersPath, aCopy)
	b.put(spendPath, aSubscription)
	require.Equal(t, http.StatusOK,
		b.post(spendPath+"/publications", `{"from": "2026-11-18", "to": "2026-11-20"}`).Code)
	files := answerOf[client.PublicationList](b, http.MethodGet, publicationsPath+"?limit=2", "")
	d, err := described()
	require.NoError(t, err)
	f := &fuzzed{bench: b, description: d, known: map[string][]string{
		"name": {dailyName, "bad.one", "tulip.token_refresh", "depot", "spend", "orders"}, "task": {dailyName},
		"media":       {"tulip", "orchid"},
		"external_id": {"9001", "9002"}, "account": {"9001"},
		"id":  {id(run), id(recent), "78", "79", files.Publications[0].ID},
		"run": {id(run), id(recent)}, "account_id": {id(one), id(two), "0"},
		"part": {"d", "w"}, "class": {"invalid"},
		"print": {"code ?: account ? is refused"}, "text": {"code", "busy"}, "game": {"chess", "unassigned"},
		"lane": {"normal"}, "code": {"unassigned"}, "endpoint": {"*", "x"}, "level": {"account"}, "field": {"orders", "cost"},
		"report": {"report_daily"}, "target": {dailyName, "tulip", "tulip/9001", id(run)}, "by": {"otto"},
		"reason": {"why not"}, "accounts": {"9001", "9002"},
		"from": {"2026-11-20", "2026-11-21"}, "to": {"2026-11-21"}, "until": {"2026-11-21T10:31:00Z"},
	}}
	f.tokens = map[string]string{"listPublications": files.Next}
	for name, path := range map[string]string{
		"listDead": "/api/v1/dead?limit=1", "listDue": "/api/v1/due?limit=1", "listRunSubtasks": "/api/v1/runs/" + id(run) +
			"/subtasks?limit=1", "listRuns": "/api/v1/runs?limit=1",
		"listAccounts":        "/api/v1/accounts?limit=1",
		"listAccountSubtasks": "/api/v1/accounts/tulip/9001/subtasks?limit=1&since=2024-01-01T00:00:00Z",
	} {
		var page struct{ Next string }
		decode(t, b.get(path), &page)
		require.NotEmpty(t, page.Next, path)
		f.tokens[name] = page.Next
	}
	return f
}

// text draws a value for the parameter or field with a name: a known one, one that fits the schema, or, unless it must
// be valid, a hostile one.
func (f *fuzzed) text(t *rapid.T, name string, s *base.Schema, valid bool) string {
	switch kind := rapid.IntRange(0, 9).Draw(t, "kind of "+name); {
	case !valid && kind < 3:
		return rapid.SampledFrom(hostile).Draw(t, name)
	case !valid && kind == 3:
		return rapid.String().Draw(t, name)
	case !valid && kind < 8 && name == "after":
		return forged(t)
	case kind < 8 && len(f.known[name]) > 0 && len(s.Enum) == 0:
		return rapid.SampledFrom(f.known[name]).Draw(t, name)
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[rapid.IntRange(0, len(s.Enum)-1).Draw(t, name)].Value
	case slices.Contains(s.Type, "integer"):
		least, most := -10.0, 1000.0
		if s.Minimum != nil {
			least = *s.Minimum
		}
		if s.Maximum != nil {
			most = *s.Maximum
		}
		return fmt.Sprint(rapid.IntRange(int(least), int(most)).Draw(t, name))
	case slices.Contains(s.Type, "boolean"):
		return fmt.Sprint(rapid.Bool().Draw(t, name))
	case s.Format == "date":
		return now.AddDate(0, 0, rapid.IntRange(-400, 2).Draw(t, name)).Format(time.DateOnly)
	case s.Format == "date-time":
		return now.Add(time.Duration(rapid.Int64Range(-1000, 1000).Draw(t, name)) * time.Hour).Format(time.RFC3339)
	case s.Pattern != "":
		return rapid.StringMatching(s.Pattern).Draw(t, name)
	}
	return rapid.StringMatching(`[a-z0-9._-]{1,20}`).Draw(t, name)
}

// forged draws the token of a page that the server did not make.
func forged(t *rapid.T) string {
	number := rapid.SampledFrom([]any{0, 1, -1, int64(math.MaxInt64), int64(math.MinInt64), 1e300, "x", nil, true,
		[]int{1}, diedAt.UnixMilli(), 253402300800000})
	place := map[string]any{}
	for _, key := range []string{"at", "run", "account", "account_id", "version"} {
		if rapid.Bool().Draw(t, "has "+key) {
			place[key] = number.Draw(t, key)
		}
	}
	for _, key := range []string{"part", "level", "object", "field", "metric", "day"} {
		if rapid.Bool().Draw(t, "has "+key) {
			place[key] = rapid.SampledFrom(hostile).Draw(t, key)
		}
	}
	raw, err := json.Marshal(place)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// value draws a JSON value that fits the schema, or, unless it must be valid, a hostile one.
func (f *fuzzed) value(t *rapid.T, name string, s *base.Schema, valid bool) any {
	if !valid && rapid.IntRange(0, 9).Draw(t, "wrong type of "+name) == 0 {
		return rapid.SampledFrom([]any{nil, true, 0, -1, 1.5, 1e300, int64(math.MaxInt64), json.Number("1e400"),
			json.Number("18446744073709551616"), "", "x", []any{}, []any{nil}, map[string]any{}, map[string]any{"x": 1}}).Draw(t,
			name)
	}
	switch {
	case slices.Contains(s.Type, "object"):
		body := map[string]any{}
		for key, property := range s.Properties.FromOldest() {
			if valid && slices.Contains(s.Required, key) || rapid.Bool().Draw(t, "has "+key) {
				body[key] = f.value(t, key, f.schema(property), valid)
			}
		}
		if !valid && rapid.IntRange(0, 9).Draw(t, "has another field") == 0 {
			body[rapid.SampledFrom(hostile).Draw(t, "another field")] = 1
		}
		return body
	case slices.Contains(s.Type, "array"):
		most := 3
		if !valid && rapid.IntRange(0, 20).Draw(t, "long "+name) == 0 {
			most = 10_001
		}
		list := make([]any, rapid.SampledFrom([]int{0, 1, 2, most}).Draw(t, "length of "+name))
		for i := range list {
			if list[i] = any("9001"); i < 3 {
				list[i] = f.value(t, name, f.schema(s.Items.A), valid)
			}
		}
		return list
	case slices.Contains(s.Type, "integer"):
		if text := f.text(t, name, s, valid); text != "" && json.Valid([]byte(text)) {
			return json.Number(text)
		}
		return 1
	case slices.Contains(s.Type, "boolean"):
		return rapid.Bool().Draw(t, name)
	}
	return f.text(t, name, s, valid)
}

// body draws the body of a request.
func (f *fuzzed) body(t *rapid.T, op operation, valid bool) string {
	if !valid && rapid.IntRange(0, 9).Draw(t, "broken body") == 0 {
		return rapid.SampledFrom([]string{
			"", "{", "null", "[]", "\"x\"", "1", "{}{}", "{\"a\":1,}", "\xff", "{\"by\":\"\xff\"}", "{\"by\":\"\\ud800\"}",
			strings.Repeat("[", 20_000), strings.Repeat("{\"a\":", 20_000),
			"{\"by\":\"" + strings.Repeat("x", 2<<20) + "\"}", "{\"by\":1,\"by\":2}", "\ufeff{}",
		}).Draw(t, "body")
	}
	raw, err := json.Marshal(f.value(t, "body", f.schema(op.RequestBody.Content.GetOrZero("application/json").Schema),
		valid))
	if err != nil { // The draw was a number that JSON has and Go does not have.
		return "{\"by\": 1e400}"
	}
	return string(raw)
}

// request draws a request of an operation.
func (f *fuzzed) request(t *rapid.T, op operation, valid bool) (path, body string) {
	path = op.path
	query := url.Values{}
	// Mostly only one part is hostile: if all are, the server refuses the first and does not read the others.
	victim, all := -1, false
	if !valid {
		victim, all = rapid.IntRange(0, len(op.parameters)).Draw(t, "victim"), rapid.IntRange(0, 3).Draw(t, "all are") == 0
	}
	for i, p := range op.parameters {
		valid := !all && i != victim
		schema := f.schema(p.Schema)
		if p.In == "path" {
			segment := f.text(t, p.Name, schema, valid)
			if segment == "" || segment == "." || segment == ".." || strings.Contains(segment, "/") {
				segment = "x" // The drawn one would make another path.
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(segment))
			continue
		}
		required := p.Required != nil && *p.Required
		switch token := f.tokens[op.OperationId]; {
		case !required && i != victim && rapid.Bool().Draw(t, "leaves out "+p.Name):
		case valid && p.Name == "after" && token == "": // No valid token is known.
		case valid && p.Name == "after":
			query.Add(p.Name, token)
		case valid || rapid.IntRange(0, 9).Draw(t, "has "+p.Name) > 0:
			query.Add(p.Name, f.text(t, p.Name, schema, valid))
		}
		if !valid && rapid.IntRange(0, 19).Draw(t, "twice "+p.Name) == 0 {
			query.Add(p.Name, f.text(t, p.Name, schema, valid))
		}
	}
	raw := query.Encode()
	if !valid && rapid.IntRange(0, 19).Draw(t, "another parameter") == 0 {
		raw += "&" + rapid.SampledFrom([]string{"x=1", "%zz=1", "a;b=1", "limit", "=", "%FF=1", "state[]=1",
			strings.Repeat("p", 3000) + "=1"}).Draw(t, "which")
	}
	if raw != "" {
		path += "?" + raw
	}
	if op.RequestBody != nil {
		body = f.body(t, op, !all && victim != len(op.parameters))
	}
	return path, body
}

// Any request gets an answer that is described, or a problem with a sentence that explains what is wrong.
func TestOpenAPI_AnyRequestGetsADescribedAnswer(t *testing.T) {
	t.Parallel()
	f := newFuzzed(t)
	for _, op := range f.operations() {
		t.Run(op.OperationId, func(t *testing.T) {
			t.Parallel()
			done, refused := 0, 0
			defer func() { t.Logf("%d requests succeeded, %d were refused", done, refused) }()
			rapid.Check(t, func(rt *rapid.T) {
				valid := rapid.IntRange(0, 3).Draw(rt, "valid") == 0
				path, body := f.request(rt, op, valid)
				w, fault := f.send(op.method, path, body, operatorToken)
				if fault != "" {
					rt.Fatal(fault)
				}
				if w.Code < 400 {
					done++
					return
				}
				refused++
				asked := fmt.Sprintf("%s %s\n%.2000s\n%s", op.method, path, body, w.Body)
				if w.Code >= 500 {
					rt.Fatalf("answered with %d: %s", w.Code, asked)
				}
				if op.OperationId == "oauthCallback" {
					return // It answers with an HTML page.
				}
				var p httpapi.Problem
				if w.Header().Get("Content-Type") != "application/problem+json" || json.Unmarshal(w.Body.Bytes(), &p) != nil {
					rt.Fatalf("the answer is not a problem: %s", asked)
				}
				if len(p.Detail) < 10 || !strings.HasSuffix(p.Detail, ".") || w.Code == http.StatusUnprocessableEntity &&
					strings.Contains(p.Detail, "see errors") && len(p.Errors) == 0 {
					rt.Fatalf("the detail is not a whole sentence: %s", asked)
				}
				for _, e := range p.Errors {
					if e.Detail == "" || valid && (strings.HasPrefix(e.Detail, "there is no such field") ||
						strings.HasPrefix(e.Detail, "there is no such parameter")) {
						rt.Fatalf("a described field is refused, or %q has no detail: %s", e.Field, asked)
					}
				}
				if w.Body.Len() > 16<<10 {
					rt.Fatalf("the problem has %d bytes: %.300s", w.Body.Len(), asked)
				}
			})
		})
	}
}

package strictjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/strictjson"
)

type filter struct {
	Media string `json:"media"`
	Since time.Time
	Kept  string `json:"-"`
}

// order has fields of every kind that bodies, parameters and rows have.
type order struct {
	filter

	Accounts []string        `json:"accounts"`
	Days     *int            `json:"days,omitempty"`
	Who      *filter         `json:"who"`
	Params   json.RawMessage `json:"params"`
	Labels   map[string]int  `json:"labels"`
	Any      any             `json:"any"`
}

func TestUnmarshal_RefusesMistakes(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"nothing", "", "the JSON is empty: want one JSON value"},
		{"blanks alone", " \n", "the JSON is empty: want one JSON value"},
		{"null", "null", "the JSON is null: want an object"},
		{"a list for an object", "[]", "the JSON is of a wrong type: want an object, got array"},
		{"a value after the value", `{"media":"a"} null`, "the JSON continues after its value: want one JSON value"},
		{"a bracket after the value", `{"media":"a"}]`, "the JSON continues after its value: want one JSON value"},
		{"text that ends early", `{"media":"a"`, "unexpected EOF"},
		{"a text of Latin 1", "{\"media\":\"\xe9\"}", "the JSON is not UTF-8: want text in UTF-8"},
		{"half of a surrogate pair", `{"media":"\ud83d"}`, "media: has half of a surrogate pair: want whole characters"},
		{"half of a surrogate pair in a list", `{"accounts":["1","\udc00"]}`,
			"accounts[1]: has half of a surrogate pair: want whole characters"},
		{"a key twice", `{"accounts":["1"],"accounts":[]}`, "accounts: is given twice: want it once"},
		{"a key twice, once with an escape", `{"accounts":["1"],"\u0061ccounts":[]}`,
			"accounts: is given twice: want it once"},
		{"a key twice in an object", `{"who":{"media":"a","media":"b"}}`, "who.media: is given twice: want it once"},
		{"a key twice in free JSON", `{"params":{"a":[{"b":1,"b":2}]}}`, "params.a[0].b: is given twice: want it once"},
		{"a key twice in a map", `{"labels":{"a":1,"a":2}}`, "labels.a: is given twice: want it once"},
		{"a key in another case", `{"Accounts":["1"]}`, `Accounts: there is no such field: want "accounts", in this case`},
		{"a key in another case after the right one", `{"accounts":["1"],"ACCOUNTS":[]}`,
			`ACCOUNTS: there is no such field: want "accounts", in this case`},
		{"a key that only folds to the same", `{"accountſ":["1"]}`,
			`accountſ: there is no such field: want "accounts", in this case`},
		{"an unknown key", `{"acounts":["1"]}`,
			"acounts: there is no such field: want Since, accounts, any, days, labels, media, params, who"},
		{"an unknown key further down", `{"who":{"x":1}}`, "who.x: there is no such field: want Since, media"},
		{"the name of an embedded struct", `{"filter":{}}`,
			"filter: there is no such field: want Since, accounts, any, days, labels, media, params, who"},
		{"a field that is not in the JSON", `{"Kept":"x"}`,
			"Kept: there is no such field: want Since, accounts, any, days, labels, media, params, who"},
		{"null for a text", `{"media":null}`, "media: is null: want a string, or leave the field out"},
		{"null for a list", `{"accounts":null}`, "accounts: is null: want a list, or leave the field out"},
		{"null in a list", `{"accounts":["1",null]}`, "accounts[1]: is null: want a string"},
		{"null for an optional field", `{"days":null}`, "days: is null: want a number, or leave the field out"},
		{"null for an object", `{"who":null}`, "who: is null: want an object, or leave the field out"},
		{"null for a time", `{"Since":null}`, "Since: is null: want a string, or leave the field out"},
		{"null in a map", `{"labels":{"a":null}}`, "labels.a: is null: want a number, or leave the field out"},
		{"a number for a text", `{"media":7}`, "media: want a string, got number"},
		{"a fraction for a whole number", `{"days":1.5}`, "days: want a number, got number 1.5"},
		{"a text for a list", `{"accounts":"1"}`, "accounts: want a list, got string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.EqualError(t, strictjson.Unmarshal([]byte(test.text), &order{}), test.want)
		})
	}
	require.EqualError(t, strictjson.Unmarshal([]byte(`{"x":1}`), &struct{}{}),
		"x: there is no such field: no fields are allowed here")
	require.ErrorContains(t, strictjson.Unmarshal([]byte(strings.Repeat(`{"any":`, 20_000)), &order{}),
		"exceeded max depth")
}

func TestUnmarshal_DecodesTheRest(t *testing.T) {
	t.Parallel()
	var o order
	text := `{"media":"a\ufffd😀","Since":"2026-11-21T10:30:00Z","accounts":["1","1"],"days":3,"who":{"media":"b"},` +
		`"params":null,"labels":{"a":1,"A":2},"any":{"x":null}}`
	require.NoError(t, strictjson.Unmarshal([]byte(text), &o))
	days := 3
	require.Equal(t, order{
		filter:   filter{Media: "a\ufffd😀", Since: time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)},
		Accounts: []string{"1", "1"}, Days: &days, Who: &filter{Media: "b"}, Params: json.RawMessage("null"),
		Labels: map[string]int{"a": 1, "A": 2}, Any: map[string]any{"x": nil},
	}, o)
	var fields map[string]json.RawMessage
	require.NoError(t, strictjson.Unmarshal([]byte(`{"Name":"x","name":null}`), &fields))
	require.Len(t, fields, 2)
}

// keys counts the keys of a text, or of a value that was decoded from it.
func keys(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			n += 1 + keys(value)
		}
	case []any:
		for _, value := range v {
			n += keys(value)
		}
	}
	return n
}

func keysOf(text []byte) (n int) {
	d := json.NewDecoder(bytes.NewReader(text))
	var within []json.Delim
	for isKey := false; ; {
		token, err := d.Token()
		if err != nil {
			return n
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			within = append(within, token.(json.Delim))
			isKey = true
			continue
		case json.Delim('}'), json.Delim(']'):
			within = within[:len(within)-1]
			isKey = true
			continue
		}
		if len(within) > 0 && within[len(within)-1] == '{' {
			if isKey {
				n++
			}
			isKey = !isKey
		}
	}
}

// What is accepted loses nothing: each key of the text is in the value, and no key is taken for another.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{
		"", "null", "{}", `{"accounts":["1"],"accounts":[]}`, `{"a":{"b":1,"b":2}}`, `{"Accounts":[]}`, `{"a":null}`,
		`[{"a":1},{"a":1}]`, `{} {}`, "{\"\xff\":1}",
		`{"params":{"a":"\ud800"}}`, `{"media":"a","who":{"media":"b"}}`, `{"labels":{"x":1}}`,
		`{"a":[[],{}],"b":{"c":[1,{"d":"e"}]}}`, `1e400`, `"\ufffd"`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var free any
		if strictjson.Unmarshal(text, &free) == nil {
			require.Equal(t, keysOf(text), keys(free), "%q", text)
		}
		var o order
		if strictjson.Unmarshal(text, &o) != nil {
			return
		}
		var again order
		require.NoError(t, json.Unmarshal(text, &again), "%q", text)
		require.Equal(t, again, o, "%q", text)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &fields), "%q", text)
		for name, value := range fields {
			require.Contains(t, []string{"media", "Since", "accounts", "days", "who", "params", "labels", "any"}, name)
			require.True(t, string(value) != "null" || name == "params" || name == "any", "%q", text)
		}
	})
}

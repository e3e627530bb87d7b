package wire_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"adsync/media/wire"
)

// FuzzParts compares objects and lists with what encoding/json reads.
func FuzzParts(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { "a" : 1 , "b" : [ 1 , {"c": "}"} ] } `, `{"a": "\"", "a": {"b": null}}`, `{"名称": "\\", "": true}`,
		`{"\u0061\n": -1.5e3}`, `[]`, "\n[1, \"]\", [[2]], {}, null]\t", `null`, ` null `, `"text"`, `5`,
		`{"a": tru}`, ``, `[1 2]`, `{"a":1}{`, `[1`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var fields map[string]json.RawMessage
		want := json.Unmarshal(body, &fields)
		got, err := wire.Envelope(body)
		require.Equal(t, want == nil, err == nil, "%v, %v", want, err)
		if want == nil {
			require.Equal(t, fields == nil, got == nil)
			for name, value := range fields {
				if other, ok := got[name]; ok {
					require.Equal(t, string(value), string(other), name)
				}
			}
			// Names that are not text, or half of an escaped character, are replaced by encoding/json only.
			if utf8.Valid(body) && !bytes.Contains(bytes.ToLower(body), []byte(`\ud`)) {
				require.Equal(t, fields, got)
			}
		}
		if !json.Valid(body) {
			return
		}
		var elements []json.RawMessage
		want = json.Unmarshal(body, &elements)
		list, err := wire.Elements(body)
		require.Equal(t, want == nil, err == nil, "%v, %v", want, err)
		if want == nil {
			require.Equal(t, elements, list)
		}
	})
}

func TestParts_CannotGrowIntoTheNext(t *testing.T) {
	t.Parallel()
	body := []byte(`{"a": "one", "b": "two"}`)
	fields, err := wire.Fields(body)
	require.NoError(t, err)
	_ = append(fields["a"], "overwritten"...)
	require.JSONEq(t, `"two"`, string(fields["b"]))
}

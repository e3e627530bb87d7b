package format

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNDJSON_Bytes(t *testing.T) {
	t.Parallel()
	columns := append([]Column{{Name: `a "key"`}}, allTypes[1:]...)
	file := string(write(t, columns, Options{Format: "ndjson"},
		row("say \"hi\"\\\n\r\t\x00\x1f é\u2028", "18446744073709551615", "-12.50", "1.5e-07", "1", "2026-11-29",
			"2026-11-29 02:03:04.05"),
		row(null, "-9223372036854775808", null, "0", "0", null, null),
		row("", null, "0.10", null, null, null, null),
	))
	want := `{"a \"key\"":"say \"hi\"\\\n\r\t\u0000\u001f é` + "\u2028" + `","clicks":18446744073709551615,` +
		`"cost":-12.50,"rate":1.5e-07,"active":true,"day":"2026-11-29","seen":"2026-11-29 02:03:04.05"}
{"a \"key\"":null,"clicks":-9223372036854775808,"cost":null,"rate":0,"active":false,"day":null,"seen":null}
{"a \"key\"":"","clicks":null,"cost":0.10,"rate":null,"active":null,"day":null,"seen":null}
`
	require.Equal(t, want, file)
	require.Empty(t, write(t, columns, Options{Format: "ndjson"}))
}

func TestNDJSON_ReadsBackEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(drawRow), 1, 5).Draw(t, "rows")
		file := write(t, allTypes, Options{Format: "ndjson"}, rows...)
		lines := bytes.SplitAfter(file, []byte("\n"))
		require.Len(t, lines, len(rows)+1, "a row is a line")
		for i, r := range rows {
			d := json.NewDecoder(bytes.NewReader(lines[i]))
			d.UseNumber()
			got := map[string]any{}
			require.NoError(t, d.Decode(&got), "%q", lines[i])
			require.Equal(t, asJSON(r), got)
		}
	})
}

// asJSON returns what encoding/json reads of a row of allTypes.
func asJSON(r [][]byte) map[string]any {
	object := map[string]any{}
	for i, cell := range r {
		var value any
		if text := string(cell); cell != nil {
			switch allTypes[i].Type {
			case Integer, Decimal, Float:
				value = json.Number(text)
			case Bool:
				value = text == "1"
			case Text, Day, Time:
				value = text
			}
		}
		object[allTypes[i].Name] = value
	}
	return object
}

func FuzzNDJSON(f *testing.F) {
	for _, s := range []string{"", "a", `"`, `\`, "\x00\x1f\x7f", "\r\n", "日😀\u2028", "</script>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		var got string
		require.NoError(t, json.Unmarshal(appendJSONString(nil, []byte(s)), &got), "%q", s)
		require.Equal(t, s, got)
	})
}

package orc

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/format"
)

func TestParseType(t *testing.T) {
	t.Parallel()
	var fields root
	names := message(message(nil, 3, "a"), 3, "b")
	got, err := parseType(append(numbers(1, 12, 2, 1, 2, 300), names...), &fields)
	require.NoError(t, err)
	require.Equal(t, schemaType{kind: kindStruct}, got)
	require.Equal(t, root{types: []uint64{1, 300}, names: []string{"a", "b"}}, fields, "numbers may be packed or not")
	_, err = parseType(message(numbers(2, 3), 2, "\x04\xac\x02"), &fields)
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 300, 3, 4, 300}, fields.types)

	_, err = parseType(message(nil, 2, "\x80"), &fields)
	require.ErrorContains(t, err, "read a number of the field 2: ")
	_, err = parseType(message(nil, 2, make([]byte, typesMax+1)), &root{})
	require.ErrorContains(t, err, "the field 2 has more than 16384 numbers")
	fields = root{}
	_, err = parseType(bytes.Repeat(message(nil, 3, ""), 2*typesMax), &fields)
	require.NoError(t, err)
	require.Len(t, fields.names, typesMax)
}

func TestColumnsOf(t *testing.T) {
	t.Parallel()
	types := []schemaType{{kind: kindStruct}, {kind: kindLong}, {kind: kindDecimal, precision: 38, scale: 30}}
	for _, test := range []struct {
		name string
		file footer
		want string
	}{
		{name: "no types", want: "no types"},
		{name: "no columns", file: footer{types: types}, want: "a row has 0 columns, 0 names and 2 types"},
		{
			name: "a name too few", file: footer{types: types, root: root{types: []uint64{1, 2}, names: []string{"a"}}},
			want: "a row has 2 columns, 1 names and 2 types",
		},
		{
			name: "a type too few",
			file: footer{types: types, root: root{types: []uint64{1, 1, 1}, names: []string{"a", "b", "c"}}},
			want: "a row has 3 columns, 3 names and 2 types",
		},
		{
			name: "a row in a row", file: footer{types: types, root: root{types: []uint64{0}, names: []string{"a"}}},
			want: `column "a" has the type 0: want 1 to 2`,
		},
		{
			name: "no such type", file: footer{types: types, root: root{types: []uint64{3}, names: []string{"a"}}},
			want: `column "a" has the type 3: want 1 to 2`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := columnsOf(test.file)
			require.ErrorContains(t, err, test.want)
		})
	}
	columns, err := columnsOf(footer{types: types, root: root{types: []uint64{2, 1}, names: []string{"a", "b"}}})
	require.NoError(t, err)
	require.Equal(t, []column{
		{Column: format.Column{Name: "a", Type: format.Decimal, Scale: 30}, id: 2, kind: kindDecimal},
		{Column: format.Column{Name: "b", Type: format.Integer}, id: 1, kind: kindLong},
	}, columns)
}

func TestOpen_OtherFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                         "it has 0 bytes: want an ORC file",
		"ORC":                      "it has 3 bytes: want an ORC file",
		"id,name\n1,a\n":           `it begins with "id,": want an ORC file, which begins with "ORC"`,
		"ORC" + "\x00\x00\x00\xff": "the postscript has 255 bytes, and the file has 7",
	} {
		_, err := Open(strings.NewReader(text), int64(len(text)))
		require.ErrorContains(t, err, "open the ORC file: "+want)
	}
	_, err := Open(strings.NewReader("ORC and nothing else"), 99)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, "read the postscript: read 99 bytes at 0: ")
}

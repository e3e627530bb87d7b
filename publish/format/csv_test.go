package format

import (
	"bytes"
	"encoding/csv"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCSV_Bytes(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "na,me", Type: Text}, {Name: "n", Type: Integer}, {Name: "day", Type: Day}}
	rows := [][][]byte{
		row("plain", "-12", "2026-11-29"),
		row("a,b;c", "0", null),
		row(`say "hi"`, null, "2026-11-29"),
		row("two\nlines\r", null, null),
		row("", null, null),
		row(null, "0", null),
		row("NULL", "5", null),
		row(" - ", "5", null),
	}
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"quotes where they are needed", Options{}, `"na,me",n,day
plain,-12,2026-11-29
"a,b;c",0,
"say ""hi""",,2026-11-29
"two
lines` + "\r" + `",,
"",,
,0,
NULL,5,
 - ,5,
`},
		{"a delimiter, a null's text, no header", Options{Delimiter: ";", Null: "NULL", NoHeader: true}, `plain;-12;2026-11-29
"a,b;c";0;NULL
"say ""hi""";NULL;2026-11-29
"two
lines` + "\r" + `";NULL;NULL
;NULL;NULL
NULL;0;NULL
"NULL";5;NULL
 - ;5;NULL
`},
		{"a null's text that is a number", Options{Null: "0"}, `"na,me",n,day
plain,-12,2026-11-29
"a,b;c","0",0
"say ""hi""",0,2026-11-29
"two
lines` + "\r" + `",0,0
,0,0
0,"0",0
NULL,5,0
 - ,5,0
`},
		{"quotes everywhere but for nulls", Options{QuoteAll: true}, `"na,me","n","day"
"plain","-12","2026-11-29"
"a,b;c","0",
"say ""hi""",,"2026-11-29"
"two
lines` + "\r" + `",,
"",,
,"0",
"NULL","5",
" - ","5",
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.o.Format = "csv"
			require.Equal(t, c.want, string(write(t, columns, c.o, rows...)))
		})
	}
}

func TestCSV_BOMAndLineEnds(t *testing.T) {
	t.Parallel()
	o := Options{Format: "csv", BOM: true, CRLF: true}
	columns := []Column{{Name: "a"}, {Name: "b"}}
	require.Equal(t, "\xEF\xBB\xBFa,b\r\n", string(write(t, columns, o)))
	require.Equal(t, "\xEF\xBB\xBFa,b\r\n\"x\ny\",z\r\n", string(write(t, columns, o, row("x\ny", "z"))))
}

// An empty line would be skipped by readers.
func TestCSV_AFileOfOneColumnHasNoEmptyLine(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "a"}}
	rows := [][][]byte{row(null), row(""), row("x")}
	require.Equal(t, "a\n\"\"\n\"\"\nx\n", string(write(t, columns, Options{Format: "csv"}, rows...)))
	require.Equal(t, "a\n-\n\"\"\nx\n", string(write(t, columns, Options{Format: "csv", Null: "-"}, rows...)))
}

func TestCSV_EscapesFormulas(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "=t"}, {Name: "n", Type: Decimal, Scale: 1}}
	var rows [][][]byte
	for _, s := range []string{"=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "a=1", "", " =1", `="a"`} {
		rows = append(rows, row(s, "-1.5"))
	}
	require.Equal(t, "=t,n\n\"'=1+1\",-1.5\n\"'+1\",-1.5\n\"'-1\",-1.5\n\"'@a\",-1.5\n\"'\t=1\",-1.5\n\"'\r=1\",-1.5\n"+
		"a=1,-1.5\n\"\",-1.5\n =1,-1.5\n\"'=\"\"a\"\"\",-1.5\n",
		string(write(t, columns, Options{Format: "csv", Formulas: "escape"}, rows...)))
	require.Equal(t, "=t,n\n=1+1,-1.5\n", string(write(t, columns, Options{Format: "csv"}, rows[0])))
}

func TestCSV_GzipHasNoTimeAndNoName(t *testing.T) {
	t.Parallel()
	columns, r := []Column{{Name: "a"}}, row(strings.Repeat("x", 3*flushSize))
	file := write(t, columns, Options{Format: "csv", Gzip: true}, r, r)
	z, err := gzip.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	require.Equal(t, "\x1f\x8b\x08\x00\x00\x00\x00\x00", string(file[:8]), "no flags, and the time 0")
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	require.Equal(t, string(write(t, columns, Options{Format: "csv"}, r, r)), string(text))
}

// readCSV returns the records that encoding/csv reads. It turns CR LF into LF.
func readCSV(t require.TestingT, file []byte, o Options) [][]string {
	if o.BOM {
		require.True(t, bytes.HasPrefix(file, []byte("\uFEFF")))
		file = file[3:]
	}
	r := csv.NewReader(bytes.NewReader(file))
	r.Comma = rune(o.delimiter()[0])
	records, err := r.ReadAll()
	require.NoError(t, err, "%q", file)
	return records
}

// asRead returns what encoding/csv reads of a row.
func asRead(r [][]byte, columns []Column, o Options) []string {
	record := make([]string, len(r))
	for i, cell := range r {
		record[i] = strings.ReplaceAll(string(cell), "\r\n", "\n")
		if cell == nil {
			record[i] = o.Null
		} else if o.Formulas == formulasEscape && columns[i].Type == Text && isFormula(cell) {
			record[i] = "'" + record[i]
		}
	}
	return record
}

func TestCSV_ReadsBackEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Format:    "csv",
			Delimiter: rapid.SampledFrom([]string{"", ";", "\t", "|", "\x01"}).Draw(t, "delimiter"),
			BOM:       rapid.Bool().Draw(t, "bom"),
			CRLF:      rapid.Bool().Draw(t, "crlf"),
			QuoteAll:  rapid.Bool().Draw(t, "quote_all"),
			Null:      rapid.SampledFrom([]string{"", "NULL", "0", "=", "'="}).Draw(t, "null"),
			Formulas:  rapid.SampledFrom([]string{"", "escape"}).Draw(t, "formulas"),
		}
		rows := rapid.SliceOfN(rapid.Custom(drawRow), 0, 5).Draw(t, "rows")
		records := readCSV(t, write(t, allTypes, o, rows...), o)
		require.Len(t, records, len(rows)+1)
		for i, r := range rows {
			require.Equal(t, asRead(r, allTypes, o), records[i+1])
		}
	})
}

func FuzzCSV(f *testing.F) {
	for _, s := range []string{"", "a", `"`, "a\r\nb", "\r", "\n", ",", ";", "=x", "NULL", "\xff", "\\.", "#", " x "} {
		f.Add(s, "b", true)
		f.Add("NULL", s, false)
	}
	columns := []Column{{Name: "a"}, {Name: "b"}}
	f.Fuzz(func(t *testing.T, a, b string, variant bool) {
		o := Options{Format: "csv"}
		if variant {
			o = Options{Format: "csv", Delimiter: ";", Null: "NULL", CRLF: true, Formulas: "escape"}
		}
		if !utf8.ValidString(a) || !utf8.ValidString(b) {
			w, err := New(io.Discard, columns, o)
			require.NoError(t, err)
			require.ErrorContains(t, w.Write(row(a, b)), "UTF-8")
			return
		}
		rows := [][][]byte{{[]byte(a), []byte(b)}, {nil, []byte(a)}, {[]byte(b), nil}}
		for _, width := range []int{1, 2} {
			var want [][]string
			var narrow [][][]byte
			for _, r := range rows {
				narrow = append(narrow, r[:width])
				want = append(want, asRead(r[:width], columns, o))
			}
			require.Equal(t, want, readCSV(t, write(t, columns[:width], o, narrow...), o)[1:])
		}
	})
}

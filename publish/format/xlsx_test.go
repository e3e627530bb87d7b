package format

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"
)

// openXLSX opens a file with excelize.
func openXLSX(t require.TestingT, file []byte) *excelize.File {
	f, err := excelize.OpenReader(bytes.NewReader(file), excelize.Options{RawCellValue: true})
	require.NoError(t, err)
	return f
}

// cellOf returns the raw value and the type of a cell of the first sheet.
func cellOf(t require.TestingT, f *excelize.File, cell string) (string, excelize.CellType) {
	value, err := f.GetCellValue("Sheet1", cell)
	require.NoError(t, err)
	kind, err := f.GetCellType("Sheet1", cell)
	require.NoError(t, err)
	return value, kind
}

func TestXLSX_CellsHaveTheirTypes(t *testing.T) {
	t.Parallel()
	const (
		text    = excelize.CellTypeInlineString
		number  = excelize.CellTypeUnset
		boolean = excelize.CellTypeBool
	)
	for _, c := range []struct {
		column Column
		value  string
		want   string
		kind   excelize.CellType
		format string // of the cell's style
	}{
		{Column{Type: Text}, "1843729910234567890", "1843729910234567890", text, ""},
		{Column{Type: Text}, "=1+1", "=1+1", text, ""},
		{Column{Type: Text}, "", "", text, ""},
		{Column{Type: Text}, " two\r\nlines\t", " two\r\nlines\t", text, ""},
		{Column{Type: Integer}, "-123456789012345", "-123456789012345", number, "0"},
		{Column{Type: Integer}, "1234567890123456", "1234567890123456", text, ""},
		{Column{Type: Integer}, "18446744073709551615", "18446744073709551615", text, ""},
		{Column{Type: Integer}, "0", "0", number, "0"},
		{Column{Type: Decimal, Scale: 2}, "-12.50", "-12.50", number, "0.00"},
		{Column{Type: Decimal}, "12", "12", number, "0"},
		{Column{Type: Decimal, Scale: 30}, "0.000000000000000000000000000001", "0.000000000000000000000000000001", number,
			"0." + strings.Repeat("0", 30)},
		{Column{Type: Decimal, Scale: 4}, "123456789012.3450", "123456789012.3450", number, "0.0000"},
		{Column{Type: Decimal, Scale: 4}, "123456789012.3456", "123456789012.3456", text, ""},
		{Column{Type: Float}, "0.30000000000000004", "0.30000000000000004", number, ""},
		{Column{Type: Float}, "1.5e-07", "1.5e-07", number, ""},
		{Column{Type: Bool}, "1", "1", boolean, ""},
		{Column{Type: Bool}, "0", "0", boolean, ""},
		{Column{Type: Day}, "1900-03-01", "61", number, "yyyy-mm-dd"},
		{Column{Type: Day}, "1900-02-28", "1900-02-28", text, ""},
		{Column{Type: Day}, "9999-12-31", "2958465", number, "yyyy-mm-dd"},
		{Column{Type: Time}, "2026-11-29 12:00:00", "46355.5", number, "yyyy-mm-dd hh:mm:ss"},
		{Column{Type: Time}, "1900-02-28 23:59:59.999999", "1900-02-28 23:59:59.999999", text, ""},
		{Column{Type: Time}, "1900-03-01 00:00:00", "61", number, "yyyy-mm-dd hh:mm:ss"},
	} {
		c.column.Name = "a"
		f := openXLSX(t, write(t, []Column{c.column}, Options{Format: "xlsx"}, row(c.value)))
		value, kind := cellOf(t, f, "A2")
		require.Equal(t, c.want, value)
		require.Equal(t, c.kind, kind, c.value)
		require.Equal(t, c.format, numberFormat(t, f, "A2"), c.value)
		require.NoError(t, f.Close())
	}
}

// numberFormat returns the code of a cell's number format; "" is that of general numbers.
func numberFormat(t *testing.T, f *excelize.File, cell string) string {
	t.Helper()
	id, err := f.GetCellStyle("Sheet1", cell)
	require.NoError(t, err)
	style, err := f.GetStyle(id)
	require.NoError(t, err)
	switch {
	case style.CustomNumFmt != nil:
		return *style.CustomNumFmt
	case style.NumFmt == formatInteger:
		return "0"
	}
	require.Zero(t, style.NumFmt)
	return ""
}

func TestXLSX_ANullIsNoCell(t *testing.T) {
	t.Parallel()
	f := openXLSX(t, write(t, allTypes, Options{Format: "xlsx"}, sampleRows...))
	defer f.Close()
	for _, column := range "ABCDEFG" {
		value, kind := cellOf(t, f, string(column)+"3")
		require.Empty(t, value)
		require.Equal(t, excelize.CellTypeUnset, kind)
	}
	_, kind := cellOf(t, f, "A4")
	require.Equal(t, excelize.CellTypeInlineString, kind, "an empty text is a cell")
}

func TestXLSX_TheHeaderIsBoldAndFrozen(t *testing.T) {
	t.Parallel()
	f := openXLSX(t, write(t, []Column{{Name: "a<b> "}, {Name: "c", Type: Day}}, Options{Format: "xlsx"}))
	defer f.Close()
	for cell, want := range map[string]string{"A1": "a<b> ", "B1": "c"} {
		value, _ := cellOf(t, f, cell)
		require.Equal(t, want, value)
		id, err := f.GetCellStyle("Sheet1", cell)
		require.NoError(t, err)
		style, err := f.GetStyle(id)
		require.NoError(t, err)
		require.True(t, style.Font.Bold)
	}
	panes, err := f.GetPanes("Sheet1")
	require.NoError(t, err)
	require.True(t, panes.Freeze)
	require.Equal(t, 1, panes.YSplit)
	require.Equal(t, "A2", panes.TopLeftCell)
	width, err := f.GetColWidth("Sheet1", "B")
	require.NoError(t, err)
	require.EqualValues(t, columnWidths[Day], width)
}

func TestXLSX_ReadsBackEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(drawRow), 1, 3).Draw(t, "rows")
		f := openXLSX(t, write(t, allTypes, Options{Format: "xlsx"}, rows...))
		defer f.Close()
		for i, r := range rows {
			for j, cell := range r {
				value, kind := cellOf(t, f, columnLetters(j)+strconv.Itoa(i+2))
				if cell == nil {
					require.Equal(t, excelize.CellTypeUnset, kind)
					require.Empty(t, value)
					continue
				}
				if j >= 5 && kind == excelize.CellTypeUnset { // A day or time.
					requireSerial(t, string(cell), value)
					continue
				}
				require.Equal(t, string(cell), value)
			}
		}
	})
}

// requireSerial requires a serial number to be a Day or Time. Serial numbers are doubles: they keep microseconds up to
// the year 2079, and about 20 microseconds in the year 9999.
func requireSerial(t require.TestingT, want, serial string) {
	layout := time.DateTime
	if len(want) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	at, err := time.Parse(layout, want)
	require.NoError(t, err)
	number, err := strconv.ParseFloat(serial, 64)
	require.NoError(t, err)
	days, fraction := math.Modf(number)
	got := time.Date(1899, 12, 30+int(days), 0, 0, 0, 0, time.UTC)
	got = got.Add(time.Duration(math.Round(fraction*microsPerDay)) * time.Microsecond)
	tolerance := time.Duration(0)
	if at.Year() >= 2079 {
		tolerance = 21 * time.Microsecond
	}
	require.LessOrEqual(t, at.Sub(got).Abs(), tolerance, "%s is %s", want, serial)
}

// escapedXML is a character as XLSX files have it, and decodeXLSX an independent reader of such texts.
var escapedXML = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

func decodeXLSX(t require.TestingT, s string) string {
	return escapedXML.ReplaceAllStringFunc(s, func(escaped string) string {
		n, err := strconv.ParseUint(escaped[2:6], 16, 16)
		require.NoError(t, err)
		return string(rune(n))
	})
}

func FuzzXLSXText(f *testing.F) {
	for _, s := range []string{
		"", "a", "<&>\"'", "]]>", "_x0041_", "_x0041_x0042_", "_x005F_x0041_", "_x0041\r", "_x0041\uFFFF", "_x004",
		"__x0041_", "\x00\x01\x1f", "\r\n\t", "\uFFFE\uFFFF\uFFFD\uFEFF", "_xD83D__xDE00_", "😀", "\u0085\u2028\x7f",
		"_xabCD_", "_x00g1_",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		text := appendXMLText([]byte("<t>"), []byte(s))
		var parsed string
		require.NoError(t, xml.Unmarshal(append(text, "</t>"...), &parsed), "%q", text)
		require.Equal(t, s, decodeXLSX(t, parsed))
	})
}

func TestXLSX_TextSurvivesInExcelize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawText(t, "text")
		f := openXLSX(t, write(t, []Column{{Name: "a"}}, Options{Format: "xlsx"}, [][]byte{[]byte(want)}))
		defer f.Close()
		got, _ := cellOf(t, f, "A2")
		require.Equal(t, want, got)
	})
}

// Readers keep spaces at the ends of a text only in a cell with xml:space.
func TestXLSX_SpacesAreKept(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a b": `<t>a b</t>`, "": `<t></t>`,
		" a": `<t xml:space="preserve"> a</t>`, "a\n": "<t xml:space=\"preserve\">a\n</t>",
	} {
		require.Equal(t, ` t="inlineStr"><is>`+want+`</is></c>`, string(appendInlineString(nil, []byte(text))))
	}
}

func TestXLSX_RefusesATextThatIsTooLong(t *testing.T) {
	t.Parallel()
	columns := []Column{{Name: "n", Type: Integer}, {Name: "text"}}
	for _, long := range []string{
		strings.Repeat("a", xlsxTextMax), strings.Repeat("日", xlsxTextMax), strings.Repeat("😀", xlsxTextMax/2) + "a",
	} {
		f := openXLSX(t, write(t, columns, Options{Format: "xlsx"}, row("1", long)))
		got, _ := cellOf(t, f, "B2")
		require.Equal(t, long, got)
		require.NoError(t, f.Close())

		w, err := New(io.Discard, columns, Options{Format: "xlsx"})
		require.NoError(t, err)
		require.NoError(t, w.Write(row("1", long)))
		require.EqualError(t, w.Write(row("2", long+"b")), `row 2, column "text": a text of 32768 characters is refused: `+
			`want at most 32767 in an XLSX file`)
	}
	_, err := New(io.Discard, []Column{{Name: strings.Repeat("a", xlsxTextMax+1)}}, Options{Format: "xlsx"})
	require.EqualError(t, err, "begin the xlsx file: the name of column 1 has 32768 characters: want at most 32767")
}

func TestXLSX_RefusesTooManyColumns(t *testing.T) {
	t.Parallel()
	columns := make([]Column, xlsxColumnsMax+1)
	for i := range columns {
		columns[i].Name = strconv.Itoa(i)
	}
	_, err := New(io.Discard, columns, Options{Format: "xlsx"})
	require.EqualError(t, err, "begin the xlsx file: 16385 columns: want at most 16384")
	_, err = New(io.Discard, columns[1:], Options{Format: "xlsx"})
	require.NoError(t, err)
}

func TestColumnLetters(t *testing.T) {
	t.Parallel()
	for i := range xlsxColumnsMax {
		want, err := excelize.ColumnNumberToName(i + 1)
		require.NoError(t, err)
		require.Equal(t, want, columnLetters(i))
	}
}

var twoColumns = []Column{{Name: "n", Type: Integer}, {Name: "text"}}

// writeXLSX writes n rows of twoColumns under limits. The error is the first.
func writeXLSX(t *testing.T, w io.Writer, n int, limits xlsxLimits) error {
	t.Helper()
	e, err := newXLSX(w, twoColumns, limits)
	require.NoError(t, err)
	x := &writer{columns: twoColumns, encoder: e}
	for i := range n {
		if err := x.Write(row(strconv.Itoa(i+1), "text")); err != nil {
			return err
		}
	}
	return x.Close()
}

// sheetRows returns the first column of each sheet.
func sheetRows(t *testing.T, file []byte) (sheets [][]string) {
	t.Helper()
	f := openXLSX(t, file)
	defer f.Close()
	for i, name := range f.GetSheetList() {
		require.Equal(t, fmt.Sprintf("Sheet%d", i+1), name)
		columns, err := f.GetCols(name)
		require.NoError(t, err)
		require.Len(t, columns, 2)
		sheets = append(sheets, columns[0])
	}
	return sheets
}

func TestXLSX_AFullSheetIsFollowedByTheNext(t *testing.T) {
	t.Parallel()
	// The size of a sheet with two rows.
	e, err := newXLSX(io.Discard, twoColumns, xlsxMax)
	require.NoError(t, err)
	require.NoError(t, e.encode(row("1", "text")))
	require.NoError(t, e.encode(row("2", "text")))
	size := int64(len(e.buf) + len(xlsxSheetEnd))
	for _, c := range []struct {
		name   string
		limits xlsxLimits
	}{
		{"by rows", xlsxLimits{fileBytes: 1 << 20, sheetBytes: 1 << 20, sheetRows: 3}},
		{"by bytes", xlsxLimits{fileBytes: 1 << 20, sheetBytes: size, sheetRows: 1000}},
		{"by bytes and not by one", xlsxLimits{fileBytes: 1 << 20, sheetBytes: size + 1, sheetRows: 1000}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			require.NoError(t, writeXLSX(t, &b, 5, c.limits))
			require.Equal(t, [][]string{{"n", "1", "2"}, {"n", "3", "4"}, {"n", "5"}}, sheetRows(t, b.Bytes()))
			b.Reset()
			require.NoError(t, writeXLSX(t, &b, 4, c.limits))
			require.Equal(t, [][]string{{"n", "1", "2"}, {"n", "3", "4"}}, sheetRows(t, b.Bytes()))
			z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
			require.NoError(t, err)
			for _, part := range z.File {
				if strings.HasPrefix(part.Name, "xl/worksheets/") {
					require.LessOrEqual(t, part.UncompressedSize64, uint64(c.limits.sheetBytes), part.Name)
				}
			}
		})
	}
}

// A sheet of which one row is larger than the limit has that row alone.
func TestXLSX_ARowIsNotSplit(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, writeXLSX(t, &b, 3, xlsxLimits{fileBytes: 1 << 20, sheetBytes: 1, sheetRows: 1000}))
	require.Equal(t, [][]string{{"n", "1"}, {"n", "2"}, {"n", "3"}}, sheetRows(t, b.Bytes()))
}

func TestXLSX_RefusesAFileThatIsTooLarge(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, writeXLSX(t, &b, 100, xlsxMax))
	size := int64(b.Len())
	limits := xlsxMax
	limits.fileBytes = size
	b.Reset()
	require.NoError(t, writeXLSX(t, &b, 100, limits), "a file may be as large as the limit")
	limits.fileBytes--
	b.Reset()
	err := writeXLSX(t, &b, 100, limits)
	require.ErrorIs(t, err, errXLSXSize)
	require.ErrorContains(t, err, "4 GiB")
	require.LessOrEqual(t, int64(b.Len()), limits.fileBytes)
}

// Excel's sheets have 1,048,576 rows.
func TestXLSX_TheLargestSheet(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := New(&b, []Column{{Name: "a", Type: Bool}}, Options{Format: "xlsx"})
	require.NoError(t, err)
	r := row("1")
	for range 1_048_576 {
		if err := w.Write(r); err != nil {
			require.NoError(t, err)
		}
	}
	require.NoError(t, w.Close())
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	rows := map[string]int{}
	for _, part := range z.File {
		require.Zero(t, part.ExternalAttrs)
		if strings.HasPrefix(part.Name, "xl/worksheets/") {
			rows[part.Name] = countIn(t, part, `</row>`)
		}
	}
	require.Equal(t, map[string]int{"xl/worksheets/sheet1.xml": 1_048_576, "xl/worksheets/sheet2.xml": 2}, rows)
}

// countIn counts a text in a part.
func countIn(t *testing.T, part *zip.File, text string) (n int) {
	t.Helper()
	r, err := part.Open()
	require.NoError(t, err)
	data, err := io.ReadAll(r)
	require.NoError(t, err)
	return bytes.Count(data, []byte(text))
}

// No field of the ZIP file is one of ZIP64, all parts have the same time, and all XML can be read.
func TestXLSX_TheZIPFileIsPlain(t *testing.T) {
	t.Parallel()
	file := write(t, allTypes, Options{Format: "xlsx"}, sampleRows...)
	require.NotContains(t, string(file), "PK\x06\x06", "an end of central directory of ZIP64")
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	var names []string
	for _, part := range z.File {
		names = append(names, part.Name)
		require.Equal(t, time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC), part.Modified.UTC())
		require.EqualValues(t, 20, part.ReaderVersion, "ZIP64 needs 45")
		require.NotZero(t, part.Flags&0x8, "the sizes follow the data")
		r, err := part.Open()
		require.NoError(t, err)
		d := xml.NewDecoder(r)
		for err == nil {
			_, err = d.Token()
		}
		require.ErrorIs(t, err, io.EOF, part.Name)
	}
	require.Equal(t, []string{"_rels/.rels", "xl/styles.xml", "xl/worksheets/sheet1.xml", "xl/workbook.xml",
		"xl/_rels/workbook.xml.rels", "[Content_Types].xml"}, names)
}

// BenchmarkXLSX_SheetXML measures bytes of a sheet's XML, before compression.
func BenchmarkXLSX_SheetXML(b *testing.B) {
	rows, _ := plainRows()
	e, err := newXLSX(io.Discard, plainColumns, xlsxMax)
	require.NoError(b, err)
	begin := len(e.buf)
	for _, r := range rows {
		require.NoError(b, e.appendRow(r))
	}
	b.SetBytes(int64((len(e.buf) - begin) / len(rows)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := e.encode(rows[i%len(rows)]); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, e.close())
}

package format

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// null stands for a null among the values of row.
const null = "\x00null"

func row(values ...string) [][]byte {
	cells := make([][]byte, len(values))
	for i, v := range values {
		if v != null {
			cells[i] = []byte(v)
		}
	}
	return cells
}

// allTypes has a column of each type.
var allTypes = []Column{
	{Name: "campaign", Type: Text},
	{Name: "clicks", Type: Integer},
	{Name: "cost", Type: Decimal, Scale: 2},
	{Name: "rate", Type: Float},
	{Name: "active", Type: Bool},
	{Name: "day", Type: Day},
	{Name: "seen", Type: Time},
}

// sampleRows has rows of allTypes that all formats hold.
var sampleRows = [][][]byte{
	row("1843729910234567890", "12", "-12.50", "0.1", "1", "2026-11-29", "2026-11-29 02:03:04"),
	row(null, null, null, null, null, null, null),
	row("", "0", "0.00", "0", "0", "1900-03-01", "1970-01-01 00:00:00"),
	row(" =1+1, \"a\"\r\n<b>&\tдень 日 😀_x0041_\x01\\", "-9223372036854775808", "123456789012345678901234567890.99",
		"-1.5e-07", "1", "1899-12-31", "0001-01-01 23:59:59.999999"),
	row("2026-11-29", "9223372036854775807", "-0.01", "1.7976931348623157e+308", "0", "9999-12-31",
		"2026-11-29 02:03:04.05"),
}

var allFormats = []Options{
	{Format: "csv"},
	{Format: "csv", Gzip: true, BOM: true, CRLF: true, Delimiter: ";", Null: "NULL"},
	{Format: "ndjson"}, {Format: "ndjson", Gzip: true}, {Format: "xlsx"}, {Format: "parquet"},
}

// sampleFiles returns a file of sampleRows in each format, by its extension.
func sampleFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, o := range allFormats {
		files[o.Extension()] = write(t, allTypes, o, sampleRows...)
	}
	return files
}

// write returns the file of some rows. It overwrites each row after the call of Write, as the callers of Write do.
func write(t require.TestingT, columns []Column, o Options, rows ...[][]byte) []byte {
	var b bytes.Buffer
	w, err := New(&b, columns, o)
	require.NoError(t, err)
	for _, r := range rows {
		used := make([][]byte, len(r))
		for i, cell := range r {
			used[i] = bytes.Clone(cell)
		}
		require.NoError(t, w.Write(used))
		for _, cell := range used {
			clear(cell)
		}
		clear(used)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// drawText draws a text that has what formats escape.
func drawText(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{"", " ", ",", ";", "\t", "\n", "\r", "\r\n", `"`, `\`, "'", "=", "-", "NULL", "null",
			"_", "_x", "_x0041_", "x005F_", "_x00", "\x00", "\x1f", "\x7f", "\u0085",
			"\u2028", "\uFFFD", "\uFFFE", "\uFFFF", "\uFEFF",
			"<", "]]>", "&amp;", "é", "日", "😀"}),
		rapid.String(),
	), 0, 5).Draw(t, label)
	return strings.Join(parts, "")
}

func drawTime(t *rapid.T, label string) time.Time {
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	last := time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC).UnixMicro()
	return time.UnixMicro(rapid.Int64Range(first, last).Draw(t, label)).UTC()
}

// drawRow draws a row of allTypes.
func drawRow(t *rapid.T) [][]byte {
	values := []string{
		drawText(t, "text"),
		strconv.FormatInt(rapid.Int64().Draw(t, "integer"), 10),
		drawDecimal(t, 2),
		strconv.FormatFloat(rapid.Float64Range(-1e300, 1e300).Draw(t, "float"), 'g', -1, 64),
		strconv.Itoa(rapid.IntRange(0, 1).Draw(t, "bool")),
		drawTime(t, "day").Format(time.DateOnly),
		drawTime(t, "time").Format("2006-01-02 15:04:05.999999"),
	}
	for i := range values {
		if rapid.IntRange(0, 9).Draw(t, "null") == 0 {
			values[i] = null
		}
	}
	return row(values...)
}

// drawDecimal draws a decimal with up to 38 digits, scale of them after the point.
func drawDecimal(t *rapid.T, scale int) string {
	number := rapid.StringMatching(fmt.Sprintf(`-?(0|[1-9][0-9]{0,%d})`, 37-scale)).Draw(t, "decimal")
	if scale > 0 {
		number += "." + rapid.StringMatching(fmt.Sprintf(`[0-9]{%d}`, scale)).Draw(t, "fraction")
	}
	return number
}

func TestWriter_TheSameRowsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	first := sampleFiles(t)
	require.Len(t, first, len(allFormats))
	require.Equal(t, first, sampleFiles(t))
}

func TestWriter_AnErrorNamesTheRowAndTheColumn(t *testing.T) {
	t.Parallel()
	good := row("a", "1", "1.00", "1", "1", "2026-11-29", "2026-11-29 00:00:00")
	for _, c := range []struct {
		column int
		value  string
		want   string
	}{
		{0, "a\xff", `row 2, column "campaign": "a\xff" is refused: want a text in UTF-8`},
		{1, "12a", `row 2, column "clicks": "12a" is refused: want an integer of 64 bits in decimal digits`},
		{1, strings.Repeat("7", 70), `row 2, column "clicks": "` + strings.Repeat("7", 60) +
			`…" is refused: want an integer of 64 bits in decimal digits`},
		{2, "1.005", `row 2, column "cost": "1.005" is refused: want a decimal number with at most 2 digits after the point`},
		{3, "NaN", `row 2, column "rate": "NaN" is refused: want a finite number`},
		{4, "true", `row 2, column "active": "true" is refused: want 0 or 1`},
		{5, "2026-02-29", `row 2, column "day": "2026-02-29" is refused: want a day, such as 2006-01-02`},
		{6, "2026-02-28T00:00:00",
			`row 2, column "seen": "2026-02-28T00:00:00" is refused: want a time, such as 2006-01-02 15:04:05.123456`},
	} {
		for _, o := range allFormats {
			w, err := New(io.Discard, allTypes, o)
			require.NoError(t, err)
			require.NoError(t, w.Write(good))
			bad := slices.Clone(good)
			bad[c.column] = []byte(c.value)
			require.EqualError(t, w.Write(bad), c.want)
			require.EqualError(t, w.Write(good), c.want, "a file with an error is not continued")
			require.EqualError(t, w.Close(), c.want)
		}
	}
}

func TestWriter_RefusesARowOfAnotherLength(t *testing.T) {
	t.Parallel()
	for _, o := range allFormats {
		w, err := New(io.Discard, allTypes, o)
		require.NoError(t, err)
		require.EqualError(t, w.Write(row("a", "1")),
			"write row 1: it has 2 values: want one for each of the 7 columns")
	}
}

func TestWriter_IsClosedOnce(t *testing.T) {
	t.Parallel()
	for _, o := range allFormats {
		var b bytes.Buffer
		w, err := New(&b, allTypes, o)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		size := b.Len()
		require.ErrorIs(t, w.Close(), errClosed)
		require.ErrorIs(t, w.Write(sampleRows[0]), errClosed)
		require.Equal(t, size, b.Len())
	}
}

// brokenWriter fails after some bytes.
type brokenWriter struct{ left int }

var errBroken = errors.New("the disk is full")

func (b *brokenWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

// Wherever the writer below fails, the error reaches the caller.
func TestWriter_ReportsTheErrorOfTheWriterBelow(t *testing.T) {
	t.Parallel()
	for _, o := range allFormats {
		size := len(write(t, allTypes, o, sampleRows...))
		for left := 0; left < size; left += 29 {
			err := func() error {
				w, err := New(&brokenWriter{left: left}, allTypes, o)
				if err != nil {
					return err
				}
				for _, r := range sampleRows {
					if err := w.Write(r); err != nil {
						return err
					}
				}
				return w.Close()
			}()
			require.ErrorIs(t, err, errBroken, "%s, %d of %d bytes", o.Extension(), left, size)
		}
	}
}

func TestNew_RefusesWrongColumns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		columns []Column
		want    string
	}{
		{nil, "no columns: want at least one"},
		{[]Column{{Name: "a"}, {}}, `column 2: name "": want a text in UTF-8 that is not empty`},
		{[]Column{{Name: "a\xff"}}, `column 1: name "a\xff": want a text in UTF-8 that is not empty`},
		{[]Column{{Name: "a"}, {Name: "b"}, {Name: "a"}},
			`column 3: name "a" is that of a column before it: want unique names`},
		{[]Column{{Name: "a", Type: Time + 1}}, `column "a": type 7: want a Type of package format`},
		{[]Column{{Name: "a", Type: Decimal, Scale: 31}}, `column "a": scale 31: want 0 to 30`},
	} {
		for _, o := range allFormats {
			_, err := New(io.Discard, c.columns, o)
			require.EqualError(t, err, c.want)
		}
	}
}

func TestNew_RefusesWrongOptions(t *testing.T) {
	t.Parallel()
	_, err := New(io.Discard, allTypes, Options{Format: "xls"})
	require.EqualError(t, err, `format: "xls" is refused: want "csv", "xlsx", "parquet" or "ndjson"`)
}

// plainColumns and plainRow are what most reports have.
var (
	plainColumns = []Column{
		{Name: "day", Type: Day},
		{Name: "account", Type: Text},
		{Name: "campaign", Type: Text},
		{Name: "name", Type: Text},
		{Name: "impressions", Type: Integer},
		{Name: "clicks", Type: Integer},
		{Name: "cost", Type: Decimal, Scale: 2},
		{Name: "fetched", Type: Time},
	}
	plainRow = row("2026-11-29", "1843729910234567", "1790023456789012345", "Winter sale, all regions: search ads",
		"123456", "789", "12345.67", "2026-11-29 02:03:04")
)

// The test is not parallel, because testing.AllocsPerRun counts the allocations of all goroutines.
func TestWriter_AllocatesNothingForARow(t *testing.T) {
	for _, o := range []Options{
		{Format: "csv"}, {Format: "csv", QuoteAll: true, Formulas: "escape"}, {Format: "ndjson"}, {Format: "xlsx"},
	} {
		w, err := New(io.Discard, allTypes, o)
		require.NoError(t, err)
		require.Zero(t, testing.AllocsPerRun(10, func() { // A run has several calls of the writer below.
			for i := range 5000 {
				if err := w.Write(sampleRows[i%len(sampleRows)]); err != nil {
					panic(err)
				}
			}
		}), o.Extension())
		require.NoError(t, w.Close())
	}
}

// liveBytes returns the size of all objects that are in use.
func liveBytes() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// noise returns a text of 16,000 bytes that can hardly be compressed.
func noise(random *rand.ChaCha8) []byte {
	raw := make([]byte, 12_000)
	_, _ = random.Read(raw) // It never fails.
	return base64.StdEncoding.AppendEncode(nil, raw)
}

// A file of 48 MB that can hardly be compressed needs memory within the bound. It is not parallel, so that all new
// objects are its own.
func TestWriter_ItsMemoryIsBounded(t *testing.T) {
	columns := []Column{{Name: "a", Type: Text}, {Name: "b", Type: Text}, {Name: "c", Type: Integer}}
	for _, c := range []struct {
		format string
		most   int64
	}{
		{"csv", 1 << 20}, {"ndjson", 1 << 20}, {"xlsx", 8 << 20}, {"parquet", 64 << 20},
	} {
		before := liveBytes()
		w, err := New(io.Discard, columns, Options{Format: c.format})
		require.NoError(t, err)
		random := rand.NewChaCha8([32]byte{})
		for i := range 1500 {
			require.NoError(t, w.Write([][]byte{noise(random), noise(random), []byte("1")}))
			if i%125 == 0 {
				require.Less(t, liveBytes()-before, c.most, "%s, row %d", c.format, i+1)
			}
		}
		require.NoError(t, w.Close())
	}
}

// plainRows returns different rows of plainColumns, as a report has them, and the average size of one in bytes of CSV.
func plainRows() (rows [][][]byte, size int64) {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 1024
	total := 0
	for range n {
		r := slices.Clone(plainRow)
		r[2] = strconv.AppendUint(nil, 1_790_000_000_000_000_000+random.Uint64N(1e15), 10)
		r[3] = fmt.Appendf(nil, "Winter sale %d, all regions: search ads", random.IntN(500))
		r[4] = strconv.AppendInt(nil, random.Int64N(1e6), 10)
		r[5] = strconv.AppendInt(nil, random.Int64N(1e4), 10)
		r[6] = fmt.Appendf(nil, "%d.%02d", random.IntN(1e5), random.IntN(100))
		for _, cell := range r {
			total += len(cell) + 1
		}
		rows = append(rows, r)
	}
	return rows, int64(total / n)
}

func BenchmarkWrite(b *testing.B) {
	rows, size := plainRows()
	for _, o := range []Options{
		{Format: "csv"}, {Format: "csv", QuoteAll: true}, {Format: "csv", Gzip: true}, {Format: "ndjson"},
		{Format: "parquet"}, {Format: "xlsx"},
	} {
		name := strings.TrimPrefix(o.Extension(), ".")
		if o.QuoteAll {
			name += "-quoted"
		}
		b.Run(name, func(b *testing.B) {
			w, err := New(io.Discard, plainColumns, o)
			require.NoError(b, err)
			b.SetBytes(size)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := w.Write(rows[i%len(rows)]); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, w.Close())
		})
	}
}

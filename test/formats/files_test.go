package formats_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/publish/format"
)

// columns has each type, and a name that needs quotes.
var columns = []format.Column{
	{Name: "campaign, \"name\"\n活动", Type: format.Text},
	{Name: "ad_id", Type: format.Text},
	{Name: "account_id", Type: format.Integer},
	{Name: "cost", Type: format.Decimal, Scale: 2},
	{Name: "balance", Type: format.Decimal, Scale: 10},
	{Name: "rate", Type: format.Float},
	{Name: "active", Type: format.Bool},
	{Name: "day", Type: format.Day},
	{Name: "seen", Type: format.Time},
}

// formats are the formats with their options.
var formats = map[string]format.Options{
	"csv":              {Format: "csv"},
	"csv gzip":         {Format: "csv", Gzip: true},
	"csv null":         {Format: "csv", Null: `\N`},
	"csv no header":    {Format: "csv", NoHeader: true, Delimiter: "\t"},
	"csv for Excel":    {Format: "csv", Delimiter: ";", BOM: true, CRLF: true, QuoteAll: true},
	"csv formulas":     {Format: "csv", Formulas: "escape"},
	"csv gzip and all": {Format: "csv", Gzip: true, Delimiter: "|", BOM: true, CRLF: true, Null: "NULL", QuoteAll: true},
	"ndjson":           {Format: "ndjson"},
	"ndjson gzip":      {Format: "ndjson", Gzip: true},
	"xlsx":             {Format: "xlsx"},
	"parquet":          {Format: "parquet"},
}

// texts are those that readers often change.
var texts = []string{
	"", "plain", " spaces around ", "a,b;c\td|e", `"quoted" and 'single'`, `""`, `"`, `back\slash\`,
	`\N`, "NULL", "NA", "nan", "null", "TRUE", "007", "1e5", "1,234.50", "2026-11-29", "12:30",
	"line\nbreak", "CR LF\r\nand CR\rinside", "\nbefore and after\n", "control \x01\x1f",
	"=1+1", `=HYPERLINK("http://127.0.0.1/","x")`, "+1", "-1", "@SUM(A1)", "\t=1", "'apostrophe",
	"день 日本語 العربية é e\u0301", "😀👨\u200d👩\u200d👧 emoji", "\u00a0no-break\u2028line", "\uFEFFmark",
	"<b>&amp;</b> ]]>", "_x0041_", "_x000D_", strings.Repeat("long 长😀 ", 3000),
}

// lists has values of each column.
var lists = [][]string{
	texts,
	{"1843729910234567890", "00123", ""},
	{"0", "-1", "42", "999999999999999", "1000000000000000", "9007199254740993", "1843729910234567890",
		"9223372036854775807", "-9223372036854775808"},
	{"0", "0.00", "-0.01", "12.5", "12.50", "1234567890123.45", "99999999999999999.99", "-12345678901234567890.12"},
	{"0.0000000001", "-1.5", "123456789012345678.0123456789", "100", "0.1"},
	{"0", "0.1", "-2.5", "1.5e-07", "0.30000000000000004", "1.7976931348623157e+308", "5e-324", "1e+21",
		"123456789.123"},
	{"0", "1"},
	{"2026-11-29", "1970-01-01", "1900-03-01", "1899-12-31", "2024-02-29", "9999-12-31", "0001-01-01"},
	{"2026-11-29 02:03:04", "2026-11-29 23:59:59.999999", "2026-11-29 00:00:00", "1970-01-01 00:00:00.000001",
		"2038-01-19 03:14:08.5", "1899-12-31 12:00:00", "1999-12-31 23:59:59.05", "9999-12-31 23:59:59",
		"0001-01-01 00:00:00.1"},
}

// sample returns rows of columns: one with nulls only, each of the values above, and random ones.
func sample(seed uint64) [][][]byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	rows := [][][]byte{make([][]byte, len(columns))}
	for i := range texts {
		row := make([][]byte, len(columns))
		for c, list := range lists {
			row[c] = []byte(list[i%len(list)])
		}
		rows = append(rows, row)
	}
	for range 300 {
		row := make([][]byte, len(columns))
		for c := range columns {
			if rng.IntN(10) > 0 {
				row[c] = []byte(draw(rng, columns[c]))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// draw returns a random value of a column.
func draw(rng *rand.Rand, c format.Column) string {
	at := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rng.IntN(9999*365)).
		Add(time.Duration(rng.Int64N(int64(24*time.Hour))) / 1000 * 1000)
	switch c.Type {
	case format.Integer:
		return strconv.FormatInt(int64(rng.Uint64()>>rng.IntN(64)), 10)
	case format.Decimal:
		return fmt.Sprintf("%d.%0*d", rng.Int64()>>rng.IntN(63), c.Scale, rng.IntN(100))
	case format.Float:
		return strconv.FormatFloat(rng.NormFloat64()*float64(rng.IntN(1e6)), 'g', -1, 64)
	case format.Bool:
		return strconv.Itoa(rng.IntN(2))
	case format.Day:
		return at.Format(time.DateOnly)
	case format.Time:
		return at.Format("2006-01-02 15:04:05.999999")
	default:
		return texts[rng.IntN(len(texts)-1)] + texts[rng.IntN(len(texts)-1)]
	}
}

// write writes a file of the rows, and next to it a description for read.py.
func write(t *testing.T, o format.Options, rows [][][]byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "report"+o.Extension())
	out, err := os.Create(path)
	require.NoError(t, err)
	w, err := format.New(out, columns, o)
	require.NoError(t, err)
	for _, row := range rows {
		require.NoError(t, w.Write(row))
	}
	require.NoError(t, w.Close())
	require.NoError(t, out.Close())
	description, err := json.Marshal(map[string]any{"columns": columns, "format": o})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".json", description, 0o600))
	return path
}

// Package formats_test compares report files with what other programs read in them: pandas, pyarrow, openpyxl and
// LibreOffice. `make test-formats` installs them and runs it.
package formats_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/publish/format"
)

// pythonEnv names the Python that has pandas, pyarrow and openpyxl. Without it the tests are skipped.
const pythonEnv = "ADSYNC_TEST_PYTHON"

// reader is a program that reads files, with what it is known to change.
type reader struct {
	name    string
	formats []string
	// emptyIsNull means that nulls and empty texts look the same.
	emptyIsNull bool
	// keepsNull means that the text that stands for a null is a text for it.
	keepsNull bool
	// doubles means that Decimals are doubles.
	doubles bool
	// relative is how far a Float may be from the written one, as a part of it.
	relative float64
	// within is how far a Time may be from the written one.
	within time.Duration
	// lineFeeds means that all line breaks in texts are LF.
	lineFeeds bool
}

var (
	csvFormats     = []string{"csv", "csv null", "csv no header", "csv for Excel", "csv formulas"}
	gzipFormats    = []string{"csv gzip", "csv gzip and all"}
	csvGzipFormats = slices.Concat(csvFormats, gzipFormats)
	jsonFormats    = []string{"ndjson", "ndjson gzip"}
)

var readers = []reader{
	{name: "pandas", formats: csvGzipFormats, emptyIsNull: true},
	{name: "pandas", formats: jsonFormats, doubles: true},
	{name: "pandas", formats: []string{"xlsx"}, emptyIsNull: true, within: time.Millisecond},
	{name: "pandas", formats: []string{"parquet"}},
	{name: "pyarrow", formats: csvGzipFormats},
	{name: "pyarrow", formats: jsonFormats, doubles: true},
	{name: "pyarrow", formats: []string{"parquet"}},
	{name: "openpyxl", formats: []string{"xlsx"}, within: time.Millisecond},
	{name: "libreoffice", formats: csvFormats, emptyIsNull: true, keepsNull: true, lineFeeds: true},
	{name: "libreoffice", formats: []string{"xlsx"}, emptyIsNull: true, lineFeeds: true, relative: 1e-14,
		within: time.Second},
}

func TestFiles_OpenWithEqualValues(t *testing.T) {
	t.Parallel()
	python := os.Getenv(pythonEnv)
	if python == "" {
		t.Skipf("%s is not set: `make test-formats` sets it", pythonEnv)
	}
	seed := rand.Uint64()
	t.Log("the seed of the rows is", seed)
	rows := sample(seed)
	for _, r := range readers {
		for _, name := range r.formats {
			t.Run(r.name+" "+name, func(t *testing.T) {
				t.Parallel()
				if _, err := exec.LookPath("soffice"); r.name == "libreoffice" && err != nil {
					t.Skip("LibreOffice is not installed: soffice is not on the PATH")
				}
				r.compare(t, python, formats[name], rows)
			})
		}
	}
}

// compare reads a file of the rows and compares.
func (r *reader) compare(t *testing.T, python string, o format.Options, rows [][][]byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python, "read.py", r.name, write(t, o, rows))
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		require.NoError(t, err, "%s", exit.Stderr)
	}
	require.NoError(t, err)
	var got struct {
		Names []string
		Rows  [][]*string
	}
	require.NoError(t, json.Unmarshal(out, &got))
	for i, c := range columns {
		require.Equal(t, c.Name, got.Names[i])
	}
	require.Len(t, got.Rows, len(rows))
	for i, row := range rows {
		require.Len(t, got.Rows[i], len(columns))
		for k, c := range columns {
			want, read := r.expected(o, c, row[k]), got.Rows[i][k]
			if r.emptyIsNull {
				want, read = orEmpty(want), orEmpty(read)
			}
			if want == nil || read == nil || *want == "" || *read == "" {
				require.Equal(t, want, read, "row %d, column %s", i+1, c.Name)
				continue
			}
			require.True(t, r.equal(c, *want, *read), "row %d, column %s: want %q, read %q", i+1, c.Name, *want, *read)
		}
	}
}

func orEmpty(s *string) *string {
	if s == nil {
		return new(string)
	}
	return s
}

// expected is what the reader finds for a value that was written.
func (r *reader) expected(o format.Options, c format.Column, cell []byte) *string {
	switch value := string(cell); {
	case cell == nil && r.keepsNull:
		return &o.Null
	case cell == nil, r.name == "pandas" && o.Null != "" && value == o.Null: // Pandas ignores the quotes.
		return nil
	case c.Type == format.Text && o.Formulas != "" && strings.IndexAny(value, "=+-@\t\r") == 0:
		return new("'" + value)
	default:
		return &value
	}
}

// equal compares a value with what was read of it.
func (r *reader) equal(c format.Column, want, read string) bool {
	switch {
	case want == read:
		return true
	case c.Type == format.Float, c.Type == format.Decimal && r.doubles:
		a, err1 := strconv.ParseFloat(want, 64)
		b, err2 := strconv.ParseFloat(read, 64)
		return err1 == nil && err2 == nil && math.Abs(a-b) <= math.Abs(a)*r.relative
	case c.Type == format.Decimal:
		a, ok1 := new(big.Rat).SetString(want)
		b, ok2 := new(big.Rat).SetString(read)
		return ok1 && ok2 && a.Cmp(b) == 0
	case c.Type == format.Time:
		a, err1 := time.Parse(time.DateTime, want)
		b, err2 := time.Parse(time.DateTime, read)
		return err1 == nil && err2 == nil && a.Sub(b).Abs() <= r.within
	case r.lineFeeds:
		breaks := strings.NewReplacer("\r\n", "\n", "\r", "\n")
		return breaks.Replace(want) == breaks.Replace(read)
	}
	return false
}

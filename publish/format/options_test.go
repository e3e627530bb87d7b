package format

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/config"
)

func TestOptions_Validate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    Options
		want []string // the keys of the wrong options
	}{
		{"each format without options", Options{Format: "csv"}, nil},
		{"xlsx", Options{Format: "xlsx"}, nil},
		{"parquet", Options{Format: "parquet"}, nil},
		{"compressed ndjson", Options{Format: "ndjson", Gzip: true}, nil},
		{"all options of CSV", Options{Format: "csv", Gzip: true, Delimiter: "\t", NoHeader: true, BOM: true, Null: `\N`,
			CRLF: true, QuoteAll: true, Formulas: "escape"}, nil},
		{"no format", Options{Gzip: true}, []string{"format"}},
		{"an unknown format", Options{Format: "CSV"}, []string{"format"}},
		{"gzip of what is compressed", Options{Format: "parquet", Gzip: true}, []string{"gzip"}},
		{"options of CSV", Options{Format: "xlsx", Delimiter: ",", NoHeader: true, BOM: true, Null: "-", CRLF: true,
			QuoteAll: true, Formulas: "escape"},
			[]string{"delimiter", "no_header", "bom", "null", "crlf", "quote_all", "formulas"}},
		{"unknown formulas", Options{Format: "csv", Formulas: "drop"}, []string{"formulas"}},
		{"a null with quotes", Options{Format: "csv", Null: `"`}, []string{"null"}},
		{"a null with the default delimiter", Options{Format: "csv", Null: "a,b"}, []string{"null"}},
		{"a null with the delimiter", Options{Format: "csv", Delimiter: "|", Null: "a|b"}, []string{"null"}},
		{"a null with another delimiter", Options{Format: "csv", Delimiter: "|", Null: "a,b"}, nil},
		{"a null of two lines", Options{Format: "csv", Null: "a\nb"}, []string{"null"}},
		{"two mistakes", Options{Format: "csv", Delimiter: "::", Formulas: "x"}, []string{"delimiter", "formulas"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, keysOf(t, c.o.Validate()))
		})
	}
}

// keysOf returns the keys of joined errors.
func keysOf(t *testing.T, err error) (keys []string) {
	t.Helper()
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok)
	for _, e := range joined.Unwrap() {
		field, ok := errors.AsType[*config.FieldError](e)
		require.True(t, ok, "%v", e)
		require.NotEmpty(t, field.Want)
		keys = append(keys, field.Key)
	}
	return keys
}

func TestOptions_Delimiter(t *testing.T) {
	t.Parallel()
	for _, good := range []string{",", ";", "\t", "|", "\x01", "\x1f", "~", "^", "/", "'", "_", "=", "@"} {
		require.NoError(t, Options{Format: "csv", Delimiter: good}.Validate(), "%q", good)
	}
	for _, bad := range []string{
		",,", "é", "\"", "\r", "\n", " ", "-", "+", ".", ":", "0", "9", "a", "Z", "e", "\x00", "\x7f", "\xff",
	} {
		require.Equal(t, []string{"delimiter"}, keysOf(t, Options{Format: "csv", Delimiter: bad}.Validate()), "%q", bad)
	}
}

func TestOptions_Extension(t *testing.T) {
	t.Parallel()
	var all []string
	for _, o := range allFormats {
		all = append(all, o.Extension())
	}
	require.Equal(t, []string{".csv", ".csv.gz", ".ndjson", ".ndjson.gz", ".xlsx", ".parquet"}, all)
}

func TestOptions_JSON(t *testing.T) {
	t.Parallel()
	var o Options
	require.NoError(t, json.Unmarshal([]byte(`{"format": "csv", "gzip": true, "delimiter": ";", "no_header": true,
		"bom": true, "null": "NULL", "crlf": true, "quote_all": true, "formulas": "escape"}`), &o))
	require.Equal(t, Options{Format: "csv", Gzip: true, Delimiter: ";", NoHeader: true, BOM: true, Null: "NULL",
		CRLF: true, QuoteAll: true, Formulas: "escape"}, o)
	short, err := json.Marshal(Options{Format: "xlsx"})
	require.NoError(t, err)
	require.JSONEq(t, `{"format": "xlsx"}`, string(short))
}

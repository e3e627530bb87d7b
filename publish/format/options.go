package format

import (
	"errors"
	"strconv"
	"strings"

	"adsync/base/config"
)

// The formats.
const (
	csvFormat     = "csv"
	ndjsonFormat  = "ndjson"
	parquetFormat = "parquet"
	xlsxFormat    = "xlsx"
)

// formulasEscape is the value of Options.Formulas that makes texts harmless for spreadsheet programs.
const formulasEscape = "escape"

// delimiterDefault separates the values of CSV.
const delimiterDefault = ","

// Options choose a format and its details. An option that the format does not have is refused.
type Options struct {
	// Format is "csv", "xlsx", "parquet" or "ndjson".
	Format string `json:"format"`
	// Gzip compresses the file. It is for CSV and NDJSON: files of the other formats are always compressed.
	Gzip bool `json:"gzip,omitempty"`

	// Delimiter separates the values of CSV. It is one ASCII character that no number, day or time contains. Defaults
	// to a comma.
	Delimiter string `json:"delimiter,omitempty"`
	// NoHeader omits CSV's first line, which has the names of the columns.
	NoHeader bool `json:"no_header,omitempty"`
	// BOM begins the CSV file with the byte order mark of UTF-8, by which Excel recognises UTF-8.
	BOM bool `json:"bom,omitempty"`
	// Null stands for a null in CSV, without quotes. A value of this text has quotes, so that readers can distinguish
	// it. Defaults to the empty text. In a file of one column an empty Null has quotes too: readers skip empty lines.
	Null string `json:"null,omitempty"`
	// CRLF ends CSV's lines with CR LF. The default is LF.
	CRLF bool `json:"crlf,omitempty"`
	// QuoteAll quotes CSV's header and values, but not nulls. By default only values that need quotes have them.
	QuoteAll bool `json:"quote_all,omitempty"`
	// Formulas is "escape" to keep spreadsheet programs from running texts of CSV as formulas: a value of a Text column
	// that begins with = + - @, a tab or CR gets an apostrophe before it, and quotes. Defaults to keeping all texts.
	Formulas string `json:"formulas,omitempty"`
}

// Validate returns the mistakes as joined *config.FieldError.
func (o Options) Validate() error {
	var errs []error
	refuse := func(key, value, want string) {
		errs = append(errs, &config.FieldError{Key: key, Value: value, Want: want})
	}
	switch o.Format {
	case csvFormat, ndjsonFormat, parquetFormat, xlsxFormat:
	default:
		refuse("format", o.Format, `"csv", "xlsx", "parquet" or "ndjson"`)
		return errors.Join(errs...) // The other options have no meaning without a format.
	}
	if o.Gzip && o.Format != csvFormat && o.Format != ndjsonFormat {
		refuse("gzip", "true", "no gzip: only the formats csv and ndjson have it")
	}
	if o.Format != csvFormat {
		for _, option := range []struct{ key, value string }{
			{"delimiter", o.Delimiter},
			{"no_header", ifSet(o.NoHeader)},
			{"bom", ifSet(o.BOM)},
			{"null", o.Null},
			{"crlf", ifSet(o.CRLF)},
			{"quote_all", ifSet(o.QuoteAll)},
			{"formulas", o.Formulas},
		} {
			if option.value != "" {
				refuse(option.key, option.value, "no such option: only the format csv has it")
			}
		}
		return errors.Join(errs...)
	}
	if o.Delimiter != "" && !isDelimiter(o.Delimiter) {
		refuse("delimiter", o.Delimiter, "one ASCII character other than a letter, a digit, a space, a line break and "+
			`any of " - + . :`)
	}
	if strings.ContainsAny(o.Null, "\"\r\n"+o.delimiter()) {
		refuse("null", o.Null, "a text without quotation marks, line breaks and the delimiter")
	}
	if o.Formulas != "" && o.Formulas != formulasEscape {
		refuse("formulas", o.Formulas, `"" to keep texts as they are, or "escape"`)
	}
	return errors.Join(errs...)
}

func ifSet(option bool) string {
	if !option {
		return ""
	}
	return strconv.FormatBool(option)
}

// isDelimiter reports whether a text is one character that occurs in no canonical number, day or time. So only texts
// can need quotes because of it.
func isDelimiter(s string) bool {
	if len(s) != 1 || s[0] == 0 || s[0] > '~' {
		return false
	}
	c := s[0]
	return !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune(" \r\n\"-+.:", rune(c))
}

func (o Options) delimiter() string {
	if o.Delimiter == "" {
		return delimiterDefault
	}
	return o.Delimiter
}

// Extension returns the end of the names of such files, such as ".csv.gz".
func (o Options) Extension() string {
	if o.Gzip {
		return "." + o.Format + ".gz"
	}
	return "." + o.Format
}

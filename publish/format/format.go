// Package format writes report files: CSV, XLSX, Parquet, and JSON with one object a line. All formats take the same
// rows, in one canonical text, and refuse the same mistakes in them. The same rows and options give the same bytes.
//
// No value is cut or rounded, with the one exception below. A value that a format cannot hold is an error that names
// its row and column.
//
// CSV has the canonical texts as they are, with quotes as in RFC 4180. A null has no quotes, and a text that looks like
// a null has them.
//
// NDJSON has an object a line, with the keys in the order of the columns. Integers, Decimals and Floats are JSON
// numbers, digit by digit as they come: a reader that keeps numbers as doubles rounds integers above 2^53. A Bool is
// true or false, and Days and Times are strings.
//
// XLSX has a sheet with a header that stays visible, and further such sheets where one is full:
//   - A null is no cell. An empty text is a cell, as each Text is, also one that looks like a number or a formula.
//   - An Integer or Decimal of more than 15 significant digits is a text, because Excel would round it. A Float is
//     always a number: Excel's numbers are doubles too.
//   - A Day or Time is a number of days with the format of a date. It is a double, which keeps the microseconds of a
//     Time up to the year 2079 and rounds later ones by up to 20 microseconds. A Day or Time before 1900-03-01 is a
//     text, because Excel's calendar is wrong before it.
//   - A text has at most 32,767 characters, and the file at most 4 GiB.
//
// Parquet has optional columns of the types STRING, INT64, DECIMAL(38, Scale), DOUBLE, BOOLEAN, DATE, and TIMESTAMP in
// microseconds of UTC. An Integer above the largest int64 is refused, and so is a Decimal of more than 38 digits.
package format

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Type is the type of a column. It defines the canonical text of the column's values.
type Type int

// The types. A number has no plus sign and no leading zeros.
const (
	Text    Type = iota // UTF-8
	Integer             // decimal digits with an optional minus: an int64 or uint64
	Decimal             // exact: digits, optional minus and point, such as -12.50; at most Scale digits after the point
	Float               // the shortest text that reads back equal, such as 1.5e-07; NaN and Inf are refused
	Bool                // 0 or 1
	Day                 // 2006-01-02, of the years 0001 to 9999
	Time                // 2006-01-02 15:04:05 with up to six digits of a second, UTC
)

// Column describes a column of a file.
type Column struct {
	Name  string // the header, or the key of JSON: not empty, and unique in its file
	Type  Type
	Scale int // digits after the point of a Decimal, 0 to 30
}

const scaleMax = 30

// Writer writes the rows of one file. It is not safe for concurrent use.
//
// After an error each further call returns that error, and what was written so far is not a usable file.
type Writer interface {
	// Write writes a row: one element for each column, and nil for a null. It keeps no reference to the row. An error
	// about a value names the row, which is 1 for the first, and the column.
	Write(row [][]byte) error
	// Close completes the file. It does not close the io.Writer below. Calls after the first return an error.
	Close() error
}

// New returns a writer of a file to w. The header, where the format has one, is also in a file without rows. Wrong
// options are joined *config.FieldError.
func New(w io.Writer, columns []Column, o Options) (Writer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := checkColumns(columns); err != nil {
		return nil, err
	}
	var (
		e   encoder
		err error
	)
	switch o.Format {
	case csvFormat:
		e = newCSV(w, columns, o)
	case ndjsonFormat:
		e = newNDJSON(w, columns, o)
	case xlsxFormat:
		e, err = newXLSX(w, columns, xlsxMax)
	case parquetFormat:
		e = newParquet(w, columns)
	}
	if err != nil {
		return nil, fmt.Errorf("begin the %s file: %w", o.Format, err)
	}
	return &writer{columns: columns, encoder: e}, nil
}

func checkColumns(columns []Column) error {
	if len(columns) == 0 {
		return errors.New("no columns: want at least one")
	}
	names := make(map[string]bool, len(columns))
	for i, c := range columns {
		switch {
		case c.Name == "" || !utf8.ValidString(c.Name):
			return fmt.Errorf("column %d: name %q: want a text in UTF-8 that is not empty", i+1, c.Name)
		case names[c.Name]:
			return fmt.Errorf("column %d: name %q is that of a column before it: want unique names", i+1, c.Name)
		case c.Type < Text || c.Type > Time:
			return fmt.Errorf("column %q: type %d: want a Type of package format", c.Name, c.Type)
		case c.Scale < 0 || c.Scale > scaleMax:
			return fmt.Errorf("column %q: scale %d: want 0 to %d", c.Name, c.Scale, scaleMax)
		}
		names[c.Name] = true
	}
	return nil
}

// encoder writes a format. It receives rows that have a value of its column's type in each element.
type encoder interface {
	// encode writes a row. A value that the format cannot hold is a *cellError.
	encode(row [][]byte) error
	close() error
}

// writer is the Writer of all formats.
type writer struct {
	columns []Column
	encoder encoder
	rows    int64
	err     error // returned by all further calls
}

var errClosed = errors.New("the file is complete already")

func (w *writer) Write(row [][]byte) error {
	if w.err != nil {
		return w.err
	}
	w.rows++
	err := w.check(row)
	if err == nil {
		err = w.encoder.encode(row)
	}
	if cell, ok := errors.AsType[*cellError](err); ok {
		w.err = fmt.Errorf("row %d, column %q: %w", w.rows, w.columns[cell.column].Name, err)
	} else if err != nil {
		w.err = fmt.Errorf("write row %d: %w", w.rows, err)
	}
	return w.err
}

func (w *writer) check(row [][]byte) error {
	if len(row) != len(w.columns) {
		return fmt.Errorf("it has %d values: want one for each of the %d columns", len(row), len(w.columns))
	}
	for i, cell := range row {
		if cell != nil && !w.columns[i].Holds(cell) {
			return newCellError(i, cell, w.columns[i].want())
		}
	}
	return nil
}

func (w *writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if err := w.encoder.close(); err != nil {
		w.err = fmt.Errorf("complete the file after row %d: %w", w.rows, err)
		return w.err
	}
	w.err = errClosed
	return nil
}

// cellError means that a value is not of its column's type, or that the format cannot hold it.
type cellError struct {
	column int // its index
	what   string
	want   string
}

// newCellError quotes the value's first bytes.
func newCellError(column int, value []byte, want string) *cellError {
	const most = 60
	text := string(value[:min(len(value), most)])
	if len(value) > most {
		text = strings.ToValidUTF8(text, "") + "…"
	}
	return &cellError{column: column, what: fmt.Sprintf("%q", text), want: want}
}

func (e *cellError) Error() string { return e.what + " is refused: want " + e.want }

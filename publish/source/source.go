// Package source reads the rows of Parquet and ORC files that other programs have written, in the canonical texts of
// package format.
//
// A file is read row by row. The memory that a read uses does not depend on the number of rows. It is at most
// PagesMax for a Parquet file, and orc.MemoryMax for an ORC file. A damaged file gives an error. A damaged page of a
// Parquet file may need more memory than PagesMax before it does.
//
// These types of Parquet are read: BOOLEAN; integers, also unsigned ones; FLOAT and DOUBLE; DECIMAL of up to 38 digits;
// STRING, ENUM and JSON; DATE; TIMESTAMP, and the INT96 in its place. A timestamp is its stored time of day, which is
// UTC unless the file has local times. Package orc describes those of ORC.
package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"adsync/publish/format"
	"adsync/publish/orc"
)

// Column is a column that is read.
type Column struct {
	Name string `json:"name"`         // in the files
	As   string `json:"as,omitempty"` // in the rows; "" for Name
}

// RefusalError is the error of a file whose columns cannot be used. It remains until the file or the columns change.
type RefusalError struct{ File, Why string }

func (r *RefusalError) Error() string { return fmt.Sprintf("the file %s %s", r.File, r.Why) }

// Rows reads several files as one table. It is not safe for concurrent use.
type Rows struct {
	columns []Column
	first   string          // the name of the first file
	header  []format.Column // of the first file, with the names in the files; nil before it
}

// NewRows returns a reader of these columns, in this order. None stand for all columns of the first file, in its order.
func NewRows(columns []Column) *Rows { return &Rows{columns: columns} }

// Read reads the next file. It calls begin with the columns of the rows if the file is the first one, and then row for
// each row. A row and its elements are valid until row returns; a null is nil, and an empty text is not.
//
// The columns of all files must be the same ones, with the same types, and may have another order. The error is a
// *RefusalError if they are not, and if a column is missing, or of a type that is not read. An error of begin or row
// ends the read. Errors name the file, and one about a value its column and row.
func (r *Rows) Read(ctx context.Context, name string, file io.ReaderAt, size int64,
	begin func([]format.Column) error, row func([][]byte) error) error {
	t, err := open(file, size)
	if err != nil {
		return fmt.Errorf("the file %s: %w", name, err)
	}
	first := r.header == nil
	selected, err := r.choose(name, t)
	if err != nil {
		return err
	}
	if first {
		if err := begin(r.named()); err != nil {
			return err
		}
	}
	if err := t.read(ctx, selected, row); err != nil {
		return fmt.Errorf("the file %s: %w", name, err)
	}
	return nil
}

// table is an open file.
type table struct {
	columns []format.Column
	refused map[int]string // the types of columns that are not read, by their indexes
	read    func(ctx context.Context, selected []int, row func([][]byte) error) error
}

// open opens a file of one of the formats, which it recognises by the file's first bytes.
func open(file io.ReaderAt, size int64) (*table, error) {
	magic := make([]byte, 4)
	if n, err := file.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} else if magic = magic[:n]; string(magic) == parquetMagic {
		p, err := openParquet(file, size)
		if err != nil {
			return nil, err
		}
		return &p.table, nil
	}
	if !bytes.HasPrefix(magic, []byte("ORC")) {
		return nil, fmt.Errorf("it begins with %q: want a Parquet or an ORC file", magic)
	}
	f, err := orc.Open(file, size)
	if err != nil {
		return nil, err
	}
	return &table{columns: f.Columns(), read: f.Read}, nil
}

// choose returns the indexes of the columns to read, and keeps the header of the first file.
func (r *Rows) choose(name string, t *table) (selected []int, err error) {
	refuse := func(why string, args ...any) error { return &RefusalError{File: name, Why: fmt.Sprintf(why, args...)} }
	first := r.header == nil
	wanted := r.wanted(t)
	if len(wanted) == 0 {
		return nil, refuse("has no columns")
	}
	if len(r.columns) == 0 && len(t.columns) != len(wanted) {
		return nil, refuse("has %d columns, and the file %s has %d: want the same ones, or name those to read",
			len(t.columns), r.first, len(wanted))
	}
	at := map[string][]int{}
	for i, c := range t.columns {
		at[c.Name] = append(at[c.Name], i)
	}
	for n, column := range wanted {
		of := at[column]
		switch {
		case len(of) == 0:
			return nil, refuse("has no column %q: it has %s", column, t.names())
		case len(of) > 1:
			return nil, refuse("has %d columns %q: want one", len(of), column)
		}
		c := t.columns[of[0]]
		if of, is := t.refused[of[0]]; is {
			return nil, refuse("has the column %q as %s: want a number, boolean, string, date or timestamp", column, of)
		}
		if !first && c != r.header[n] {
			return nil, refuse("has the column %q as %s, and the file %s has it as %s: want one type", column, typeOf(c),
				r.first, typeOf(r.header[n]))
		}
		selected = append(selected, of[0])
	}
	if first {
		r.first = name
		for _, i := range selected {
			r.header = append(r.header, t.columns[i])
		}
	}
	return selected, nil
}

// wanted returns the names in a file of the columns to read.
func (r *Rows) wanted(t *table) (names []string) {
	for _, c := range r.columns {
		names = append(names, c.Name)
	}
	if names != nil {
		return names
	}
	all := r.header
	if all == nil {
		all = t.columns
	}
	for _, c := range all {
		names = append(names, c.Name)
	}
	return names
}

// named returns the columns of the rows.
func (r *Rows) named() []format.Column {
	columns := make([]format.Column, len(r.header))
	copy(columns, r.header)
	for i, c := range r.columns {
		if c.As != "" {
			columns[i].Name = c.As
		}
	}
	return columns
}

// names returns the names of the first columns.
func (t *table) names() string {
	const most = 30
	var names []string
	for _, c := range t.columns[:min(most, len(t.columns))] {
		names = append(names, fmt.Sprintf("%q", c.Name))
	}
	if len(t.columns) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// typeOf returns the type of a column.
func typeOf(c format.Column) string {
	if c.Type == format.Decimal {
		return fmt.Sprintf("a decimal with %d digits after the point", c.Scale)
	}
	return map[format.Type]string{
		format.Text: "a text", format.Integer: "an integer", format.Float: "a float", format.Bool: "a boolean",
		format.Day: "a date", format.Time: "a timestamp",
	}[c.Type]
}

// Package orc reads Apache ORC files, as Hive, Trino, Spark and pyarrow write them: versions 0.11 and 0.12 of the
// format, whose columns have plain types.
//
// A file is read stripe by stripe and row by row. The memory that a read uses does not depend on the number of rows,
// and is at most MemoryMax. A damaged file gives an error.
package orc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"adsync/publish/format"
)

// MemoryMax bounds the buffers and dictionaries of Open, and those of a Read, in bytes.
const MemoryMax = 256 << 20

// ErrMemory is the error for a file that needs more than MemoryMax. Its values, its dictionaries, or its compression
// blocks times the columns read are too large.
var ErrMemory = errors.New("the file needs more than 256 MiB of memory: " +
	"want smaller values, dictionaries or compression blocks, or fewer columns")

// rowsPerCheck is the number of rows between two checks of the context.
const rowsPerCheck = 1024

// File is an open ORC file. It does not change, so several goroutines may Read it.
type File struct {
	r       io.ReaderAt
	kind    compression
	block   int // the most bytes of a decompressed chunk
	stripes []stripe
	types   int // the number of types, and of column encodings in each stripe
	columns []column
	rows    int64
	hybrid  bool // Days before 1582-10-15 are of the Julian calendar.
	memory  int
}

// Open reads the tail of an ORC file of size bytes. R must stay usable until the last Read has returned. A column of
// a type that is not supported is an error: lists, maps, structs, unions and binary are not.
func Open(r io.ReaderAt, size int64) (*File, error) {
	f, err := open(r, size, MemoryMax)
	if err != nil {
		return nil, fmt.Errorf("open the ORC file: %w", err)
	}
	return f, nil
}

// Columns returns the fields of the rows, in the file's order.
func (f *File) Columns() []format.Column {
	columns := make([]format.Column, len(f.columns))
	for i, c := range f.columns {
		columns[i] = c.Column
	}
	return columns
}

// Rows returns the number of rows in the file.
func (f *File) Rows() int64 { return f.rows }

// Read calls row for each row, in the file's order. Selected are indexes of Columns, and the row has their values in
// that order. Nil means all columns. The row and its elements are valid until row returns. A null is nil, and an empty
// text is not.
//
// A timestamp without a time zone is the time of day that its writer saw. A timestamp with a local time zone is UTC.
//
// Read ends with the first error of row, which it returns unchanged, with the context's error, or with the first
// mistake in the file. An error about a value names its column and its row. The first row of the file is row 1.
func (f *File) Read(ctx context.Context, selected []int, row func([][]byte) error) error {
	columns, err := f.choose(selected)
	if err != nil {
		return err
	}
	src, err := newSource(f.r, f.kind, f.block, f.memory)
	if err != nil {
		return err
	}
	var done int64
	free := src.free
	for i, s := range f.stripes {
		src.free = free // The buffers of the stripe before are no longer used.
		cells, err := f.begin(src, s, columns)
		if err != nil {
			return fmt.Errorf("begin the stripe %d of the ORC file: %w", i+1, err)
		}
		if err := readRows(ctx, s.rows, done, columns, cells, row); err != nil {
			return err
		}
		done += s.rows
	}
	return nil
}

// choose returns the selected columns.
func (f *File) choose(selected []int) ([]column, error) {
	if selected == nil {
		return f.columns, nil
	}
	if len(selected) == 0 {
		return nil, errors.New("read the ORC file: no column is selected: want one or more")
	}
	columns := make([]column, len(selected))
	for i, at := range selected {
		if at < 0 || at >= len(f.columns) {
			return nil, fmt.Errorf("read the ORC file: column %d is selected: want 0 to %d", at, len(f.columns)-1)
		}
		columns[i] = f.columns[at]
	}
	return columns, nil
}

// readRows calls row for each of the rows of a stripe, which follow the done rows of other stripes.
func readRows(
	ctx context.Context, rows, done int64, columns []column, cells *cells, row func([][]byte) error,
) error {
	values := make([][]byte, len(columns))
	for n := range rows {
		if n%rowsPerCheck == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if at, err := cells.next(values); err != nil {
			if at < 0 {
				return fmt.Errorf("read the row %d of the ORC file: %w", done+n+1, err)
			}
			return fmt.Errorf("read the column %q of the row %d of the ORC file: %w", columns[at].Name, done+n+1, err)
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return nil
}

package format

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"reflect"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
	parquetformat "github.com/parquet-go/parquet-go/format"
)

// The limits of a row group, whose pages are in memory until it is complete.
const (
	groupRowsMax  = 1 << 20
	groupBytesMax = 16 << 20 // of canonical text
)

// The limits of the pages that are not compressed yet. Each column has one.
const (
	pageBytesMax  = 256 << 10
	pageBytesMin  = 8 << 10
	pagesBytesMax = 8 << 20 // of all columns
)

// The compressed pages of a row group are kept in chunks. Each column has at least one.
const (
	chunkBytesMax  = 32 << 10
	chunkBytesMin  = 4 << 10
	chunksBytesMax = 8 << 20 // of all columns, if each has one
)

// decimalDigits is the precision of all decimal columns: the most that common readers know.
const (
	decimalDigits = 38
	decimalBytes  = 16
)

// parquetEncoder writes a Parquet file. All columns are optional. Pages are of version 1, with plain values that are
// compressed by Zstandard, which all common readers know.
type parquetEncoder struct {
	columns  []Column
	writer   *parquet.GenericWriter[any]
	row      []parquet.Value
	rows     []parquet.Row // the one row
	decimals []byte        // decimalBytes for each column
	// What the row group has.
	groupRows  int
	groupBytes int
}

func newParquet(w io.Writer, columns []Column) *parquetEncoder {
	options := []parquet.WriterOption{
		parquetSchema(columns),
		parquet.Compression(&parquet.Zstd),
		parquet.CreatedBy("adsync", "1.0.0", "1"), // Constant, so that the bytes are.
		parquet.DataPageVersion(1),
		parquet.DataPageStatistics(false), // The statistics are in the page index.
		parquet.PageBufferSize(min(pageBytesMax, max(pageBytesMin, pagesBytesMax/len(columns)))),
		parquet.ColumnPageBuffers(parquet.NewChunkBufferPool(
			min(chunkBytesMax, max(chunkBytesMin, chunksBytesMax/len(columns))))),
	}
	for _, c := range columns {
		if c.Type == Decimal {
			options = append(options, parquet.SkipPageBounds(c.Name))
		}
	}
	e := &parquetEncoder{
		columns:  columns,
		writer:   parquet.NewGenericWriter[any](w, options...),
		row:      make([]parquet.Value, len(columns)),
		decimals: make([]byte, decimalBytes*len(columns)),
	}
	e.rows = []parquet.Row{e.row}
	return e
}

func (e *parquetEncoder) encode(row [][]byte) error {
	for i, cell := range row {
		if cell == nil {
			e.row[i] = parquet.NullValue().Level(0, 0, i)
			continue
		}
		value, err := e.value(i, cell)
		if err != nil {
			return err
		}
		e.row[i] = value.Level(0, 1, i)
		e.groupBytes += len(cell)
	}
	if _, err := e.writer.WriteRows(e.rows); err != nil {
		return err
	}
	e.groupRows++
	if e.groupRows < groupRowsMax && e.groupBytes < groupBytesMax {
		return nil
	}
	e.groupRows, e.groupBytes = 0, 0
	return e.writer.Flush()
}

// value returns the value of a cell. It refers to the cell, or to e.decimals.
func (e *parquetEncoder) value(i int, cell []byte) (parquet.Value, error) {
	switch e.columns[i].Type {
	case Integer:
		n, err := strconv.ParseInt(string(cell), 10, 64)
		if err != nil {
			return parquet.Value{}, newCellError(i, cell, "an int64, as Parquet's integers are")
		}
		return parquet.Int64Value(n), nil
	case Decimal:
		unscaled := e.decimals[i*decimalBytes:][:decimalBytes]
		if !putDecimal(unscaled, cell, e.columns[i].Scale) {
			return parquet.Value{}, newCellError(i, cell, fmt.Sprintf(
				"at most %d digits, of which a Parquet column keeps %d after the point", decimalDigits, e.columns[i].Scale))
		}
		return parquet.FixedLenByteArrayValue(unscaled), nil
	case Float:
		f, err := strconv.ParseFloat(string(cell), 64)
		if err != nil {
			return parquet.Value{}, newCellError(i, cell, "a number that a double holds")
		}
		return parquet.DoubleValue(f), nil
	case Bool:
		return parquet.BooleanValue(cell[0] == '1'), nil
	case Day:
		days, _ := dayOf(cell)                      // The writer checked it.
		return parquet.Int32Value(int32(days)), nil //nolint:gosec // The year has four digits.
	case Time:
		micros, _ := microsOf(cell) // The writer checked it.
		return parquet.Int64Value(micros), nil
	case Text:
	}
	return parquet.ByteArrayValue(cell), nil
}

func (e *parquetEncoder) close() error { return e.writer.Close() }

// putDecimal puts a Decimal times 10^scale into dst, as a number of decimalBytes in two's complement, high byte first.
// It reports whether the product has at most decimalDigits digits.
func putDecimal(dst, cell []byte, scale int) bool {
	var high, low uint64
	count, fraction := 0, 0
	push := func(digit byte) {
		if count > 0 || digit > 0 {
			count++
		}
		carry, product := bits.Mul64(low, 10)
		var over uint64
		low, over = bits.Add64(product, uint64(digit), 0)
		high = high*10 + carry + over
	}
	point := false
	for _, c := range cell {
		switch {
		case c == '.':
			point = true
		case c != '-':
			push(c - '0')
			if point {
				fraction++
			}
		}
	}
	for range scale - fraction {
		push(0)
	}
	if count > decimalDigits {
		return false
	}
	if cell[0] == '-' {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	binary.BigEndian.PutUint64(dst, high)
	binary.BigEndian.PutUint64(dst[8:], low)
	return true
}

func parquetSchema(columns []Column) *parquet.Schema {
	fields := make([]parquet.Field, len(columns))
	for i, c := range columns {
		fields[i] = parquetField{Node: parquet.Optional(parquet.Encoded(parquetNode(c), &parquet.Plain)), name: c.Name}
	}
	return parquet.NewSchema("report", parquetRoot{fields: fields})
}

func parquetNode(c Column) parquet.Node {
	switch c.Type {
	case Integer:
		return parquet.Leaf(parquet.Int64Type)
	case Decimal:
		decimal := parquet.Decimal(c.Scale, decimalDigits, parquet.FixedLenByteArrayType(decimalBytes))
		return parquet.Leaf(decimalType{decimal.Type()})
	case Float:
		return parquet.Leaf(parquet.DoubleType)
	case Bool:
		return parquet.Leaf(parquet.BooleanType)
	case Day:
		return parquet.Date()
	case Time:
		return parquet.Timestamp(parquet.Microsecond)
	case Text:
	}
	return parquet.String()
}

// parquetRoot is the root of a schema. The library's own, parquet.Group, orders the columns by name.
type parquetRoot struct {
	parquet.Group
	fields []parquet.Field
}

func (r parquetRoot) Fields() []parquet.Field { return r.fields }

type parquetField struct {
	parquet.Node
	name string
}

func (f parquetField) Name() string { return f.name }

// Value is for Go values, which are not used here.
func (f parquetField) Value(reflect.Value) reflect.Value { return reflect.Value{} }

// decimalType replaces the bounds of decimal pages. The library compares decimals as bytes without a sign: where there
// are negative ones its bounds are wrong, and readers that skip pages by them lose rows.
type decimalType struct{ parquet.Type }

func (decimalType) NewColumnIndexer(int) parquet.ColumnIndexer { return new(decimalIndexer) }

// decimalIndexer declares that each page can have any decimal.
type decimalIndexer struct {
	nullPages  []bool
	nullCounts []int64
}

func (d *decimalIndexer) Reset() {
	d.nullPages, d.nullCounts = d.nullPages[:0], d.nullCounts[:0]
}

func (d *decimalIndexer) IndexPage(values, nulls int64, _, _ parquet.Value) {
	d.nullPages = append(d.nullPages, values == nulls)
	d.nullCounts = append(d.nullCounts, nulls)
}

var (
	decimalMin = decimalOf("-99999999999999999999999999999999999999")
	decimalMax = decimalOf("99999999999999999999999999999999999999")
)

func decimalOf(text string) []byte {
	b := make([]byte, decimalBytes)
	putDecimal(b, []byte(text), 0)
	return b
}

func (d *decimalIndexer) ColumnIndex() parquetformat.ColumnIndex {
	index := parquetformat.ColumnIndex{NullPages: slices.Clone(d.nullPages), NullCounts: slices.Clone(d.nullCounts)}
	for _, null := range d.nullPages {
		lower, upper := decimalMin, decimalMax
		if null {
			lower, upper = nil, nil
		}
		index.MinValues = append(index.MinValues, lower)
		index.MaxValues = append(index.MaxValues, upper)
	}
	return index
}

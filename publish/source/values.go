package source

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	parquetformat "github.com/parquet-go/parquet-go/format"

	"adsync/publish/format"
)

// appendFunc appends the canonical text of a value that is not null.
type appendFunc func(to []byte, v parquet.Value) ([]byte, error)

const (
	scaleMax     = 30 // of a format.Column
	precisionMax = 38
	// decimalBytesMax bounds the stored decimals. The largest has 16 bytes, and some writers store more.
	decimalBytesMax = 32
	// julian1970 is the Julian day of 1970-01-01, from which INT96 counts the days.
	julian1970 = 2_440_588
	dayLength  = 24 * 60 * 60 // in seconds
)

// columnOf returns the column of a schema's element and how its values are written. Refused is the type of a column
// that is not read.
func columnOf(e *parquetformat.SchemaElement) (c format.Column, text appendFunc, refused string) {
	c.Name = e.Name
	if e.NumChildren.V > 0 || !e.Type.Valid {
		return c, nil, "a group of columns, a list or a map"
	}
	if e.RepetitionType.V == parquetformat.Repeated {
		return c, nil, "a list"
	}
	physical := e.Type.V
	switch of := logicalOf(e).(type) {
	case nil:
		c.Type, text = plain(physical)
	case *parquetformat.StringType, *parquetformat.EnumType, *parquetformat.JsonType:
		c.Type, text = format.Text, appendText
	case *parquetformat.IntType:
		c.Type, text = format.Integer, integers(physical, of.IsSigned)
	case *parquetformat.DateType:
		c.Type, text = format.Day, appendDay
	case *parquetformat.TimestampType:
		c.Type, text = format.Time, moments(of)
	case *parquetformat.DecimalType:
		if of.Precision < 1 || of.Precision > precisionMax || of.Scale < 0 || of.Scale > min(of.Precision, scaleMax) {
			return c, nil, fmt.Sprintf("a decimal(%d, %d), which is not at most %d digits, %d of them after the point",
				of.Precision, of.Scale, precisionMax, scaleMax)
		}
		c.Type, c.Scale, text = format.Decimal, int(of.Scale), decimals(physical, int(of.Scale))
	default:
		refused = of.String()
	}
	if text == nil && refused == "" {
		refused = physical.String() + " without the type of its values"
	}
	return c, text, refused
}

// logicalOf returns the logical type of an element, also of one that has the older annotation; nil if it has none.
func logicalOf(e *parquetformat.SchemaElement) parquetformat.LogicalTypeValue {
	if e.LogicalType.Value != nil || !e.ConvertedType.Valid {
		return e.LogicalType.Value
	}
	integer := func(bits int8, signed bool) *parquetformat.IntType {
		return &parquetformat.IntType{BitWidth: bits, IsSigned: signed}
	}
	switch e.ConvertedType.V {
	case deprecated.UTF8, deprecated.Enum, deprecated.Json:
		return &parquetformat.StringType{}
	case deprecated.Decimal:
		return &parquetformat.DecimalType{Scale: e.Scale.V, Precision: e.Precision.V}
	case deprecated.Date:
		return &parquetformat.DateType{}
	case deprecated.TimestampMillis:
		return &parquetformat.TimestampType{Unit: parquetformat.TimeUnit{Value: &parquetformat.MilliSeconds{}}}
	case deprecated.TimestampMicros:
		return &parquetformat.TimestampType{Unit: parquetformat.TimeUnit{Value: &parquetformat.MicroSeconds{}}}
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		return integer(64, false)
	case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
		return integer(64, true)
	case deprecated.TimeMillis, deprecated.TimeMicros:
		return &parquetformat.TimeType{}
	case deprecated.Bson:
		return &parquetformat.BsonType{}
	}
	return &parquetformat.NullType{}
}

// plain returns the type of a column without a logical type. The function is nil for bytes.
func plain(physical parquetformat.Type) (format.Type, appendFunc) {
	switch physical {
	case parquetformat.Boolean:
		return format.Bool, appendBool
	case parquetformat.Int32, parquetformat.Int64:
		return format.Integer, integers(physical, true)
	case parquetformat.Int96:
		return format.Time, appendInt96
	case parquetformat.Float, parquetformat.Double:
		return format.Float, floats(physical)
	}
	return format.Text, nil
}

func appendText(to []byte, v parquet.Value) ([]byte, error) {
	text := v.ByteArray()
	if !utf8.Valid(text) {
		return nil, errors.New("the text is not UTF-8")
	}
	return append(to, text...), nil
}

func appendBool(to []byte, v parquet.Value) ([]byte, error) {
	if v.Boolean() {
		return append(to, '1'), nil
	}
	return append(to, '0'), nil
}

func integers(physical parquetformat.Type, signed bool) appendFunc {
	of := func(v parquet.Value) int64 { return v.Int64() }
	switch {
	case physical == parquetformat.Int32 && signed:
		of = func(v parquet.Value) int64 { return int64(v.Int32()) }
	case physical == parquetformat.Int32:
		of = func(v parquet.Value) int64 { return int64(v.Uint32()) }
	case !signed:
		return func(to []byte, v parquet.Value) ([]byte, error) { return strconv.AppendUint(to, v.Uint64(), 10), nil }
	}
	return func(to []byte, v parquet.Value) ([]byte, error) { return strconv.AppendInt(to, of(v), 10), nil }
}

func floats(physical parquetformat.Type) appendFunc {
	return func(to []byte, v parquet.Value) ([]byte, error) {
		f, bits := 0.0, 64
		if physical == parquetformat.Float {
			f, bits = float64(v.Float()), 32
		} else {
			f = v.Double()
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%v: want a finite number", f)
		}
		return strconv.AppendFloat(to, f, 'g', -1, bits), nil
	}
}

// decimals writes integers, and integers of bytes in two's complement with the high byte first, as decimals.
func decimals(physical parquetformat.Type, scale int) appendFunc {
	var (
		n, wrap big.Int
		digits  []byte
	)
	return func(to []byte, v parquet.Value) ([]byte, error) {
		switch physical {
		case parquetformat.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquetformat.Int64:
			n.SetInt64(v.Int64())
		default:
			b := v.ByteArray()
			if len(b) > decimalBytesMax {
				return nil, fmt.Errorf("the decimal number has %d bytes: want at most %d", len(b), decimalBytesMax)
			}
			if n.SetBytes(b); len(b) > 0 && b[0] >= 0x80 {
				n.Sub(&n, wrap.Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		if n.Sign() < 0 {
			to = append(to, '-')
			n.Neg(&n)
		}
		digits = n.Append(digits[:0], 10)
		if len(digits) > precisionMax {
			return nil, fmt.Errorf("the decimal number has %d digits: want at most %d", len(digits), precisionMax)
		}
		if missing := scale + 1 - len(digits); missing > 0 {
			digits = slices.Insert(digits, 0, slices.Repeat([]byte{'0'}, missing)...)
		}
		to = append(to, digits[:len(digits)-scale]...)
		if scale > 0 {
			to = append(append(to, '.'), digits[len(digits)-scale:]...)
		}
		return to, nil
	}
}

func appendDay(to []byte, v parquet.Value) ([]byte, error) {
	return appendMoment(to, time.Unix(int64(v.Int32())*dayLength, 0), time.DateOnly)
}

func moments(of *parquetformat.TimestampType) appendFunc {
	switch of.Unit.Value.(type) {
	case *parquetformat.MilliSeconds:
		return func(to []byte, v parquet.Value) ([]byte, error) { return appendTime(to, time.UnixMilli(v.Int64())) }
	case *parquetformat.MicroSeconds:
		return func(to []byte, v parquet.Value) ([]byte, error) { return appendTime(to, time.UnixMicro(v.Int64())) }
	case *parquetformat.NanoSeconds:
		return func(to []byte, v parquet.Value) ([]byte, error) { return appendTime(to, time.Unix(0, v.Int64())) }
	}
	return nil
}

// appendInt96 appends a moment that is stored as the nanoseconds of a day and the Julian day.
func appendInt96(to []byte, v parquet.Value) ([]byte, error) {
	stored := v.Int96()
	var nanos [8]byte
	binary.LittleEndian.PutUint32(nanos[:], stored[0])
	binary.LittleEndian.PutUint32(nanos[4:], stored[1])
	at := int64(binary.LittleEndian.Uint64(nanos[:])) //nolint:gosec // It is in two's complement.
	return appendTime(to, time.Unix((int64(stored[2])-julian1970)*dayLength, at))
}

func appendTime(to []byte, at time.Time) ([]byte, error) {
	if n := at.Nanosecond(); n%1000 != 0 {
		return nil, fmt.Errorf("it has %d nanoseconds: want whole microseconds", n)
	}
	return appendMoment(to, at, "2006-01-02 15:04:05.999999")
}

func appendMoment(to []byte, at time.Time, layout string) ([]byte, error) {
	at = at.UTC()
	if year := at.Year(); year < 1 || year > 9999 {
		return nil, fmt.Errorf("it is in the year %d: want a year from 1 to 9999", year)
	}
	return at.AppendFormat(to, layout), nil
}

package orc

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Numbers of the format for the streams of a column. Other streams are of indexes.
const (
	streamPresent    = 0
	streamData       = 1
	streamLength     = 2
	streamDictionary = 3
	streamSecondary  = 5
)

// encoding is how a column's values are encoded in a stripe, with the numbers of the format.
type encoding uint64

const (
	direct       encoding = 0
	dictionary   encoding = 1
	directV2     encoding = 2
	dictionaryV2 encoding = 3
)

// version returns the version of the encoding of integers.
func (e encoding) version() int {
	if e == directV2 || e == dictionaryV2 {
		return 2
	}
	return 1
}

// streamKey names a stream of a stripe.
type streamKey struct{ column, kind uint64 }

// span is a part of the file.
type span struct{ at, end int64 }

// columnEncoding is the encoding of a column in a stripe.
type columnEncoding struct {
	kind       encoding
	dictionary uint64 // the number of entries
}

// layout is what the footer of a stripe has.
type layout struct {
	src       *source
	streams   map[streamKey]span // those with values of the wanted columns
	encodings []columnEncoding   // by the number of the type
	zone      string             // the writer's time zone
}

// stream returns a stream, which is empty if the stripe does not have it.
func (l *layout) stream(c column, kind uint64) *stream {
	s := l.streams[streamKey{uint64(c.id), kind}] //nolint:gosec // It is not negative.
	return &stream{src: l.src, at: s.at, end: s.end}
}

// present returns the stream of which values of a type are not null, and nil if all are.
func (l *layout) present(c column) *bitRuns {
	if _, ok := l.streams[streamKey{uint64(c.id), streamPresent}]; !ok { //nolint:gosec // It is not negative.
		return nil
	}
	return &bitRuns{runs: byteRuns{in: l.stream(c, streamPresent)}}
}

// readLayout reads the footer of a stripe. It keeps the streams of the columns, and of the rows themselves.
func (f *File) readLayout(src *source, s stripe, columns []column) (*layout, error) {
	body := s.offset + s.index + s.data
	in := stream{src: src, at: body, end: body + s.footer}
	message, err := in.all(footerMax)
	if err != nil {
		return nil, fmt.Errorf("read its footer: %w", err)
	}
	wanted := map[uint64]bool{0: true}
	for _, c := range columns {
		wanted[uint64(c.id)] = true //nolint:gosec // It is not negative.
	}
	l := &layout{src: src, streams: map[streamKey]span{}}
	at := s.offset
	err = eachField(message, func(v field) error {
		switch v.id {
		case 1:
			key, length, err := parseStream(v.bytes)
			if err != nil {
				return fmt.Errorf("parse a stream: %w", err)
			}
			if length > math.MaxInt64 || int64(length) > body-at {
				return fmt.Errorf("stream %d of column %d has %d bytes, and there are %d", key.kind, key.column, length, body-at)
			}
			if _, twice := l.streams[key]; twice {
				return fmt.Errorf("stream %d of column %d is there twice", key.kind, key.column)
			}
			end := at + int64(length)
			if wanted[key.column] && key.kind <= streamSecondary {
				l.streams[key] = span{at: at, end: end}
			}
			at = end
		case 2:
			if len(l.encodings) == f.types {
				return fmt.Errorf("more than %d encodings of columns", f.types)
			}
			e, err := parseEncoding(v.bytes)
			if err != nil {
				return fmt.Errorf("parse an encoding: %w", err)
			}
			l.encodings = append(l.encodings, e)
		case 3:
			l.zone = string(v.bytes)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("parse its footer: %w", err)
	}
	if len(l.encodings) != f.types {
		return nil, fmt.Errorf("its footer has %d encodings of columns: want %d", len(l.encodings), f.types)
	}
	return l, nil
}

func parseStream(message []byte) (key streamKey, length uint64, err error) {
	err = eachField(message, func(v field) error {
		switch v.id {
		case 1:
			key.kind = v.number
		case 2:
			key.column = v.number
		case 3:
			length = v.number
		}
		return nil
	})
	return key, length, err
}

func parseEncoding(message []byte) (e columnEncoding, err error) {
	err = eachField(message, func(v field) error {
		switch v.id {
		case 1:
			e.kind = encoding(v.number)
		case 2:
			e.dictionary = v.number
		}
		return nil
	})
	return e, err
}

// cells decodes the values of a stripe, row by row.
type cells struct {
	rows    *bitRuns // of which rows are not null; nil if all are not
	present []*bitRuns
	values  []func() ([]byte, error) // Each decodes the next value of a column that is not null.
}

// begin prepares the decoding of a stripe's columns.
func (f *File) begin(src *source, s stripe, columns []column) (*cells, error) {
	if s.rows == 0 {
		return &cells{}, nil
	}
	l, err := f.readLayout(src, s, columns)
	if err != nil {
		return nil, err
	}
	c := &cells{rows: l.present(column{}), present: make([]*bitRuns, len(columns))}
	for i, column := range columns {
		value, err := f.decoder(l, column)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", column.Name, err)
		}
		c.present[i] = l.present(column)
		c.values = append(c.values, value)
	}
	return c, nil
}

// next fills row with the values of the next row. If it fails, it returns the column whose value cannot be read, or -1.
func (c *cells) next(row [][]byte) (at int, err error) {
	if c.rows != nil {
		set, err := c.rows.next()
		if err == nil && !set {
			err = errors.New("the whole row is null: want a row with values")
		}
		if err != nil {
			return -1, err
		}
	}
	for i, value := range c.values {
		row[i] = nil
		if c.present[i] != nil {
			set, err := c.present[i].next()
			if err != nil {
				return i, err
			}
			if !set {
				continue
			}
		}
		if row[i], err = value(); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// decoder returns the function that decodes the values of a column.
func (f *File) decoder(l *layout, c column) (func() ([]byte, error), error) {
	e := l.encodings[c.id]
	switch c.kind {
	case kindBoolean, kindByte, kindFloat, kindDouble:
		if e.kind != direct {
			return nil, fmt.Errorf("the encoding of a %s is %d: want 0 (direct)", c.kind, e.kind)
		}
	case kindString, kindVarchar, kindChar:
		if e.kind > dictionaryV2 {
			return nil, fmt.Errorf("the encoding of a %s is %d: want 0 to 3", c.kind, e.kind)
		}
	default:
		if e.kind != direct && e.kind != directV2 {
			return nil, fmt.Errorf("the encoding of a %s is %d: want 0 (direct) or 2 (direct, version 2)", c.kind, e.kind)
		}
	}
	data := l.stream(c, streamData)
	switch c.kind {
	case kindBoolean:
		return booleans(data), nil
	case kindByte:
		return tinyints(data), nil
	case kindFloat:
		return floats(data, 4), nil
	case kindDouble:
		return floats(data, 8), nil
	case kindString, kindVarchar, kindChar:
		if e.kind == direct || e.kind == directV2 {
			return texts(data, l.stream(c, streamLength), e.kind.version())
		}
		return dictionaryTexts(data, l.stream(c, streamLength), l.stream(c, streamDictionary), e)
	case kindDecimal:
		return decimals(data, l.stream(c, streamSecondary), e.kind.version(), c.Scale)
	case kindDate:
		return days(data, e.kind.version(), f.hybrid)
	case kindTimestamp:
		zone, err := zoneOf(l.zone)
		if err != nil {
			return nil, err
		}
		return times(data, l.stream(c, streamSecondary), e.kind.version(), zone, f.hybrid)
	case kindInstant:
		return times(data, l.stream(c, streamSecondary), e.kind.version(), time.UTC, f.hybrid)
	default:
		return bigints(data, e.kind.version())
	}
}

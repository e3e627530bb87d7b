package orc

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// Each function of this file, moments.go and decimals.go returns a function that decodes the next value of a column.
// The bytes are valid until its next call, and are not nil.

func booleans(data *stream) func() ([]byte, error) {
	in := bitRuns{runs: byteRuns{in: data}}
	no, yes := []byte("0"), []byte("1")
	return func() ([]byte, error) {
		set, err := in.next()
		if err != nil {
			return nil, err
		}
		if set {
			return yes, nil
		}
		return no, nil
	}
}

func tinyints(data *stream) func() ([]byte, error) {
	in := byteRuns{in: data}
	var text []byte
	return func() ([]byte, error) {
		v, err := in.next()
		if err != nil {
			return nil, err
		}
		text = strconv.AppendInt(text[:0], int64(int8(v)), 10) //nolint:gosec // It is in two's complement.
		return text, nil
	}
}

func bigints(data *stream, version int) (func() ([]byte, error), error) {
	in, err := newIntegers(data, version, true)
	if err != nil {
		return nil, err
	}
	var text []byte
	return func() ([]byte, error) {
		v, err := in.next()
		if err != nil {
			return nil, err
		}
		text = strconv.AppendInt(text[:0], v, 10)
		return text, nil
	}, nil
}

// floats decodes floating-point numbers of 4 or 8 bytes.
func floats(data *stream, size uint64) func() ([]byte, error) {
	var text []byte
	return func() ([]byte, error) {
		v, err := data.littleEndian(size)
		if err != nil {
			return nil, err
		}
		f, width := math.Float64frombits(v), 64
		if size == 4 {
			f, width = float64(math.Float32frombits(uint32(v))), 32 //nolint:gosec // It has 4 bytes.
		}
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%v: want a finite number", f)
		}
		text = strconv.AppendFloat(text[:0], f, 'g', -1, width)
		return text, nil
	}
}

var errText = errors.New("the text is not UTF-8")

func texts(data, lengths *stream, version int) (func() ([]byte, error), error) {
	sizes, err := newIntegers(lengths, version, false)
	if err != nil {
		return nil, err
	}
	return func() ([]byte, error) {
		n, err := sizes.unsigned()
		if err != nil {
			return nil, err
		}
		text, err := data.bytes(n)
		if err == nil && !utf8.Valid(text) {
			err = errText
		}
		return text, err
	}, nil
}

// dictionaryTexts decodes texts that are indexes of a dictionary. It reads the dictionary.
func dictionaryTexts(
	data, lengths, entries *stream, e columnEncoding,
) (func() ([]byte, error), error) {
	indexes, err := newIntegers(data, e.kind.version(), false)
	if err != nil {
		return nil, err
	}
	sizes, err := newIntegers(lengths, e.kind.version(), false)
	if err != nil {
		return nil, err
	}
	ends := []uint32{0} // and the starts of the next entries
	var total uint64
	for range e.dictionary {
		size, err := sizes.unsigned()
		if err != nil {
			return nil, fmt.Errorf("read the lengths of its dictionary: %w", err)
		}
		// An entry takes 4 bytes, and append may allocate twice as much.
		if err := data.src.take(8); err != nil {
			return nil, err
		}
		if size > math.MaxUint32-total {
			return nil, ErrMemory
		}
		total += size
		ends = append(ends, uint32(total)) //nolint:gosec // The line above bounds it.
	}
	words, err := entries.bytes(total)
	if err != nil {
		return nil, fmt.Errorf("read its dictionary: %w", err)
	}
	return func() ([]byte, error) {
		at, err := indexes.unsigned()
		if err != nil {
			return nil, err
		}
		if at >= e.dictionary {
			return nil, fmt.Errorf("it is the entry %d of a dictionary of %d", at, e.dictionary)
		}
		text := words[ends[at]:ends[at+1]:ends[at+1]]
		if !utf8.Valid(text) {
			return nil, errText
		}
		return text, nil
	}, nil
}

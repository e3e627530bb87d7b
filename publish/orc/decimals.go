package orc

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
)

// decimalScaleMax bounds the digits after the point of a stored value, and the zeros before it.
const decimalScaleMax = 38

// decimals decodes decimal numbers. Each has its own scale, and is returned with the column's scale.
func decimals(data, secondary *stream, version, scale int) (func() ([]byte, error), error) {
	scales, err := newIntegers(secondary, version, true)
	if err != nil {
		return nil, err
	}
	var digits, text []byte
	return func() ([]byte, error) {
		high, low, negative, err := bigVarint(data)
		if err != nil {
			return nil, err
		}
		has, err := scales.next()
		if err != nil {
			return nil, err
		}
		if has < -decimalScaleMax || has > decimalScaleMax {
			return nil, fmt.Errorf("it has %d digits after the point: want at most %d", has, decimalScaleMax)
		}
		digits = appendDigits(digits[:0], high, low)
		text = text[:0]
		if negative {
			text = append(text, '-')
		}
		text, err = appendScaled(text, digits, int(has), scale)
		return text, err
	}, nil
}

// bigVarint reads an integer of up to 128 bits of base 128 whose lowest bit is the sign. It returns the absolute value.
func bigVarint(in *stream) (high, low uint64, negative bool, err error) {
	for shift := 0; ; shift += 7 {
		b, err := in.byte()
		if err != nil {
			return 0, 0, false, err
		}
		if shift == 126 && b > 3 {
			return 0, 0, false, errors.New("the decimal number has more than 128 bits")
		}
		part := uint64(b & 0x7f)
		if shift < 64 {
			low |= part << shift
			high |= part >> (64 - shift)
		} else {
			high |= part << (shift - 64)
		}
		if b < 0x80 {
			break
		}
	}
	negative = low&1 == 1
	low, high = low>>1|high<<63, high>>1
	if negative {
		if low++; low == 0 {
			high++
		}
	}
	return high, low, negative, nil
}

// appendScaled appends a number whose last digits, as many as its scale, are after the point. It writes want digits
// after the point, and fails if that would change the number.
func appendScaled(text, digits []byte, scale, want int) ([]byte, error) {
	for ; scale < 0; scale++ {
		if len(digits) > 1 || digits[0] != '0' {
			digits = append(digits, '0')
		}
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = slices.Insert(digits, 0, slices.Repeat([]byte{'0'}, missing)...)
	}
	point := len(digits) - scale
	after := digits[point:]
	for len(after) > want {
		if after[len(after)-1] != '0' {
			return nil, fmt.Errorf("it has %d digits after the point: want %d, as the column has", len(after), want)
		}
		after = after[:len(after)-1]
	}
	text = append(text, digits[:point]...)
	if want == 0 {
		return text, nil
	}
	text = append(append(text, '.'), after...)
	for range want - len(after) {
		text = append(text, '0')
	}
	return text, nil
}

// appendDigits appends the decimal digits of a number below 2^127 + 1.
func appendDigits(b []byte, high, low uint64) []byte {
	const chunk = 1e19 // the largest power of 10 in 64 bits
	if high == 0 {
		return strconv.AppendUint(b, low, 10)
	}
	q, r := bits.Div64(high, low, chunk)
	b = strconv.AppendUint(b, q, 10)
	for n := uint64(chunk / 10); n > r && n > 1; n /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, r, 10)
}

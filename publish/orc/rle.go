package orc

import (
	"errors"
	"fmt"
)

const (
	runMax       = 512 // values of a run of integers
	repeatMin    = 3   // values of the shortest repetition, in all run-length encodings
	integersSize = 8 * runMax
)

// integers decodes a stream of run-length encoded integers of up to 64 bits. The numbers are in two's complement, and
// overflows wrap, as in the reference implementation.
type integers struct {
	in     *stream
	signed bool
	run    func() error // decodes the next run
	left   []uint64     // the values of the run that were not returned yet
	buffer [runMax]uint64
}

// newIntegers returns a decoder for version 1 or 2 of the encoding.
func newIntegers(in *stream, version int, signed bool) (*integers, error) {
	if err := in.src.take(integersSize); err != nil {
		return nil, err
	}
	d := &integers{in: in, signed: signed}
	d.run = d.runV1
	if version == 2 {
		d.run = d.runV2
	}
	return d, nil
}

// unsigned returns the next value.
func (d *integers) unsigned() (uint64, error) {
	if len(d.left) == 0 {
		if err := d.run(); err != nil {
			return 0, err
		}
	}
	v := d.left[0]
	d.left = d.left[1:]
	return v, nil
}

// next returns the next value as a signed number.
func (d *integers) next() (int64, error) {
	v, err := d.unsigned()
	return int64(v), err //nolint:gosec // It is in two's complement.
}

// values returns the buffer for a run of n values, which become the ones to return.
func (d *integers) values(n int) []uint64 {
	d.left = d.buffer[:n]
	return d.left
}

// runV1 decodes a run of version 1: a base with a fixed difference, or literal values.
func (d *integers) runV1() error {
	head, err := d.in.byte()
	if err != nil {
		return err
	}
	if head >= 0x80 {
		for i := range d.values(0x100 - int(head)) {
			if d.buffer[i], err = d.varint(d.signed); err != nil {
				return err
			}
		}
		return nil
	}
	step, err := d.in.byte()
	if err != nil {
		return err
	}
	base, err := d.varint(d.signed)
	if err != nil {
		return err
	}
	for i := range d.values(int(head) + repeatMin) {
		d.buffer[i] = base
		base += uint64(int8(step)) //nolint:gosec // The sign is extended.
	}
	return nil
}

// runV2 decodes a run of version 2.
func (d *integers) runV2() error {
	head, err := d.in.byte()
	if err != nil {
		return err
	}
	if head>>6 == 0 {
		return d.repeat(head)
	}
	second, err := d.in.byte()
	if err != nil {
		return err
	}
	width := int(head >> 1 & 0x1f)
	values := d.values(1 + (int(head&1)<<8 | int(second)))
	switch head >> 6 {
	case 1:
		return d.direct(values, bitWidth(width))
	case 2:
		return d.patched(values, bitWidth(width))
	default:
		if width != 0 {
			width = bitWidth(width)
		}
		return d.delta(values, width)
	}
}

// repeat decodes 3 to 10 equal values.
func (d *integers) repeat(head byte) error {
	v, err := d.in.bigEndian(1 + int(head>>3&7))
	if err != nil {
		return err
	}
	if d.signed {
		v = unzigzag(v)
	}
	for i := range d.values(repeatMin + int(head&7)) {
		d.buffer[i] = v
	}
	return nil
}

// direct decodes values of the same width in bits.
func (d *integers) direct(values []uint64, width int) error {
	if err := d.unpack(values, width); err != nil {
		return err
	}
	if d.signed {
		for i, v := range values {
			values[i] = unzigzag(v)
		}
	}
	return nil
}

// patched decodes values of the same width that are added to a base. Patches have the higher bits of the few values
// that are larger than the width.
func (d *integers) patched(values []uint64, width int) error {
	head, err := d.in.bigEndian(2)
	if err != nil {
		return err
	}
	baseSize, patchWidth := int(head>>13)+1, bitWidth(int(head>>8&0x1f))
	gapWidth, patches := int(head>>5&7)+1, int(head&0x1f)
	if patchWidth+gapWidth > 64 {
		return fmt.Errorf("a patch has %d bits, with %d of its gap: want at most 64 bits", patchWidth, gapWidth)
	}
	base, err := d.in.bigEndian(baseSize)
	if err != nil {
		return err
	}
	if sign := uint64(1) << (8*baseSize - 1); base&sign != 0 {
		base = -(base &^ sign)
	}
	if err := d.unpack(values, width); err != nil {
		return err
	}
	var list [31]uint64
	if err := d.unpack(list[:patches], fixedWidth(patchWidth+gapWidth)); err != nil {
		return err
	}
	at := uint64(0)
	for _, entry := range list[:patches] {
		at += entry >> patchWidth
		// A patch of 0 only adds its gap, which may lead beyond the values of a damaged run.
		patch := entry & (1<<patchWidth - 1)
		if patch == 0 {
			continue
		}
		if at >= uint64(len(values)) {
			return fmt.Errorf("a patch is for the value %d of a run of %d values", at+1, len(values))
		}
		values[at] |= patch << width
	}
	for i := range values {
		values[i] += base
	}
	return nil
}

// delta decodes values by their differences. All have the sign of the first difference. A width of 0 means that the
// differences are equal.
func (d *integers) delta(values []uint64, width int) error {
	base, err := d.varint(d.signed)
	if err != nil {
		return err
	}
	step, err := d.varint(true)
	if err != nil {
		return err
	}
	if width == 0 {
		for i := range values {
			values[i] = base
			base += step
		}
		return nil
	}
	if len(values) < 2 {
		return errors.New("a run of differences has 1 value: want 2 or more")
	}
	if err := d.unpack(values[2:], width); err != nil {
		return err
	}
	values[0], values[1] = base, base+step
	for i := 2; i < len(values); i++ {
		if step>>63 == 1 {
			values[i] = values[i-1] - values[i]
		} else {
			values[i] += values[i-1]
		}
	}
	return nil
}

// unpack reads values of the width in bits, with the highest bit first. They end at a byte's end.
func (d *integers) unpack(values []uint64, width int) error {
	var b byte
	left := 0 // bits of b
	for i := range values {
		var v uint64
		for need := width; need > 0; {
			if left == 0 {
				var err error
				if b, err = d.in.byte(); err != nil {
					return err
				}
				left = 8
			}
			n := min(need, left)
			v = v<<n | uint64(b>>(left-n))&(1<<n-1)
			left -= n
			need -= n
		}
		values[i] = v
	}
	return nil
}

// varint reads an integer of base 128, with the lowest bits first.
func (d *integers) varint(signed bool) (uint64, error) {
	var v uint64
	for shift := 0; ; shift += 7 {
		b, err := d.in.byte()
		if err != nil {
			return 0, err
		}
		if shift == 63 && b > 1 {
			return 0, errors.New("an integer has more than 64 bits")
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			break
		}
	}
	if signed {
		v = unzigzag(v)
	}
	return v, nil
}

// unzigzag returns the number whose sign is the lowest bit of v.
func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// bitWidth returns the number of bits that a width of 5 bits means.
func bitWidth(code int) int {
	if code < 24 {
		return code + 1
	}
	return [...]int{26, 28, 30, 32, 40, 48, 56, 64}[code-24]
}

// fixedWidth returns the smallest width of bitWidth that has n bits.
func fixedWidth(n int) int {
	code := 0
	for bitWidth(code) < n {
		code++
	}
	return bitWidth(code)
}

// byteRuns decodes a stream of run-length encoded bytes.
type byteRuns struct {
	in      *stream
	left    int // values of the run
	literal bool
	value   byte // the value of a repetition
}

func (d *byteRuns) next() (byte, error) {
	if d.left == 0 {
		head, err := d.in.byte()
		if err != nil {
			return 0, err
		}
		d.literal, d.left = head >= 0x80, 0x100-int(head)
		if !d.literal {
			if d.value, err = d.in.byte(); err != nil {
				return 0, err
			}
			d.left = int(head) + repeatMin
		}
	}
	d.left--
	if d.literal {
		return d.in.byte()
	}
	return d.value, nil
}

// bitRuns decodes a stream of booleans, which are the bits of run-length encoded bytes.
type bitRuns struct {
	runs  byteRuns
	value byte // The highest bit is the next boolean.
	left  int
}

func (d *bitRuns) next() (bool, error) {
	if d.left == 0 {
		var err error
		if d.value, err = d.runs.next(); err != nil {
			return false, err
		}
		d.left = 8
	}
	set := d.value&0x80 != 0
	d.value <<= 1
	d.left--
	return set, nil
}

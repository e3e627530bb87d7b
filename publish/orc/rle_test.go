package orc

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// plainStream returns a stream of bytes without compression.
func plainStream(data []byte) *stream {
	src := &source{r: bytes.NewReader(data), free: 1 << 20}
	return &stream{src: src, end: int64(len(data))}
}

func decodeIntegers(data []byte, version int, signed bool, n int) ([]int64, error) {
	d, err := newIntegers(plainStream(data), version, signed)
	if err != nil {
		return nil, err
	}
	var values []int64
	for range n {
		v, err := d.next()
		if err != nil {
			return values, err
		}
		values = append(values, v)
	}
	return values, nil
}

func TestIntegers(t *testing.T) {
	t.Parallel()
	falling := make([]int64, 100)
	for i := range falling {
		falling[i] = int64(100 - i)
	}
	for _, test := range []struct {
		name    string
		version int
		signed  bool
		data    []byte
		want    []int64
	}{
		// The examples of the specification.
		{name: "version 1: equal", version: 1, data: []byte{0x61, 0x00, 0x07}, want: slices.Repeat([]int64{7}, 100)},
		{name: "version 1: falling", version: 1, data: []byte{0x61, 0xff, 0x64}, want: falling},
		{name: "version 1: literals", version: 1, data: []byte{0xfb, 2, 3, 4, 7, 0xb}, want: []int64{2, 3, 4, 7, 11}},
		{
			name: "short repeat", version: 2, data: []byte{0x0a, 0x27, 0x10},
			want: []int64{10000, 10000, 10000, 10000, 10000},
		},
		{
			name: "direct", version: 2, data: []byte{0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef},
			want: []int64{23713, 43806, 57005, 48879},
		},
		{
			name: "patched base", version: 2,
			data: []byte{
				0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e,
				0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
			},
			want: []int64{
				2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160,
				2170, 2180, 2190,
			},
		},
		{
			name: "delta", version: 2, data: []byte{0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46},
			want: []int64{2, 3, 5, 7, 11, 13, 17, 19, 23, 29},
		},

		{name: "version 1: signed", version: 1, signed: true, data: []byte{0x00, 0x80, 0x03}, want: []int64{-2, -130, -258}},
		{
			name: "version 1: extremes", version: 1, signed: true,
			data: []byte{
				0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
				0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
			},
			want: []int64{math.MinInt64, math.MaxInt64},
		},
		{name: "short repeat: signed", version: 2, signed: true, data: []byte{0x00, 0x01}, want: []int64{-1, -1, -1}},
		{
			name: "short repeat: 8 bytes, 10 values", version: 2, signed: true,
			data: append([]byte{0x3f}, bytes.Repeat([]byte{0xff}, 8)...),
			want: slices.Repeat([]int64{math.MinInt64}, 10),
		},
		{name: "direct: one bit", version: 2, data: []byte{0x40, 0x08, 0xa5, 0x80}, want: []int64{1, 0, 1, 0, 0, 1, 0, 1, 1}},
		{
			name: "delta: fixed", version: 2, signed: true, data: []byte{0xc0, 0x03, 0x13, 0x05},
			want: []int64{-10, -13, -16, -19},
		},
		{name: "delta: falling", version: 2, data: []byte{0xc6, 0x03, 0x64, 0x01, 0x23}, want: []int64{100, 99, 97, 94}},
		{name: "delta: one value", version: 2, data: []byte{0xc0, 0x00, 0x05, 0x00}, want: []int64{5}},
		{
			// The base is -3. The width is 2, the patch 3 at the index 1 has the bits above it: 12 is added to 1.
			name: "patched base: negative base", version: 2, signed: true,
			data: []byte{0x82, 0x02, 0x01, 0x01, 0x83, 0x18, 0xe0}, want: []int64{-3, 10, -1},
		},
		{
			name: "several runs", version: 2, data: []byte{0x0a, 0x27, 0x10, 0x00, 0x01},
			want: []int64{10000, 10000, 10000, 10000, 10000, 1, 1, 1},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeIntegers(test.data, test.version, test.signed, len(test.want))
			require.NoError(t, err)
			require.Equal(t, test.want, got)
			_, err = decodeIntegers(test.data, test.version, test.signed, len(test.want)+1)
			require.ErrorIs(t, err, errEnds)
			for n := range test.data {
				_, err = decodeIntegers(test.data[:n], test.version, test.signed, len(test.want))
				require.ErrorIs(t, err, errEnds, "%d bytes", n)
			}
		})
	}
}

// A gap of more than 255 values is several patches, of which the first are 0.
func TestIntegers_PatchBeyond255Values(t *testing.T) {
	t.Parallel()
	// 512 values of 1 bit, a base of 1 byte, and 2 patches of 1 bit with gaps of 8 bits.
	data := []byte{0b10_00000_1, 0xff, 0b000_00000, 0b111_00010, 5}
	data = append(data, make([]byte, 512/8)...)
	// A gap of 255 with the patch 0, and a gap of 10 with the patch 1.
	data = append(data, 0b11111111, 0b0_0000101, 0b01_000000)
	got, err := decodeIntegers(data, 2, false, 512)
	require.NoError(t, err)
	want := slices.Repeat([]int64{5}, 512)
	want[265] = 7
	require.Equal(t, want, got)
}

func TestIntegers_DamagedRunsAreRefused(t *testing.T) {
	t.Parallel()
	tooLong := bytes.Repeat([]byte{0xff}, 10)
	for _, test := range []struct {
		name    string
		version int
		data    []byte
		want    string
	}{
		{name: "literal", version: 1, data: append([]byte{0xff}, tooLong...), want: "more than 64 bits"},
		{name: "base", version: 1, data: append([]byte{0x00, 0x00}, tooLong...), want: "more than 64 bits"},
		{name: "base of differences", version: 2, data: append([]byte{0xc0, 0x00}, tooLong...), want: "more than 64 bits"},
		{name: "difference", version: 2, data: append([]byte{0xc0, 0x00, 1}, tooLong...), want: "more than 64 bits"},
		{name: "differences of one value", version: 2, data: []byte{0xc2, 0x00, 1, 1}, want: "has 1 value"},
		{name: "wide patches", version: 2, data: []byte{0x80, 0x00, 0x1f, 0x01}, want: "a patch has 64 bits, with 1 of"},
		{
			name: "patch beyond the run", version: 2, data: []byte{0x80, 0x00, 0x00, 0x21, 0x05, 0x00, 0b01_1_00000},
			want: "the value 2 of a run of 1 values",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := decodeIntegers(test.data, test.version, false, 1)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestIntegers_DirectValuesOfAllWidths(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := rapid.IntRange(0, 31).Draw(t, "code")
		width := bitWidth(code)
		values := rapid.SliceOfN(rapid.Uint64Max(math.MaxUint64>>(64-width)), 1, runMax).Draw(t, "values")
		signed := rapid.Bool().Draw(t, "signed")
		head := len(values) - 1
		data := []byte{byte(0x40 | code<<1 | head>>8), byte(head)}
		var bit int
		for _, v := range values {
			for i := width - 1; i >= 0; i-- {
				if bit%8 == 0 {
					data = append(data, 0)
				}
				data[len(data)-1] |= byte(v>>i&1) << (7 - bit%8)
				bit++
			}
		}
		got, err := decodeIntegers(data, 2, signed, len(values))
		require.NoError(t, err)
		for i, v := range values {
			if signed {
				v = v>>1 ^ -(v & 1)
			}
			require.Equal(t, int64(v), got[i])
		}
	})
}

func TestWidths(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]int{0: 1, 7: 8, 15: 16, 23: 24, 24: 26, 25: 28, 26: 30, 27: 32, 28: 40, 31: 64} {
		require.Equal(t, want, bitWidth(code))
	}
	for n, want := range map[int]int{1: 1, 23: 23, 24: 24, 25: 26, 29: 30, 31: 32, 33: 40, 41: 48, 57: 64, 64: 64} {
		require.Equal(t, want, fixedWidth(n))
	}
}

func TestByteRuns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		data, want []byte
	}{
		{data: []byte{0x61, 0x00}, want: make([]byte, 100)},
		{data: []byte{0xfe, 0x44, 0x45}, want: []byte{0x44, 0x45}},
		{data: []byte{0x00, 0xff, 0xff, 0x01, 0x00, 0x02}, want: []byte{0xff, 0xff, 0xff, 1, 2, 2, 2}},
	} {
		d := byteRuns{in: plainStream(test.data)}
		for i, want := range test.want {
			got, err := d.next()
			require.NoError(t, err)
			require.Equal(t, want, got, "value %d of %v", i, test.data)
		}
		_, err := d.next()
		require.ErrorIs(t, err, errEnds)
	}
}

func TestBitRuns(t *testing.T) {
	t.Parallel()
	d := bitRuns{runs: byteRuns{in: plainStream([]byte{0xfe, 0x80, 0x41})}}
	for i, want := range "1000000001000001" {
		got, err := d.next()
		require.NoError(t, err)
		require.Equal(t, string(want), map[bool]string{false: "0", true: "1"}[got], strconv.Itoa(i))
	}
	_, err := d.next()
	require.ErrorIs(t, err, errEnds)
}

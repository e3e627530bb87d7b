package orc

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// bigIntegers draws integers of up to 127 bits and their sign, of all lengths.
var bigIntegers = rapid.Custom(func(t *rapid.T) *big.Int {
	v := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "bytes"))
	v.Rsh(v, uint(rapid.IntRange(1, 127).Draw(t, "shift")))
	if rapid.Bool().Draw(t, "negative") {
		v.Neg(v)
	}
	return v
})

// bigZigzag returns the stored bytes of a decimal number.
func bigZigzag(v *big.Int) []byte {
	n := new(big.Int).Lsh(v, 1)
	if v.Sign() < 0 {
		n.Not(n)
	}
	var b []byte
	for mask := big.NewInt(0x7f); ; n.Rsh(n, 7) {
		part := byte(new(big.Int).And(n, mask).Uint64())
		if n.BitLen() <= 7 {
			return append(b, part)
		}
		b = append(b, part|0x80)
	}
}

func TestDecimals_AreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := bigIntegers.Draw(t, "v")
		high, low, negative, err := bigVarint(plainStream(bigZigzag(v)))
		require.NoError(t, err)
		require.Equal(t, v.Sign() < 0, negative)
		digits := appendDigits(nil, high, low)
		require.Equal(t, new(big.Int).Abs(v).String(), string(digits))

		scale := rapid.IntRange(-decimalScaleMax, decimalScaleMax).Draw(t, "scale")
		want := rapid.IntRange(0, scaleMax).Draw(t, "want")
		text, err := appendScaled(nil, digits, scale, want)
		exact := new(big.Rat).SetInt(new(big.Int).Abs(v))
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
		if scale < 0 {
			exact.Mul(exact, new(big.Rat).SetInt(ten))
		} else {
			exact.Quo(exact, new(big.Rat).SetInt(ten))
		}
		if err != nil {
			rounded, _ := new(big.Rat).SetString(exact.FloatString(want))
			require.NotZero(t, rounded.Cmp(exact), "an exact number is not refused")
			return
		}
		require.Equal(t, exact.FloatString(want), string(text))
		got, _ := new(big.Rat).SetString(string(text))
		require.Zero(t, got.Cmp(exact))
	})
}

func TestBigVarint_TheLargestNumbers(t *testing.T) {
	t.Parallel()
	most := append(strings.Split(strings.Repeat("\xff", 18), ""), "\x03")
	high, low, negative, err := bigVarint(plainStream([]byte(strings.Join(most, ""))))
	require.NoError(t, err)
	require.True(t, negative)
	require.Equal(t, "170141183460469231731687303715884105728", string(appendDigits(nil, high, low)))
	_, _, _, err = bigVarint(plainStream([]byte(strings.Repeat("\x80", 18) + "\x04")))
	require.ErrorContains(t, err, "more than 128 bits")
}

func TestNanoseconds(t *testing.T) {
	t.Parallel()
	for stored, want := range map[int64]int64{
		0: 0, 0x0a: 1000, 0x0c: 100000, 1000 << 3: 1000, 5<<3 | 7: 500000000, 999999<<3 | 2: 999999000, -5<<3 | 7: -500000000,
	} {
		got, err := nanoseconds(stored)
		require.NoError(t, err)
		require.Equal(t, want, got, stored)
	}
}

func TestZoneOf(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 7, 1, 0, 0, 0, 0, time.UTC)
	for name, hours := range map[string]float64{
		"": 0, "Z": 0, "UTC": 0, "GMT": 0, "Asia/Shanghai": 8, "America/New_York": -4, "GMT+08:00": 8, "UTC+8": 8,
		"+05:30": 5.5, "-0930": -9.5, "GMT-03:00": -3, "Etc/GMT+3": -3,
	} {
		zone, err := zoneOf(name)
		require.NoError(t, err, name)
		_, offset := at.In(zone).Zone()
		require.InDelta(t, hours*3600, offset, 0, name)
	}
}

package format

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestColumn_Holds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		column    Column
		good, bad []string
	}{
		{
			Column{Type: Text},
			[]string{"", "a", "日", "\x00", "\uFFFD"},
			[]string{"\xff", "a\xc3", "\xed\xa0\x80"},
		},
		{
			Column{Type: Integer},
			[]string{"0", "-0", "7", "-12", "-9223372036854775808", "18446744073709551615", "9999999999999999999"},
			[]string{"", "-", "+1", "01", "00", "1.0", "1.", ".1", "1e3", " 1", "1 ", "0x1", "1_0", "-9223372036854775809",
				"18446744073709551616", "100000000000000000000", "NaN", "\x00"},
		},
		{
			Column{Type: Decimal, Scale: 2},
			[]string{"0", "-12.50", "1.5", "0.00", "-0.00", strings.Repeat("1234567890", 6) + ".45"},
			[]string{"", "1.505", "1.", ".5", "01.00", "1e2", "1,50", "-", "--1", "1.5.0", "1.-5"},
		},
		{
			Column{Type: Decimal},
			[]string{"0", "-12"},
			[]string{"1.0", "1.5"},
		},
		{
			Column{Type: Float},
			[]string{"0", "-0", "1.5e-07", "1e+06", "1E3", "-12.25", "1e0"},
			[]string{"", "NaN", "Inf", "-Inf", "+Inf", "1e", "1e+", "e5", "1.e5", ".5", "0x1p-2", "1_000", "1e5.5", "infinity"},
		},
		{
			Column{Type: Bool},
			[]string{"0", "1"},
			[]string{"", "2", "00", "true", "t"},
		},
		{
			Column{Type: Day},
			[]string{"0001-01-01", "2026-11-29", "2024-02-29", "2000-02-29", "9999-12-31"},
			[]string{"", "0000-00-00", "0000-01-01", "2026-02-29", "1900-02-29", "2026-13-01", "2026-00-01", "2026-04-31",
				"2026-01-00", "2026-1-1", "20261129", "2026/11/29", "2026-11-29 ", "2026-11-2x", "x026-11-29", "20x6-11-29"},
		},
		{
			Column{Type: Time},
			[]string{"2026-11-29 00:00:00", "2026-11-29 23:59:59.9", "2026-11-29 23:59:59.123456"},
			[]string{"", "2026-11-29", "2026-11-29T00:00:00", "2026-11-29 24:00:00", "2026-11-29 00:60:00",
				"2026-11-29 00:00:60", "2026-11-29 00:00:00.", "2026-11-29 00:00:00.1234567",
				"2026-11-29 00:00:00Z", "2026-11-29 00:00:00.12x",
				"2026-02-30 00:00:00", "2026-11-29 00:00", "2026-11-29 00-00-00", "2026-11-29 0x:00:00", "2026-11-29 00:00:00,5"},
		},
		{Column{Type: Time + 1}, nil, []string{"", "1"}},
	} {
		for _, good := range c.good {
			require.True(t, c.column.Holds([]byte(good)), "type %d: %q", c.column.Type, good)
		}
		for _, bad := range c.bad {
			require.False(t, c.column.Holds([]byte(bad)), "type %d: %q", c.column.Type, bad)
		}
	}
}

// What the standard library makes of numbers is held, and what is held is a number of JSON.
func TestColumn_HoldsNumbers(t *testing.T) {
	t.Parallel()
	integer, float, decimal := Column{Type: Integer}, Column{Type: Float}, Column{Type: Decimal, Scale: 30}
	rapid.Check(t, func(t *rapid.T) {
		require.True(t, integer.Holds(strconv.AppendInt(nil, rapid.Int64().Draw(t, "int64"), 10)))
		require.True(t, integer.Holds(strconv.AppendUint(nil, rapid.Uint64().Draw(t, "uint64"), 10)))
		f := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "float64")
		require.True(t, float.Holds(strconv.AppendFloat(nil, f, 'g', -1, 64)))
		text := rapid.StringMatching(`[-+]?[0-9]{0,3}\.?[0-9]{0,3}([eE][-+]?[0-9]{0,2})?`).Draw(t, "text")
		require.Equal(t, json.Valid([]byte(text)), float.Holds([]byte(text)), "%q", text)
		plain := !strings.ContainsAny(text, "eE")
		require.Equal(t, json.Valid([]byte(text)) && plain, decimal.Holds([]byte(text)), "%q", text)
	})
}

func TestDayOf_IsTheDayOfTheCalendar(t *testing.T) {
	t.Parallel()
	for _, year := range []int{1, 1600, 9600} { // The calendar repeats after 400 years.
		for day := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < year+400; day = day.AddDate(0, 0, 1) {
			days, ok := dayOf([]byte(day.Format(time.DateOnly)))
			if !ok || int64(days)*86_400 != day.Unix() {
				require.Fail(t, "wrong day", "%s is %d, %t", day, days, ok)
			}
		}
	}
}

func TestMicrosOf_IsTheTimeOfTheCalendar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := drawTime(t, "time")
		for _, fraction := range []string{"", ".999999", ".000000", ".000"} {
			layout := time.DateTime + fraction
			text := at.Format(layout)
			want, err := time.Parse(layout, text)
			require.NoError(t, err)
			micros, ok := microsOf([]byte(text))
			require.True(t, ok, text)
			require.Equal(t, want.UnixMicro(), micros, text)
		}
	})
}

func TestSignificantDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"0": 0, "-0.00": 0, "7": 1, "100": 3, "-120": 3, "1.00": 1, "1.50": 2, "100.00": 3, "0.001": 1, "0.0010": 1,
		"100.001": 6, "123456789012345": 15, "-1234567890123456": 16, "0.000000000000001": 1, "10.01000": 4,
	} {
		require.Equal(t, want, significantDigits([]byte(text)), text)
	}
}

// A double keeps each decimal of up to 15 significant digits.
func TestSignificantDigits_AreWhatADoubleKeeps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := drawDecimal(t, rapid.IntRange(0, 20).Draw(t, "scale"))
		if significantDigits([]byte(text)) > xlsxIntegerMax {
			return
		}
		f, err := strconv.ParseFloat(text, 64)
		require.NoError(t, err)
		want, _ := new(big.Rat).SetString(text)
		got, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', 15, 64))
		require.Zero(t, want.Cmp(got), text)
	})
}

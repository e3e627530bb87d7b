package wire_test

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/metric"
	"adsync/media/wire"
)

func TestDecimal_ScalesExactly(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		json   string
		places int
		want   int64
	}{
		{`"12.34"`, 6, 12_340_000},
		{`300.5`, 2, 30_050},
		{`0.29`, 2, 29}, // 0.29 × 100 is 28.999… in floats
		{`"0.00"`, 6, 0},
		{`-1.005`, 2, -101},
		{`3e2`, 0, 300},
		{`3E-1`, 2, 30},
		{`0.004`, 2, 0},
		{`0.005`, 2, 1},
		{`0.05`, 0, 0},
		{`9223372036854775807`, 0, 9223372036854775807},
		{`92233720368547758.07`, 2, 9223372036854775807},
		{`0e40`, 6, 0},
	} {
		var d wire.Decimal
		require.NoError(t, json.Unmarshal([]byte(test.json), &d), test.json)
		got, err := d.Scaled(test.places)
		require.NoError(t, err, test.json)
		require.Equal(t, test.want, got, test.json)
	}
}

func TestDecimal_RefusesTextAndTooLargeNumbers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`"abc"`, `"1,000"`, `"."`, `".5"`, `"1e"`, `"1e999999999"`, `"１２"`, `true`, `[1]`, `{}`,
		`"1.2.3"`, `"NaN"`, `" 1"`, `"+1"`} {
		var d wire.Decimal
		require.Error(t, json.Unmarshal([]byte(text), &d), text)
	}
	for _, text := range []string{`9223372036854775808`, `1e19`, `99999999999999999999`} {
		var d wire.Decimal
		require.NoError(t, json.Unmarshal([]byte(text), &d), text)
		_, err := d.Scaled(0)
		require.Error(t, err, text)
	}
}

func TestDecimal_AgreesWithRationalArithmetic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,10}(\.[0-9]{1,9})?([eE][+-]?[0-9])?`).Draw(t, "text")
		places := rapid.IntRange(0, 6).Draw(t, "places")
		d, err := wire.ParseDecimal(text)
		require.NoError(t, err)
		got, err := d.Scaled(places)
		exact, ok := new(big.Rat).SetString(text)
		require.True(t, ok)
		exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)))
		// FloatString rounds half away from zero too.
		want, ok := new(big.Int).SetString(exact.FloatString(0), 10)
		require.True(t, ok)
		if !want.IsInt64() || len(new(big.Int).Abs(want).String()) > 18 {
			return
		}
		require.NoError(t, err)
		require.Equal(t, want.Int64(), got)
	})
}

func TestInt_TakesWholeNumbersOnly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]wire.Int{
		`12`: {Value: 12, Set: true}, `"12"`: {Value: 12, Set: true}, `"12.00"`: {Value: 12, Set: true},
		`1e3`: {Value: 1000, Set: true}, `null`: {}, `""`: {}, `0`: {Set: true}, `"0.00"`: {Set: true},
	} {
		var n wire.Int
		require.NoError(t, json.Unmarshal([]byte(text), &n), text)
		require.Equal(t, want, n, text)
	}
	for _, text := range []string{`1.5`, `"0.1"`, `1e-1`, `"x"`} {
		var n wire.Int
		require.Error(t, json.Unmarshal([]byte(text), &n), text)
	}
}

func TestID_KeepsEveryDigit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]wire.ID{
		`7300000000000000001`: "7300000000000000001", `"7300000000000000001"`: "7300000000000000001",
		`"a_1-b:2"`: "a_1-b:2", `null`: "", `""`: "", `0`: "", `"0"`: "",
	} {
		var id wire.ID
		require.NoError(t, json.Unmarshal([]byte(text), &id), text)
		require.Equal(t, want, id, text)
	}
	for _, text := range []string{`1.5`, `1e3`, `-1`, `"日"`, `"a b"`, `true`, `"` + strings.Repeat("9", 65) + `"`} {
		var id wire.ID
		require.Error(t, json.Unmarshal([]byte(text), &id), text)
	}
}

func TestFigures_LeaveMissingFiguresUnset(t *testing.T) {
	t.Parallel()
	figures := wire.Figures{
		{Field: "cost", Metric: "cost", Unit: wire.Fen},
		{Field: "pay", Metric: "pay_amount", Unit: wire.Yuan, Inexact: true},
		{Field: "clicks", Metric: "clicks"}, {Field: "installs", Metric: "installs"},
	}
	var row map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(`{"cost":29866,"pay":"12.345","clicks":"7","installs":null,"more":[1]}`),
		&row))
	raw, values, bad := figures.Read(row)
	require.Empty(t, bad)
	require.Equal(t, []any{int64(29866), int64(1235), int64(7), nil}, raw)
	for name, want := range map[string]int64{"cost": 298_660_000, "pay_amount": 12_345_000, "clicks": 7} {
		got, set := values.Get(metric.Index(name))
		require.True(t, set, name)
		require.Equal(t, want, got, name)
	}
	_, set := values.Get(metric.Index("installs"))
	require.False(t, set)
	require.Equal(t, "pay_fen", figures.Columns()[1].Name)

	_, _, bad = figures.Read(map[string]json.RawMessage{"clicks": json.RawMessage(`1.5`)})
	require.Equal(t, "clicks", bad[0].Field)
}

func TestCut_CountsCharactersNotBytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("广", 300)
	require.Equal(t, strings.Repeat("广", 255), wire.Cut(long))
	require.Equal(t, "x", wire.Cut("x"))
	require.Nil(t, wire.Text(""))
}

func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"1", "-1.5", "1e9", "0.000", "99999999999999999999e-5", "1e-40", "e", "-"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(_ *testing.T, text string, places int) {
		d, err := wire.ParseDecimal(text)
		if err != nil {
			return
		}
		_, _ = d.Scaled(places % 20)
		_, _ = d.Int()
	})
}

func TestTextID_TakesPaths(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]wire.TextID{
		`"web.business.image/2026#1"`: "web.business.image/2026#1", `12345678901234567890`: "12345678901234567890",
		`null`: "", `""`: "", `0`: "",
	} {
		var id wire.TextID
		require.NoError(t, json.Unmarshal([]byte(text), &id), text)
		require.Equal(t, want, id)
	}
	for _, text := range []string{`"a b"`, `"图"`, `true`, `{}`, `"` + strings.Repeat("x", 65) + `"`} {
		var id wire.TextID
		require.Error(t, json.Unmarshal([]byte(text), &id), text)
	}
}

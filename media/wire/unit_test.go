package wire_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"math/big"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/fund"
	"adsync/base/metric"
	"adsync/media/wire"
)

// unitFacts are the facts of a unit of money, written down a second time.
type unitFacts struct {
	unit   wire.Unit
	column string // of a field "cost"
	// perUnit is how many units the currency has, and perKept how many of the raw column's units.
	perUnit, perKept int64
}

var unitsOfMoney = []unitFacts{
	{wire.Fen, "cost_fen", 100, 100},
	{wire.Li, "cost_li", 1_000, 1_000},
	{wire.MilliFen, "cost_millifen", 100_000, 100_000},
	{wire.Yuan, "cost_fen", 1, 100},
	{wire.Major, "cost_micros", 1, 1_000_000},
}

// read reads one cost.
func (u unitFacts) read(value string, inexact bool) (raw any, micros int64, set bool, bad []wire.Fault) {
	figures := wire.Figures{{Field: "cost", Metric: "cost", Unit: u.unit, Inexact: inexact}}
	kept, values, bad := figures.Read(map[string]json.RawMessage{"cost": json.RawMessage(value)})
	micros, set = values.Get(metric.Cost)
	return kept[0], micros, set, bad
}

func TestUnit_GoldenValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unit   wire.Unit
		json   string
		micros int64
		raw    int64
	}{
		{wire.Fen, `1234`, 12_340_000, 1234},
		{wire.Fen, `76.0`, 760_000, 76},
		{wire.Li, `35000`, 35_000_000, 35_000},
		{wire.MilliFen, `12345000`, 123_450_000, 12_345_000},
		{wire.MilliFen, `"1"`, 10, 1},
		{wire.Yuan, `6.02`, 6_020_000, 602},
		{wire.Yuan, `"0.29"`, 290_000, 29}, // 0.29 × 100 is 28.999… in floats
		{wire.Yuan, `1e3`, 1_000_000_000, 100_000},
		{wire.Yuan, `12.3400`, 12_340_000, 1234},
		{wire.Major, `"1234"`, 1_234_000_000, 1_234_000_000},         // JPY, KRW
		{wire.Major, `1.234`, 1_234_000, 1_234_000},                  // KWD
		{wire.Major, `99999999999`, 99_999_999_999e6, 99999999999e6}, // VND
	} {
		raw, micros, set, bad := facts(c.unit).read(c.json, false)
		require.Empty(t, bad, c.json)
		require.True(t, set, c.json)
		require.Equal(t, c.micros, micros, c.json)
		require.Equal(t, c.raw, raw, c.json)
	}
}

func facts(unit wire.Unit) unitFacts {
	for _, u := range unitsOfMoney {
		if u.unit == unit {
			return u
		}
	}
	panic(unit)
}

func TestUnit_NamesTheColumn(t *testing.T) {
	t.Parallel()
	for _, u := range unitsOfMoney {
		require.Equal(t, u.column, u.unit.Column("cost").Name)
		require.NotEmpty(t, u.unit.String())
	}
	require.Equal(t, "clicks", wire.Count.Column("clicks").Name)
}

// aMoney draws the JSON of a number: with or without a fraction, an exponent and quotation marks.
func aMoney(t *rapid.T) (text, number string) {
	number = rapid.StringMatching(`-?(0|[1-9][0-9]{0,5})(\.[0-9]{1,9})?([eE][+-]?[0-3])?`).Draw(t, "number")
	if rapid.Bool().Draw(t, "as text") {
		return strconv.Quote(number), number
	}
	return number, number
}

// rounded returns a number × per as an integer, rounded half away from zero, and whether it is exact.
func rounded(number string, per int64) (n int64, exact bool) {
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		panic(number)
	}
	r.Mul(r, new(big.Rat).SetInt64(per))
	n, err := strconv.ParseInt(r.FloatString(0), 10, 64)
	if err != nil {
		panic(err)
	}
	return n, r.IsInt()
}

// Each unit agrees with rational arithmetic: a column holds exactly the value, or it is unset and a fault says why.
func TestUnit_IsExactOrAFault(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom(unitsOfMoney).Draw(t, "unit")
		text, number := aMoney(t)
		wantMicros, public := rounded(number, 1_000_000/u.perUnit)
		wantRaw, kept := rounded(number, u.perKept/u.perUnit)

		raw, micros, set, bad := u.read(text, false)
		amounts := wire.Amounts{{Field: "cost", Kind: fund.Cash, Is: fund.Balance, Unit: u.unit}}
		rawAmount, funds, badAmount := amounts.Read(map[string]json.RawMessage{"cost": json.RawMessage(text)}, "")
		row := wire.Open([]byte(`{"cost":` + text + `}`))
		column := row.Money("cost", u.unit)
		require.Equal(t, []any{raw}, rawAmount)
		require.Equal(t, fund.Amount{Micros: micros, Set: set}, funds[0].Values[fund.Balance])
		require.Len(t, badAmount, len(bad))
		if kept {
			require.Equal(t, wantRaw, column)
			require.Empty(t, row.Faults())
		} else {
			require.Nil(t, column)
			require.Len(t, row.Faults(), 1)
		}
		switch {
		case !public:
			require.False(t, set)
			require.Nil(t, raw)
			require.Len(t, bad, 1)
			require.Equal(t, wire.FigureFault, bad[0].Kind)
			require.Equal(t, "cost", bad[0].Metric)
			require.Contains(t, bad[0].Why, number)
		case !kept:
			require.Equal(t, wantMicros, micros)
			require.Nil(t, raw)
			require.Len(t, bad, 1)
			require.Equal(t, wire.AttributeFault, bad[0].Kind, "the public column holds the figure")
			require.Empty(t, bad[0].Metric)
		default:
			require.Equal(t, wantMicros, micros)
			require.Equal(t, wantRaw, raw)
			require.Empty(t, bad)
		}

		raw, micros, set, bad = u.read(text, true)
		require.True(t, set)
		require.Equal(t, wantMicros, micros, "an inexact figure is rounded")
		require.Equal(t, wantRaw, raw)
		require.Empty(t, bad)
	})
}

// Whatever text a platform writes for an amount, it is the same amount.
func TestUnit_ReadsEveryTextOfAnAmountAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := rapid.SampledFrom(unitsOfMoney).Draw(t, "unit")
		kept := rapid.Int64Range(-1e12, 1e12).Draw(t, "kept") // in the raw column's unit
		value := new(big.Rat).SetFrac64(kept, u.perKept/u.perUnit)
		plain := value.FloatString(rapid.IntRange(6, 9).Draw(t, "zeros"))
		exponent := rapid.IntRange(0, 9).Draw(t, "exponent")
		tenth := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil))
		for _, text := range []string{plain, strconv.Quote(plain), strings.TrimRight(plain, "0") + "0",
			tenth.Mul(tenth, value).FloatString(20) + "e" + strconv.Itoa(exponent)} {
			raw, micros, set, bad := u.read(text, false)
			require.Empty(t, bad, text)
			require.True(t, set, text)
			require.Equal(t, kept, raw, text)
			require.Equal(t, kept*(1_000_000/u.perKept), micros, text)
		}
	})
}

// The platform's own sums are only compared with the rows, so that the noise of a float does not matter.
func TestFigures_SumsMayBeRounded(t *testing.T) {
	t.Parallel()
	figures := wire.Figures{{Field: "cost", Metric: "cost", Unit: wire.Yuan}}
	row := map[string]json.RawMessage{"cost": json.RawMessage(`0.30000000000000004`)}
	sums, bad := figures.Sums(row)
	require.Empty(t, bad)
	got, _ := sums.Get(metric.Cost)
	require.EqualValues(t, 300_000, got)
	_, _, bad = figures.Read(row)
	require.Len(t, bad, 1)
	require.Equal(t, "0.30000000000000004 has more than 6 decimal places", bad[0].Why)
}

// Amounts never pass through a float, which does not hold them exactly.
func TestPackages_HaveNoFloats(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "../../base/money", "../../base/metric", "../../base/fund"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					require.NotContains(t, strings.ToLower(id.Name), "float", name)
				}
				return true
			})
		}
	}
}

package money_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/money"
)

func TestFormat_HasTheDecimalsOfTheCurrency(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount   int64
		currency string
		want     string
	}{
		{-1_234_500_000, "CNY", "-1,234.50"},
		{1_234_567_899_999, "USD", "1,234,567.89"},
		{1_234_567_899_999, "", "1,234,567.89"},
		{1_234_567_899_999, "JPY", "1,234,567"},
		{1_234_567_899_999, "KRW", "1,234,567"},
		{1_234_567_899_999, "KWD", "1,234,567.899"},
		{-5_000, "KWD", "-0.005"},
		{-5_000, "CNY", "0.00"},
		{-900_000, "JPY", "0"},
		{0, "CLF", "0.0000"},
		{-9_223_372_036_854_775_808, "CNY", "-9,223,372,036,854.77"},
	} {
		require.Equal(t, c.want, money.Format(c.amount, c.currency), "%d %s", c.amount, c.currency)
	}
}

// A text plus what was cut off, which is less than the smallest amount, is the amount.
func TestFormat_CutsOffLessThanTheSmallestAmount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64().Draw(t, "amount")
		currency := rapid.SampledFrom([]string{"CNY", "USD", "JPY", "KRW", "KWD", "CLF", "?"}).Draw(t, "currency")
		shown, ok := new(big.Rat).SetString(strings.ReplaceAll(money.Format(amount, currency), ",", ""))
		require.True(t, ok)
		rest := new(big.Rat).SetFrac64(amount, 1_000_000)
		rest.Sub(rest, shown)
		require.Negative(t, rest.Abs(rest).Cmp(new(big.Rat).SetFrac64(money.Smallest(currency), 1_000_000)))
		require.GreaterOrEqual(t, shown.Sign()*sign(amount), 0)
	})
}

func sign(n int64) int {
	if n < 0 {
		return -1
	}
	return 1
}

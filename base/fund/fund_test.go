package fund_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"adsync/base/fund"
)

func row(kind fund.Kind, balance, valid fund.Amount) fund.Row {
	r := fund.Row{Kind: kind}
	r.Values[fund.Balance], r.Values[fund.ValidBalance] = balance, valid
	return r
}

func TestGather_AddsUpRowsOfOneKind(t *testing.T) {
	t.Parallel()
	require.Equal(t, []fund.Row{
		row(fund.Cash, fund.Of(5), fund.Amount{}),
		row(fund.Grant, fund.Of(3), fund.Of(3)),
		row(fund.Total, fund.Of(8), fund.Amount{}),
	}, fund.Gather([]fund.Row{
		row(fund.Grant, fund.Of(1), fund.Of(1)), row(fund.Cash, fund.Of(5), fund.Amount{}),
		row(fund.Grant, fund.Of(2), fund.Of(2)),
	}), "the total that can be spent is unknown if that of a part is")
}

func TestGather_KeepsAPlatformsOwnTotal(t *testing.T) {
	t.Parallel()
	rows := []fund.Row{row(fund.Cash, fund.Of(5), fund.Of(4)), row(fund.Total, fund.Of(9), fund.Amount{})}
	require.Equal(t, rows, fund.Gather(rows))
	require.Empty(t, fund.Gather(nil), "an account without reports has no total of 0")
}

func TestGather_HasEachKindOnceInTheOrderOfTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var rows []fund.Row
		for range rapid.IntRange(0, 12).Draw(t, "rows") {
			kind := fund.Kinds[rapid.IntRange(0, len(fund.Kinds)-2).Draw(t, "kind")].Kind
			rows = append(rows, row(kind, fund.Of(rapid.Int64Range(-100, 100).Draw(t, "balance")), fund.Amount{}))
		}
		var sum, parts int64
		for _, r := range rows {
			sum += r.Values[fund.Balance].Micros
		}
		last := -1
		for _, r := range fund.Gather(rows) {
			at := -1
			for i, k := range fund.Kinds {
				if k.Kind == r.Kind {
					at = i
				}
			}
			require.Greater(t, at, last)
			last = at
			if r.Kind == fund.Total {
				require.Equal(t, fund.Of(sum), r.Values[fund.Balance])
				continue
			}
			parts += r.Values[fund.Balance].Micros
		}
		require.Equal(t, sum, parts)
	})
}

package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media/wire"
)

func TestAmounts_ConvertEveryUnitToMillionthsAndKeepTheColumns(t *testing.T) {
	t.Parallel()
	amounts := wire.Amounts{
		{Field: "balance", Kind: fund.Total, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "cash", Kind: fund.Cash, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "valid_cash", Kind: fund.Cash, Is: fund.ValidBalance, Unit: wire.Yuan}, {Field: "locked", Unit: wire.Yuan},
		{Field: "left", Is: fund.Paid, Unit: wire.Fen},
	}
	require.Equal(t, rawtable.Column{Name: "valid_cash_fen", Kind: rawtable.Int}, amounts.Columns()[2])
	var row map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(`{"balance":1.234567e4,"cash":-0.1,"locked":7,"left":3,"more":{}}`), &row))
	raw, funds, bad := amounts.Read(row, fund.Grant)
	require.Empty(t, bad)
	require.Equal(t, []any{int64(1_234_567), int64(-10), nil, int64(700), int64(3)}, raw)
	total, cash, grant := fund.Row{Kind: fund.Total}, fund.Row{Kind: fund.Cash}, fund.Row{Kind: fund.Grant}
	total.Values[fund.Balance] = fund.Of(12_345_670_000)
	cash.Values[fund.Balance] = fund.Of(-100_000)
	grant.Values[fund.Paid] = fund.Of(30_000)
	require.Equal(t, []fund.Row{total, cash, grant}, funds)

	// Amounts of the same kind and column are added up; the sum is unset when one of them is.
	rebates := wire.Amounts{
		{Field: "direct", Kind: fund.Grant, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "contract", Kind: fund.Grant, Is: fund.Balance, Unit: wire.Yuan},
	}
	for text, want := range map[string]fund.Amount{`{"direct":1.5,"contract":2}`: fund.Of(3_500_000), `{"direct":1.5}`: {},
		`{"contract":2}`: {}} {
		clear(row)
		require.NoError(t, json.Unmarshal([]byte(text), &row))
		_, funds, bad = rebates.Read(row, "")
		require.Empty(t, bad)
		require.Len(t, funds, 1)
		require.Equal(t, want, funds[0].Values[fund.Balance], text)
	}

	for _, bad := range []string{`{"cash":"many"}`, `{"cash":1e19}`, `{"cash":[1]}`, `{"cash":true}`} {
		clear(row)
		require.NoError(t, json.Unmarshal([]byte(bad), &row))
		raw, funds, faults := amounts.Read(row, fund.Grant)
		require.Len(t, faults, 1, bad)
		require.Equal(t, "cash", faults[0].Field, bad)
		require.Equal(t, wire.FigureFault, faults[0].Kind, bad)
		require.Nil(t, raw[1], bad)
		require.False(t, funds[1].Values[fund.Balance].Set, bad)
	}
}

func TestAmounts_LeaveUnsetWhatTheRowLacks(t *testing.T) {
	t.Parallel()
	amounts := wire.Amounts{{Field: "balance", Kind: fund.Cash, Is: fund.Balance, Unit: wire.Yuan}}
	for _, text := range []string{`{}`, `{"balance":null}`, `{"balance":""}`} {
		var row map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(text), &row))
		raw, funds, bad := amounts.Read(row, "")
		require.Empty(t, bad)
		require.Equal(t, []any{nil}, raw, text)
		require.Equal(t, []fund.Row{{Kind: fund.Cash}}, funds, text)
	}
}

package simclient

import (
	"encoding/json"
	"net/url"
	"testing"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/media/mediatest"
	"adsync/standalone/verify"

	"github.com/stretchr/testify/require"
)

// rowsOf returns the rows that a public table with these fields must hold.
func rowsOf(money []verify.Money, fields []fund.Field) (rows []fund.Row) {
	for _, m := range money {
		row := fund.Row{Kind: fund.Kind(m.Fund)}
		for _, f := range fields {
			if value, ok := m.Columns[f.Column()]; ok {
				row.Values[f] = fund.Of(value)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (w World) balance(t *testing.T, account string) []fund.Row {
	t.Helper()
	var lines []json.RawMessage
	for _, f := range w.Truth(t, url.Values{"kind": {"balance"}, "account": {account}}) {
		lines = append(lines, f.line)
	}
	money, err := verify.Balance(w.Media, lines)
	require.NoError(t, err)
	return rowsOf(money, fund.BalanceFields)
}

func (w World) flow(t *testing.T, account string, from, to day.Day) (flows []mediatest.Flow) {
	t.Helper()
	var days []day.Day
	lines := map[day.Day][]json.RawMessage{}
	for _, f := range w.Truth(t, url.Values{"kind": {"fund_daily"}, "account": {account}, "from": {from.String()},
		"to": {to.String()}}) {
		d := day.Day(f.Day)
		if lines[d] == nil {
			days = append(days, d)
		}
		lines[d] = append(lines[d], f.line)
	}
	for _, d := range days {
		money, err := verify.Flow(w.Media, lines[d])
		require.NoError(t, err)
		flows = append(flows, mediatest.Flow{Day: d, Funds: rowsOf(money, fund.DailyFields)})
	}
	return flows
}

package platforms_test

import (
	"net/url"
	"testing"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/media/mediatest"
	"adsync/media/oceanengine"
	"adsync/media/tencent"
)

// money is what a line of the truth says of one kind of money, in millionths.
type money struct {
	Fund         string `json:"fund"`
	Balance      int64  `json:"balance"`
	ValidBalance int64  `json:"valid_balance"`
	Deposit      int64  `json:"deposit"`
	Paid         int64  `json:"paid"`
	TransferIn   int64  `json:"transfer_in"`
	TransferOut  int64  `json:"transfer_out"`
}

// kindsOf are a line of the truth for each kind of money of the public tables, in their order: what came through a bank is cash, and Tencent tells
// of money of other types, which this world has none of.
func (w world) kindsOf(lines []money) []money {
	byKind := map[fund.Kind]*money{fund.Cash: {Fund: string(fund.Cash)}, fund.Grant: {Fund: string(fund.Grant)}}
	for _, m := range lines {
		kind := fund.Kind(m.Fund)
		if kind == "bank" {
			kind = fund.Cash
		}
		k := byKind[kind]
		k.Balance, k.ValidBalance = k.Balance+m.Balance, k.ValidBalance+m.ValidBalance
		k.Deposit, k.Paid = k.Deposit+m.Deposit, k.Paid+m.Paid
		k.TransferIn, k.TransferOut = k.TransferIn+m.TransferIn, k.TransferOut+m.TransferOut
	}
	kinds := []money{*byKind[fund.Cash], *byKind[fund.Grant]}
	if w.media == tencent.Name {
		kinds = append(kinds, money{Fund: string(fund.Other)})
	}
	return kinds
}

// rowsOf are a row for each line of the truth, and one for their sum, with the fields that the platform tells.
func rowsOf(lines []money, tells func(fund.Kind, fund.Field) bool, fields []fund.Field) (rows []fund.Row) {
	total := money{Fund: string(fund.Total)}
	for _, m := range lines {
		total.Balance, total.ValidBalance = total.Balance+m.Balance, total.ValidBalance+m.ValidBalance
		total.Deposit, total.Paid = total.Deposit+m.Deposit, total.Paid+m.Paid
		total.TransferIn, total.TransferOut = total.TransferIn+m.TransferIn, total.TransferOut+m.TransferOut
	}
	for _, m := range append(lines, total) {
		row := fund.Row{Kind: fund.Kind(m.Fund)}
		values := map[fund.Field]int64{
			fund.Balance: m.Balance, fund.ValidBalance: m.ValidBalance, fund.Deposit: m.Deposit, fund.Paid: m.Paid,
			fund.TransferIn: m.TransferIn, fund.TransferOut: m.TransferOut,
		}
		for _, f := range fields {
			if tells(row.Kind, f) {
				row.Values[f] = fund.Of(values[f])
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func (w world) balance(t *testing.T, account string) []fund.Row {
	t.Helper()
	var lines []money
	for _, f := range w.truth(t, url.Values{"kind": {"balance"}, "account": {account}}) {
		lines = append(lines, f.money)
	}
	// Tencent does not say what can be spent.
	tells := func(_ fund.Kind, f fund.Field) bool { return f == fund.Balance || w.media == oceanengine.Name }
	return rowsOf(w.kindsOf(lines), tells, fund.BalanceFields)
}

func (w world) flow(t *testing.T, account string, from, to day.Day) (flows []mediatest.Flow) {
	t.Helper()
	var days []day.Day
	lines := map[day.Day][]money{}
	for _, f := range w.truth(t, url.Values{"kind": {"fund_daily"}, "account": {account}, "from": {from.String()}, "to": {to.String()}}) {
		d := day.Day(f.Day)
		if lines[d] == nil {
			days = append(days, d)
		}
		lines[d] = append(lines[d], f.money)
	}
	// Ocean Engine tells of the kinds what was spent and what is left, and everything of all money.
	tells := func(k fund.Kind, f fund.Field) bool {
		return w.media != oceanengine.Name || k == fund.Total || f == fund.Paid || f == fund.Balance
	}
	for _, d := range days {
		flows = append(flows, mediatest.Flow{Day: d, Funds: rowsOf(w.kindsOf(lines[d]), tells, fund.DailyFields)})
	}
	return flows
}

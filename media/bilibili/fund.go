package bilibili

import (
	"context"
	"net/url"
	"time"

	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// STACK has the call for the balance. GUIDE names the one for the cash flow (获取账户流水); its path and fields are not
// documented.
const (
	cashEndpoint = "report/v2/cash"
	flowEndpoint = "cpc/v3/account/list_cash_flows"
)

// One row has all money of an account. That amounts are in yuan, and the fields of granted money (red_packet), are not
// documented.
var (
	balanceAmounts = wire.Amounts{
		{Field: "cash", Kind: fund.Cash, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "red_packet", Kind: fund.Grant, Is: fund.Balance, Unit: wire.Yuan},
	}
	flowAmounts = wire.Amounts{
		{Field: "recharge_cash", Kind: fund.Cash, Is: fund.Deposit, Unit: wire.Yuan},
		{Field: "cost_cash", Kind: fund.Cash, Is: fund.Paid, Unit: wire.Yuan},
		{Field: "transfer_in_cash", Kind: fund.Cash, Is: fund.TransferIn, Unit: wire.Yuan},
		{Field: "transfer_out_cash", Kind: fund.Cash, Is: fund.TransferOut, Unit: wire.Yuan},
		{Field: "balance_cash", Kind: fund.Cash, Is: fund.Balance, Unit: wire.Yuan}, // at the end of the day
		{Field: "recharge_red_packet", Kind: fund.Grant, Is: fund.Deposit, Unit: wire.Yuan},
		{Field: "cost_red_packet", Kind: fund.Grant, Is: fund.Paid, Unit: wire.Yuan},
		{Field: "transfer_in_red_packet", Kind: fund.Grant, Is: fund.TransferIn, Unit: wire.Yuan},
		{Field: "transfer_out_red_packet", Kind: fund.Grant, Is: fund.TransferOut, Unit: wire.Yuan},
		{Field: "balance_red_packet", Kind: fund.Grant, Is: fund.Balance, Unit: wire.Yuan},
	}
)

// Funds implements media.Platform. When a day's flow is published, how many days a query may span and how far back it
// reaches are not documented.
func (Platform) Funds() media.Funds {
	return media.Funds{
		Balance: media.Balance{
			Table:   rawtable.Table{Name: Name + "_fund", Shape: rawtable.FundRows, Columns: balanceAmounts.Columns()},
			Amounts: balanceAmounts, Fetch: fetchFund,
		},
		Daily: media.FundDaily{
			Table:   rawtable.Table{Name: Name + "_fund_daily", Shape: rawtable.DailyFundRows, Columns: flowAmounts.Columns()},
			Amounts: flowAmounts, MaxDays: 30, LookBack: 180, PublishedAfter: 8 * time.Hour, Page: fetchFlow,
		},
	}
}

func fetchFund(ctx context.Context, api media.API) ([]media.Row, error) {
	data, err := api.Get(ctx, cashEndpoint, url.Values{"account_id": {api.Account().ExternalID}})
	if err != nil {
		return nil, err
	}
	return media.ReadBalance(data, cashEndpoint, "cash", balanceAmounts)
}

func fetchFlow(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	return rowsOf(flowEndpoint).PostPage(ctx, api, page, of(api, map[string]any{"start_date": q.From, "end_date": q.To}),
		media.EachRow(func(r *wire.Row) media.Row {
			return media.ReadAmounts(r, flowAmounts, media.Row{Day: r.KeyDay("date")})
		}))
}

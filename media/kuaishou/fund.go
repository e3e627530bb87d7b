package kuaishou

import (
	"context"
	"time"

	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const (
	fundEndpoint = "v1/advertiser/fund/get"
	flowEndpoint = "v1/advertiser/fund/daily_flows"
)

// flowPage is how many rows a page of the cash flow holds at most (document 2863).
const flowPage = 500

// One row has all money of an account, in yuan (documents 2614 and 2863). Money in wallets that several accounts share
// is not the account's own: it is only kept in the row's JSON.
var (
	balanceAmounts = wire.Amounts{
		{Field: "balance", Kind: fund.Total, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "recharge_balance", Kind: fund.Cash, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "contract_rebate", Kind: fund.Grant, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "direct_rebate", Kind: fund.Grant, Is: fund.Balance, Unit: wire.Yuan},
	}
	flowAmounts = wire.Amounts{
		{Field: "daily_charge", Kind: fund.Total, Is: fund.Paid, Unit: wire.Yuan},
		{Field: "real_charged", Kind: fund.Cash, Is: fund.Paid, Unit: wire.Yuan},
		{Field: "contract_rebate_real_charged", Kind: fund.Grant, Is: fund.Paid, Unit: wire.Yuan},
		{Field: "direct_rebate_real_charged", Kind: fund.Grant, Is: fund.Paid, Unit: wire.Yuan},
		{Field: "daily_transfer_in", Kind: fund.Total, Is: fund.TransferIn, Unit: wire.Yuan},
		{Field: "daily_transfer_out", Kind: fund.Total, Is: fund.TransferOut, Unit: wire.Yuan},
		{Field: "balance", Kind: fund.Total, Is: fund.Balance, Unit: wire.Yuan}, // at the end of the day
	}
)

// Funds implements media.Platform. When a day's flow is published, how many days a query may span and how far back it
// reaches is not documented: all three are our own choice. Both calls are documented as GETs with a JSON body. adsync
// sends POSTs, as client libraries do.
func (Platform) Funds() media.Funds {
	return media.Funds{
		Balance: media.Balance{
			Table:   rawtable.Table{Name: Name + "_fund", Shape: rawtable.FundRows, Columns: balanceAmounts.Columns()},
			Amounts: balanceAmounts, Fetch: fetchFund,
		},
		Daily: media.FundDaily{
			Table:   rawtable.Table{Name: Name + "_fund_daily", Shape: rawtable.DailyFundRows, Columns: flowAmounts.Columns()},
			Amounts: flowAmounts, MaxDays: 30, LookBack: 180, PublishedAfter: 9 * time.Hour, Page: fetchFlow,
		},
	}
}

func fetchFund(ctx context.Context, api media.API) ([]media.Row, error) {
	data, err := api.Post(ctx, fundEndpoint, of(api, nil))
	if err != nil {
		return nil, err
	}
	return media.ReadBalance(data, fundEndpoint, "balance", balanceAmounts)
}

func fetchFlow(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	return rowsOf(flowEndpoint, flowPage).PostPage(ctx, api, page,
		of(api, map[string]any{"start_date": q.From, "end_date": q.To}),
		media.EachRow(func(r *wire.Row) media.Row {
			return media.ReadAmounts(r, flowAmounts, media.Row{Day: r.KeyDay("date")})
		}))
}

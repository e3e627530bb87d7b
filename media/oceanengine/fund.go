package oceanengine

import (
	"context"
	"net/url"
	"time"

	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const (
	fundEndpoint = "2/advertiser/fund/get/"
	flowEndpoint = "2/advertiser/fund/daily_stat/"
)

// flowPage is how many rows a call requests; the platform does not document how many a page may hold.
const flowPage = 100

// One row has all money of an account, in yuan. Money in wallets that several accounts share is not the account's
// own: it is only kept in the row's JSON. The newer v3.0/account/fund/get/ is in fen; this endpoint has the same unit
// as the daily flow.
var (
	balanceAmounts = wire.Amounts{
		{Field: "balance", Kind: fund.Total, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "valid_balance", Kind: fund.Total, Is: fund.ValidBalance, Unit: wire.Yuan},
		{Field: "cash", Kind: fund.Cash, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "valid_cash", Kind: fund.Cash, Is: fund.ValidBalance, Unit: wire.Yuan},
		{Field: "grant", Kind: fund.Grant, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "valid_grant", Kind: fund.Grant, Is: fund.ValidBalance, Unit: wire.Yuan},
	}
	// For each kind of money the daily flow has the spend and the balance at the end of the day (document
	// 1696710526682112).
	flowAmounts = wire.Amounts{
		{Field: "income", Kind: fund.Total, Is: fund.Deposit, Unit: wire.Yuan},
		{Field: "cost", Kind: fund.Total, Is: fund.Paid, Unit: wire.Yuan},
		{Field: "transfer_in", Kind: fund.Total, Is: fund.TransferIn, Unit: wire.Yuan},
		{Field: "transfer_out", Kind: fund.Total, Is: fund.TransferOut, Unit: wire.Yuan},
		{Field: "balance", Kind: fund.Total, Is: fund.Balance, Unit: wire.Yuan}, // at the end of the day
		{Field: "cash_cost", Kind: fund.Cash, Is: fund.Paid, Unit: wire.Yuan},
		{Field: "reward_cost", Kind: fund.Grant, Is: fund.Paid, Unit: wire.Yuan},
		{Field: "frozen", Unit: wire.Yuan},
		{Field: "grant_balance", Kind: fund.Grant, Is: fund.Balance, Unit: wire.Yuan},
		{Field: "non_grant_balance", Kind: fund.Cash, Is: fund.Balance, Unit: wire.Yuan},
	}
)

// Funds implements media.Platform. A day's flow is published "at about 08:00 on the next day, or later" (the
// platform's words). The platform does not document how many days a query may span or how far back it reaches: both
// are our own choice.
func (Platform) Funds() media.Funds {
	return media.Funds{
		Balance: media.Balance{
			Table:   rawtable.Table{Name: "oceanengine_fund", Shape: rawtable.FundRows, Columns: balanceAmounts.Columns()},
			Amounts: balanceAmounts,
			Fetch:   fetchFund,
		},
		Daily: media.FundDaily{
			Table: rawtable.Table{Name: "oceanengine_fund_daily", Shape: rawtable.DailyFundRows,
				Columns: flowAmounts.Columns()},
			Amounts: flowAmounts,
			MaxDays: 30, LookBack: 365, PublishedAfter: 8 * time.Hour,
			Page: fetchFlow,
		},
	}
}

func fetchFund(ctx context.Context, api media.API) ([]media.Row, error) {
	data, err := api.Get(ctx, fundEndpoint, url.Values{"advertiser_id": {api.Account().ExternalID}})
	if err != nil {
		return nil, err
	}
	return media.ReadBalance(data, fundEndpoint, "balance", balanceAmounts)
}

func fetchFlow(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	return media.Numbered{Endpoint: flowEndpoint, Size: flowPage}.Page(ctx, api, page, url.Values{
		"advertiser_id": {api.Account().ExternalID},
		"start_date":    {q.From.String()},
		"end_date":      {q.To.String()},
	}, media.EachRow(func(r *wire.Row) media.Row {
		return media.ReadAmounts(r, flowAmounts, media.Row{Day: r.KeyDay("date")})
	}))
}

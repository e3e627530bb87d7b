package tencent

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"time"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const (
	fundsEndpoint = "funds/get"
	flowEndpoint  = "daily_balance_report/get"
)

// flowZone is the zone of the platform's days and times.
var flowZone = time.FixedZone("UTC+8", 8*60*60)

// flowPage is how many rows a page of the daily cash flow holds at most.
const flowPage = 100

// The amounts of each fund type. The platform locks some of a balance for charges that may follow, and does not
// document whether the balance includes the locked part: so the spendable amount is not derived from it.
var (
	balanceAmounts = wire.Amounts{
		{Field: "balance", Is: fund.Balance, Unit: wire.Fen},
		{Field: "bill_deposit_amount", Unit: wire.Fen}, // locked
		{Field: "realtime_cost", Unit: wire.Fen},       // today's
	}
	flowAmounts = wire.Amounts{
		{Field: "deposit", Is: fund.Deposit, Unit: wire.Fen},
		{Field: "paid", Is: fund.Paid, Unit: wire.Fen},
		{Field: "trans_in", Is: fund.TransferIn, Unit: wire.Fen},
		{Field: "trans_out", Is: fund.TransferOut, Unit: wire.Fen},
		{Field: "balance", Is: fund.Balance, Unit: wire.Fen}, // at the end of the day
		{Field: "credit_modify", Unit: wire.Fen},
	}
)

// fundTypes maps the platform's fund types to kinds: the 44 of the enum AccountTypeMap in its SDK
// (TencentAd/marketing-api-go-sdk, pkg/model/v3). Its samples have older names (GENERAL_CASH, BANK). A bank transfer
// is cash. Money that is neither paid in, granted nor lent is of kind other: shared income, quotas, virtual and
// unsupported money, and funds whose names do not show what they are.
var fundTypes = media.FundTypes{
	{Word: "CREDIT", Kind: fund.Credit},
	{Word: "DEBT", Kind: fund.Credit},
	{Word: "GIFT", Kind: fund.Grant},
	{Word: "REWARDS", Kind: fund.Grant},
	{Word: "COMPENSATE", Kind: fund.Grant},
	{Word: "SUBSIDY", Kind: fund.Grant},
	{Word: "SHARED", Kind: fund.Other},
	{Word: "CASH", Kind: fund.Cash},
	{Word: "BANK", Kind: fund.Cash},
}

// Funds implements media.Platform. The platform does not document when a day is published or whether the present day
// has a row: 08:00 on the next day, as for its reports, is our own choice. It keeps two years.
func (Platform) Funds() media.Funds {
	return media.Funds{
		Types: fundTypes,
		Balance: media.Balance{
			Table: rawtable.Table{Name: "tencent_fund", Shape: rawtable.FundRows,
				Columns: append(balanceAmounts.Columns(), rawtable.Column{Name: "fund_status", Kind: rawtable.Text})},
			Amounts: balanceAmounts,
			Fetch:   fetchFunds,
		},
		Daily: media.FundDaily{
			Table:   rawtable.Table{Name: "tencent_fund_daily", Shape: rawtable.DailyFundRows, Columns: flowAmounts.Columns()},
			Amounts: flowAmounts,
			MaxDays: 10, LookBack: 730, PublishedAfter: 8 * time.Hour,
			Page: fetchFlow,
		},
	}
}

func fetchFunds(ctx context.Context, api media.API) ([]media.Row, error) {
	data, err := api.Get(ctx, fundsEndpoint, url.Values{"account_id": {api.Account().ExternalID}})
	if err != nil {
		return nil, err
	}
	rows, err := readFunds(data)
	if err != nil {
		return nil, media.Broken(fundsEndpoint, err)
	}
	return rows, nil
}

func readFunds(data json.RawMessage) ([]media.Row, error) {
	var answer struct {
		List *[]json.RawMessage `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, err
	}
	if answer.List == nil {
		return nil, errors.New("there is no list")
	}
	var rows []media.Row
	for _, raw := range *answer.List {
		rows = append(rows, media.OpenRow(raw, func(r *wire.Row) media.Row {
			row := readFund(r, balanceAmounts)
			row.Raw = append(row.Raw, wire.Text(r.Text("fund_status")))
			return row
		}))
	}
	return rows, nil
}

// readFund reads the row of one fund type.
func readFund(r *wire.Row, amounts wire.Amounts) media.Row {
	row := media.Row{Object: r.Key("fund_type")}
	var bad []wire.Fault
	row.Raw, row.Funds, bad = amounts.Read(r.Fields(), fundTypes.Kind(row.Object))
	r.Add(bad)
	return row
}

func fetchFlow(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	return media.Numbered{Endpoint: flowEndpoint, Size: flowPage}.Page(ctx, api, page, url.Values{
		"account_id": {api.Account().ExternalID},
		"date_range": {asJSON(map[string]string{"start_date": q.From.String(), "end_date": q.To.String()})},
	}, media.EachRow(func(r *wire.Row) media.Row { return readFlow(r, q) }))
}

func readFlow(r *wire.Row, q media.ReportQuery) media.Row {
	row := readFund(r, flowAmounts)
	// By the platform's description each row has a time; its sample has none.
	switch moment := r.KeyUnix("time"); {
	case !moment.IsZero():
		row.Day = day.Of(moment, flowZone)
	case q.From == q.To:
		row.Day = q.From
	case !r.Lost():
		r.Lose("time", errors.New("is not set, and several days were requested"))
	}
	return row
}

package tiktok

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"

	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// balanceAmounts is the money of an account, in its currency.
var balanceAmounts = wire.Amounts{{Field: "balance", Kind: fund.Total, Is: fund.Balance, Unit: wire.Major}}

// Funds implements media.Platform. The platform has no list of the cash flow. The daily report of accounts has the
// kinds of money that a day has cost, cash_spend and voucher_spend, one to two days late: adsync does not pull them.
func (Platform) Funds() media.Funds {
	return media.Funds{Balance: media.Balance{
		Table:   rawtable.Table{Name: Name + "_fund", Shape: rawtable.FundRows, Columns: balanceAmounts.Columns()},
		Amounts: balanceAmounts, Fetch: fetchFund,
	}}
}

func fetchFund(ctx context.Context, api media.API) ([]media.Row, error) {
	id := api.Account().ExternalID
	data, err := api.Get(ctx, infoEndpoint, url.Values{"advertiser_ids": {asJSON([]string{id})},
		"fields": {asJSON([]string{"advertiser_id", "balance", "currency"})}})
	if err != nil {
		return nil, err
	}
	row, err := readFund(data, id)
	if err != nil {
		return nil, media.Broken(infoEndpoint, err)
	}
	return []media.Row{row}, nil
}

// readFund reads the money of an account, which must be the only one of the answer.
func readFund(data json.RawMessage, id string) (media.Row, error) {
	var answer struct {
		List wire.List `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return media.Row{}, err
	}
	if len(answer.List) != 1 {
		return media.Row{}, errors.New("it does not have exactly the account that was requested")
	}
	other := false
	row := media.OpenRow(answer.List[0], func(r *wire.Row) (row media.Row) {
		other = r.Key("advertiser_id") != id
		if _, has := r.Fields()["balance"]; !has {
			r.Lose("balance", errors.New("is missing"))
		}
		var bad []wire.Fault
		row.Raw, row.Funds, bad = balanceAmounts.Read(r.Fields(), "")
		r.Add(bad)
		return row
	})
	if other || row.Lost {
		return media.Row{}, errors.New("there is no balance of the account")
	}
	return row, nil
}

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
	var answer struct {
		List wire.List `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, media.Broken(infoEndpoint, err)
	}
	if len(answer.List) != 1 || wire.Open(answer.List[0]).Key("advertiser_id") != id {
		return nil, media.Broken(infoEndpoint, errors.New("it does not have exactly the account that was requested"))
	}
	return media.ReadBalance(answer.List[0], infoEndpoint, "balance", balanceAmounts)
}

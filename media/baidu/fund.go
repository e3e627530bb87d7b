package baidu

import (
	"context"
	"errors"

	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const balanceEndpoint = searchPath + "BalanceService/getBalanceInfo"

// sharedFunds is the package of funds that all advertising of an account shares.
const sharedFunds = 1

// balanceAmounts are in yuan. bonus holds given money of both kinds, bonusPure and compen.
var balanceAmounts = wire.Amounts{
	{Field: "balance", Kind: fund.Total, Is: fund.Balance, Unit: wire.Yuan},
	{Field: "cash", Kind: fund.Cash, Is: fund.Balance, Unit: wire.Yuan},
	{Field: "bonus", Kind: fund.Grant, Is: fund.Balance, Unit: wire.Yuan},
}

// Funds implements media.Platform. The platform has no call for the cash flow of past days.
func (Platform) Funds() media.Funds {
	return media.Funds{Balance: media.Balance{
		Table:   rawtable.Table{Name: Name + "_fund", Shape: rawtable.FundRows, Columns: balanceAmounts.Columns()},
		Amounts: balanceAmounts, Fetch: fetchBalance,
	}}
}

func fetchBalance(ctx context.Context, api media.API) ([]media.Row, error) {
	payload, err := ask(ctx, api, balanceEndpoint, map[string]any{"productIds": []int{sharedFunds}})
	if err != nil {
		return nil, err
	}
	rows, lost, err := rowsOf(balanceEndpoint, payload)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 || len(lost) > 0 {
		return nil, media.Broken(balanceEndpoint, errors.New("there is not one balance"))
	}
	return media.ReadBalance(rows[0], balanceEndpoint, "balance", balanceAmounts)
}

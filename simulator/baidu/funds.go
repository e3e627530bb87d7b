package baidu

import (
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The statuses of an account (page 102631).
const (
	accountActive = 2
	accountEmpty  = 3
)

// money is an account with its money.
type money struct {
	*world.Account
	has world.Funds
}

func amount(name string, of func(x money) int64) platform.Field[money] {
	return platform.NewField(name, func(w *platform.Writer, x money) { w.Hundredths(of(x)) })
}

func integer(name string, of func(x money) int64) platform.Field[money] {
	return platform.NewField(name, func(w *platform.Writer, x money) { w.Number(of(x)) })
}

// budget returns an account's daily budget in fen; a third has none.
func (x money) budget() int64 {
	key := x.Key.Sub(91)
	if key.Below(3) == 0 {
		return 0
	}
	return 5_000_000 + 10_000*key.Sub(1).Below(500)
}

func (x money) status() int64 {
	if x.has.Total() == 0 {
		return accountEmpty
	}
	return accountActive
}

var (
	bothAccount = []platform.Field[money]{
		integer("userId", func(x money) int64 { return x.ID }),
		integer("cid", func(x money) int64 { return 1_500_000 + int64(x.Index) }),
		platform.NewField("liceName", func(w *platform.Writer, x money) { w.Text(x.Company()) }),
		amount("balance", func(x money) int64 { return x.has.Total() }), amount("budget", money.budget),
		integer("userStat", money.status),
	}
	searchAccount = append(slices.Clip(bothAccount),
		amount("pcBalance", func(money) int64 { return 0 }),
		integer("budgetType", func(x money) int64 { return min(x.budget(), 1) }),
		integer("userLevel", func(money) int64 { return 1 }))
	feedAccount = append(slices.Clip(bothAccount),
		integer("balancePackage", func(money) int64 { return 0 }), integer("uaStat", func(money) int64 { return 1 }))
)

// accountOf returns the handler of a call about the account, whose data are an array with one object.
func (b *baidu) accountOf(all []platform.Field[money], choice string) func(*platform.Call, caller,
	*platform.Params) *platform.Failure {
	return func(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
		fields := platform.Chosen(p, choice, all)
		if p.Failure == nil {
			b.writeMoney(c, fields, money{by.account, c.View.FundNow(by.account).Balance})
		}
		return nil
	}
}

func (b *baidu) writeMoney(c *platform.Call, fields []platform.Field[money], x money) {
	w := b.begin(c, statusGood)
	w.Open('[')
	w.Open('{')
	platform.WriteFields(c, &w, fields, x, false)
	w.Close('}')
	w.Close(']')
	b.end(c, &w)
}

// sharedFunds is the package of funds that all advertising of an account shares (the client's BalanceService).
const sharedFunds = 1

var balanceFields = []platform.Field[money]{
	amount("balance", func(x money) int64 { return x.has.Total() }),
	amount("cash", func(x money) int64 { return x.has.Cash }),
	amount("bonusPure", func(x money) int64 { return x.has.Grant }), amount("compen", func(money) int64 { return 0 }),
	amount("bonus", func(x money) int64 { return x.has.Grant }),
	amount("invest", func(x money) int64 { return x.has.Cash }),
}

func (b *baidu) balance(c *platform.Call, by caller, p *platform.Params) *platform.Failure {
	if ids := p.NumbersOf("productIds", sharedFunds, 400, 430, 502); len(ids) != 1 || ids[0] != sharedFunds {
		wrong(p, "productIds is [%d]: the account has no other funds", sharedFunds)
		return nil
	}
	b.writeMoney(c, balanceFields, money{by.account, c.View.FundNow(by.account).Balance})
	return nil
}

package oceanengine

import (
	"cmp"
	"time"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// oceanFundSpan is how many days one query for the cash flow may span; the platform does not document it.
const oceanFundSpan = 366

// fund answers 2/advertiser/fund/get/: one object with all money, in yuan as numbers.
func (o *oceanEngine) fund(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	switch split := c.Query.Get("grant_type_split"); split {
	case "", "ON", "OFF":
	default:
		return platform.Failf(40000, "grant_type_split is ON or OFF, not %q", split)
	}
	n := c.View.FundNow(&a)
	w := o.begin(c)
	writeOceanFund(&w, &a, n, c.Query.Get("grant_type_split") == "ON")
	o.end(c, &w)
	return nil
}

func writeOceanFund(w *platform.Writer, a *world.Account, n world.FundNow, isSplit bool) {
	yuan := func(name string, fen int64) { w.Key(name); w.Hundredths(fen) }
	w.Open('{')
	w.NumberField("advertiser_id", a.ID)
	w.TextField("name", a.Name())
	w.TextField("email", "")
	yuan("balance", n.Balance.Total())
	yuan("valid_balance", n.Balance.Total()-n.Locked)
	yuan("cash", n.Balance.Cash)
	yuan("valid_cash", n.Balance.Cash-n.Locked)
	yuan("grant", n.Balance.Grant)
	yuan("valid_grant", n.Balance.Grant)
	if isSplit { // the purposes of grants (document 1696710526192652)
		yuan("default_grant", 0)
		yuan("common_grant", n.Balance.Grant)
		yuan("search_grant", 0)
		yuan("union_grant", 0)
	}
	w.Close('}')
}

// fundDays answers 2/advertiser/fund/daily_stat/: a row for each published day, in yuan as numbers.
func (o *oceanEngine) fundDays(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	// The default is this year up to today (document 1696710526682112).
	today := time.Unix(c.Now, 0).In(world.Zone)
	from, wrong := world.ParseDay(cmp.Or(c.Query.Get("start_date"), today.Format("2006")+"-01-01"))
	to, wrongEnd := world.ParseDay(cmp.Or(c.Query.Get("end_date"), today.Format(world.DayLayout)))
	switch {
	case wrong != nil || wrongEnd != nil:
		return platform.Failf(40000, "start_date and end_date are days like 2026-11-15")
	case to < from:
		return platform.Failf(40000, "end_date is before start_date")
	case to-from >= oceanFundSpan:
		return platform.Failf(40000, "start_date to end_date is up to %d days", oceanFundSpan)
	}
	page, err := integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	if page*size > oceanListMax {
		return platform.Failf(40000, "page times page_size is up to %d", oceanListMax)
	}
	days := c.View.FundDays(&a, from, to)
	first, last, total := c.PageOf(page, size, len(days))
	w := o.begin(c)
	w.Open('{')
	w.OpenArray("list")
	for _, d := range days[first:last] {
		writeOceanFundDay(&w, &a, d)
	}
	w.Close(']')
	w.PageInfo(page, size, total)
	w.Close('}')
	o.end(c, &w)
	return nil
}

func writeOceanFundDay(w *platform.Writer, a *world.Account, d world.FundDay) {
	yuan := func(name string, fen int64) { w.Key(name); w.Hundredths(fen) }
	w.Open('{')
	w.NumberField("advertiser_id", a.ID)
	w.TextField("date", world.FormatDay(d.Day))
	yuan("balance", d.Balance.Total())
	yuan("grant_balance", d.Balance.Grant)
	yuan("non_grant_balance", d.Balance.Cash)
	yuan("cash_cost", d.Paid.Cash)
	yuan("cost", d.Paid.Total())
	yuan("frozen", 0)
	yuan("income", d.Deposit.Total())
	yuan("reward_cost", d.Paid.Grant)
	yuan("shared_wallet_cost", 0)
	yuan("company_wallet_cost", 0)
	yuan("transfer_in", d.TransferIn.Total())
	yuan("transfer_out", d.TransferOut.Total())
	yuan("realtime_coupon_cost", 0)
	yuan("deduction_cost", 0)
	yuan("compensation_reward_cost", 0)
	yuan("return_goods_reward_cost", 0)
	w.Close('}')
}

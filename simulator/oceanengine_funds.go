package simulator

import (
	"cmp"
	"time"
)

// oceanFundSpan is how many days one question for the cash flow may ask for; the platform does not say.
const oceanFundSpan = 366

// fund answers 2/advertiser/fund/get/: one object that tells all money, in yuan as numbers.
func (o *oceanEngine) fund(c *call, l *login) *apiError {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	switch split := c.query.Get("grant_type_split"); split {
	case "", "ON", "OFF":
	default:
		return failure(40000, "grant_type_split is ON or OFF, not %q", split)
	}
	n := c.view.fundNow(&a)
	w := o.begin(c)
	writeOceanFund(&w, &a, n, c.query.Get("grant_type_split") == "ON")
	o.end(c, &w)
	return nil
}

func writeOceanFund(w *jsonWriter, a *account, n fundNow, isSplit bool) {
	yuan := func(name string, fen int64) { w.key(name); w.hundredths(fen) }
	w.open('{')
	w.numberField("advertiser_id", a.id)
	w.textField("name", a.name())
	w.textField("email", "")
	yuan("balance", n.balance.total())
	yuan("valid_balance", n.balance.total()-n.locked)
	yuan("cash", n.balance.cash)
	yuan("valid_cash", n.balance.cash-n.locked)
	yuan("grant", n.balance.grant)
	yuan("valid_grant", n.balance.grant)
	if isSplit { // what grants are for (document 1696710526192652)
		yuan("default_grant", 0)
		yuan("common_grant", n.balance.grant)
		yuan("search_grant", 0)
		yuan("union_grant", 0)
	}
	w.close('}')
}

// fundDays answers 2/advertiser/fund/daily_stat/: a row for each told day, in yuan as numbers.
func (o *oceanEngine) fundDays(c *call, l *login) *apiError {
	a, err := o.advertiser(c, l)
	if err != nil {
		return err
	}
	// Without them it is this year up to today (document 1696710526682112).
	today := time.Unix(c.now, 0).In(zone)
	from, wrong := parseDay(cmp.Or(c.query.Get("start_date"), today.Format("2006")+"-01-01"))
	to, wrongEnd := parseDay(cmp.Or(c.query.Get("end_date"), today.Format(dayLayout)))
	switch {
	case wrong != nil || wrongEnd != nil:
		return failure(40000, "start_date and end_date are days like 2026-11-15")
	case to < from:
		return failure(40000, "end_date is before start_date")
	case to-from >= oceanFundSpan:
		return failure(40000, "start_date to end_date is up to %d days", oceanFundSpan)
	}
	page, err := o.integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := o.integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	if page*size > oceanListMax {
		return failure(40000, "page times page_size is up to %d", oceanListMax)
	}
	days := c.view.fundDays(&a, from, to)
	first, last, total := c.pageOf(page, size, len(days))
	w := o.begin(c)
	w.open('{')
	w.openArray("list")
	for _, d := range days[first:last] {
		writeOceanFundDay(&w, &a, d)
	}
	w.close(']')
	w.pageInfo(page, size, total)
	w.close('}')
	o.end(c, &w)
	return nil
}

func writeOceanFundDay(w *jsonWriter, a *account, d fundDay) {
	yuan := func(name string, fen int64) { w.key(name); w.hundredths(fen) }
	w.open('{')
	w.numberField("advertiser_id", a.id)
	w.textField("date", formatDay(d.day))
	yuan("balance", d.balance.total())
	yuan("grant_balance", d.balance.grant)
	yuan("non_grant_balance", d.balance.cash)
	yuan("cash_cost", d.paid.cash)
	yuan("cost", d.paid.total())
	yuan("frozen", 0)
	yuan("income", d.deposit.total())
	yuan("reward_cost", d.paid.grant)
	yuan("shared_wallet_cost", 0)
	yuan("company_wallet_cost", 0)
	yuan("transfer_in", d.transferIn.total())
	yuan("transfer_out", d.transferOut.total())
	yuan("realtime_coupon_cost", 0)
	yuan("deduction_cost", 0)
	yuan("compensation_reward_cost", 0)
	yuan("return_goods_reward_cost", 0)
	w.close('}')
}

package kuaishou

import (
	"slices"
	"time"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// flowsMax is the largest page of the cash flow.
const flowsMax = 500

func yuan(w *platform.Writer, name string, fen int64) { w.Key(name); w.Hundredths(fen) }

// fund answers v1/advertiser/fund/get: all money, in yuan.
func (k *kuaishou) fund(c *platform.Call, a *world.Account, _ *platform.Params) *platform.Failure {
	w := begin(c)
	writeFund(&w, c.View.FundNow(a).Balance)
	k.end(c, &w)
	return nil
}

func writeFund(w *platform.Writer, f world.Funds) {
	w.Open('{')
	yuan(w, "balance", f.Total())
	yuan(w, "recharge_balance", f.Cash)
	yuan(w, "contract_rebate", f.Grant)
	yuan(w, "direct_rebate", 0)
	yuan(w, "extended_balance", 0)
	yuan(w, "total_shared_wallet_balance", 0)
	w.Close('}')
}

// flows answers v1/advertiser/fund/daily_flows: a row for each published day, in yuan. Without days it is today.
func (k *kuaishou) flows(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	days := [2]int{a.Calendar.DayOf(c.Now), a.Calendar.DayOf(c.Now)}
	for i, name := range []string{"start_date", "end_date"} {
		text := c.Query.Get(name)
		if text == "" {
			continue
		}
		var failed error
		if days[i], failed = world.ParseDay(text); failed != nil {
			return wrong(c, "%s: %v", name, failed)
		}
	}
	if days[1] < days[0] {
		return wrong(c, "end_date is before start_date")
	}
	list := c.View.FundDays(a, days[0], days[1])
	writePage(k, c, readPage(p, flowsMax), list, func(w *platform.Writer, d *world.FundDay) { writeFlow(w, a.ID, d) })
	return nil
}

// writeFlow writes the cash flow of a day: what comes in is one sum, whether it is paid in or transferred.
func writeFlow(w *platform.Writer, account int64, d *world.FundDay) {
	in := d.Deposit.Plus(d.TransferIn)
	w.TextField("date", world.FormatDay(d.Day))
	w.NumberField("advertiser_id", account)
	yuan(w, "daily_charge", d.Paid.Total())
	yuan(w, "real_charged", d.Paid.Cash)
	yuan(w, "contract_rebate_real_charged", d.Paid.Grant)
	yuan(w, "direct_rebate_real_charged", 0)
	yuan(w, "daily_transfer_in", in.Total())
	yuan(w, "daily_transfer_out", d.TransferOut.Total())
	yuan(w, "balance", d.Balance.Total())
	yuan(w, "real_recharged", in.Cash)
	yuan(w, "contract_rebate_real_recharged", in.Grant)
	yuan(w, "direct_rebate_real_recharged", 0)
}

// budget answers v1/advertiser/budget/get, in li. Some accounts have no limit, some one for each day of the week.
func (k *kuaishou) budget(c *platform.Call, a *world.Account, _ *platform.Params) *platform.Failure {
	day, week := accountBudget(a)
	w := begin(c)
	writeBudget(&w, day, week)
	k.end(c, &w)
	return nil
}

// accountBudget returns an account's budget in fen: for each day, or for each day of the week from Monday.
func accountBudget(a *world.Account) (day int64, week []int64) {
	key := a.Key.Sub(91)
	switch amount := 5_000_000 + 10_000*key.Sub(1).Below(500); key.Below(3) {
	case 0:
		return 0, nil
	case 1:
		return amount, nil
	default:
		return 0, append(slices.Repeat([]int64{amount}, int(time.Saturday)-1), amount*2, amount*2)
	}
}

func writeBudget(w *platform.Writer, day int64, week []int64) {
	w.Open('{')
	w.NumberField("day_budget", li(day))
	w.OpenArray("day_budget_schedule")
	for _, amount := range week {
		w.Number(li(amount))
	}
	w.Close(']')
	w.Close('}')
}

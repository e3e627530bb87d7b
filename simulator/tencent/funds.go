package tencent

import (
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// tencentFunds returns the fund types of an account. The platform opens those for cash, gifts and shared income for
// each account, and the one for bank transfers with the first transfer (developers.e.qq.com/docs/accounts/fund). This
// world has no shared income.
func tencentFunds(a *world.Account) []world.FundKind {
	kinds := []world.FundKind{
		{Name: "FUND_TYPE_CASH", Of: func(f world.Funds) int64 { return f.Cash }},
		{Name: "FUND_TYPE_GIFT", Of: func(f world.Funds) int64 { return f.Grant }},
		{Name: "FUND_TYPE_SHARED", Of: func(world.Funds) int64 { return 0 }},
	}
	if a.UsesBank() {
		kinds = append(kinds, world.FundKind{Name: "FUND_TYPE_BANK", Of: func(f world.Funds) int64 { return f.Bank }})
	}
	return kinds
}

const (
	tencentFundSpan = 10
	tencentFundBack = 730
)

// funds answers funds/get: a row for each fund type, in fen.
func (t *tencent) funds(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	n := c.View.FundNow(&a)
	w := begin(c)
	w.OpenArray("list")
	for _, kind := range tencentFunds(&a) {
		writeTencentFund(&w, kind.Name, kind.Of(n.Balance), kind.Of(world.Funds{Cash: n.Locked}), kind.Of(n.PaidToday))
	}
	w.Close(']')
	end(c, &w)
	return nil
}

func writeTencentFund(w *platform.Writer, kind string, balance, locked, today int64) {
	status := "FUND_STATUS_NORMAL"
	if balance == 0 {
		status = "FUND_STATUS_NOT_ENOUGH"
	}
	w.Open('{')
	w.TextField("fund_type", kind)
	w.NumberField("balance", balance)
	w.NumberField("bill_deposit_amount", locked)
	w.TextField("fund_status", status)
	w.NumberField("realtime_cost", today)
	w.Close('}')
}

// tencentFlow is a row of daily_balance_report/get.
type tencentFlow struct {
	account  int64
	calendar *world.Calendar
	kind     string
	of       func(world.Funds) int64
	world.FundDay
}

// dailyBalances answers daily_balance_report/get: a row for each published day and fund type, in fen, newest days
// last.
func (t *tencent) dailyBalances(c *platform.Call, l *world.Login) *platform.Failure {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	var s world.Scope
	if err := readDays(c, &a, &s, tencentFundSpan, tencentFundBack); err != nil {
		return err
	}
	page, err := integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	var rows []tencentFlow
	for _, d := range c.View.FundDays(&a, s.From, s.To) {
		for _, kind := range tencentFunds(&a) {
			rows = append(rows, tencentFlow{account: a.ID, calendar: a.Calendar, kind: kind.Name, of: kind.Of, FundDay: d})
		}
	}
	from, to, total := c.PageOf(page, size, len(rows))
	w := begin(c)
	w.OpenArray("list")
	for _, r := range rows[from:to] {
		writeTencentFlow(&w, r)
	}
	w.Close(']')
	w.PageInfo(page, size, total)
	end(c, &w)
	return nil
}

func writeTencentFlow(w *platform.Writer, r tencentFlow) {
	w.Open('{')
	w.NumberField("account_id", r.account)
	w.TextField("fund_type", r.kind)
	w.NumberField("time", r.calendar.Start(r.Day))
	w.NumberField("deposit", r.of(r.Deposit))
	w.NumberField("paid", r.of(r.Paid))
	w.NumberField("trans_in", r.of(r.TransferIn))
	w.NumberField("trans_out", r.of(r.TransferOut))
	w.NumberField("credit_modify", 0)
	w.NumberField("balance", r.of(r.Balance))
	w.NumberField("preauth_balance", 0)
	w.NumberField("preauth_out_pay", 0)
	w.NumberField("preauth_in_refund", 0)
	w.NumberField("acct_out_pay", r.of(r.Paid))
	w.NumberField("acct_out_pay_share", r.of(r.Paid))
	w.NumberField("share_out_pay", 0)
	w.Close('}')
}

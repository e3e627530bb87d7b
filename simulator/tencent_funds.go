package simulator

// tencentFunds are the fund types of an account. The platform opens those of cash, of gifts and of shared income for each, and the one of bank
// transfers with the first transfer (developers.e.qq.com/docs/accounts/fund). Nothing of this world earns a shared income.
func tencentFunds(a *account) []fundKind {
	kinds := []fundKind{
		{"FUND_TYPE_CASH", func(f funds) int64 { return f.cash }},
		{"FUND_TYPE_GIFT", func(f funds) int64 { return f.grant }},
		{"FUND_TYPE_SHARED", func(funds) int64 { return 0 }},
	}
	if a.usesBank() {
		kinds = append(kinds, fundKind{"FUND_TYPE_BANK", func(f funds) int64 { return f.bank }})
	}
	return kinds
}

const (
	tencentFundSpan = 10
	tencentFundBack = 730
)

// funds answers funds/get: a row for each fund type, in fen.
func (t *tencent) funds(c *call, l *login) *apiError {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	n := c.view.fundNow(&a)
	w := t.begin(c)
	w.openArray("list")
	for _, kind := range tencentFunds(&a) {
		writeTencentFund(&w, kind.name, kind.of(n.balance), kind.of(funds{cash: n.locked}), kind.of(n.paidToday))
	}
	w.close(']')
	t.end(c, &w)
	return nil
}

func writeTencentFund(w *jsonWriter, kind string, balance, locked, today int64) {
	status := "FUND_STATUS_NORMAL"
	if balance == 0 {
		status = "FUND_STATUS_NOT_ENOUGH"
	}
	w.open('{')
	w.textField("fund_type", kind)
	w.numberField("balance", balance)
	w.numberField("bill_deposit_amount", locked)
	w.textField("fund_status", status)
	w.numberField("realtime_cost", today)
	w.close('}')
}

// tencentFlow is a row of daily_balance_report/get.
type tencentFlow struct {
	account  int64
	calendar *calendar
	kind     string
	of       func(funds) int64
	fundDay
}

// dailyBalances answers daily_balance_report/get: a row for each told day and fund type, in fen, newest days last.
func (t *tencent) dailyBalances(c *call, l *login) *apiError {
	a, err := t.account(c, l)
	if err != nil {
		return err
	}
	var s scope
	if err := t.days(c, &a, &s, tencentFundSpan, tencentFundBack); err != nil {
		return err
	}
	page, err := t.integer(c, "page", 1, 99_999)
	if err != nil {
		return err
	}
	size, err := t.integer(c, "page_size", 10, 100)
	if err != nil {
		return err
	}
	var rows []tencentFlow
	for _, d := range c.view.fundDays(&a, s.from, s.to) {
		for _, kind := range tencentFunds(&a) {
			rows = append(rows, tencentFlow{account: a.id, calendar: a.calendar, kind: kind.name, of: kind.of, fundDay: d})
		}
	}
	from, to, total := c.pageOf(page, size, len(rows))
	w := t.begin(c)
	w.openArray("list")
	for _, r := range rows[from:to] {
		writeTencentFlow(&w, r)
	}
	w.close(']')
	w.pageInfo(page, size, total)
	t.end(c, &w)
	return nil
}

func writeTencentFlow(w *jsonWriter, r tencentFlow) {
	w.open('{')
	w.numberField("account_id", r.account)
	w.textField("fund_type", r.kind)
	w.numberField("time", r.calendar.start(r.day))
	w.numberField("deposit", r.of(r.deposit))
	w.numberField("paid", r.of(r.paid))
	w.numberField("trans_in", r.of(r.transferIn))
	w.numberField("trans_out", r.of(r.transferOut))
	w.numberField("credit_modify", 0)
	w.numberField("balance", r.of(r.balance))
	w.numberField("preauth_balance", 0)
	w.numberField("preauth_out_pay", 0)
	w.numberField("preauth_in_refund", 0)
	w.numberField("acct_out_pay", r.of(r.paid))
	w.numberField("acct_out_pay_share", r.of(r.paid))
	w.numberField("share_out_pay", 0)
	w.close('}')
}

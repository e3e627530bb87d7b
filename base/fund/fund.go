// Package fund defines the kinds of an account's money, and what platforms report of it: the rows and columns of
// account_balance and fund_daily.
package fund

// Kind is a kind of money. Names never change: they are in keys.
type Kind string

// The kinds. A platform's own fund types are many more. Each is mapped to one of these.
const (
	Cash   Kind = "cash"
	Grant  Kind = "grant"
	Credit Kind = "credit"
	Other  Kind = "other"
	Total  Kind = "total"
)

// Kinds lists all kinds in order, with their meaning.
var Kinds = []struct {
	Kind    Kind
	Meaning string
}{
	{Cash, "money that was paid in"},
	{Grant, "money that the platform gave: gifts, rewards, compensations"},
	{Credit, "money that the platform lends"},
	{Other, "money of any other type that the platform knows"},
	{Total, "all money of the account as the platform reports it, otherwise the sum of the other kinds"},
}

// Field is a reported quantity of money: a column.
type Field int

// The fields. Untold stands for what has no column.
const (
	Untold Field = iota
	Deposit
	Paid
	TransferIn
	TransferOut
	Balance
	ValidBalance
	fields
)

// BalanceFields are the columns of account_balance, in their order.
var BalanceFields = []Field{Balance, ValidBalance}

// DailyFields are the columns of fund_daily, in their order. There, Balance is that of the day's end.
var DailyFields = []Field{Deposit, Paid, TransferIn, TransferOut, Balance}

// Column returns the field's column.
func (f Field) Column() string {
	return [fields]string{"", "deposit", "paid", "transfer_in", "transfer_out", "balance", "valid_balance"}[f]
}

// Meaning describes the field in words.
func (f Field) Meaning() string {
	return [fields]string{
		"", "paid in", "spent", "came from other accounts or wallets", "went to other accounts or wallets", "the balance",
		"the part of the balance that can be spent",
	}[f]
}

// Amount is an amount of money in millionths of its currency. What a platform does not report is not set and becomes
// NULL, never 0.
type Amount struct {
	Micros int64
	Set    bool
}

// Of returns a set amount.
func Of(micros int64) Amount { return Amount{Micros: micros, Set: true} }

// Plus returns the sum of both. It is not set if one of them is not: a sum without a part would look complete.
func (a Amount) Plus(b Amount) Amount {
	if !a.Set || !b.Set {
		return Amount{}
	}
	return Of(a.Micros + b.Micros)
}

// Arg returns the amount for an SQL statement: int64, or nil if it is not set.
func (a Amount) Arg() any {
	if !a.Set {
		return nil
	}
	return a.Micros
}

// Values holds what is reported of one kind of money.
type Values [fields]Amount

// Row is one kind of money and what is reported of it.
type Row struct {
	Kind   Kind
	Values Values
}

// Gather merges what is reported of an account at one time into at most one row per kind, in the order of Kinds. Rows
// of the same kind are added up, and the total is the sum of all if no row reports it.
func Gather(rows []Row) []Row {
	sums := map[Kind]*Values{}
	add := func(kind Kind, values Values) {
		sum := sums[kind]
		if sum == nil {
			sums[kind] = &values
			return
		}
		for i := range sum {
			sum[i] = sum[i].Plus(values[i])
		}
	}
	for _, r := range rows {
		add(r.Kind, r.Values)
	}
	if sums[Total] == nil {
		for _, r := range rows {
			add(Total, r.Values)
		}
	}
	var gathered []Row
	for _, k := range Kinds {
		if sum := sums[k.Kind]; sum != nil {
			gathered = append(gathered, Row{Kind: k.Kind, Values: *sum})
		}
	}
	return gathered
}

// Package fund lists what an account's money consists of, and what is told of it: the rows and columns of
// account_balance and fund_daily.
package fund

// Kind is a kind of money. Names are for ever: they are in keys.
type Kind string

// The kinds. A platform's own fund types are many more; each is one of these.
const (
	Cash   Kind = "cash"
	Grant  Kind = "grant"
	Credit Kind = "credit"
	Other  Kind = "other"
	Total  Kind = "total"
)

// Kinds are all kinds in the order in which they are listed, with what they mean.
var Kinds = []struct {
	Kind    Kind
	Meaning string
}{
	{Cash, "money that was paid in"},
	{Grant, "money that the platform gave: gifts, rewards, compensations"},
	{Credit, "money that the platform lends"},
	{Other, "money of any other type that the platform knows"},
	{Total, "all money of the account, as the platform tells it, or else the sum of the other kinds"},
}

// Field is something that is told of money: a column.
type Field int

// The fields. Untold stands for what has no column of its own.
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

// DailyFields are the columns of fund_daily, in their order. Balance is that of the day's end there.
var DailyFields = []Field{Deposit, Paid, TransferIn, TransferOut, Balance}

// Column is the field's column.
func (f Field) Column() string {
	return [fields]string{"", "deposit", "paid", "transfer_in", "transfer_out", "balance", "valid_balance"}[f]
}

// Meaning says in words what the field holds.
func (f Field) Meaning() string {
	return [fields]string{
		"", "paid in", "spent", "came from other accounts or wallets", "went to other accounts or wallets", "what there is", "what of it can be spent",
	}[f]
}

// Amount is an amount of money in millionths of its currency. What a platform does not tell is not set and becomes
// NULL, never 0.
type Amount struct {
	Micros int64
	Set    bool
}

// Of is an amount that is set.
func Of(micros int64) Amount { return Amount{Micros: micros, Set: true} }

// Plus is the sum of both. It is not set when one of them is not: a sum that lacks a part would look like one that is
// whole.
func (a Amount) Plus(b Amount) Amount {
	if !a.Set || !b.Set {
		return Amount{}
	}
	return Of(a.Micros + b.Micros)
}

// Arg is the amount for an SQL statement: int64, or nil when it is not set.
func (a Amount) Arg() any {
	if !a.Set {
		return nil
	}
	return a.Micros
}

// Values are what is told of one kind of money.
type Values [fields]Amount

// Row is one kind of money and what is told of it.
type Row struct {
	Kind   Kind
	Values Values
}

// Gather brings what is told of an account at one time to at most one row of each kind, in the order of Kinds: rows of
// the same kind are added up, and the total is the sum of all when no row tells it.
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

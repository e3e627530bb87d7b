package wire

import (
	"encoding/json"
	"slices"

	"adsync/base/fund"
	"adsync/base/rawtable"
)

// Amount is an amount in a platform's row about an account's money: its field on the wire, and its column. Amounts of
// a row with the same kind and column are added up.
type Amount struct {
	Field string
	// Kind is the kind of money; "" means that the row's fund type determines it.
	Kind fund.Kind
	// Is is its column; fund.Untold is kept only in the raw table.
	Is   fund.Field
	Unit Unit // not Count
}

// Amounts are the amounts in a platform's row about money, in the order of the raw table's columns.
type Amounts []Amount

// Columns returns the raw table's columns.
func (as Amounts) Columns() []rawtable.Column {
	columns := make([]rawtable.Column, len(as))
	for i, a := range as {
		columns[i] = a.Unit.Column(a.Field)
	}
	return columns
}

// Read returns the values of the raw columns and the amounts by kind of money. own is the kind of the row's fund
// type, for amounts without a kind. Missing and unusable amounts stay unset.
func (as Amounts) Read(row map[string]json.RawMessage, own fund.Kind) (raw []any, funds []fund.Row, bad []Fault) {
	type place struct {
		kind fund.Kind
		is   fund.Field
	}
	noted := make(map[place]bool, len(as))
	raw = make([]any, len(as))
	for i, a := range as {
		micros, kept, set, fault := a.Unit.read(a.Field, row[a.Field], false)
		raw[i] = kept
		if fault != nil {
			bad = append(bad, *fault)
		}
		amount := fund.Amount{Micros: micros, Set: set}
		if a.Is == fund.Untold {
			continue
		}
		kind := a.Kind
		if kind == "" {
			kind = own
		}
		at := slices.IndexFunc(funds, func(r fund.Row) bool { return r.Kind == kind })
		if at < 0 {
			at, funds = len(funds), append(funds, fund.Row{Kind: kind})
		}
		if noted[place{kind, a.Is}] {
			amount = amount.Plus(funds[at].Values[a.Is])
		}
		noted[place{kind, a.Is}] = true
		funds[at].Values[a.Is] = amount
	}
	return raw, funds, bad
}

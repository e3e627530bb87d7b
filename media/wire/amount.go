package wire

import (
	"encoding/json"
	"slices"

	"adsync/base/fund"
	"adsync/base/rawtable"
)

// Amount is an amount that a platform tells of an account's money: its field on the wire, and what it becomes.
// Several of a row that become the same are added up.
type Amount struct {
	Field string
	// Kind is the money that it is of; "" says that the row tells it, by its fund type.
	Kind fund.Kind
	// Is is the column that it becomes; fund.Untold is kept in the raw table alone.
	Is   fund.Field
	Unit Unit // Fen or Yuan
}

// Amounts are what a platform's row about money holds, in the order of the raw table's columns.
type Amounts []Amount

// Columns returns the raw table's columns: all are kept in fen.
func (as Amounts) Columns() []rawtable.Column {
	columns := make([]rawtable.Column, len(as))
	for i, a := range as {
		columns[i] = rawtable.Column{Name: a.Field + "_fen", Kind: rawtable.Int}
	}
	return columns
}

// Read brings a platform's row to the raw columns' values and to what it says of each kind of money. own is the kind
// of the row's fund type, for the amounts that name none. What the row lacks, and what cannot be used, stays unset.
func (as Amounts) Read(row map[string]json.RawMessage, own fund.Kind) (raw []any, funds []fund.Row, bad []Fault) {
	type place struct {
		kind fund.Kind
		is   fund.Field
	}
	noted := make(map[place]bool, len(as))
	raw = make([]any, len(as))
	for i, a := range as {
		var amount fund.Amount
		switch micros, fen, set, err := (Figure{Field: a.Field, Unit: a.Unit}).read(row[a.Field]); {
		case err != nil:
			bad = append(bad, Fault{Field: a.Field, Kind: FigureFault, Why: err.Error()})
		case set:
			raw[i], amount = fen, fund.Of(micros)
		}
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

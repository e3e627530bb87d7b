package media

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media/wire"
)

// The names of the handlers ("<media>.balance") and of the reports in coverage for the accounts' money. Their level
// is always FundLevel.
const (
	BalanceName   = "balance"
	FundDailyName = "fund_daily"
	FundLevel     = "account"
)

// Funds describes how the money of a platform's accounts is pulled. A part without its function is not pulled.
type Funds struct {
	Balance Balance
	Daily   FundDaily
	// Types maps the platform's fund types to kinds, where its rows have a fund type.
	Types FundTypes
}

// FundType maps fund types whose name contains a word to a kind.
type FundType struct {
	Word string
	Kind fund.Kind
}

// FundTypes is searched in order.
type FundTypes []FundType

// Kind returns the kind of the first word that a fund type's name contains, or fund.Other: platforms add types.
func (ts FundTypes) Kind(fundType string) fund.Kind {
	for _, t := range ts {
		if strings.Contains(fundType, t.Word) {
			return t.Kind
		}
	}
	return fund.Other
}

// Balance describes the pull of the accounts' current balances.
type Balance struct {
	Table   rawtable.Table // of shape rawtable.FundRows
	Amounts wire.Amounts   // the amounts in its rows
	// Fetch returns all rows of an account: one for each fund type of the platform, or a single one with Object "".
	Fetch func(ctx context.Context, api API) ([]Row, error)
}

// FundDaily describes the pull of the cash flow of past days.
type FundDaily struct {
	Table   rawtable.Table // of shape rawtable.DailyFundRows
	Amounts wire.Amounts   // the amounts in its rows
	// MaxDays is how many days one query may span, and LookBack how many days before today the platform still keeps.
	MaxDays, LookBack int
	// PublishedAfter is how long after its end a day's cash flow is published. Until then it is not pulled.
	PublishedAfter time.Duration
	Page           func(ctx context.Context, api API, q ReportQuery, page string) (Page, error)
}

// ReadBalance reads an answer's only balance, which has no fund type. An answer without field is broken.
func ReadBalance(data json.RawMessage, endpoint, field string, amounts wire.Amounts) ([]Row, error) {
	row := OpenRow(data, func(r *wire.Row) Row {
		if _, ok := r.Fields()[field]; !ok {
			r.Lose(field, errors.New("is missing"))
		}
		return ReadAmounts(r, amounts, Row{})
	})
	if row.Lost {
		return nil, Broken(endpoint, errors.New("there is no "+field))
	}
	return []Row{row}, nil
}

// ReadAmounts adds the amounts of an answer's row to a row that has no fund type.
func ReadAmounts(r *wire.Row, amounts wire.Amounts, row Row) Row {
	var bad []wire.Fault
	row.Raw, row.Funds, bad = amounts.Read(r.Fields(), "")
	r.Add(bad)
	return row
}

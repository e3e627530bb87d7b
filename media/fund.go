package media

import (
	"context"
	"strings"
	"time"

	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media/wire"
)

// The names of handlers ("<media>.balance") and of what coverage says of the accounts' money, whose level is always
// FundLevel.
const (
	BalanceName   = "balance"
	FundDailyName = "fund_daily"
	FundLevel     = "account"
)

// Funds says how the money of a platform's accounts is asked for. What has no function is not pulled.
type Funds struct {
	Balance Balance
	Daily   FundDaily
	// Types tells of which kind the platform's fund types are, where its rows have one.
	Types FundTypes
}

// FundType says that fund types with a word in their name are of a kind.
type FundType struct {
	Word string
	Kind fund.Kind
}

// FundTypes are looked through in their order.
type FundTypes []FundType

// Kind is the kind of the first word that a fund type's name holds, or fund.Other: platforms add types.
func (ts FundTypes) Kind(fundType string) fund.Kind {
	for _, t := range ts {
		if strings.Contains(fundType, t.Word) {
			return t.Kind
		}
	}
	return fund.Other
}

// Balance is what accounts have now.
type Balance struct {
	Table   rawtable.Table // of shape rawtable.FundRows
	Amounts wire.Amounts   // what its rows hold
	// Fetch returns all rows of an account: one for each fund type of the platform, or a single one with Object "".
	Fetch func(ctx context.Context, api API) ([]Row, error)
}

// FundDaily is what came in and went out on each past day.
type FundDaily struct {
	Table   rawtable.Table // of shape rawtable.DailyFundRows
	Amounts wire.Amounts   // what its rows hold
	// MaxDays is how many days one query may span, and LookBack how many days before today can still be asked for.
	MaxDays, LookBack int
	// ToldAfter is how long after its end a day is told. Until then it is not asked for.
	ToldAfter time.Duration
	Page      func(ctx context.Context, api API, q ReportQuery, page string) (Page, error)
}

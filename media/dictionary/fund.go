package dictionary

import (
	"strings"

	"adsync/base/fund"
	"adsync/media"
	"adsync/media/wire"
)

var fundHead = ticked(`
## The money of accounts

^account_balance^ holds what each account has, ^fund_daily^ what came in and went out on each of the account's past
days, in ^day_zone^. Both have a row for each kind of money, their ^fund^, and are in millionths of the row's
^currency^. NULL means that the platform does not report it, 0 is a reported figure. Never add up ^total^ and the
other kinds: it holds them. The age of a balance is that of its account's row of ^coverage^ (report ^balance^);
^updated_at^ changes only with the balance.

`)

// funds writes what the tables of money hold.
func (p *printer) funds(platforms []media.Platform) {
	p.print("%s", fundHead)
	p.print("| platform | raw tables | daily cash flow | a day is published |\n|---|---|---|---|\n")
	for _, platform := range platforms {
		funds := platform.Funds()
		if funds.Balance.Fetch == nil && funds.Daily.Page == nil {
			continue
		}
		p.print("| %s | `%s`, `%s` | %d days back | %02.0f:00 on the next day |\n",
			platform.Name(), funds.Balance.Table.Name, funds.Daily.Table.Name, funds.Daily.LookBack,
			funds.Daily.PublishedAfter.Hours())
	}
	p.print("\n| fund | meaning | platform's fund types that contain |\n|---|---|---|\n")
	for _, k := range fund.Kinds {
		p.print("| `%s` | %s | %s |\n", k.Kind, k.Meaning, typesOf(platforms, k.Kind))
	}
	p.print("\n### account_balance\n")
	p.columns(platforms, fund.BalanceFields, func(f media.Funds) wire.Amounts { return f.Balance.Amounts })
	p.print("\n### fund_daily\n\nThe balance is that of the day's end.\n")
	p.columns(platforms, fund.DailyFields, func(f media.Funds) wire.Amounts { return f.Daily.Amounts })
}

// typesOf returns the fund types of the platforms that are of a kind.
func typesOf(platforms []media.Platform, kind fund.Kind) string {
	var all []string
	for _, platform := range platforms {
		types := platform.Funds().Types
		var words []string
		for _, t := range types {
			if t.Kind == kind {
				words = append(words, t.Word)
			}
		}
		if kind == fund.Other && len(types) > 0 {
			all = append(all, platform.Name()+": all others")
		} else if len(words) > 0 {
			all = append(all, platform.Name()+": "+strings.Join(words, ", "))
		}
	}
	return strings.Join(all, "; ")
}

// columns writes the source of a table's columns on each platform.
func (p *printer) columns(platforms []media.Platform, fields []fund.Field, of func(media.Funds) wire.Amounts) {
	p.print("\n| column | meaning | platform | field | unit there | of fund |\n|---|---|---|---|---|---|\n")
	for _, f := range fields {
		for _, platform := range platforms {
			p.amounts(platform.Name(), f, of(platform.Funds()))
		}
	}
}

// amounts writes a column's source on a platform.
func (p *printer) amounts(platform string, f fund.Field, amounts wire.Amounts) {
	found := false
	for _, a := range amounts {
		if a.Is != f {
			continue
		}
		found = true
		kind := "the row's; `total` is the sum"
		if a.Kind != "" {
			kind = "`" + string(a.Kind) + "`"
		}
		p.print("| `%s` | %s | %s | `%s` | %s | %s |\n", f.Column(), f.Meaning(), platform, a.Field, a.Unit, kind)
	}
	if !found {
		p.print("| `%s` | %s | %s | none: NULL | | |\n", f.Column(), f.Meaning(), platform)
	}
}

package overview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/store/overview"
	"adsync/client"
)

// dayCosts reads the spend of accounts on days.
type dayCosts interface {
	DayCosts(accountIDs []int64, days []day.Day) ([]overview.DayCost, error)
}

// fill adds the examples and the money of each item, and the stakes.
func (l *facts) fill(ctx context.Context, names accountNames, costs dayCosts) error {
	var ids, named []int64
	for i := range l.items {
		a := &l.items[i]
		named = append(named, a.ids[:min(len(a.ids), examplesShown)]...)
		if a.Money == nil && a.MoneyOf != "" {
			a.ids = a.ids[:min(len(a.ids), stakeAccountsMax)]
			ids = append(ids, a.ids...)
		}
	}
	accounts, err := names.AccountsByID(ctx, unique(named))
	if err != nil {
		return err
	}
	last, err := LastCosts(costs, l.o.Business, unique(ids))
	if err != nil {
		return err
	}
	for i := range l.items {
		a := &l.items[i]
		for _, id := range a.ids[:min(len(a.ids), examplesShown)] {
			if account, ok := accounts[id]; ok {
				a.Examples = append(a.Examples, account.Media+"/"+account.ExternalID)
				a.Command = strings.Replace(a.Command, exampleID, account.ExternalID, 1)
			}
		}
		if a.Money != nil || a.MoneyOf == "" {
			continue
		}
		a.Money = Spent(last, a.ids)
		if int64(len(a.ids)) < a.Accounts && a.Money != nil {
			a.MoneyOf = fmt.Sprintf("%s, of the first %d", a.MoneyOf, len(a.ids))
		}
	}
	l.o.Stakes = stakes(l.items, last)
	return nil
}

// stakes adds up the items by kind and media. An account of several items counts once.
func stakes(items []item, last map[int64]overview.DayCost) []Stake {
	type key struct{ kind, media string }
	groups := map[key][]*item{}
	for i := range items {
		k := key{items[i].Kind, items[i].Media}
		groups[k] = append(groups[k], &items[i])
	}
	all := make([]Stake, 0, len(groups))
	for k, group := range groups {
		s := Stake{Kind: k.kind, Media: k.media}
		sums, seen, twice := map[string]int64{}, map[int64]bool{}, 0
		for _, a := range group {
			s.Accounts += int(a.Accounts)
			for _, m := range a.Money {
				sums[m.Currency] += m.Micros
			}
			for _, id := range a.ids {
				if !seen[id] {
					seen[id] = true
					continue
				}
				twice++
				if c, ok := last[id]; ok && strings.HasPrefix(a.MoneyOf, "a day") {
					sums[c.Currency] -= c.Cost
				}
			}
		}
		s.Accounts -= min(twice, s.Accounts)
		for currency, micros := range sums {
			if micros == 0 {
				delete(sums, currency)
			}
		}
		s.Money = moneyOf(sums)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Stake) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Media, b.Media))
	})
	return all
}

const (
	examplesShown = 3
	// exampleID is the placeholder in a command for the external id of an item's first account.
	exampleID = "EXAMPLE_ID"
	// costDays is the number of days before today in which an account's last known spend is searched.
	costDays = 7
)

// LastCosts returns the accounts' spend on their last known day before at's UTC day, by our ids. It looks back seven
// days.
func LastCosts(g dayCosts, at time.Time, ids []int64) (map[int64]overview.DayCost, error) {
	today := day.Of(at, time.UTC)
	days := day.Between(today.Add(-costDays), today.Add(-1))
	last := map[int64]overview.DayCost{}
	for page := range slices.Chunk(ids, accountsPage) {
		costs, err := g.DayCosts(page, days)
		if err != nil {
			return nil, err
		}
		for _, c := range costs {
			last[c.AccountID] = c // They are ordered by day.
		}
	}
	return last, nil
}

// Spent adds up the accounts' spend by currency. A spend of 0 or not known is left out.
func Spent(last map[int64]overview.DayCost, ids []int64) []client.Money {
	costs := map[string]int64{}
	for _, id := range ids {
		if c, ok := last[id]; ok && c.Cost != 0 {
			costs[c.Currency] += c.Cost
		}
	}
	return moneyOf(costs)
}

func moneyOf(byCurrency map[string]int64) []client.Money {
	var all []client.Money
	for _, currency := range slices.Sorted(maps.Keys(byCurrency)) {
		all = append(all, client.Money{Currency: currency, Micros: byCurrency[currency]})
	}
	return all
}

package api

import (
	"context"
	"maps"
	"slices"
	"time"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/base/task"
	"adsync/producer/overview"
)

const (
	// healedLooked is how many of the dead subtasks, those that died last, are looked at for whether they are healed.
	healedLooked = 1000
	// costDays is how far back a day's spend of an account is looked for.
	costDays = 7
	// costAccounts is how many accounts' spend one statement reads.
	costAccounts = 500
)

// deadStakeJSON says how many of the dead subtasks need somebody: those that are not healed, their accounts, and what these spend in a day.
type deadStakeJSON struct {
	Looked   int              `json:"looked"` // how many were looked at, those that died last
	Healed   int              `json:"healed"`
	Unhealed int              `json:"unhealed"`
	Accounts int              `json:"accounts"`        // of the unhealed
	Money    []overview.Money `json:"money,omitempty"` // what these accounts spent on their last day that is known
}

// deadStake looks at the dead subtasks of a filter that died last, and counts the healed ones by error print too.
func (a *api) deadStake(ctx context.Context, f task.DeadFilter) (stake deadStakeJSON, healedOf map[string]int64, err error) {
	rows, _, err := a.Store.ListDead(ctx, f, store.DeadPlace{}, healedLooked)
	if err != nil {
		return stake, nil, err
	}
	healed, err := a.Store.Healed(ctx, rows)
	if err != nil {
		return stake, nil, err
	}
	healedOf = map[string]int64{}
	accounts := map[int64]bool{}
	stake.Looked = len(rows)
	for i := range rows {
		switch d := &rows[i]; {
		case healed[d.Key]:
			stake.Healed++
			healedOf[d.ErrorPrint]++
		case d.AccountID != 0:
			accounts[d.AccountID] = true
		}
	}
	stake.Unhealed, stake.Accounts = stake.Looked-stake.Healed, len(accounts)
	stake.Money, err = a.lastCosts(ctx, slices.Sorted(maps.Keys(accounts)))
	return stake, healedOf, err
}

// lastCosts adds up what accounts spent on the last day, before the present one, of which that is known.
func (a *api) lastCosts(ctx context.Context, ids []int64) ([]overview.Money, error) {
	today := day.Of(a.Clock.Now(), time.UTC)
	last := map[int64]store.DayCost{}
	err := a.Store.Glance(ctx, func(g *store.Glance) error {
		for page := range slices.Chunk(ids, costAccounts) {
			costs, err := g.DayCosts(page, day.Between(today.Add(-costDays), today.Add(-1)))
			if err != nil {
				return err
			}
			for _, c := range costs {
				last[c.AccountID] = c // They come by day.
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	sums := map[string]int64{}
	for _, c := range last {
		sums[c.Currency] += c.Cost
	}
	var money []overview.Money
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		if sums[currency] != 0 {
			money = append(money, overview.Money{Currency: currency, Micros: sums[currency]})
		}
	}
	return money, nil
}

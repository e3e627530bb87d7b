package api

import (
	"context"
	"maps"
	"slices"

	"adsync/base/store/dead"
	storeoverview "adsync/base/store/overview"
	"adsync/base/task"
	"adsync/producer/overview"
)

// healedLooked is how many of the dead subtasks, those that died last, are looked at for whether they are healed.
const healedLooked = 1000

// deadStakeJSON says how many of the dead subtasks need somebody: those that are not healed, their accounts, and what these spend in a day.
type deadStakeJSON struct {
	Looked   int              `json:"looked"` // how many were looked at, those that died last
	Healed   int              `json:"healed"`
	Unhealed int              `json:"unhealed"`
	Accounts int              `json:"accounts"`        // of the unhealed
	Money    []overview.Money `json:"money,omitempty"` // what these accounts spent on their last day that is known
}

// deadStake looks at the dead subtasks of a filter that died last, and counts the healed ones by error print too.
func (a *deadRoutes) deadStake(ctx context.Context, f task.DeadFilter) (stake deadStakeJSON, healedOf map[string]int64, err error) {
	rows, _, err := a.store.ListDead(ctx, f, dead.DeadPlace{}, healedLooked)
	if err != nil {
		return stake, nil, err
	}
	healed, err := a.store.Healed(ctx, rows)
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
	ids := slices.Sorted(maps.Keys(accounts))
	err = a.store.Glance(ctx, func(g *storeoverview.Glance) error {
		last, err := overview.LastCosts(g, a.clock.Now(), ids)
		stake.Money = overview.Spent(last, ids)
		return err
	})
	return stake, healedOf, err
}

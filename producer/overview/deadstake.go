package overview

import (
	"context"
	"maps"
	"slices"
	"time"

	"adsync/base/store/dead"
	storeoverview "adsync/base/store/overview"
	"adsync/base/task"
	"adsync/client"
)

// DeadRowsMax is the number of dead subtasks, of those that died last, that StakeOfDead checks.
const DeadRowsMax = 1000

// deadStore reads dead subtasks, and reports which of them are healed.
type deadStore interface {
	ListDead(ctx context.Context, f task.DeadFilter, after dead.DeadPlace, limit int) ([]dead.DeadSubtask, dead.DeadPlace,
		error)
	Healed(ctx context.Context, rows []dead.DeadSubtask) (map[task.Key]bool, error)
	Glance(ctx context.Context, look func(*storeoverview.Glance) error) error
}

// StakeOfDead counts the dead subtasks of a filter that died last, at most DeadRowsMax: those that are not healed, and
// the healed ones, these also by error print. An account's spend is that of its last known day before now.
func StakeOfDead(ctx context.Context, s deadStore, f task.DeadFilter, now time.Time) (stake client.DeadStake,
	healedOf map[string]int64, err error) {
	rows, _, err := s.ListDead(ctx, f, dead.DeadPlace{}, DeadRowsMax)
	if err != nil {
		return stake, nil, err
	}
	healed, err := s.Healed(ctx, rows)
	if err != nil {
		return stake, nil, err
	}
	healedOf = map[string]int64{}
	accounts := map[int64]bool{}
	stake.Looked = int64(len(rows))
	for i := range rows {
		switch d := &rows[i]; {
		case healed[d.Key]:
			stake.Healed++
			healedOf[d.ErrorPrint]++
		case d.AccountID != 0:
			accounts[d.AccountID] = true
		}
	}
	stake.Unhealed, stake.Accounts = stake.Looked-stake.Healed, int64(len(accounts))
	ids := slices.Sorted(maps.Keys(accounts))
	err = s.Glance(ctx, func(g *storeoverview.Glance) error {
		last, err := LastCosts(g, now, ids)
		stake.Money = Spent(last, ids)
		return err
	})
	return stake, healedOf, err
}

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

// DeadLooked is how many of the dead subtasks, those that died last, are looked at for whether they are healed.
const DeadLooked = 1000

// deadStore reads dead subtasks, and which of them are healed.
type deadStore interface {
	ListDead(ctx context.Context, f task.DeadFilter, after dead.DeadPlace, limit int) ([]dead.DeadSubtask, dead.DeadPlace,
		error)
	Healed(ctx context.Context, rows []dead.DeadSubtask) (map[task.Key]bool, error)
	Glance(ctx context.Context, look func(*storeoverview.Glance) error) error
}

// StakeOfDead counts, of the dead subtasks of a filter that died last, those that need somebody, and the healed ones by
// error print too. What accounts spent is that of the last day before now that is known.
func StakeOfDead(ctx context.Context, s deadStore, f task.DeadFilter, now time.Time) (stake client.DeadStake,
	healedOf map[string]int64, err error) {
	rows, _, err := s.ListDead(ctx, f, dead.DeadPlace{}, DeadLooked)
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

package producer

import (
	"context"
	"slices"

	"adsync/base/store/settings"
)

// keepGoodRows stores the rows of cron_task that can be used, as they are now: if one cannot be used later, and all
// producers were started anew meanwhile, it runs as it is stored.
func (u *upkeepLoop) keepGoodRows(ctx context.Context) error {
	list := u.tasks.Current()
	if list.Version == u.goodVersion {
		return nil
	}
	if u.goodRows == nil {
		stored, err := u.store.GoodTaskRows(ctx)
		if err != nil {
			return err
		}
		u.goodRows = stored
	}
	var good []settings.TaskRow
	for id, row := range list.Good {
		if u.goodRows[id] != row {
			good = append(good, row)
		}
	}
	var gone []int64
	for id := range u.goodRows {
		_, isGood := list.Good[id]
		if _, isBad := list.Bad[id]; !isGood && !isBad {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	if err := u.store.PutGoodTaskRows(ctx, u.lease, good, gone, u.clock.Now()); err != nil {
		return err
	}
	for _, row := range good {
		u.goodRows[row.ID] = row
	}
	for _, id := range gone {
		delete(u.goodRows, id)
	}
	u.goodVersion = list.Version
	return nil
}

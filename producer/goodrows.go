package producer

import (
	"context"
	"slices"

	"adsync/base/store/settings"
)

// keepGoodRows stores the valid rows of cron_task as they are now. If a row is invalid later, and all producers have
// restarted since, its task runs as stored.
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

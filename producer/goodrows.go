package producer

import (
	"context"
	"slices"

	"adsync/base/store"
)

// keepGoodRows stores the rows of cron_task that can be used, as they are now: if one cannot be used later, and all
// producers were started anew meanwhile, it runs as it is stored.
func (t *term) keepGoodRows(ctx context.Context) error {
	list := t.tasks.current()
	if list.version == t.goodVersion {
		return nil
	}
	if t.goodRows == nil {
		stored, err := t.store.GoodTaskRows(ctx)
		if err != nil {
			return err
		}
		t.goodRows = stored
	}
	var good []store.TaskRow
	for id, row := range list.good {
		if t.goodRows[id] != row {
			good = append(good, row)
		}
	}
	var gone []int64
	for id := range t.goodRows {
		_, isGood := list.good[id]
		if _, isBad := list.bad[id]; !isGood && !isBad {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	if err := t.store.PutGoodTaskRows(ctx, t.lease, good, gone, t.clock.Now()); err != nil {
		return err
	}
	for _, row := range good {
		t.goodRows[row.ID] = row
	}
	for _, id := range gone {
		delete(t.goodRows, id)
	}
	t.goodVersion = list.version
	return nil
}

package prune

import (
	"context"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
	"adsync/base/store/publishing"
	"adsync/base/task"
)

// Files deletes report files that were planned before a moment and have ended, unless revisions may follow them at now.
// Then it deletes what no file that is left waits for, and what deleted destinations have left. The newest files of
// each subscription stay: planning continues from them.
func (p *Pruner) Files(ctx context.Context, before, now time.Time) (int64, error) {
	db := p.s.Data
	through := task.FirstRunIDAt(before)
	newest, err := newestFiles(db.Writer(ctx))
	if err != nil {
		return 0, err
	}
	ended := []publishing.State{publishing.Published, publishing.Failed, publishing.Cancelled, publishing.Superseded,
		publishing.Empty}
	gone, err := p.walkRuns(ctx, "publication", "id", through, false,
		"state IN ? AND (correct_until IS NULL OR correct_until <= ?) AND id NOT IN ?", ended, sqldb.At(now), newest)
	if err != nil {
		return gone, err
	}
	n, err := p.needs(ctx, before)
	gone += n
	if err != nil {
		return gone, err
	}
	n, err = p.destinations(ctx, before)
	return gone + n, err
}

// newestFiles returns, for each subscription, the files with the newest moment and with the highest number, and 0, so
// that the list is never empty.
func newestFiles(db *gorm.DB) ([]int64, error) {
	var ids []int64
	for _, column := range []string{"due_at", "sequence"} {
		var some []int64
		err := db.Raw("SELECT p.id FROM (SELECT subscription, MAX(" + column + ") AS newest FROM publication" +
			" GROUP BY subscription) n JOIN publication p ON p.subscription = n.subscription AND p." + column + " = n.newest",
		).Scan(&some).Error
		if err != nil {
			return nil, fmt.Errorf("read the newest files: %w", err)
		}
		ids = append(ids, some...)
	}
	return append(ids, 0), nil
}

// needs deletes what only files waited for that are gone. A need that was last used before a moment belongs to files
// that were planned before it: few are left of these.
func (p *Pruner) needs(ctx context.Context, before time.Time) (gone int64, err error) {
	db := p.s.Data
	var used []string
	if err := db.Writer(ctx).Raw("SELECT DISTINCT need FROM publication WHERE id < ? AND need <> ''",
		task.FirstRunIDAt(before)).Scan(&used).Error; err != nil {
		return 0, fmt.Errorf("prune publication_need: %w", err)
	}
	after := ""
	_, err = p.pieces(ctx, func() (int64, error) {
		var all []string
		err := db.Writer(ctx).Raw("SELECT sha256 FROM publication_need WHERE sha256 > ? AND used_at < ?"+
			" ORDER BY sha256 LIMIT ?", after, sqldb.At(before), prunePiece).Scan(&all).Error
		if err != nil || len(all) == 0 {
			return 0, err
		}
		read := int64(len(all))
		after = all[len(all)-1]
		all = slices.DeleteFunc(all, func(sum string) bool { return slices.Contains(used, sum) })
		if len(all) == 0 {
			return read, nil
		}
		return read, db.Tx(ctx, func(tx *gorm.DB) error {
			res := tx.Exec("DELETE FROM publication_need WHERE sha256 IN ? AND used_at < ?", all, sqldb.At(before))
			gone += res.RowsAffected
			return res.Error
		})
	})
	if err != nil {
		return gone, fmt.Errorf("prune publication_need: %w", err)
	}
	return gone, nil
}

// destinations deletes the states of destinations that are gone, and connections that nobody has used since a moment.
func (p *Pruner) destinations(ctx context.Context, before time.Time) (gone int64, err error) {
	if p.Over() {
		return 0, nil
	}
	all, err := publishing.Subscriptions{Databases: p.s}.Destinations(ctx)
	if err != nil {
		return 0, err
	}
	names := []string{""}
	for i := range all {
		names = append(names, all[i].Name)
	}
	err = p.s.Data.Tx(ctx, func(tx *gorm.DB) error {
		states := tx.Exec("DELETE FROM destination_state WHERE destination NOT IN ?", names)
		if states.Error != nil {
			return states.Error
		}
		slots := tx.Exec("DELETE FROM destination_slot WHERE expires_at < ?", sqldb.At(before))
		gone = states.RowsAffected + slots.RowsAffected
		return slots.Error
	})
	if err != nil {
		return 0, fmt.Errorf("prune destination_state: %w", err)
	}
	return gone, nil
}

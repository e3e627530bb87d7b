package publishing

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"adsync/base/sqldb"
	"adsync/base/store/settings"
)

// Need is a row of publication_need.
type Need struct {
	SHA256 string    `gorm:"column:sha256;primaryKey"` // of the text, in hex
	Need   string    // JSON
	UsedAt time.Time `gorm:"serializer:time"` // when a file was planned with it last
}

// TableName implements schema.Tabler.
func (Need) TableName() string { return "publication_need" }

// KeepNeed writes what a waiting file waits for.
func (s Publications) KeepNeed(ctx context.Context, id int64, need *Need) error {
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		err := tx.Clauses(clause.OnConflict{
			Columns: []clause.Column{{Name: "sha256"}}, DoUpdates: clause.AssignmentColumns([]string{"used_at"}),
		}).Create(need).Error
		if err != nil {
			return err
		}
		return tx.Table("publication").Where("id = ? AND state = ?", id, Waiting).UpdateColumn("need", need.SHA256).Error
	})
	if err != nil {
		return fmt.Errorf("write what the file %d waits for: %w", id, err)
	}
	return nil
}

// FileNeed returns what a file waits for, by its SHA-256, or sqldb.ErrNotFound.
func (s Publications) FileNeed(ctx context.Context, sha256 string) (string, error) {
	n, err := one[Need](s.Data.Writer(ctx).Where("sha256 = ?", sha256), "need of a file")
	return n.Need, err
}

// WaitingFiles returns files that wait for figures, the longest waiting first.
func (s Publications) WaitingFiles(ctx context.Context, limit int) ([]Publication, error) {
	all, err := list(s.Data.Writer(ctx).Where("state = ?", Waiting).
		Order("planned_at, subscription, from_day, revision").Limit(limit))
	if err != nil {
		return nil, fmt.Errorf("read the waiting files: %w", err)
	}
	return all, nil
}

// ReleaseFile makes a waiting file a planned one.
func (s Publications) ReleaseFile(ctx context.Context, id int64, now time.Time) error {
	err := s.Data.Retry(ctx, func() error {
		return s.Data.Writer(ctx).Table("publication").Where("id = ? AND state = ?", id, Waiting).
			UpdateColumns(map[string]any{"state": Planned, "run_id": 0, "error_text": "", "ready_at": sqldb.At(now),
				"updated_at": sqldb.At(now)}).Error
	})
	if err != nil {
		return fmt.Errorf("release the file %d: %w", id, err)
	}
	return nil
}

// NoteWaiting writes what a waiting file waits for.
func (s Publications) NoteWaiting(ctx context.Context, id int64, reason string) error {
	err := s.Data.Retry(ctx, func() error {
		return s.Data.Writer(ctx).Table("publication").Where("id = ? AND state = ?", id, Waiting).
			UpdateColumn("error_text", sqldb.Cut(reason, errorMax)).Error
	})
	if err != nil {
		return fmt.Errorf("write what the file %d waits for: %w", id, err)
	}
	return nil
}

// LeaveFile ends a try without an end of the file: the next pass of the planning orders another one, in the state and
// the lane of p. It returns false if the try may no longer change the row.
func (s Publications) LeaveFile(ctx context.Context, p *Publication, now time.Time) (left bool, err error) {
	err = s.Data.Retry(ctx, func() error {
		res := s.Data.Writer(ctx).Table("publication").Where("id = ? AND delivery = ? AND state IN ?", p.ID, p.Delivery,
			openStates).UpdateColumns(map[string]any{"state": p.State, "lane": p.Lane, "run_id": 0, "updated_at": sqldb.At(now)})
		left = res.RowsAffected == 1
		return res.Error
	})
	if err != nil {
		return false, fmt.Errorf("leave the file %s to a later try: %w", p.Part(), err)
	}
	return left, nil
}

// FileAccount is an account as far as files wait for it.
type FileAccount struct {
	ID       int64
	Timezone string
	Tier     string
	Parked   bool
}

// FileAccounts returns the bound accounts of a media with an id above after, by id. It leaves out those of the tier
// invalid, since they are not pulled.
func (s Subscriptions) FileAccounts(ctx context.Context, media string, after int64, limit int) ([]FileAccount, error) {
	// With the index of a media's tiers, each page would sort the whole media.
	table := "media_account" + s.Config.Dialect().ForceIndex("media_account", "PRIMARY")
	var all []FileAccount
	err := s.Config.Writer(ctx).Raw("SELECT id, timezone, tier, parked <> '' AS parked FROM "+table+
		" WHERE media = ? AND bound = 1 AND tier <> ? AND id > ? ORDER BY id LIMIT ?", media, settings.TierInvalid, after,
		limit).Scan(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the accounts of %s: %w", media, err)
	}
	return all, nil
}

// FileSizes returns the size of the largest file of each subscription that was planned since a moment, in bytes.
func (s Publications) FileSizes(ctx context.Context, since time.Time) (map[string]int64, error) {
	var rows []struct {
		Subscription string
		Bytes        int64
	}
	err := s.Data.Writer(ctx).Raw("SELECT subscription, MAX(byte_size) AS bytes FROM publication"+
		" WHERE planned_at >= ? AND byte_size IS NOT NULL GROUP BY subscription", sqldb.At(since)).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the sizes of files: %w", err)
	}
	all := make(map[string]int64, len(rows))
	for _, r := range rows {
		all[r.Subscription] = r.Bytes
	}
	return all, nil
}

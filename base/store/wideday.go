package store

import (
	"context"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"adsync/base/day"
)

// ObjectLevels are the levels below the account, the lowest first: each belongs to the next.
var ObjectLevels = []string{"creative", "adgroup", "campaign"}

// WideDay is a day of an account whose rows of wide_daily do not show the newest of what they are built from. day.Epoch stands
// for its configuration.
type WideDay struct {
	AccountID int64   `gorm:"column:account_id"`
	Day       day.Day `gorm:"column:day"`
	Mark      int64   `gorm:"column:dirty"`
}

// markWide marks days of an account for a new wide table, in the transaction that changes what it is built from: figures,
// the partner's, or (day.Epoch) the configuration. It comes last there, with the days ascending: rebuilds hold these rows and
// wait for nothing else. at is the database's time in microseconds; a mark is above all that the day has had.
func (d *DB) markWide(tx *gorm.DB, media string, accountID int64, days []day.Day, at int64) error {
	if len(days) == 0 {
		return nil
	}
	// dirty first: MySQL assigns from left to right, and both are to be reckoned from the old mark.
	update := " ON DUPLICATE KEY UPDATE dirty = GREATEST(mark + 1, VALUES(mark)), mark = GREATEST(mark + 1, VALUES(mark))"
	if d.dialect == SQLiteDialect {
		update = " ON CONFLICT (account_id, day) DO UPDATE SET dirty = MAX(mark + 1, excluded.mark), mark = MAX(mark + 1, excluded.mark)"
	}
	for batch := range slices.Chunk(days, d.rowsPerStatement(5)) {
		args := make([]any, 0, 5*len(batch))
		for _, on := range batch {
			args = append(args, accountID, on, media, at, at)
		}
		err := tx.Exec("INSERT INTO wide_day (account_id, day, media, mark, dirty) VALUES "+Tuples(len(batch), 5)+update, args...).Error
		if err != nil {
			return fmt.Errorf("mark days of account %d for wide_daily: %w", accountID, err)
		}
	}
	return nil
}

// markWideSpan marks those of an account's days from from to to that wide_daily has rows of, or is to have.
func (d *DB) markWideSpan(tx *gorm.DB, accountID int64, from, to day.Day, at int64) error {
	// dirty first, as in markWide.
	err := tx.Exec("UPDATE wide_day SET dirty = CASE WHEN mark >= ? THEN mark + 1 ELSE ? END, mark = CASE WHEN mark >= ? THEN mark + 1 ELSE ? END"+
		" WHERE account_id = ? AND day >= ? AND day <= ?", at, at, at, at, accountID, from, to).Error
	if err != nil {
		return fmt.Errorf("mark days of account %d for wide_daily: %w", accountID, err)
	}
	return nil
}

// WideDays lists up to limit marked days of a media whose mark is not above upTo, the oldest marks first.
func (s *Store) WideDays(ctx context.Context, media string, upTo int64, limit int) ([]WideDay, error) {
	return s.wideDays(ctx, "day > ?", media, upTo, limit)
}

// WideConfigurations lists up to limit accounts of a media whose configuration changed, likewise: their Day is day.Epoch.
func (s *Store) WideConfigurations(ctx context.Context, media string, upTo int64, limit int) ([]WideDay, error) {
	return s.wideDays(ctx, "day = ?", media, upTo, limit)
}

func (s *Store) wideDays(ctx context.Context, which, media string, upTo int64, limit int) ([]WideDay, error) {
	var days []WideDay
	err := s.Data.Writer(ctx).Raw("SELECT account_id, day, dirty FROM wide_day WHERE media = ? AND dirty <= ? AND "+which+" ORDER BY dirty, account_id, day LIMIT ?",
		media, upTo, day.Epoch, limit).Scan(&days).Error
	if err != nil {
		return nil, fmt.Errorf("read the days of %s that wide_daily lacks: %w", media, err)
	}
	return days, nil
}

// SpreadWide hands the mark of an account's configuration on to its days from since on, and clears it if it is still the one that
// was read. The change of configuration is seen by then: a day that comes to be known later is built with it.
func (s *Store) SpreadWide(ctx context.Context, configuration WideDay, since day.Day) error {
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		now, err := s.Data.nowTx(tx)
		if err != nil {
			return err
		}
		err = tx.Exec("UPDATE wide_day SET dirty = NULL WHERE account_id = ? AND day = ? AND dirty = ?", configuration.AccountID, day.Epoch, configuration.Mark).Error
		if err != nil {
			return err
		}
		return s.Data.markWideSpan(tx, configuration.AccountID, since, LastDay, now.UnixMicro())
	})
	if err != nil {
		return fmt.Errorf("mark the days of account %d for its configuration: %w", configuration.AccountID, err)
	}
	return nil
}

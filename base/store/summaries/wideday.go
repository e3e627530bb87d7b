package summaries

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/store/widemark"
)

// ObjectLevels are the levels below the account, the lowest first: each level's parent is the next.
var ObjectLevels = []string{"creative", "adgroup", "campaign"}

// WideDay is a day of an account whose rows of wide_daily lack the newest changes. day.Epoch stands for its
// configuration.
type WideDay struct {
	AccountID int64   `gorm:"column:account_id"`
	Day       day.Day `gorm:"column:day"`
	Mark      int64   `gorm:"column:dirty"`
}

// WideDays returns up to limit marked days of a media whose mark is not above upTo, the oldest marks first.
func (s WideRows) WideDays(ctx context.Context, media string, upTo int64, limit int) ([]WideDay, error) {
	return s.wideDays(ctx, "day > ?", media, upTo, limit)
}

// WideConfigurations returns up to limit accounts of a media whose configuration changed, like WideDays: their Day is
// day.Epoch.
func (s WideRows) WideConfigurations(ctx context.Context, media string, upTo int64, limit int) ([]WideDay, error) {
	return s.wideDays(ctx, "day = ?", media, upTo, limit)
}

func (s WideRows) wideDays(ctx context.Context, which, media string, upTo int64, limit int) ([]WideDay, error) {
	var days []WideDay
	err := s.Data.Writer(ctx).Raw("SELECT account_id, day, dirty FROM wide_day WHERE media = ? AND dirty <= ? AND "+which+
		" ORDER BY dirty, account_id, day LIMIT ?",
		media, upTo, day.Epoch, limit).Scan(&days).Error
	if err != nil {
		return nil, fmt.Errorf("read the days of %s that wide_daily lacks: %w", media, err)
	}
	return days, nil
}

// MarkWideDays moves the mark of an account's configuration to its days from since on, and clears it if it still
// holds the value read. By then the change of configuration is visible, so that a day that is added later is built
// with it.
func (s WideRows) MarkWideDays(ctx context.Context, configuration WideDay, since day.Day) error {
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		now, err := s.Data.NowTx(tx)
		if err != nil {
			return err
		}
		err = tx.Exec("UPDATE wide_day SET dirty = NULL WHERE account_id = ? AND day = ? AND dirty = ?",
			configuration.AccountID, day.Epoch, configuration.Mark).Error
		if err != nil {
			return err
		}
		return widemark.Span(tx, []int64{configuration.AccountID}, since, LastDay, now.UnixMicro())
	})
	if err != nil {
		return fmt.Errorf("mark the days of account %d for its configuration: %w", configuration.AccountID, err)
	}
	return nil
}

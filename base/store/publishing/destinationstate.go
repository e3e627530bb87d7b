package publishing

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"adsync/base/sqldb"
)

// DestinationState is a row of destination_state: how a destination is.
type DestinationState struct {
	Destination string    `gorm:"primaryKey"`
	DownSince   time.Time `gorm:"serializer:time"` // zero while it can be used
	ProbeAt     time.Time `gorm:"serializer:time"` // when one file tries it again
	Tries       int       // failures in a row
	ErrorText   string    // of the last of them
	SuccessAt   time.Time `gorm:"serializer:time"` // when a file was published there last
}

// TableName implements schema.Tabler.
func (DestinationState) TableName() string { return "destination_state" }

// DestinationStates returns how all destinations are that were used.
func (s Publications) DestinationStates(ctx context.Context) (map[string]DestinationState, error) {
	var rows []DestinationState
	if err := s.Data.Writer(ctx).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("read how the destinations are: %w", err)
	}
	all := make(map[string]DestinationState, len(rows))
	for _, r := range rows {
		all[r.Destination] = r
	}
	return all, nil
}

// MayUseDestination reports whether a file may try a destination. While it is down one file may, from probe_at on, and
// probe_at moves to again. It returns the state too.
func (s Publications) MayUseDestination(ctx context.Context, name string, now, again time.Time) (state DestinationState,
	may bool, err error) {
	err = s.Data.Retry(ctx, func() error {
		var rows []DestinationState
		if err := s.Data.Writer(ctx).Where("destination = ?", name).Find(&rows).Error; err != nil {
			return err
		}
		if len(rows) == 0 || rows[0].DownSince.IsZero() {
			may = true
			return nil
		}
		state = rows[0]
		res := s.Data.Writer(ctx).Table("destination_state").
			Where("destination = ? AND down_since IS NOT NULL AND probe_at <= ?", name, sqldb.At(now)).
			UpdateColumn("probe_at", sqldb.At(again))
		may = res.RowsAffected == 1
		return res.Error
	})
	if err != nil {
		return state, false, fmt.Errorf("read how the destination %s is: %w", name, err)
	}
	return state, may, nil
}

// DestinationFailed records that a destination could not be used, and when one file tries it again.
func (s Publications) DestinationFailed(ctx context.Context, name, reason string, now, probeAt time.Time) error {
	row := DestinationState{Destination: name, DownSince: now, ProbeAt: probeAt, Tries: 1,
		ErrorText: sqldb.Cut(reason, errorMax)}
	err := s.Data.Retry(ctx, func() error {
		res := s.Data.Writer(ctx).Exec("UPDATE destination_state SET down_since = COALESCE(down_since, ?), probe_at = ?,"+
			" tries = tries + 1, error_text = ? WHERE destination = ?", sqldb.At(now), sqldb.At(probeAt), row.ErrorText, name)
		if res.Error != nil || res.RowsAffected > 0 {
			return res.Error
		}
		return s.Data.Writer(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error
	})
	if err != nil {
		return fmt.Errorf("record that the destination %s cannot be used: %w", name, err)
	}
	return nil
}

// DestinationWorked records that a destination could be used, and with a time that a file was published there then.
func (s Publications) DestinationWorked(ctx context.Context, name string, publishedAt time.Time) error {
	err := s.Data.Retry(ctx, func() error {
		set := map[string]any{"down_since": nil, "probe_at": nil, "tries": 0, "error_text": ""}
		if !publishedAt.IsZero() {
			set["success_at"] = sqldb.At(publishedAt)
		}
		res := s.Data.Writer(ctx).Table("destination_state").Where("destination = ?", name).UpdateColumns(set)
		if res.Error != nil || res.RowsAffected > 0 || publishedAt.IsZero() {
			return res.Error
		}
		row := DestinationState{Destination: name, SuccessAt: publishedAt}
		return s.Data.Writer(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&row).Error
	})
	if err != nil {
		return fmt.Errorf("record that the destination %s can be used: %w", name, err)
	}
	return nil
}

// TakeConnection takes one of the connections 1 to most of a destination for a delivery, until a moment. It returns
// false if all are in use.
func (s Publications) TakeConnection(ctx context.Context, destination string, most int, delivery int64,
	now, until time.Time) (taken bool, err error) {
	err = s.Data.Retry(ctx, func() error {
		if taken, err = s.keepConnection(ctx, destination, delivery, now, until); taken || err != nil {
			return err
		}
		for slot := 1; slot <= most; slot++ {
			res := s.Data.Writer(ctx).Table("destination_slot").
				Where("destination = ? AND slot = ? AND expires_at <= ?", destination, slot, sqldb.At(now)).
				UpdateColumns(map[string]any{"delivery": delivery, "expires_at": sqldb.At(until)})
			if taken = res.RowsAffected > 0; taken || res.Error != nil {
				return res.Error
			}
			res = s.Data.Writer(ctx).Exec(s.Data.Dialect().InsertIgnore()+
				"destination_slot (destination, slot, delivery, expires_at) VALUES (?, ?, ?, ?)", destination, slot, delivery,
				sqldb.At(until))
			if taken = res.RowsAffected > 0; taken || res.Error != nil {
				return res.Error
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("take a connection of the destination %s: %w", destination, err)
	}
	return taken, nil
}

// keepConnection keeps the connection that a delivery has, until a moment, and reports whether it has one.
func (s Publications) keepConnection(ctx context.Context, destination string, delivery int64, now, until time.Time) (
	bool, error) {
	own := func() *gorm.DB {
		return s.Data.Writer(ctx).Table("destination_slot").
			Where("destination = ? AND delivery = ? AND expires_at > ?", destination, delivery, sqldb.At(now))
	}
	// The number of rows that an UPDATE changes does not count those that are so already.
	var slots int64
	if err := own().Count(&slots).Error; err != nil || slots == 0 {
		return false, err
	}
	return true, own().UpdateColumn("expires_at", sqldb.At(until)).Error
}

// ReturnConnection makes the connection of a delivery free.
func (s Publications) ReturnConnection(ctx context.Context, destination string, delivery int64, now time.Time) error {
	err := s.Data.Retry(ctx, func() error {
		return s.Data.Writer(ctx).Table("destination_slot").Where("destination = ? AND delivery = ?", destination, delivery).
			UpdateColumn("expires_at", sqldb.At(now)).Error
	})
	if err != nil {
		return fmt.Errorf("return a connection of the destination %s: %w", destination, err)
	}
	return nil
}

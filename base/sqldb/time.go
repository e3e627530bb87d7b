package sqldb

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
)

// TimeLayout is the layout in which a Time is written.
const TimeLayout = "2006-01-02 15:04:05.000"

// Time is a UTC time with milliseconds in a column. The zero Time is NULL. It is written as text, so that MySQL and
// SQLite store and compare it alike.
type Time struct{ time.Time }

// At returns t for a column.
func At(t time.Time) Time { return Time{Time: t.UTC().Truncate(time.Millisecond)} }

// Value implements driver.Valuer.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UTC().Format(TimeLayout), nil
}

// Scan implements sql.Scanner.
func (t *Time) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		t.Time = time.Time{}
		return nil
	case time.Time:
		t.Time = v.UTC()
		return nil
	case []byte:
		return t.scanText(string(v))
	case string:
		return t.scanText(v)
	default:
		return fmt.Errorf("time from %T", v)
	}
}

func (t *Time) scanText(s string) error {
	for _, layout := range []string{"2006-01-02 15:04:05.999999999", time.RFC3339Nano, "2006-01-02"} {
		parsed, err := time.Parse(layout, s)
		if err == nil {
			t.Time = parsed.UTC()
			return nil
		}
	}
	return fmt.Errorf("time from %q", s)
}

// DayIn returns the part of a DATE that a day.Day holds: SQLite's driver appends a time of day.
func DayIn(read sql.RawBytes) []byte { return read[:min(len(read), len(day.Epoch))] }

// NowTx returns the database's time, read inside a transaction.
func (d *DB) NowTx(tx *gorm.DB) (time.Time, error) {
	var now Time
	if err := tx.Raw("SELECT " + d.dialect.Now()).Row().Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read database time: %w", err)
	}
	return now.Time, nil
}

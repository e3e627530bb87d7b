package widemark

import (
	"cmp"
	"fmt"
	"slices"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/sqldb"
)

// Day is a day of an account.
type Day struct {
	AccountID int64
	Day       day.Day
}

// Compare orders days as Days wants them.
func Compare(a, b Day) int {
	return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.Day, b.Day))
}

// Account marks days of one account: see Days.
func Account(d *sqldb.DB, tx *gorm.DB, media string, accountID int64, days []day.Day, at int64) error {
	marks := make([]Day, len(days))
	for i, on := range days {
		marks[i] = Day{AccountID: accountID, Day: on}
	}
	return Days(d, tx, media, marks, at)
}

// Days marks days for wide_daily, in the transaction that changes their figures, the partner's figures, or (day.Epoch)
// the configuration. It must come last there, with the days ascending by account and day: rebuilds lock these rows and
// wait for no other lock. at is the database's time in microseconds; a new mark is above all earlier marks of its day.
func Days(d *sqldb.DB, tx *gorm.DB, media string, days []Day, at int64) error {
	if len(days) == 0 {
		return nil
	}
	// dirty first: MySQL assigns from left to right, and both are computed from the old mark.
	update := " ON DUPLICATE KEY UPDATE dirty = GREATEST(mark + 1, VALUES(mark)), mark = GREATEST(mark + 1, VALUES(mark))"
	if d.Dialect() == sqldb.SQLiteDialect {
		update = " ON CONFLICT (account_id, day) DO UPDATE SET dirty = MAX(mark + 1, excluded.mark), mark = MAX(mark + 1," +
			" excluded.mark)"
	}
	for batch := range slices.Chunk(days, d.RowsPerStatement(5)) {
		args := make([]any, 0, 5*len(batch))
		for _, on := range batch {
			args = append(args, on.AccountID, on.Day, media, at, at)
		}
		err := tx.Exec("INSERT INTO wide_day (account_id, day, media, mark, dirty) VALUES "+sqldb.Tuples(len(batch), 5)+
			update, args...).Error
		if err != nil {
			return fmt.Errorf("mark %s for wide_daily: %w", plural.Count(len(batch), "day", "days"), err)
		}
	}
	return nil
}

// Span marks those of the accounts' days from from to to that have a row of wide_day.
func Span(tx *gorm.DB, accountIDs []int64, from, to day.Day, at int64) error {
	// dirty first, as in Days.
	err := tx.Exec(
		"UPDATE wide_day SET dirty = CASE WHEN mark >= ? THEN mark + 1 ELSE ? END,"+
			" mark = CASE WHEN mark >= ? THEN mark + 1 ELSE ? END"+
			" WHERE account_id IN ? AND day >= ? AND day <= ?", at, at, at, at, accountIDs, from, to).Error
	if err != nil {
		return fmt.Errorf("mark days of %s for wide_daily: %w", plural.Count(len(accountIDs), "account", "accounts"), err)
	}
	return nil
}

package results

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/settings"
)

// Activity is an account's activity as the data database has it.
type Activity struct {
	// Figures is the newest of the given days on which the account had spend or impressions; "" if none.
	Figures day.Day
	// Whole has the days whose account figures were pulled whole.
	Whole map[day.Day]bool
	// Pulled is set if any day's account figures were ever pulled whole.
	Pulled bool
	// Changed is when its configuration last changed, by the platform's time or by the pull that found it; zero if
	// never.
	Changed time.Time
}

// Activities returns the accounts' activity: figures of the given days, and changes from since to until. Later
// changes are a platform's mistake. lists are the names of the media's configuration levels in coverage. Each account
// is judged by its own rows only.
func (s Results) Activities(ctx context.Context, ids []int64, days []day.Day, since, until time.Time,
	lists []string) (map[int64]*Activity, error) {
	found := make(map[int64]*Activity, len(ids))
	for _, id := range ids {
		found[id] = &Activity{Whole: map[day.Day]bool{}}
	}
	if len(ids) == 0 {
		return found, nil
	}
	for _, read := range []func() error{
		func() error { return s.readFigures(ctx, ids, days, found) },
		func() error { return s.readWhole(ctx, ids, days, found) },
		func() error { return s.readEverPulled(ctx, found) },
		func() error { return s.readModified(ctx, ids, until, lists, found) },
		func() error { return s.readChanged(ctx, ids, since, until, found) },
	} {
		if err := read(); err != nil {
			return nil, fmt.Errorf("read the activity of %s: %w", plural.Count(len(ids), "account", "accounts"), err)
		}
	}
	return found, nil
}

func (s Results) readFigures(ctx context.Context, ids []int64, days []day.Day, into map[int64]*Activity) error {
	return eachAccountDay(
		s.Data.Writer(ctx).Raw(
			"SELECT account_id, MAX(day) FROM report_daily WHERE day IN ? AND account_id IN ? AND level = ?"+
				" AND (cost > 0 OR impressions > 0) GROUP BY account_id", days, ids, settings.AccountLevel),
		func(id int64, d day.Day) { into[id].Figures = d })
}

func (s Results) readWhole(ctx context.Context, ids []int64, days []day.Day, into map[int64]*Activity) error {
	return eachAccountDay(
		s.Data.Writer(ctx).Raw(
			"SELECT account_id, day FROM coverage WHERE account_id IN ? AND report = ? AND level = ? AND day IN ?"+
				" AND complete_version > 0 AND state = ?", ids, settings.AccountFigures, settings.AccountLevel, days, Complete),
		func(id int64, d day.Day) {
			into[id].Whole[d], into[id].Pulled = true, true
		})
}

// eachAccountDay calls yield with each row of a query that selects accounts and days.
func eachAccountDay(query *gorm.DB, yield func(id int64, d day.Day)) error {
	return sqldb.EachRow(query, func(rows *sql.Rows) error {
		var id int64
		var d day.Day
		if err := rows.Scan(&id, &d); err != nil {
			return err
		}
		yield(id, d)
		return nil
	})
}

// readEverPulled reads all days of the few accounts that have none of the given days.
func (s Results) readEverPulled(ctx context.Context, into map[int64]*Activity) error {
	var ids []int64
	for id, a := range into {
		if !a.Pulled {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var pulled []int64
	err := s.Data.Writer(ctx).Raw(
		"SELECT DISTINCT account_id FROM coverage WHERE account_id IN ? AND report = ? AND level = ?"+
			" AND complete_version > 0",
		ids, settings.AccountFigures, settings.AccountLevel).Scan(&pulled).Error
	for _, id := range pulled {
		into[id].Pulled = true
	}
	return err
}

func (s Results) readModified(ctx context.Context, ids []int64, until time.Time, lists []string,
	into map[int64]*Activity) error {
	if len(lists) == 0 {
		return nil
	}
	var newest []struct{ AccountID, Seconds int64 }
	err := s.Data.Writer(ctx).Raw(
		"SELECT account_id, MAX(high_water) AS seconds FROM coverage"+
			" WHERE account_id IN ? AND report IN ? AND day = ? AND high_water > 0 AND high_water <= ?"+
			" GROUP BY account_id", ids, lists, day.Epoch, until.Unix()).Scan(&newest).Error
	for _, n := range newest {
		into[n.AccountID].Changed = time.Unix(n.Seconds, 0).UTC()
	}
	return err
}

// readChanged reads changes that moved no modification time, and those of the platform's log of operations. A field
// that appears in all objects at once comes from the platform or from us, and is no activity.
func (s Results) readChanged(ctx context.Context, ids []int64, since, until time.Time,
	into map[int64]*Activity) error {
	var newest []struct{ AccountID, Version int64 }
	err := s.Data.Writer(ctx).Raw(
		"SELECT account_id, MAX(version) AS version FROM config_change WHERE account_id IN ? AND version >= ?"+
			" AND version <= ? AND (field = ? OR before_value <> '' OR operation <> '') GROUP BY account_id", ids,
		since.UnixMicro(), until.UnixMicro(), FieldCreated).Scan(&newest).Error
	for _, n := range newest {
		if at := time.UnixMicro(n.Version).UTC(); at.After(into[n.AccountID].Changed) {
			into[n.AccountID].Changed = at
		}
	}
	return err
}

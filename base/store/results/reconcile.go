package results

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
)

// LevelSum is the sums of one level of report_daily for an account and day.
type LevelSum struct {
	RunID  int64 // of the last pull if that was whole, otherwise 0
	Rows   int64
	Values metric.Values // the sums; unset where no row has a value
}

// LevelOf names one level of an account.
type LevelOf struct {
	AccountID int64
	Level     string
}

// LevelSums adds up the levels of report_daily of accounts on one day, and returns them with the run that last pulled
// each, both as of one moment. The result has every level that has sums or coverage. Pass a few hundred accounts at
// most.
func (s Reconciliation) LevelSums(ctx context.Context, d day.Day, accountIDs []int64) (map[LevelOf]LevelSum, error) {
	sums := map[LevelOf]LevelSum{}
	if len(accountIDs) == 0 {
		return sums, nil
	}
	err := s.Data.Snapshot(ctx, func(tx *gorm.DB) error {
		var pulled []struct {
			AccountID int64
			Level     string
			RunID     int64
		}
		err := tx.Raw(
			"SELECT account_id, level, run_id FROM coverage WHERE account_id IN ? AND report = 'report_daily' AND day = ?"+
				" AND state = ?",
			accountIDs, d, string(Complete)).Scan(&pulled).Error
		if err != nil {
			return err
		}
		for _, p := range pulled {
			sums[LevelOf{p.AccountID, p.Level}] = LevelSum{RunID: p.RunID}
		}
		return readLevelSums(tx, d, accountIDs, sums)
	})
	if err != nil {
		return nil, fmt.Errorf("add up the levels of %s on %s: %w", plural.Count(len(accountIDs), "account", "accounts"),
			d, err)
	}
	return sums, nil
}

func readLevelSums(tx *gorm.DB, d day.Day, accountIDs []int64, sums map[LevelOf]LevelSum) error {
	// A sum of integers is a decimal in MySQL.
	columns := "CAST(SUM(" + strings.Join(metric.Names(), ") AS SIGNED), CAST(SUM(") + ") AS SIGNED)"
	return sqldb.EachRow(tx.Raw("SELECT account_id, level, COUNT(*), "+columns+" FROM report_daily"+
		" WHERE day = ? AND account_id IN ? GROUP BY account_id, level", d, accountIDs), func(rows *sql.Rows) error {
		var k LevelOf
		var n int64
		var columns metric.Columns
		if err := rows.Scan(columns.Dest([]any{&k.AccountID, &k.Level, &n})...); err != nil {
			return err
		}
		sum := sums[k]
		sum.Rows, sum.Values = n, columns.Values()
		sums[k] = sum
		return nil
	})
}

// The states of a difference.
const (
	DifferenceOpen   = "open"
	DifferenceMended = "mended"
)

// Difference is a row of reconciliation: a figure of an account that differs from the sum of a level below.
type Difference struct {
	AccountID        int64      `gorm:"column:account_id"`
	Day              day.Day    `gorm:"column:day"`
	Level            string     `gorm:"column:level"`
	Metric           string     `gorm:"column:metric"`
	Media            string     `gorm:"column:media"`
	AccountValue     int64      `gorm:"column:account_value"`
	SumValue         int64      `gorm:"column:sum_value"`
	FirstSeenAt      sqldb.Time `gorm:"column:first_seen_at"`
	LastSeenAt       sqldb.Time `gorm:"column:last_seen_at"`
	PulledAgainRunID int64      `gorm:"column:pulled_again_run_id"` // 0 until one is ordered
	ConfirmedAt      sqldb.Time `gorm:"column:confirmed_at"`        // when it was seen after both levels were pulled again
	State            string     `gorm:"column:state"`
}

var differenceTable = sqldb.Table{
	Name: "reconciliation", Key: []string{"account_id", "day", "level", "metric"},
	Columns: []string{"media", "account_value", "sum_value", "first_seen_at", "last_seen_at", "pulled_again_run_id",
		"confirmed_at", "state"},
}

func (d *Difference) row() []any {
	return []any{
		d.AccountID, d.Day, d.Level, d.Metric, d.Media, d.AccountValue, d.SumValue, d.FirstSeenAt, d.LastSeenAt,
		d.PulledAgainRunID, d.ConfirmedAt, d.State,
	}
}

// Comparison is the result of comparing the levels of some accounts on one day.
type Comparison struct {
	Media string
	Day   day.Day
	Now   time.Time
	// Compared has each level that was compared with its account, and the older of the runs that pulled the two.
	Compared map[LevelOf]int64
	// Found are the figures that differ, with both values.
	Found []Difference
}

// RecordComparison stores the result of a comparison: differences are open, and earlier differences that were
// compared and no longer differ are mended. It returns the open levels of accounts for which no pull was ordered yet,
// by account. It may be repeated.
func (s Reconciliation) RecordComparison(ctx context.Context, c Comparison) ([]LevelOf, error) {
	if len(c.Compared) == 0 {
		return nil, nil
	}
	var ids []int64
	for k := range c.Compared {
		ids = append(ids, k.AccountID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var unordered []LevelOf
	err := s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		unordered = nil
		var rows []Difference
		err := tx.Raw("SELECT * FROM reconciliation WHERE account_id IN ? AND day = ? ORDER BY account_id, level, metric"+
			s.Data.Dialect().ForUpdate(), ids, c.Day).Scan(&rows).Error
		if err != nil {
			return err
		}
		changed := c.merge(rows)
		for i := range changed {
			k := LevelOf{changed[i].AccountID, changed[i].Level}
			if d := &changed[i]; d.State == DifferenceOpen && d.PulledAgainRunID == 0 && !slices.Contains(unordered, k) {
				unordered = append(unordered, k)
			}
		}
		values := make([][]any, len(changed))
		for i := range changed {
			values[i] = changed[i].row()
		}
		return s.Data.Upsert(tx, differenceTable, values)
	})
	if err != nil {
		return nil, fmt.Errorf("record the differences of %s on %s: %w", c.Media, c.Day, err)
	}
	slices.SortFunc(unordered, func(a, b LevelOf) int { return int(min(max(a.AccountID-b.AccountID, -1), 1)) })
	return unordered, nil
}

// merge returns the rows that a comparison changes, with their new values.
func (c Comparison) merge(have []Difference) []Difference {
	type key struct {
		LevelOf
		metric string
	}
	known := map[key]Difference{}
	for _, d := range have {
		known[key{LevelOf{d.AccountID, d.Level}, d.Metric}] = d
	}
	var changed []Difference
	for _, f := range c.Found {
		k := key{LevelOf{f.AccountID, f.Level}, f.Metric}
		d, there := known[k]
		delete(known, k)
		if !there || d.State != DifferenceOpen {
			d = Difference{AccountID: f.AccountID, Day: c.Day, Level: f.Level, Metric: f.Metric, Media: c.Media,
				State: DifferenceOpen, FirstSeenAt: sqldb.At(c.Now)}
		}
		d.AccountValue, d.SumValue, d.LastSeenAt = f.AccountValue, f.SumValue, sqldb.At(c.Now)
		if d.PulledAgainRunID != 0 && c.Compared[k.LevelOf] >= d.PulledAgainRunID && d.ConfirmedAt.IsZero() {
			d.ConfirmedAt = sqldb.At(c.Now)
		}
		changed = append(changed, d)
	}
	for k, d := range known {
		if _, compared := c.Compared[k.LevelOf]; compared && d.State == DifferenceOpen {
			d.State = DifferenceMended
			changed = append(changed, d)
		}
	}
	return changed
}

// OrderAgain writes orders for accounts whose level differs on a day, and stores the first of their runs, which has
// the lowest id, in one transaction. Accounts with an earlier order are left out. It returns the ordered accounts,
// which it also sets in the orders.
func (s Reconciliation) OrderAgain(ctx context.Context, d day.Day, level string, accountIDs []int64,
	orders []ledger.RunOrder) ([]int64, error) {
	var ordered []int64
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		ordered = nil
		err := tx.Raw(
			"SELECT account_id FROM reconciliation WHERE account_id IN ? AND day = ? AND level = ? AND state = ?"+
				" AND pulled_again_run_id = 0 ORDER BY account_id, metric"+
				s.Data.Dialect().ForUpdate(), accountIDs, d, level, DifferenceOpen).Scan(&ordered).Error
		if err != nil || len(ordered) == 0 {
			return err
		}
		ordered = slices.Compact(ordered)
		err = tx.Exec(
			"UPDATE reconciliation SET pulled_again_run_id = ? WHERE account_id IN ? AND day = ? AND level = ? AND state = ?",
			orders[0].RunID, ordered, d, level, DifferenceOpen).Error
		if err != nil {
			return err
		}
		for _, o := range orders {
			o.Request.Accounts = ordered
			if err := ledger.AddOrder(tx, o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("order %s of %d accounts again: %w", d, len(accountIDs), err)
	}
	return ordered, nil
}

// DifferenceFilter chooses rows of reconciliation; zero fields choose all.
type DifferenceFilter struct {
	Media     string
	State     string
	AccountID int64
	Day       day.Day
}

// Differences returns rows of reconciliation after a key, by account, day, level and metric.
func (s Reconciliation) Differences(
	ctx context.Context, f DifferenceFilter, after Difference, limit int,
) ([]Difference, error) {
	where, args := []string{"account_id >= ? AND (account_id > ? OR day > ? OR (day = ? AND (level > ? OR (level = ?" +
		" AND metric > ?))))"},
		[]any{after.AccountID, after.AccountID, after.Day, after.Day, after.Level, after.Level, after.Metric}
	if after.AccountID == 0 {
		where, args = []string{"1 = 1"}, nil
	}
	add := func(condition string, arg any) { where, args = append(where, condition), append(args, arg) }
	if f.Media != "" {
		add("media = ?", f.Media)
	}
	order := ""
	if f.State != "" {
		// Not state = ?: MariaDB would look up by the state alone, and read from its first row up to the page.
		where, args, order = append(where, "state >= ? AND state <= ?"), append(args, f.State, f.State), "state, "
	}
	if f.AccountID != 0 {
		add("account_id = ?", f.AccountID)
	}
	if f.Day != "" {
		add("day = ?", f.Day)
	}
	var rows []Difference
	err := s.Data.Writer(ctx).Raw("SELECT * FROM reconciliation WHERE "+strings.Join(where, " AND ")+" ORDER BY "+order+
		"account_id, day, level, metric LIMIT ?", append(args, limit)...).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read differences: %w", err)
	}
	return rows, nil
}

// OpenDifferenceDays returns the days on which accounts of a media have open differences.
func (s Reconciliation) OpenDifferenceDays(ctx context.Context, media string) ([]day.Day, error) {
	var days []day.Day
	err := s.Data.Writer(ctx).Raw("SELECT DISTINCT day FROM reconciliation WHERE media = ? AND state = ? ORDER BY day",
		media, DifferenceOpen).Scan(&days).Error
	if err != nil {
		return nil, fmt.Errorf("read the days of open differences of %s: %w", media, err)
	}
	return days, nil
}

// OpenDifferenceAccounts returns the accounts with an id above after that have open differences on a day, by id.
func (s Reconciliation) OpenDifferenceAccounts(ctx context.Context, media string, d day.Day, after int64,
	limit int) ([]int64, error) {
	var ids []int64
	err := s.Data.Writer(ctx).Raw(
		"SELECT DISTINCT account_id FROM reconciliation WHERE media = ? AND state = ? AND day = ? AND account_id > ?"+
			" ORDER BY account_id LIMIT ?",
		media, DifferenceOpen, d, after, limit).Scan(&ids).Error
	if err != nil {
		return nil, fmt.Errorf("read the accounts of open differences of %s: %w", media, err)
	}
	return ids, nil
}

// CountConfirmedDifferences returns, by media, how many open differences remained after both levels were pulled
// again.
func (s Reconciliation) CountConfirmedDifferences(ctx context.Context) (map[string]int64, error) {
	var rows []struct {
		Media string
		N     int64
	}
	err := s.Data.Writer(ctx).Raw(
		"SELECT media, COUNT(*) AS n FROM reconciliation WHERE state = ? AND confirmed_at IS NOT NULL GROUP BY media",
		DifferenceOpen).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("count differences: %w", err)
	}
	counts := map[string]int64{}
	for _, r := range rows {
		counts[r.Media] = r.N
	}
	return counts, nil
}

// DeleteOldDifferences deletes differences that were last seen before a moment, and returns how many rows it deleted.
func (s Reconciliation) DeleteOldDifferences(ctx context.Context, before time.Time) (int, error) {
	gone := 0
	for {
		var rows []Difference
		err := s.Data.Writer(ctx).Raw("SELECT * FROM reconciliation WHERE last_seen_at < ? ORDER BY last_seen_at LIMIT ?",
			sqldb.At(before), holesPerDelete).Scan(&rows).Error
		if err != nil {
			return gone, fmt.Errorf("delete old differences: %w", err)
		}
		if len(rows) == 0 {
			return gone, nil
		}
		keys := make([][]any, len(rows))
		for i := range rows {
			keys[i] = rows[i].row()[:len(differenceTable.Key)]
		}
		keys = sqldb.SortByKey(keys, len(differenceTable.Key))
		err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
			return s.Data.DeleteByTuples(tx, differenceTable.Name, differenceTable.Key, keys, "last_seen_at < ?",
				sqldb.At(before))
		})
		if err != nil {
			return gone, fmt.Errorf("delete old differences: %w", err)
		}
		gone += len(rows)
	}
}

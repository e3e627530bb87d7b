package summaries

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/failpoint"
	"adsync/base/metric"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/results"
)

// DirtyDay is a day of a media whose summary lacks the newest figures.
type DirtyDay struct {
	Media  string
	Hourly bool
	Day    day.Day
	marks  []mark
}

type mark struct {
	accountID int64
	dirty     int64
}

// ReportName returns the name of the table that a summary adds up.
func ReportName(hourly bool) string { return results.ReportTable(hourly).Name }

// DirtyDays returns up to limit marks of a media that are not newer than a version, oldest first, grouped by table
// and day.
func (s Summing) DirtyDays(ctx context.Context, media string, upTo int64, limit int) ([]DirtyDay, error) {
	var rows []struct {
		AccountID int64   `gorm:"column:account_id"`
		Report    string  `gorm:"column:report"`
		Day       day.Day `gorm:"column:day"`
		Dirty     int64   `gorm:"column:dirty"`
	}
	err := s.Data.Writer(ctx).Raw(
		"SELECT account_id, report, day, dirty FROM coverage WHERE media = ? AND dirty <= ? AND level = 'account'"+
			" AND report IN ('report_daily', 'report_hourly') ORDER BY dirty LIMIT ?", media, upTo, limit).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read dirty days of %s: %w", media, err)
	}
	type key struct {
		hourly bool
		day    day.Day
	}
	index := map[key]int{}
	var days []DirtyDay
	for _, r := range rows {
		k := key{hourly: r.Report == "report_hourly", day: r.Day}
		i, ok := index[k]
		if !ok {
			i = len(days)
			index[k] = i
			days = append(days, DirtyDay{Media: media, Hourly: k.hourly, Day: r.Day})
		}
		days[i].marks = append(days[i].marks, mark{accountID: r.AccountID, dirty: r.Dirty})
	}
	return days, nil
}

// SummaryTable returns summary_daily or summary_hourly.
func SummaryTable(hourly bool) sqldb.Table {
	t := sqldb.Table{Name: "summary_daily", Key: []string{"day", "game", "media", "os", "currency", "day_zone"}}
	if hourly {
		t.Name = "summary_hourly"
		t.Key = []string{"day", "hour", "game", "media", "os", "currency", "day_zone"}
		t.Columns = []string{"start_utc"}
	}
	t.Columns = append(t.Columns, metric.Names()...)
	t.Columns = append(t.Columns, "updated_at", "version")
	return t
}

type summaryKey struct {
	hour                     int
	game, os, currency, zone string
}

// marksPerStatement is how many marks one statement clears.
const marksPerStatement = 500

// fewAccounts is up to how many marked accounts only their games are added up again.
const fewAccounts = 100

// Unassigned is the game of accounts without a binding.
const Unassigned = "unassigned"

// RebuildSummary rebuilds the summary of one media and day from the account level of the public table, under its own
// fence. It deletes the summary's outdated rows, and clears the marks that still hold the value read. It returns how
// many rows it wrote, which are those that changed; a rebuild that was overtaken by a later one writes nothing and
// returns 0. Where only the figures of a few accounts have changed, and no binding, it rebuilds the rows of their
// games only.
//
// Marks are read before the figures: a change that commits in between is in the figures, or its mark has a higher
// value and stays.
func (s Summing) RebuildSummary(ctx context.Context, d DirtyDay) (int, error) {
	// Before the version: of two rebuilds the later one must have seen each binding whose mark the other clears.
	rebound, err := s.rebound(ctx, d)
	if err != nil {
		return 0, err
	}
	version, err := s.beginSummary(ctx, d)
	if err != nil {
		return 0, err
	}
	var games []string // nil = all
	var sums map[summaryKey]*metric.Values
	if rebound == 0 {
		err = s.Data.Snapshot(ctx, func(tx *gorm.DB) error {
			if games, err = fewGames(tx, d); err == nil && games != nil {
				sums, err = sumGames(ctx, s.Data, tx, d, games)
			}
			return err
		})
	}
	if err == nil && games == nil {
		sums, err = sumAccounts(ctx, s.Data, d)
	}
	if err != nil {
		return 0, fmt.Errorf("sum %s of %s on %s: %w", ReportName(d.Hourly), d.Media, d.Day, err)
	}
	failpoint.Hit("store.summary.summed")
	written := 0
	err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
		written = 0
		overtaken, err := lockSummary(s.Data, tx, d, version)
		if err != nil || overtaken {
			return err
		}
		// Read only now: a day is recorded as pruned before its rows go, so that the sums may lack them.
		if pruned, err := isPruned(tx, []string{ReportName(d.Hourly), SummaryTable(d.Hourly).Name}, d.Day); err != nil ||
			pruned {
			return sqldb.FirstError(err, clearMarks(s.Data, tx, d))
		}
		now, err := s.Data.NowTx(tx)
		if err != nil {
			return err
		}
		table := SummaryTable(d.Hourly)
		changed := maps.Clone(sums)
		gone, err := dropUnchanged(tx, table, d, games, changed)
		if err != nil {
			return err
		}
		rows, err := summaryRows(d, changed, now, version)
		if err != nil {
			return err
		}
		written = len(rows)
		if err := s.Data.Upsert(tx, table, rows); err != nil {
			return err
		}
		if err := results.DeletePublic(s.Data, tx, table, gone, version, now); err != nil {
			return err
		}
		if err := clearMarks(s.Data, tx, d); err != nil || rebound == 0 {
			return err
		}
		return tx.Exec("DELETE FROM summary_rebound WHERE report = ? AND media = ? AND day = ? AND mark = ?",
			ReportName(d.Hourly), d.Media, d.Day, rebound).Error
	})
	if err != nil {
		return 0, fmt.Errorf("write %s of %s on %s: %w", SummaryTable(d.Hourly).Name, d.Media, d.Day, err)
	}
	return written, nil
}

func (s Summing) beginSummary(ctx context.Context, d DirtyDay) (int64, error) {
	now, err := s.Data.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("begin the summary of %s on %s: %w", d.Media, d.Day, err)
	}
	var known int64
	err = s.Data.Writer(ctx).Raw(
		"SELECT COALESCE(MAX(version), 0) FROM summary_fence WHERE summary = ? AND media = ? AND day = ?",
		SummaryTable(d.Hourly).Name, d.Media, d.Day).Row().Scan(&known)
	if err != nil {
		return 0, fmt.Errorf("begin the summary of %s on %s: %w", d.Media, d.Day, err)
	}
	return max(now.UnixMicro(), known+1), nil
}

// lockSummary locks the fence for the transaction. overtaken reports that a later rebuild has written already.
func lockSummary(d *sqldb.DB, tx *gorm.DB, day DirtyDay, version int64) (overtaken bool, err error) {
	name := SummaryTable(day.Hourly).Name
	err = tx.Exec(d.Dialect().InsertIgnore()+"summary_fence (summary, media, day, version) VALUES (?, ?, ?, 0)", name,
		day.Media, day.Day).Error
	if err != nil {
		return false, fmt.Errorf("lock summary_fence: %w", err)
	}
	var have int64
	err = tx.Raw("SELECT version FROM summary_fence WHERE summary = ? AND media = ? AND day = ?"+d.Dialect().ForUpdate(),
		name, day.Media, day.Day).Row().Scan(&have)
	if err != nil {
		return false, fmt.Errorf("lock summary_fence: %w", err)
	}
	if have >= version {
		return true, nil
	}
	err = tx.Exec("UPDATE summary_fence SET version = ? WHERE summary = ? AND media = ? AND day = ?", version, name,
		day.Media, day.Day).Error
	return false, err
}

// rebound returns the day's mark of changed bindings, 0 if there is none. With a mark, the rows of games that have
// lost an account must be rebuilt too, and it is not known which these are.
func (s Summing) rebound(ctx context.Context, d DirtyDay) (int64, error) {
	var mark int64
	err := s.Data.Writer(ctx).Raw(
		"SELECT COALESCE(MAX(mark), 0) FROM summary_rebound WHERE report = ? AND media = ? AND day = ?", ReportName(d.Hourly),
		d.Media, d.Day).Row().Scan(&mark)
	if err != nil {
		return 0, fmt.Errorf("begin the summary of %s on %s: %w", d.Media, d.Day, err)
	}
	return mark, nil
}

// markRebound marks the days of a span that have coverage: games have lost or gained accounts on them. It comes after
// the marks of coverage, as in a rebuild.
func markRebound(d *sqldb.DB, tx *gorm.DB, s span, mark int64) error {
	var days []struct {
		Report, Media string
		Day           day.Day
	}
	err := tx.Raw(
		"SELECT DISTINCT report, media, day FROM coverage WHERE account_id IN ?"+
			" AND report IN ('report_daily', 'report_hourly') AND level = 'account' AND day >= ? AND day <= ?"+
			" ORDER BY report, media, day", s.accountIDs, s.from, s.to).Scan(&days).Error
	if err != nil {
		return fmt.Errorf("read which days have other games: %w", err)
	}
	update := " ON DUPLICATE KEY UPDATE mark = GREATEST(mark + 1, VALUES(mark))"
	if d.Dialect() == sqldb.SQLiteDialect {
		update = " ON CONFLICT (report, media, day) DO UPDATE SET mark = MAX(mark + 1, excluded.mark)"
	}
	for batch := range slices.Chunk(days, d.RowsPerStatement(4)) {
		args := make([]any, 0, 4*len(batch))
		for _, on := range batch {
			args = append(args, on.Report, on.Media, on.Day, mark)
		}
		if err := tx.Exec("INSERT INTO summary_rebound (report, media, day, mark) VALUES "+sqldb.Tuples(len(batch), 4)+update,
			args...).Error; err != nil {
			return fmt.Errorf("mark the summaries of %s: %w", plural.Count(len(batch), "day", "days"), err)
		}
	}
	return nil
}

// fewGames returns the games of a day's marked accounts. It returns nil if the accounts are too many to be added up
// separately, if any is not bound, or if a leader that does not know summary_rebound bound them.
func fewGames(tx *gorm.DB, day DirtyDay) ([]string, error) {
	if len(day.marks) == 0 || len(day.marks) > fewAccounts {
		return nil, nil
	}
	ids := make([]int64, len(day.marks))
	for i, m := range day.marks {
		ids[i] = m.accountID
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var bound []struct {
		AccountID int64
		Game      string
		Noted     bool
	}
	err := tx.Raw(
		"SELECT account_id, game, noted FROM binding_applied WHERE account_id IN ? AND from_day <= ? AND to_day >= ?", ids,
		day.Day, day.Day).Scan(&bound).Error
	if err != nil || len(bound) < len(ids) {
		return nil, err
	}
	var games []string
	for _, b := range bound {
		if b.Game == Unassigned || !b.Noted {
			return nil, nil
		}
		games = append(games, b.Game)
	}
	slices.Sort(games)
	return slices.Compact(games), nil
}

func summaryRows(d DirtyDay, sums map[summaryKey]*metric.Values, now time.Time, version int64) ([][]any, error) {
	rows := make([][]any, 0, len(sums))
	for k, v := range sums {
		var row []any
		if d.Hourly {
			zone, err := time.LoadLocation(k.zone)
			if err != nil {
				return nil, fmt.Errorf("day_zone %q: %w", k.zone, err)
			}
			row = []any{d.Day, k.hour, k.game, d.Media, k.os, k.currency, k.zone, sqldb.At(d.Day.Hour(k.hour, zone))}
		} else {
			row = []any{d.Day, k.game, d.Media, k.os, k.currency, k.zone}
		}
		row = v.Args(row)
		rows = append(rows, append(row, sqldb.At(now), version))
	}
	return rows, nil
}

// dropUnchanged removes from the sums, of some games or of all, those that the summary has already, and returns the
// keys of rows that the summary must lose.
func dropUnchanged(tx *gorm.DB, table sqldb.Table, day DirtyDay, games []string,
	sums map[summaryKey]*metric.Values) (gone [][]any, err error) {
	hour := "0"
	if day.Hourly {
		hour = "hour"
	}
	where, args := "day = ? AND media = ?", []any{day.Day, day.Media}
	if games != nil {
		where, args = where+" AND game IN ?", append(args, games)
	}
	rows, err := tx.Raw("SELECT "+hour+", game, os, currency, day_zone, "+strings.Join(metric.Names(), ", ")+" FROM "+
		table.Name+" WHERE "+where, args...).Rows()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
		var k summaryKey
		var columns metric.Columns
		if err := rows.Scan(columns.Dest([]any{&k.hour, &k.game, &k.os, &k.currency, &k.zone})...); err != nil {
			return nil, fmt.Errorf("read %s: %w", table.Name, err)
		}
		sum := sums[k]
		switch {
		case sum == nil && day.Hourly:
			gone = append(gone, []any{day.Day, k.hour, k.game, day.Media, k.os, k.currency, k.zone})
		case sum == nil:
			gone = append(gone, []any{day.Day, k.game, day.Media, k.os, k.currency, k.zone})
		case *sum == columns.Values():
			delete(sums, k)
		}
	}
	return gone, rows.Err()
}

// clearMarks clears the marks that still hold the value read, in the order of their accounts.
func clearMarks(d *sqldb.DB, tx *gorm.DB, day DirtyDay) error {
	marks := slices.SortedFunc(slices.Values(day.marks),
		func(a, b mark) int { return cmp.Compare(a.accountID, b.accountID) })
	for batch := range slices.Chunk(marks, marksPerStatement) {
		// The index serves the list of accounts; the pairs are not a part of the key.
		var accounts []int64
		var pairs []any
		for _, m := range batch {
			accounts = append(accounts, m.accountID)
			pairs = append(pairs, m.accountID, m.dirty)
		}
		args := append([]any{accounts, ReportName(day.Hourly), day.Day}, pairs...)
		err := tx.Exec(
			"UPDATE coverage SET dirty = NULL WHERE account_id IN ? AND report = ? AND level = 'account' AND day = ? AND "+
				d.InTuples([]string{"account_id", "dirty"}, len(batch)), args...).Error
		if err != nil {
			return fmt.Errorf("clear dirty marks: %w", err)
		}
	}
	return nil
}

// isPruned reports whether rows of a day may have been pruned from any of some tables.
func isPruned(tx *gorm.DB, tables []string, on day.Day) (bool, error) {
	pruned, err := sqldb.Exists(tx, "SELECT 1 FROM pruned WHERE table_name IN ? AND before_day > ? LIMIT 1", tables, on)
	if err != nil {
		return false, fmt.Errorf("read which days of %s are pruned: %w", strings.Join(tables, " and "), err)
	}
	return pruned, nil
}

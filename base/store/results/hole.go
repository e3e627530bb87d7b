package results

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/sqldb"
	"adsync/base/store/ledger"
	"adsync/base/store/settings"
	"adsync/base/task"
)

// FillAccount is the part of an account that the search for holes and the reconciliation need.
type FillAccount struct {
	ID       int64
	Timezone string
	Currency string
	Tier     string
}

// initialiseWait is how long after it was bound an account's past is left to its initialisation.
const initialiseWait = 48 * time.Hour

// FillAccounts returns the accounts of a media with an id above after, by id. It leaves out those that are parked,
// unbound or of the tier invalid, since they are not pulled, and newly bound ones whose past comes with their
// initialisation.
func (s MissingDays) FillAccounts(ctx context.Context, media string, after int64, limit int) ([]FillAccount, error) {
	// With the index of a media's tiers, each page would sort the whole media.
	table := "media_account" + s.Config.Dialect().ForceIndex("media_account", "PRIMARY")
	rows, err := s.Config.Current(ctx).Raw("SELECT id, timezone, currency, tier FROM "+table+
		" WHERE media = ? AND parked = '' AND bound = 1 AND tier <> ? AND id > ?"+
		" AND (initialised_at IS NOT NULL OR created_at < "+s.Config.Dialect().NowPlus(-initialiseWait)+
		") ORDER BY id LIMIT ?",
		media, settings.TierInvalid, after, limit).Rows()
	if err != nil {
		return nil, fmt.Errorf("read accounts of %s: %w", media, err)
	}
	defer rows.Close()
	accounts := make([]FillAccount, 0, limit)
	var zone, currency, tier sql.RawBytes
	for rows.Next() {
		var a, last FillAccount
		if len(accounts) > 0 {
			last = accounts[len(accounts)-1]
		}
		if err := rows.Scan(&a.ID, &zone, &currency, &tier); err != nil {
			return nil, fmt.Errorf("read accounts of %s: %w", media, err)
		}
		a.Timezone, a.Currency = sqldb.TextOf(zone, last.Timezone), sqldb.TextOf(currency, last.Currency)
		a.Tier = sqldb.TextOf(tier, last.Tier)
		accounts = append(accounts, a)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read accounts of %s: %w", media, err)
	}
	return accounts, nil
}

// CalendarDay is a day that a scope should have.
type CalendarDay struct {
	Day day.Day
	// Since is the lowest id of a run that was made after the day had settled: see task.FirstRunIDAt.
	Since int64
}

// Calendar is the days of a report and level that accounts of one zone should have: without gaps, ascending, at least
// one. A day is whole when its last pull was, and was of a run that was made after the day had settled.
type Calendar struct {
	Report, Level string
	Days          []CalendarDay
}

func (c Calendar) from() day.Day { return c.Days[0].Day }
func (c Calendar) to() day.Day   { return c.Days[len(c.Days)-1].Day }

// AccountsWithHoles returns which of the accounts, given by id, lack days of a calendar, by id. The database counts
// the days and returns the accounts that lack none: to return the others, some of which have no rows, it would need a
// second table.
func (s MissingDays) AccountsWithHoles(ctx context.Context, accountIDs []int64, c Calendar) ([]int64, error) {
	if len(accountIDs) == 0 {
		return nil, nil
	}
	// Usually all days were pulled after the last of them had settled, which one comparison shows.
	settled, days := make([]string, len(c.Days)), make([]any, 1, 2+2*len(c.Days))
	for i, d := range c.Days {
		settled[i] = "day = ? AND run_id >= ?"
		days = append(days, d.Day, d.Since)
	}
	days[0] = c.Days[len(c.Days)-1].Since
	args := slices.Concat([]any{c.Report, c.Level, c.from(), c.to()}, days, []any{len(c.Days)})
	// A join with a list would read all days of an account: servers bound the days only for a list of constants.
	// Thousands of placeholders would take as long as the query.
	rows, err := s.Data.Current(ctx).Raw("SELECT account_id FROM coverage"+
		s.Data.Dialect().ForceIndex("coverage", "PRIMARY")+" WHERE account_id IN ("+sqldb.Numbers(accountIDs)+")"+
		" AND report = ? AND level = ? AND day BETWEEN ? AND ? AND state = 'complete' AND (run_id >= ? OR "+
		strings.Join(settled, " OR ")+")"+
		" GROUP BY account_id HAVING COUNT(*) = ? ORDER BY account_id", args...).Rows()
	if err != nil {
		return nil, fmt.Errorf("count the whole days of %s by %s: %w", c.Report, c.Level, err)
	}
	defer rows.Close()
	var holes []int64
	rest := accountIDs // those after the last whole account
	for rows.Next() {
		var whole int64
		if err := rows.Scan(&whole); err != nil {
			return nil, fmt.Errorf("count the whole days of %s by %s: %w", c.Report, c.Level, err)
		}
		for ; len(rest) > 0 && rest[0] <= whole; rest = rest[1:] {
			if rest[0] < whole {
				holes = append(holes, rest[0])
			}
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("count the whole days of %s by %s: %w", c.Report, c.Level, err)
	}
	return append(holes, rest...), nil
}

// Hole is a day of a scope that is not whole.
type Hole struct {
	AccountID int64
	Day       day.Day
	// State is the state of the last pull: "" if there was none, Complete if it came before the day had settled.
	State CoverageState
	// The last order for it; zero if there was none.
	OrderedAt time.Time
	RunID     int64
	Tries     int
}

type accountDay struct {
	account int64
	day     day.Day
}

// Holes returns the days of a calendar that accounts lack, by account and day. It reads all days of the calendar of
// all the accounts, so pass a few hundred at most.
func (s MissingDays) Holes(ctx context.Context, accountIDs []int64, c Calendar) ([]Hole, error) {
	if len(accountIDs) == 0 {
		return nil, nil
	}
	known, err := s.known(ctx, accountIDs, c)
	if err != nil {
		return nil, fmt.Errorf("read the coverage of %s by %s: %w", c.Report, c.Level, err)
	}
	ordered, err := readHoles(s.Data.Current(ctx), accountIDs, c.Report, c.Level, c.from(), c.to(), "")
	if err != nil {
		return nil, err
	}
	var holes []Hole
	for i, id := range accountIDs {
		for j, d := range c.Days {
			is := known[i*len(c.Days)+j]
			if is.whole {
				continue
			}
			var h Hole
			if len(ordered) > 0 {
				h = ordered[accountDay{id, d.Day}]
			}
			h.AccountID, h.Day, h.State = id, d.Day, is.state
			holes = append(holes, h)
		}
	}
	slices.SortFunc(holes, func(a, b Hole) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID),
			cmp.Compare(a.Day, b.Day))
	})
	return holes, nil
}

// knownDay is the coverage of an account's day.
type knownDay struct {
	state CoverageState // "" when it has no row
	whole bool
}

// known returns the days of a calendar of each account, in the order of both.
func (s MissingDays) known(ctx context.Context, accountIDs []int64, c Calendar) ([]knownDay, error) {
	accounts, days := make(map[int64]int, len(accountIDs)), make(map[day.Day]int, len(c.Days))
	for i, id := range accountIDs {
		accounts[id] = i
	}
	for j, d := range c.Days {
		days[d.Day] = j
	}
	rows, err := s.Data.Current(ctx).Raw(
		"SELECT account_id, day, run_id, state FROM coverage"+
			" WHERE account_id IN ? AND report = ? AND level = ? AND day BETWEEN ? AND ?",
		accountIDs, c.Report, c.Level, c.from(), c.to()).Rows()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := make([]knownDay, len(accountIDs)*len(c.Days))
	var account, run int64
	var on, state sql.RawBytes
	var last string
	for rows.Next() {
		if err := rows.Scan(&account, &on, &run, &state); err != nil {
			return nil, err
		}
		j, listed := days[day.Day(sqldb.DayIn(on))]
		if !listed {
			continue
		}
		last = sqldb.TextOf(state, last)
		is := CoverageState(last)
		known[accounts[account]*len(c.Days)+j] = knownDay{state: is, whole: is == Complete && run >= c.Days[j].Since}
	}
	return known, sqldb.FirstError(rows.Err(), rows.Close())
}

// readHoles reads the orders for a scope's days. With lock, a locking clause, it locks their rows for the
// transaction.
func readHoles(tx *gorm.DB, accountIDs []int64, report, level string, from, to day.Day,
	lock string) (map[accountDay]Hole, error) {
	var rows []struct {
		AccountID int64      `gorm:"column:account_id"`
		Day       day.Day    `gorm:"column:day"`
		OrderedAt sqldb.Time `gorm:"column:ordered_at"`
		RunID     int64      `gorm:"column:run_id"`
		Tries     int        `gorm:"column:tries"`
	}
	err := tx.Raw(
		"SELECT account_id, day, ordered_at, run_id, tries FROM hole"+
			" WHERE account_id IN ? AND report = ? AND level = ? AND day BETWEEN ? AND ?"+
			" ORDER BY account_id, day"+lock, accountIDs, report, level, from, to).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read the ordered holes of %s by %s: %w", report, level, err)
	}
	holes := make(map[accountDay]Hole, len(rows))
	for _, r := range rows {
		holes[accountDay{r.AccountID, r.Day}] = Hole{AccountID: r.AccountID, Day: r.Day, OrderedAt: r.OrderedAt.Time,
			RunID: r.RunID, Tries: r.Tries}
	}
	return holes, nil
}

// HoleOrder is an order of a run that fills holes: all of one report and level, and of the same days of each account.
type HoleOrder struct {
	ledger.RunOrder // its accounts are those of Holes
	Report, Level   string
	Holes           []Hole // as they were read
}

// OrderHoles writes an order and records its holes in one transaction. Accounts with a hole that another call has
// ordered since it was read are left out, so that no hole is ordered twice. It returns the ordered accounts; if there
// are none, nothing is written.
func (s MissingDays) OrderHoles(ctx context.Context, o HoleOrder) ([]int64, error) {
	if len(o.Holes) == 0 {
		return nil, nil
	}
	var ordered []int64
	err := s.Data.Tx(ctx, func(tx *gorm.DB) error {
		ordered = nil
		taken, ids, err := lockHoles(s.Data, tx, o)
		if err != nil {
			return err
		}
		rows := make([][]any, 0, len(o.Holes))
		for _, h := range o.Holes {
			if !taken[h.AccountID] {
				rows = append(rows, []any{h.AccountID, o.Report, o.Level, h.Day, sqldb.At(o.OrderedAt), o.RunID, h.Tries + 1})
			}
		}
		if len(rows) == 0 {
			return nil
		}
		ordered = slices.DeleteFunc(ids, func(id int64) bool { return taken[id] })
		table := sqldb.Table{Name: "hole", Key: []string{"account_id", "report", "level", "day"},
			Columns: []string{"ordered_at", "run_id", "tries"}}
		if err := s.Data.Upsert(tx, table, rows); err != nil {
			return err
		}
		order := o.RunOrder
		order.Request.Accounts = ordered
		return ledger.AddOrder(tx, order)
	})
	if err != nil {
		return nil, fmt.Errorf("order %s of %s by %s: %w", plural.Count(len(o.Holes), "hole", "holes"),
			o.Report, o.Level, err)
	}
	return ordered, nil
}

// lockHoles locks the rows of an order's holes. It returns all its accounts, by id, and as taken those with a hole
// that has changed since it was read.
func lockHoles(d *sqldb.DB, tx *gorm.DB, o HoleOrder) (taken map[int64]bool, ids []int64, err error) {
	rows := make([][]any, len(o.Holes))
	from, to := o.Holes[0].Day, o.Holes[0].Day
	for i, h := range o.Holes {
		rows[i] = []any{h.AccountID, o.Report, o.Level, h.Day, sqldb.At(o.OrderedAt)}
		from, to = min(from, h.Day), max(to, h.Day)
		ids = append(ids, h.AccountID)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	// A row that does not exist cannot be locked.
	rows = sqldb.SortByKey(rows, 4)
	for batch := range slices.Chunk(rows, d.RowsPerStatement(5)) {
		err := tx.Exec(d.Dialect().InsertIgnore()+"hole (account_id, report, level, day, ordered_at) VALUES "+
			sqldb.Tuples(len(batch), 5), sqldb.Flatten(batch, 5)...).Error
		if err != nil {
			return nil, nil, err
		}
	}
	now, err := readHoles(tx, ids, o.Report, o.Level, from, to, d.Dialect().ForUpdate())
	if err != nil {
		return nil, nil, err
	}
	taken = map[int64]bool{}
	for _, h := range o.Holes {
		if is := now[accountDay{h.AccountID, h.Day}]; is.Tries != h.Tries || is.RunID != h.RunID {
			taken[h.AccountID] = true
		}
	}
	return taken, ids, nil
}

// holesPerDelete is how many rows are deleted at a time.
const holesPerDelete = 1000

// DeleteOldHoles deletes orders from before a moment and returns how many rows it deleted. A hole that appears again
// then counts as a new one.
func (s MissingDays) DeleteOldHoles(ctx context.Context, before time.Time) (int, error) {
	key := []string{"account_id", "report", "level", "day"}
	gone := 0
	for {
		var rows []struct {
			AccountID     int64 `gorm:"column:account_id"`
			Report, Level string
			Day           day.Day `gorm:"column:day"`
		}
		err := s.Data.Writer(ctx).Raw(
			"SELECT account_id, report, level, day FROM hole WHERE ordered_at < ? ORDER BY ordered_at LIMIT ?", sqldb.At(before),
			holesPerDelete).Scan(&rows).Error
		if err != nil {
			return gone, fmt.Errorf("delete old holes: %w", err)
		}
		if len(rows) == 0 {
			return gone, nil
		}
		keys := make([][]any, len(rows))
		for i, r := range rows {
			keys[i] = []any{r.AccountID, r.Report, r.Level, r.Day}
		}
		keys = sqldb.SortByKey(keys, len(key))
		err = s.Data.Tx(ctx, func(tx *gorm.DB) error {
			return s.Data.DeleteByTuples(tx, "hole", key, keys, "ordered_at < ?", sqldb.At(before))
		})
		if err != nil {
			return gone, fmt.Errorf("delete old holes: %w", err)
		}
		gone += len(rows)
	}
}

// WaitingOrders returns who ordered the runs of tasks that are not made yet, by the runs' ids.
func (s MissingDays) WaitingOrders(ctx context.Context, taskIDs []int64) (map[int64]string, error) {
	if len(taskIDs) == 0 {
		return nil, nil
	}
	var rows []struct {
		RunID     int64
		OrderedBy string
	}
	err := s.Data.Writer(ctx).Raw("SELECT run_id, ordered_by FROM manual_order WHERE taken = 0 AND task_id IN ?",
		taskIDs).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	by := make(map[int64]string, len(rows))
	for _, r := range rows {
		by[r.RunID] = r.OrderedBy
	}
	return by, nil
}

// OpenRuns returns the open runs of tasks, by id: the newest if there are more than limit.
func (s MissingDays) OpenRuns(ctx context.Context, taskIDs []int64, limit int) ([]ledger.Run, error) {
	if len(taskIDs) == 0 {
		return nil, nil
	}
	runs, err := ledger.ReadRuns(ctx, s.Databases, "WHERE state IN ? AND task_id IN ? ORDER BY id DESC LIMIT ?",
		[]string{string(task.RunFanningOut), string(task.RunRunning)}, taskIDs, limit)
	slices.Reverse(runs)
	return runs, err
}

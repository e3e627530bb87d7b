package overview

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/base/store/dead"
	"adsync/base/store/ledger"
	"adsync/base/store/results"
	"adsync/base/store/summaries"
	"adsync/base/task"
)

// UnknownGame is a binding to a game that is not in the table game.
type UnknownGame struct {
	AccountID int64  `gorm:"column:account_id"`
	Media     string `gorm:"column:media"`
	Game      string `gorm:"column:game"`
}

// UnknownGames returns bindings of bound accounts to games that are not in the table game, if they apply on a day or
// later, by account.
func (s Glances) UnknownGames(ctx context.Context, from day.Day, limit int) ([]UnknownGame, error) {
	var all []UnknownGame
	err := s.Config.Current(ctx).Raw(
		"SELECT b.account_id, a.media, b.game FROM account_binding b JOIN media_account a"+
			" ON a.id = b.account_id AND a.bound = 1"+
			" WHERE b.to_day >= ? AND b.game <> ? AND NOT EXISTS (SELECT 1 FROM game g WHERE g.code = b.game)"+
			" ORDER BY b.account_id LIMIT ?", from, summaries.Unassigned, limit).Scan(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the bindings to unknown games: %w", err)
	}
	return all, nil
}

// ImpossibleBindings returns the rows of account_binding of bound accounts that Binding.DaysFault refuses, by
// account.
func (s Glances) ImpossibleBindings(ctx context.Context, limit int) ([]ImpossibleBinding, error) {
	var all []ImpossibleBinding
	err := s.Config.Current(ctx).Raw(
		"SELECT b.account_id, a.media, b.from_day, b.to_day FROM account_binding b JOIN media_account a"+
			" ON a.id = b.account_id AND a.bound = 1"+
			" WHERE (b.from_day < ? AND b.from_day <> ?) OR b.to_day < ? ORDER BY b.account_id, b.from_day LIMIT ?",
		day.Earliest,
		summaries.FirstBoundDay, day.Earliest, limit).Scan(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the impossible bindings: %w", err)
	}
	return all, nil
}

// ImpossibleBinding is a binding with impossible days.
type ImpossibleBinding struct {
	AccountID int64   `gorm:"column:account_id"`
	Media     string  `gorm:"column:media"`
	From      day.Day `gorm:"column:from_day"`
	To        day.Day `gorm:"column:to_day"`
}

// Glance reads the data database for an overview, all as of one moment.
type Glance struct {
	db *sqldb.DB
	tx *gorm.DB
}

// Glance runs look, all of whose reads see one moment.
func (s Glances) Glance(ctx context.Context, look func(g *Glance) error) error {
	return s.Data.Snapshot(ctx, func(tx *gorm.DB) error { return look(&Glance{db: s.Data, tx: tx}) })
}

// Now returns the database's time.
func (g *Glance) Now() (time.Time, error) {
	var now sqldb.Time
	if err := g.tx.Raw("SELECT " + g.db.Dialect().Now()).Row().Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the database's time: %w", err)
	}
	return now.Time, nil
}

// Leader returns the leader's name, and whether its lease has not run out.
func (g *Glance) Leader() (holder string, alive bool, err error) {
	rows, err := g.tx.Raw("SELECT holder, CASE WHEN expires_at > " + g.db.Dialect().Now() +
		" THEN 1 ELSE 0 END FROM leader WHERE id = 1").Rows()
	if err != nil {
		return "", false, fmt.Errorf("read who leads: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&holder, &alive); err != nil {
			return "", false, fmt.Errorf("read who leads: %w", err)
		}
	}
	return holder, alive && holder != "", rows.Err()
}

// Spend is the spend of an hour or a day, from the summaries.
type Spend struct {
	Media      string  `gorm:"column:media"`
	Day        day.Day `gorm:"column:day"`
	Zone       string  `gorm:"column:day_zone"`
	Currency   string  `gorm:"column:currency"`
	Hour       int     `gorm:"column:hour"`
	Cost       int64   `gorm:"column:cost"`
	Unassigned int64   `gorm:"column:unassigned"` // the part of Cost of accounts without a game
}

// HourlySpend adds up the hours of days, over all games.
func (g *Glance) HourlySpend(from, to day.Day) ([]Spend, error) {
	return g.spend("summary_hourly", "hour", from, to)
}

// DailySpend adds up days, over all games: the accounts' own totals of their days, as platforms report them.
func (g *Glance) DailySpend(from, to day.Day) ([]Spend, error) {
	return g.spend("summary_daily", "0", from, to)
}

func (g *Glance) spend(table, hour string, from, to day.Day) ([]Spend, error) {
	var all []Spend
	err := g.tx.Raw(
		"SELECT media, day, day_zone, currency, hour, CAST(COALESCE(SUM(cost), 0) AS SIGNED) AS cost,"+
			" CAST(COALESCE(SUM(unassigned), 0) AS SIGNED) AS unassigned FROM"+
			" (SELECT media, day, day_zone, currency, "+hour+
			" AS hour, cost, CASE WHEN game = ? THEN cost ELSE 0 END AS unassigned FROM "+table+" WHERE day BETWEEN ? AND ?) s"+
			" GROUP BY media, day, day_zone, currency, hour ORDER BY media, day, day_zone, currency, hour", summaries.Unassigned,
		from, to).Scan(&all).Error
	if err != nil {
		return nil, fmt.Errorf("add up %s: %w", table, err)
	}
	return all, nil
}

// Pulled is when a day of an account's own figures was last pulled.
type Pulled struct {
	AccountID int64      `gorm:"column:account_id"`
	Report    string     `gorm:"column:report"`
	Day       day.Day    `gorm:"column:day"`
	PulledAt  sqldb.Time `gorm:"column:pulled_at"`
}

// DoubtfulDay is a day of a report, or a list (its day is day.Epoch), whose last answer was not whole or was not
// believed.
type DoubtfulDay struct {
	AccountID int64                 `gorm:"column:account_id"`
	Report    string                `gorm:"column:report"`
	Level     string                `gorm:"column:level"`
	Day       day.Day               `gorm:"column:day"`
	PulledAt  sqldb.Time            `gorm:"column:pulled_at"`
	State     results.CoverageState `gorm:"column:state"`
	Note      string                `gorm:"column:note"`
}

// Doubtful returns the days and lists of a media in a state, Suspect or Partial, whatever their age, the newest days
// first. The index of states has them: it reads no other rows.
func (g *Glance) Doubtful(media string, state results.CoverageState, limit int) ([]DoubtfulDay, error) {
	var all []DoubtfulDay
	err := g.tx.Raw("SELECT account_id, report, level, day, pulled_at, state, note FROM coverage"+
		g.db.Dialect().ForceIndex("coverage", "state")+
		" WHERE state = ? AND media = ? ORDER BY day DESC LIMIT ?", state, media, limit).Scan(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the %s days of %s: %w", state, media, err)
	}
	return all, nil
}

// Pulled returns the coverage of days of accounts' own reports, daily and hourly. Pass some hundred accounts at most.
func (g *Glance) Pulled(accountIDs []int64, days []day.Day) ([]Pulled, error) {
	var all []Pulled
	err := g.tx.Raw("SELECT account_id, report, day, pulled_at FROM coverage"+
		" WHERE account_id IN ? AND report IN ('report_daily', 'report_hourly') AND level = 'account' AND day IN ?",
		accountIDs, days).Scan(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read the coverage of %s: %w", plural.Count(len(accountIDs), "account", "accounts"), err)
	}
	return all, nil
}

// Unsummed is a day of an account whose figures the summaries lack.
type Unsummed struct {
	AccountID int64   `gorm:"column:account_id"`
	Report    string  `gorm:"column:report"`
	Day       day.Day `gorm:"column:day"`
	Since     int64   `gorm:"column:dirty"` // as a version: microseconds of the database's time
}

// Unsummed returns days of a media that have waited for the summaries since a moment or longer, the oldest first.
func (g *Glance) Unsummed(media string, since time.Time, limit int) ([]Unsummed, error) {
	var all []Unsummed
	err := g.tx.Raw(
		"SELECT account_id, report, day, dirty FROM coverage WHERE media = ? AND dirty <= ? AND level = 'account'"+
			" AND report IN ('report_daily', 'report_hourly') ORDER BY dirty LIMIT ?", media, since.UnixMicro(),
		limit).Scan(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read what the summaries of %s lack: %w", media, err)
	}
	return all, nil
}

// ListedRun is a run as a list shows it.
type ListedRun struct {
	ID        int64
	Task      string
	Media     string
	Lane      string
	Kind      string
	State     task.RunState
	Total     int64 // -1 until its fan-out has ended
	Succeeded int64
	Failed    int64
	Expired   int64
	Cancelled int64
	Ended     int64
	Error     string
	CreatedAt time.Time
	EndedAt   time.Time
}

// RunsIn returns runs in a state with an id of from or above, the newest first.
func (g *Glance) RunsIn(state task.RunState, from int64, limit int) ([]ListedRun, error) {
	return g.runs("WHERE state = ? AND id >= ? ORDER BY id DESC LIMIT ?", state, from, limit)
}

// NewestRuns returns the runs that were made last, the newest first.
func (g *Glance) NewestRuns(limit int) ([]ListedRun, error) {
	return g.runs("ORDER BY id DESC LIMIT ?", limit)
}

func (g *Glance) runs(tail string, args ...any) ([]ListedRun, error) {
	query := g.tx.Raw(
		"SELECT id, task_name, media, lane, kind, state, COALESCE(total, -1), succeeded, failed, expired, cancelled,"+
			" succeeded + failed + expired + cancelled + superseded,"+
			" error_text, created_at, ended_at FROM run "+tail, args...)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, r *ListedRun) error {
		var created, ended sqldb.Time
		err := rows.Scan(&r.ID, &r.Task, &r.Media, &r.Lane, &r.Kind, &r.State, &r.Total, &r.Succeeded, &r.Failed, &r.Expired,
			&r.Cancelled, &r.Ended, &r.Error, &created, &ended)
		r.CreatedAt, r.EndedAt = created.Time, ended.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	return all, nil
}

// Waiting is a subtask that waits to be sent again.
type Waiting struct {
	AccountID int64
	Media     string
	Reason    string
	Due       time.Time
}

// Waiting returns subtasks in a state, retrying or deferred, by due time.
func (g *Glance) Waiting(state task.State, limit int) ([]Waiting, error) {
	query := g.tx.Raw("SELECT account_id, media, reason, due_at FROM subtask_due WHERE state = ? ORDER BY due_at LIMIT ?",
		state, limit)
	all, err := sqldb.Rows(query, func(rows *sql.Rows, w *Waiting) error {
		var due sqldb.Time
		err := rows.Scan(&w.AccountID, &w.Media, &w.Reason, &due)
		w.Due = due.Time
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the waiting subtasks: %w", err)
	}
	return all, nil
}

// NewestDead returns the subtasks that died last, without those that a run redrives, and without their tasks' names.
func (g *Glance) NewestDead(limit int) ([]dead.DeadSubtask, error) {
	index := " FORCE INDEX (died)"
	if g.db.Dialect() == sqldb.SQLiteDialect {
		index = " INDEXED BY subtask_dead_died"
	}
	all, err := dead.ReadDead(
		g.tx.Raw(
			"SELECT d.run_id, d.account_id, d.part, d.task_id, '', d.media, d.attempt, d.error_class, d.error_print,"+
				" d.error_text, d.dead_at, d.redrive_run_id"+
				" FROM subtask_dead d"+index+" ORDER BY d.dead_at DESC LIMIT ?", limit))
	return slices.DeleteFunc(all, func(d dead.DeadSubtask) bool { return d.RedriveRun != 0 }), err
}

// Confirmed returns, of the first open differences, those that remained after both levels were pulled again.
func (g *Glance) Confirmed(limit int) ([]results.Difference, error) {
	var all []results.Difference
	err := g.tx.Raw(
		"SELECT * FROM (SELECT * FROM reconciliation WHERE state = ? ORDER BY account_id, day, level, metric LIMIT ?) d"+
			" WHERE confirmed_at IS NOT NULL",
		results.DifferenceOpen, limit).Scan(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read differences: %w", err)
	}
	return all, nil
}

// Stops returns the active stop orders, by id.
func (g *Glance) Stops(limit int) ([]task.Stop, error) {
	return ledger.ReadStops(g.tx, "WHERE state = ? ORDER BY id LIMIT ?", ledger.StopActive, limit)
}

// DayCost is what an account spent on a day.
type DayCost struct {
	AccountID int64   `gorm:"column:account_id"`
	Day       day.Day `gorm:"column:day"`
	Currency  string  `gorm:"column:currency"`
	Cost      int64   `gorm:"column:cost"`
}

// DayCosts returns what accounts spent on days, by account and day. Pass some hundred accounts and a week at most.
func (g *Glance) DayCosts(accountIDs []int64, days []day.Day) ([]DayCost, error) {
	var all []DayCost
	err := g.tx.Raw(
		"SELECT account_id, day, currency, COALESCE(cost, 0) AS cost FROM report_daily"+
			" WHERE day IN ? AND account_id IN ? AND level = 'account' ORDER BY account_id, day",
		days, accountIDs).Scan(&all).Error
	if err != nil {
		return nil, fmt.Errorf("read what %s spent: %w", plural.Count(len(accountIDs), "account", "accounts"), err)
	}
	return all, nil
}

// Unassigned returns which of the accounts belong to no game on a day.
func (g *Glance) Unassigned(accountIDs []int64, d day.Day) ([]int64, error) {
	var with []int64
	err := g.tx.Raw("SELECT account_id FROM binding_applied WHERE account_id IN ? AND from_day <= ? AND to_day >= ?",
		accountIDs, d, d).Scan(&with).Error
	if err != nil {
		return nil, fmt.Errorf("read the games of %s: %w", plural.Count(len(accountIDs), "account", "accounts"), err)
	}
	assigned := make(map[int64]bool, len(with))
	for _, id := range with {
		assigned[id] = true
	}
	var without []int64
	for _, id := range accountIDs {
		if !assigned[id] {
			without = append(without, id)
		}
	}
	return without, nil
}

// UnusableField is how many values of a field could not be used, over all accounts and days.
type UnusableField struct {
	Media     string
	Report    string
	Field     string
	Kind      rawtable.FaultKind
	Number    int64
	Accounts  int64
	AccountID int64 // one of them
	Why       string
	Since     sqldb.Time `gorm:"column:since"`
}

// unusableOrder has the costliest kinds first, and then those with the most values.
const unusableOrder = " ORDER BY CASE kind WHEN ? THEN 0 WHEN ? THEN 1 WHEN ? THEN 2 ELSE 3 END, number DESC, media," +
	" report, field LIMIT ?"

// Unusable returns the fields whose values the last pull of their scope could not use, the costliest kinds first and
// then by number; then those of the partner's rows.
func (g *Glance) Unusable(limit int) ([]UnusableField, error) {
	var all []UnusableField
	for _, from := range []string{
		"SELECT media, report, field, kind, CAST(SUM(number) AS SIGNED) AS number, COUNT(DISTINCT account_id) AS accounts," +
			" MIN(account_id) AS account_id," +
			" MIN(why) AS why, MIN(seen_at) AS since FROM unusable_value GROUP BY media, report, field, kind",
		"SELECT media, '" + results.PartnerReport +
			"' AS report, field, kind, CAST(SUM(row_count) AS SIGNED) AS number, 0 AS accounts, 0 AS account_id," +
			" MIN(why) AS why, MIN(seen_at) AS since FROM partner_unusable GROUP BY media, field, kind",
	} {
		var fields []UnusableField
		if err := g.tx.Raw(from+unusableOrder, rawtable.KeyFault, rawtable.FigureFault, rawtable.FutureFault,
			limit).Scan(&fields).Error; err != nil {
			return nil, fmt.Errorf("read the unusable values: %w", err)
		}
		all = append(all, fields...)
	}
	return all, nil
}

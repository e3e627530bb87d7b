package results

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/clock"
	"adsync/base/day"
	"adsync/base/plural"
	"adsync/base/sqldb"
)

// CoverageState says how far the tables of a scope can be trusted.
type CoverageState string

// The states of a scope; a scope without a row was never pulled.
const (
	Complete CoverageState = "complete"
	Partial  CoverageState = "partial" // pages disagreed: rows are kept, none was deleted
	Suspect  CoverageState = "suspect" // the platform's answer would have taken too much away
)

// Scope is what one fence covers: the days of one account, report and level. Configuration has the one day day.Epoch.
type Scope struct {
	AccountID int64
	Media     string
	Report    string
	Level     string
	Days      []day.Day // ascending
	// FromHour narrows the scope to the hours of its only day from this one on; 0 is whole days. Rows are added and changed within
	// it, none is deleted, and what coverage says of the day stays, but for when it was pulled last and how many rows it has.
	FromHour int
}

// Claim is a pull's right to write its scope.
type Claim struct {
	Scope
	Version int64  // of every row that the pull writes
	PullID  string // who pulls, unique for each try
	RunID   int64
	read    time.Time // when Version was so, by the process's own clock
	known   bool      // coverage has rows of all days
}

// Asks says that the pull's first request goes out now: Version rises by the time since BeginPull, so that the time for which
// the request waited for its grant does not make the figures look older than they are, nor a pull that asked later lose to
// one that asked earlier. Call it at most once, before the request.
func (c *Claim) Asks() { c.Version += clock.Since(c.read).Microseconds() }

// Coverage is what is known of one day of a scope.
type Coverage struct {
	AccountID       int64         `gorm:"column:account_id"`
	Report          string        `gorm:"column:report"`
	Level           string        `gorm:"column:level"`
	Day             day.Day       `gorm:"column:day"`
	ClaimedVersion  int64         `gorm:"column:claimed_version"`
	ClaimedBy       string        `gorm:"column:claimed_by"`
	CompleteVersion int64         `gorm:"column:complete_version"`
	PulledAt        sqldb.Time    `gorm:"column:pulled_at"`
	RunID           int64         `gorm:"column:run_id"`
	RowCount        int64         `gorm:"column:row_count"`
	HighWater       int64         `gorm:"column:high_water"` // configuration: newest modification seen, unix seconds
	Dirty           *int64        `gorm:"column:dirty"`      // version that the summaries have not read yet
	State           CoverageState `gorm:"column:state"`
	Note            string        `gorm:"column:note"`
	// AnswerCost is the cost that the platform last answered for the whole day, also when it was not believed. AnswerRun is the first of
	// the runs since which it has said the same, 0 when there was none.
	AnswerCost *int64 `gorm:"column:answer_cost"`
	AnswerRun  int64  `gorm:"column:answer_run"`
	// BelievedCost is AnswerCost where it was taken although something contradicts it: confirmed, or repeated.
	BelievedCost *int64 `gorm:"column:believed_cost"`
	Unusable     int64  `gorm:"column:unusable"` // values that the last pull could not use
}

// FencedError says that other pulls have claimed all days of the scope since: nothing was written. Complete tells
// whether a newer pull of each day is already whole.
type FencedError struct {
	Complete bool
	// Own tells whether the newer pulls are all of the same run: other deliveries of the same subtask.
	Own bool
}

func (e *FencedError) Error() string { return "another pull has claimed the scope" }

// BeginPull gives a pull its version: database time in microseconds, and above every claim of the scope. Call it
// before the pull's first request, and Asks when that goes out. It writes nothing; highWater is the scope's, 0 when it was never pulled. Hours are of use
// to a day that is known: the claim to some of a day that was never pulled whole is one to the whole day.
func (s Results) BeginPull(ctx context.Context, scope Scope, pullID string, runID int64) (claim Claim, highWater int64, err error) {
	var now sqldb.Time
	var known struct{ Claimed, HighWater, Whole, Rows int64 }
	err = s.Data.Writer(ctx).Raw("SELECT "+s.Data.Dialect().Now()+", COALESCE(MAX(claimed_version), 0), COALESCE(MAX(high_water), 0),"+
		" COUNT(CASE WHEN complete_version > 0 THEN 1 END), COUNT(*) FROM coverage WHERE account_id = ? AND report = ? AND level = ? AND day IN ?",
		scope.AccountID, scope.Report, scope.Level, scope.Days).Row().Scan(&now, &known.Claimed, &known.HighWater, &known.Whole, &known.Rows)
	if err != nil {
		return Claim{}, 0, fmt.Errorf("begin pull: %w", err)
	}
	read := clock.Mark()
	if known.Whole == 0 {
		scope.FromHour = 0
	}
	version := max(now.UnixMicro(), known.Claimed+1)
	return Claim{Scope: scope, Version: version, PullID: pullID, RunID: runID, read: read, known: known.Rows == int64(len(scope.Days))}, known.HighWater, nil
}

// lockedScope is a scope whose coverage rows the transaction holds.
type lockedScope struct {
	Claim                     // with the days that are this pull's to write
	before         []Coverage // of those days
	fenced         []day.Day  // days that another pull has claimed since: theirs are the newer figures
	fencedComplete bool       // a newer pull of each fenced day is already whole
	fencedOwn      bool       // and all of them are of this pull's run
}

// readScope reads the scope's coverage rows and keeps them locked for the transaction; rows that are not there are made, first if they are not
// known to be there: two transactions that look for one and the same missing row would both wait for the other. now is the database's time,
// when it was asked for the rows.
func readScope(d *sqldb.DB, tx *gorm.DB, c Scope, known bool) (rows []Coverage, now time.Time, err error) {
	if !known {
		if err := makeScope(d, tx, c); err != nil {
			return nil, time.Time{}, err
		}
	}
	var found []struct {
		Coverage
		ReadAt sqldb.Time `gorm:"column:read_at"`
	}
	err = tx.Raw("SELECT coverage.*, "+d.Dialect().Now()+" AS read_at FROM coverage WHERE account_id = ? AND report = ? AND level = ? AND day IN ? ORDER BY day"+
		d.Dialect().ForUpdate(), c.AccountID, c.Report, c.Level, c.Days).Scan(&found).Error
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("lock coverage: %w", err)
	}
	if known && len(found) < len(c.Days) {
		return readScope(d, tx, c, false)
	}
	for _, f := range found {
		rows, now = append(rows, f.Coverage), f.ReadAt.Time
	}
	return rows, now, nil
}

func makeScope(d *sqldb.DB, tx *gorm.DB, c Scope) error {
	args := make([]any, 0, len(c.Days)*5)
	for _, day := range c.Days {
		args = append(args, c.AccountID, c.Report, c.Level, day, c.Media)
	}
	err := tx.Exec(d.Dialect().InsertIgnore()+"coverage (account_id, report, level, day, media) VALUES "+sqldb.Tuples(len(c.Days), 5), args...).Error
	if err != nil {
		return fmt.Errorf("lock coverage: %w", err)
	}
	return nil
}

// lockScope takes the scope's coverage rows for the transaction and tells which days are still this pull's: those that no higher version, and
// not the same one of another pull, has claimed. It returns *FencedError when there is no such day.
func lockScope(d *sqldb.DB, tx *gorm.DB, c Claim) (locked lockedScope, now time.Time, err error) {
	locked = lockedScope{Claim: c, fencedComplete: true, fencedOwn: true}
	rows, now, err := readScope(d, tx, c.Scope, c.known)
	if err != nil {
		return locked, now, err
	}
	locked.Days = nil
	for _, r := range rows {
		if r.ClaimedVersion > c.Version || (r.ClaimedVersion == c.Version && r.ClaimedBy != c.PullID) {
			locked.fenced = append(locked.fenced, r.Day)
			locked.fencedComplete = locked.fencedComplete && r.CompleteVersion > c.Version
			locked.fencedOwn = locked.fencedOwn && r.ClaimedVersion == r.CompleteVersion && r.RunID == c.RunID
			continue
		}
		locked.Days = append(locked.Days, r.Day)
		locked.before = append(locked.before, r)
	}
	if len(locked.Days) == 0 {
		return locked, now, &FencedError{Complete: locked.fencedComplete, Own: locked.fencedOwn}
	}
	return locked, now, nil
}

// writeScope runs write in a transaction that holds the scope's fence, and writes what it says of each day into coverage, with the claim.
// locked has the days that are still the pull's, and write answers for each of them. write may run more than once.
func (s Results) writeScope(ctx context.Context, c Claim, write func(tx *gorm.DB, now time.Time, locked lockedScope) ([]dayOutcome, error)) error {
	err := s.Data.IdempotentTx(ctx, func(tx *gorm.DB) error {
		locked, now, err := lockScope(s.Data, tx, c)
		if err != nil {
			return err
		}
		outcomes, err := write(tx, now, locked)
		if err != nil {
			return err
		}
		if len(outcomes) != len(locked.Days) {
			return fmt.Errorf("%s were written of %d that are claimed", plural.Count(len(outcomes), "day", "days"), len(locked.Days))
		}
		if err := writeUnusable(s.Data, tx, locked.Claim, now, locked.before, outcomes); err != nil {
			return err
		}
		return writeCoverage(tx, locked.Claim, now, outcomes)
	})
	if err != nil {
		return fmt.Errorf("write %s of account %d: %w", c.Report, c.AccountID, err)
	}
	return nil
}

// dayOutcome is what a pull found out about one day of its scope.
type dayOutcome struct {
	day       day.Day
	whole     bool // the pull was whole and covered the whole day: complete_version rises
	state     CoverageState
	note      string
	rows      int64
	highWater int64
	dirty     bool // figures changed: the summaries must read the day again
	changed   bool // rows of the results were written or deleted
	hours     bool // the pull was of some hours: what is said of the day stays
	opens     bool // also of some hours: the day is not whole any more
	adds      bool // the pull covered a part of the scope: what is known of the rest stays
	lowers    bool // high_water is written also where it is 0

	unusable    []Unusable
	unusableNow int64 // of the whole scope
	recount     bool  // which is another number than before

	answered              bool // the platform told the cost of the whole day
	answerCost, answerRun int64
	believed              *int64
}

func writeCoverage(tx *gorm.DB, c Claim, now time.Time, days []dayOutcome) error {
	for _, o := range days {
		sets := "claimed_version = ?, claimed_by = ?, pulled_at = ?, row_count = ?"
		args := []any{c.Version, c.PullID, sqldb.At(now), o.rows}
		if !o.hours {
			// The run tells when the whole day was pulled: a day is settled by a run that was made after it had settled.
			sets += ", run_id = ?, state = ?, note = ?"
			args = append(args, c.RunID, o.state, sqldb.Cut(o.note, NoteMax))
		} else if o.opens {
			sets += ", state = ?, note = ?"
			args = append(args, o.state, sqldb.Cut(o.note, NoteMax))
		}
		if o.recount {
			sets += ", unusable = ?"
			args = append(args, o.unusableNow)
		}
		if o.whole {
			sets += ", complete_version = ?"
			args = append(args, c.Version)
		}
		if o.answered {
			sets += ", answer_cost = ?, answer_run = ?, believed_cost = ?"
			args = append(args, o.answerCost, o.answerRun, o.believed)
		}
		if o.highWater > 0 || o.lowers {
			sets += ", high_water = ?"
			args = append(args, o.highWater)
		}
		if o.dirty {
			sets += ", dirty = ?"
			args = append(args, c.Version)
		}
		args = append(args, c.AccountID, c.Report, c.Level, o.day)
		err := tx.Exec("UPDATE coverage SET "+sets+" WHERE account_id = ? AND report = ? AND level = ? AND day = ?", args...).Error
		if err != nil {
			return fmt.Errorf("write coverage: %w", err)
		}
	}
	return nil
}

// ReadCoverage lists the coverage of an account's days, by report, level and day. from and to are included; rows of
// configuration come with day.Epoch and are always listed.
func (s Results) ReadCoverage(ctx context.Context, accountID int64, from, to day.Day) ([]Coverage, error) {
	var rows []Coverage
	err := s.Data.Reader(ctx).Raw("SELECT * FROM coverage WHERE account_id = ? AND (day BETWEEN ? AND ? OR day = ?) ORDER BY report, level, day",
		accountID, from, to, day.Epoch).Scan(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("read coverage of account %d: %w", accountID, err)
	}
	return rows, nil
}

// IsFenced reports whether err is a fence's refusal.
func IsFenced(err error) (*FencedError, bool) { return errors.AsType[*FencedError](err) }

// ReportLevel names a report at a level, as coverage does.
type ReportLevel struct{ Report, Level string }

// WholeReports returns which reports of a day were pulled whole, by account.
func (s Results) WholeReports(ctx context.Context, ids []int64, d day.Day) (map[int64]map[ReportLevel]bool, error) {
	rows, err := s.Data.Writer(ctx).Raw("SELECT account_id, report, level FROM coverage WHERE account_id IN ? AND day = ? AND complete_version > 0", ids, d).Rows()
	if err != nil {
		return nil, fmt.Errorf("read what was pulled of %s: %w", d, err)
	}
	defer rows.Close()
	whole := make(map[int64]map[ReportLevel]bool, len(ids))
	for rows.Next() {
		var id int64
		var r ReportLevel
		if err := rows.Scan(&id, &r.Report, &r.Level); err != nil {
			return nil, fmt.Errorf("read what was pulled of %s: %w", d, err)
		}
		if whole[id] == nil {
			whole[id] = map[ReportLevel]bool{}
		}
		whole[id][r] = true
	}
	return whole, rows.Err()
}

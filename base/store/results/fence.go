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

// FencedError says that other pulls have claimed all days of the scope since: nothing was written. Complete tells
// whether a newer pull of each day is already whole.
type FencedError struct {
	Complete bool
	// Own tells whether the newer pulls are all of the same run: other deliveries of the same subtask.
	Own bool
}

func (e *FencedError) Error() string { return "another pull has claimed the scope" }

// IsFenced reports whether err is a fence's refusal.
func IsFenced(err error) (*FencedError, bool) { return errors.AsType[*FencedError](err) }

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

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
	PullID  string // unique for each try
	RunID   int64
	read    time.Time // when Version was read, by the process's clock
	known   bool      // coverage has rows for all days
}

// RaiseVersion adds the time since BeginPull to Version. Call it at most once, when the pull's first request goes
// out. Without it the time for which the request waited for its grant would make the figures look older than they
// are, and a pull that asked later could lose to one that asked earlier.
func (c *Claim) RaiseVersion() { c.Version += clock.Since(c.read).Microseconds() }

// FencedError is returned when other pulls have claimed all days of the scope since: nothing was written. Complete
// reports whether a newer pull of each day is already whole.
type FencedError struct {
	Complete bool
	// Own reports whether all newer pulls are of the same run: other deliveries of the same subtask.
	Own bool
}

func (e *FencedError) Error() string { return "another pull has claimed the scope" }

// IsFenced returns the *FencedError in err, if any.
func IsFenced(err error) (*FencedError, bool) { return errors.AsType[*FencedError](err) }

// BeginPull returns a pull's claim. Its version is the database's time in microseconds, and above every claim of the
// scope. Call it before the pull's first request, and RaiseVersion when that goes out. It writes nothing. highWater
// is the scope's, 0 when it was never pulled. A claim to some hours of a day that was never pulled whole becomes one
// to the whole day.
func (s Results) BeginPull(
	ctx context.Context, scope Scope, pullID string, runID int64,
) (claim Claim, highWater int64, err error) {
	var now sqldb.Time
	var known struct{ Claimed, HighWater, Whole, Rows int64 }
	err = s.Data.Writer(ctx).Raw("SELECT "+s.Data.Dialect().Now()+
		", COALESCE(MAX(claimed_version), 0), COALESCE(MAX(high_water), 0),"+
		" COUNT(CASE WHEN complete_version > 0 THEN 1 END), COUNT(*) FROM coverage"+
		" WHERE account_id = ? AND report = ? AND level = ? AND day IN ?",
		scope.AccountID, scope.Report, scope.Level, scope.Days).Row().Scan(&now, &known.Claimed, &known.HighWater,
		&known.Whole, &known.Rows)
	if err != nil {
		return Claim{}, 0, fmt.Errorf("begin a pull of %s of account %d: %w", scope.Report, scope.AccountID, err)
	}
	read := clock.Mark()
	if known.Whole == 0 {
		scope.FromHour = 0
	}
	version := max(now.UnixMicro(), known.Claimed+1)
	return Claim{Scope: scope, Version: version, PullID: pullID, RunID: runID, read: read,
		known: known.Rows == int64(len(scope.Days))}, known.HighWater, nil
}

// lockedScope is a scope whose coverage rows the transaction has locked.
type lockedScope struct {
	Claim                     // its days are those that this pull may write
	before         []Coverage // of those days
	fenced         []day.Day  // days that another pull has claimed since, whose figures are newer
	fencedComplete bool       // a newer pull of each fenced day is already whole
	fencedOwn      bool       // all of the newer pulls are of this pull's run
}

// readScope reads the scope's coverage rows and locks them for the transaction. Missing rows are inserted, first
// unless known: two transactions that look for the same missing row would wait for each other. now is the database's
// time of the read.
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
	err = tx.Raw("SELECT coverage.*, "+d.Dialect().Now()+
		" AS read_at FROM coverage WHERE account_id = ? AND report = ? AND level = ? AND day IN ? ORDER BY day"+
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
	err := tx.Exec(d.Dialect().InsertIgnore()+"coverage (account_id, report, level, day, media) VALUES "+
		sqldb.Tuples(len(c.Days), 5), args...).Error
	if err != nil {
		return fmt.Errorf("lock coverage: %w", err)
	}
	return nil
}

// lockScope locks the scope's coverage rows for the transaction and returns which days this pull may still write:
// those that no higher version has claimed, nor another pull with the same version. It returns *FencedError if there
// is no such day.
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

// writeScope runs write in a transaction that holds the scope's fence, and writes the returned outcomes into
// coverage, with the claim. locked has the days that the pull may still write, and write returns an outcome for each
// of them. write may run more than once.
func (s Results) writeScope(ctx context.Context, c Claim,
	write func(tx *gorm.DB, now time.Time, locked lockedScope) ([]dayOutcome, error)) error {
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
			return fmt.Errorf("%s written, %d claimed", plural.Count(len(outcomes), "day", "days"), len(locked.Days))
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

package results

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	v := &gathered[knownScope]{ctx: ctx, of: scope}
	s.together.begins.add(v, func(values []*gathered[knownScope]) {
		s.readKnown(context.WithoutCancel(ctx), values)
	})
	if v.alone {
		v.value, v.err = s.readKnownOf(ctx, scope)
	}
	if v.err != nil {
		return Claim{}, 0, fmt.Errorf("begin a pull of %s of account %d: %w", scope.Report, scope.AccountID, v.err)
	}
	k := v.value
	if k.Whole == 0 {
		scope.FromHour = 0
	}
	version := max(k.ReadAt.UnixMicro(), k.Claimed+1)
	return Claim{Scope: scope, Version: version, PullID: pullID, RunID: runID, read: k.read,
		known: k.Days == int64(len(scope.Days))}, k.HighWater, nil
}

// knownScope is what coverage knows of a scope before a pull.
type knownScope struct {
	AccountID     int64
	Report, Level string
	ReadAt        sqldb.Time // the database's time
	Claimed       int64      // the highest version of a claim; 0 if there is none
	HighWater     int64
	Whole         int64     // days that were pulled whole
	Days          int64     // days that have a row
	read          time.Time // when ReadAt was read, by the process's clock
}

const knownColumns = " AS read_at, COALESCE(MAX(claimed_version), 0) AS claimed," +
	" COALESCE(MAX(high_water), 0) AS high_water, COUNT(CASE WHEN complete_version > 0 THEN 1 END) AS whole," +
	" COUNT(*) AS days FROM coverage WHERE "

// readKnownOf reads one scope.
func (s Results) readKnownOf(ctx context.Context, scope Scope) (k knownScope, err error) {
	condition, args := onScopes([]Scope{scope})
	err = s.Data.Writer(ctx).Raw("SELECT "+s.Data.Dialect().Now()+knownColumns+condition, args...).Scan(&k).Error
	k.read = clock.Mark()
	return k, err
}

// readKnown reads scopes in one statement, and the time in another one if none of them was ever pulled.
func (s Results) readKnown(ctx context.Context, values []*gathered[knownScope]) {
	if len(values) == 1 {
		v := values[0]
		v.value, v.err = s.readKnownOf(v.ctx, v.of) //nolint:contextcheck // It is that of the pull.
		return
	}
	scopes, of := make([]Scope, len(values)), make(map[scopeKey]*gathered[knownScope], len(values))
	for i, v := range values {
		scopes[i], of[v.of.key()] = v.of, v
	}
	condition, args := onScopes(scopes)
	ctx, cancel := context.WithTimeout(ctx, togetherTimeout)
	defer cancel()
	var found []knownScope
	err := s.Data.Writer(ctx).Raw("SELECT account_id, report, level, "+s.Data.Dialect().Now()+knownColumns+condition+
		" GROUP BY account_id, report, level", args...).Scan(&found).Error
	var now sqldb.Time
	switch {
	case err != nil:
	case len(found) > 0:
		now = found[0].ReadAt
	default:
		now.Time, err = s.Data.Now(ctx)
	}
	read := clock.Mark()
	for _, v := range values {
		v.alone = err != nil // Whose fault it is, is not known.
		v.value = knownScope{ReadAt: now, read: read}
	}
	for _, f := range found {
		f.read = read
		of[scopeKey{f.AccountID, f.Report, f.Level}].value = f
	}
}

// lockedScope is a scope whose coverage rows the transaction has locked.
type lockedScope struct {
	Claim                     // its days are those that this pull may write
	before         []Coverage // of those days
	fenced         []day.Day  // days that another pull has claimed since, whose figures are newer
	fencedComplete bool       // a newer pull of each fenced day is already whole
	fencedOwn      bool       // all of the newer pulls are of this pull's run
}

// readScope is readScopes of one scope. Missing rows are inserted, first unless known: two transactions that look for
// the same missing row would wait for each other.
func readScope(d *sqldb.DB, tx *gorm.DB, c Scope, known bool) (rows []Coverage, now time.Time, err error) {
	if !known {
		if err := makeScopes(d, tx, []Scope{c}); err != nil {
			return nil, time.Time{}, err
		}
	}
	rows, now, err = readScopes(d, tx, []Scope{c})
	if err == nil && known && len(rows) < len(c.Days) {
		return readScope(d, tx, c, false)
	}
	return rows, now, err
}

// readScopes reads the scopes' coverage rows, in the order of their keys, and locks them for the transaction. now is
// the database's time of the read.
func readScopes(d *sqldb.DB, tx *gorm.DB, scopes []Scope) (rows []Coverage, now time.Time, err error) {
	condition, args := onScopes(scopes)
	return readLocked(d, tx, condition, args)
}

// readLocked is readScopes of the rows that a condition selects.
func readLocked(d *sqldb.DB, tx *gorm.DB, condition string, args []any) (rows []Coverage, now time.Time, err error) {
	var found []struct {
		Coverage
		ReadAt sqldb.Time `gorm:"column:read_at"`
	}
	err = tx.Raw("SELECT coverage.*, "+d.Dialect().Now()+" AS read_at FROM coverage WHERE "+condition+
		" ORDER BY account_id, report, level, day"+d.Dialect().ForUpdate(), args...).Scan(&found).Error
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("lock coverage: %w", err)
	}
	for _, f := range found {
		rows, now = append(rows, f.Coverage), f.ReadAt.Time
	}
	return rows, now, nil
}

// makeScopes inserts the coverage rows that scopes lack.
func makeScopes(d *sqldb.DB, tx *gorm.DB, scopes []Scope) error {
	var rows [][]any
	for _, c := range scopes {
		for _, day := range c.Days {
			rows = append(rows, []any{c.AccountID, c.Report, c.Level, day, c.Media})
		}
	}
	rows = sqldb.SortByKey(rows, len(coverageTable.Key))
	for batch := range slices.Chunk(rows, d.RowsPerStatement(5)) {
		err := tx.Exec(d.Dialect().InsertIgnore()+"coverage (account_id, report, level, day, media) VALUES "+
			sqldb.Tuples(len(batch), 5), slices.Concat(batch...)...).Error
		if err != nil {
			return fmt.Errorf("lock coverage: %w", err)
		}
	}
	return nil
}

// lockScope locks the scope's coverage rows for the transaction: see fence.
func lockScope(d *sqldb.DB, tx *gorm.DB, c Claim) (locked lockedScope, now time.Time, err error) {
	rows, now, err := readScope(d, tx, c.Scope, c.known)
	if err != nil {
		return lockedScope{}, now, err
	}
	locked, err = c.fence(rows)
	return locked, now, err
}

// fence returns which days of locked coverage rows the pull may still write: those that no higher version has claimed,
// nor another pull with the same version. It returns *FencedError if there is no such day.
func (c Claim) fence(rows []Coverage) (lockedScope, error) {
	locked := lockedScope{Claim: c, fencedComplete: true, fencedOwn: true}
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
		return locked, &FencedError{Complete: locked.fencedComplete, Own: locked.fencedOwn}
	}
	return locked, nil
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
		return writeCoverage(s.Data, tx, locked.covered(now, locked.before, outcomes))
	})
	return c.failed(err)
}

// failed adds the scope to the error of a write. nil stays nil.
func (c Claim) failed(err error) error {
	if err != nil {
		return fmt.Errorf("write %s of account %d: %w", c.Report, c.AccountID, err)
	}
	return nil
}

package jobstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// Shelf is where some of a queue's jobs are: a table and, within it, a band of the index.
type Shelf struct {
	Queue QueueID
	Table string
	Band  int
}

// IsShelf reports whether a shelf that another process named may be claimed from.
func IsShelf(f Shelf) bool {
	return f.Band >= 0 && f.Band < lastTry && (f.Table == keptTable || dayTable.MatchString(f.Table))
}

// LastTries reports whether the jobs of the shelf are claimed for the last time: they die when they are ready.
func (f Shelf) LastTries() bool { return f.Band >= lastTry }

// ShelfOf returns the shelf on which a job was found or is published.
func ShelfOf(j Job) Shelf {
	return Shelf{Queue: j.Queue, Table: cmp.Or(j.table, home(j.Queue, j.ID)), Band: j.band()}
}

// Compare orders the shelves of a queue as they are claimed from: by priority, and then the oldest tables first.
func (f Shelf) Compare(other Shelf) int {
	if f.Band != other.Band {
		return f.Band - other.Band
	}
	if (f.Table == keptTable) != (other.Table == keptTable) {
		if f.Table == keptTable {
			return -1
		}
		return 1
	}
	return strings.Compare(f.Table, other.Table)
}

// Ready is a shelf that has a ready job.
type Ready struct {
	Shelf

	Since time.Time // when the first of its jobs became ready
}

// ReadyShelves returns the shelves that have a job which became ready between since and now. A zero since means any
// time. A queue of 0 means all.
//
// It reads the first entry of each shelf in the index, not the jobs. But entries of jobs that ended are read too until
// the server removes them, which it does not while somebody reads an old snapshot: since bounds that.
func (s *Store) ReadyShelves(ctx context.Context, queue QueueID, since, now time.Time) ([]Ready, error) {
	hash := -1
	if queue != 0 {
		hash = hashOf(queue)
	}
	var all []Ready
	for _, table := range s.tables.all(hash) {
		where, args := "ready_at <= ?", []any{sqldb.At(now)}
		if !since.IsZero() {
			where, args = where+" AND ready_at >= ?", append(args, sqldb.At(since))
		}
		if queue != 0 {
			where, args = where+" AND queue_id = ?", append(args, int64(queue))
		}
		query := s.db.Latest(ctx).Raw("SELECT queue_id, band, MIN(ready_at) FROM "+table+
			s.db.Dialect().ForceIndex(table, "ready")+" WHERE "+where+" GROUP BY queue_id, band", args...)
		err := sqldb.EachRow(query, func(rows *sql.Rows) error {
			f, first := Ready{Shelf: Shelf{Table: table}}, sqldb.Time{}
			if err := rows.Scan(&f.Queue, &f.Band, &first); err != nil {
				return err
			}
			f.Since = first.Time
			all = append(all, f)
			return nil
		})
		if err != nil && !isMissing(err) {
			return nil, fmt.Errorf("find ready jobs in %s: %w", table, err)
		}
	}
	return all, nil
}

// Claimed are the jobs of a claim.
type Claimed struct {
	Jobs []Job
	Last time.Time // no job that was ready before is left on the shelf, except such that another process has locked
	More bool      // whether other jobs may be ready
	// Full reports that a limit of the queue did not allow a job, and Next when its rate does; zero if a claim must end
	// first.
	Full bool
	Next time.Time
}

// Claim claims up to limit ready jobs of a shelf until until, the longest ready first, none that became ready before
// since, unless that is zero. Jobs that have expired are deleted instead. If the commit's answer is lost, it is an
// error, and the jobs are ready again at until. A claim that lapses leaves its job ready when its backoff has passed.
func (s *Store) Claim(ctx context.Context, f Shelf, limit int, since, now, until time.Time) (c Claimed, err error) {
	settings := s.of(f.Queue)
	err = s.db.Tx(ctx, func(tx *gorm.DB) error {
		c = Claimed{Last: since}
		a := allowance{jobs: limit}
		if settings.limited() {
			if a, err = s.allowed(tx, f.Queue, settings, limit, now); err != nil {
				return err
			}
			if a.jobs == 0 {
				c.More, c.Full, c.Next = true, true, a.next
				return nil
			}
		}
		ready, err := s.lockReady(tx, f, a.jobs, since, now)
		if err != nil || len(ready) == 0 {
			return err
		}
		c.Last, c.More = ready[len(ready)-1].ReadyAt, len(ready) == a.jobs
		if err := s.claim(tx, f, ready, &c, now, until); err != nil || !settings.limited() {
			return err
		}
		return s.spend(tx, f.Queue, settings, a, c.Jobs)
	})
	if isMissing(err) {
		return Claimed{}, nil
	}
	if err != nil {
		return Claimed{}, fmt.Errorf("claim jobs: %w", err)
	}
	return c, nil
}

// claim claims locked jobs, and deletes those that have expired.
func (s *Store) claim(tx *gorm.DB, f Shelf, ready []Job, c *Claimed, now, until time.Time) error {
	var expired []Key
	byTime := map[time.Time][]any{} // ids, by when they are ready again
	for _, j := range ready {
		if j.Expired(now) {
			expired = append(expired, j.Key())
			continue
		}
		j.Tries, j.Claims, j.ReadyAt, j.table = j.Tries-1, j.Claims+1, until, f.Table
		if j.TTR > 0 {
			j.ReadyAt = now.Add(j.TTR)
		}
		c.Jobs = append(c.Jobs, j)
		again := s.againAfter(j, j.ReadyAt)
		byTime[again] = append(byTime[again], j.ID[:])
	}
	if err := s.deleteFrom(tx, expired, f.Table); err != nil {
		return err
	}
	if err := s.endWatched(tx, expired, ending{end: Expired, at: now}); err != nil {
		return err
	}
	for _, again := range slices.SortedFunc(maps.Keys(byTime), time.Time.Compare) {
		ids := byTime[again]
		slices.SortFunc(ids, compareIDs)
		// The columns are set from the left to the right.
		set := "band = CASE WHEN tries = 1 THEN band + ? ELSE band END, tries = tries - 1, claims = claims + 1, ready_at = ?"
		if _, err := s.db.ExecMany(tx, updateSQL(s.db.Dialect(), f.Table, set, len(ids)),
			append([]any{lastTry, sqldb.At(again), int64(f.Queue)}, ids...), false); err != nil {
			return err
		}
	}
	return nil
}

// againAfter returns when a job is ready again whose claim ends at until: when its backoff has passed, or at once to be
// buried, if that was its last try.
func (s *Store) againAfter(j Job, until time.Time) time.Time {
	if j.Tries == 0 {
		return until
	}
	return until.Add(s.backoffOf(j).After(j.failedClaims()))
}

// backoffOf returns the backoff of a job: its own, or its queue's.
func (s *Store) backoffOf(j Job) Backoff {
	if j.Backoff != "" {
		if b, err := ParseBackoff(j.Backoff); err == nil {
			return b
		}
	}
	if b := s.of(j.Queue).Backoff; b != nil {
		return *b
	}
	return Backoff{}
}

// lockReady locks ready jobs of a shelf, without waiting for those that others have locked.
func (s *Store) lockReady(tx *gorm.DB, f Shelf, limit int, since, now time.Time) ([]Job, error) {
	where, args := "queue_id = ? AND band = ? AND ready_at <= ?", []any{int64(f.Queue), f.Band, sqldb.At(now)}
	if !since.IsZero() {
		where, args = where+" AND ready_at >= ?", append(args, sqldb.At(since))
	}
	lock := ""
	if s.db.Dialect() != sqldb.SQLiteDialect {
		lock = " FOR UPDATE SKIP LOCKED"
	}
	return sqldb.Rows(tx.Raw("SELECT "+jobColumns+" FROM "+f.Table+s.db.Dialect().ForceIndex(f.Table, "ready")+" WHERE "+
		where+" ORDER BY ready_at, id LIMIT ?"+lock, append(args, limit)...), scanJob)
}

func updateSQL(d sqldb.Dialect, table, set string, n int) string {
	hint := d.ForceIndex(table, "PRIMARY")
	if d == sqldb.SQLiteDialect {
		hint = ""
	}
	return "UPDATE " + table + hint + " SET " + set + " WHERE queue_id = ? AND id IN " + sqldb.Tuples(1, n)
}

// Return makes claimed jobs ready at once, as if they had not been claimed: an answer with them was lost before it
// left. A job that was claimed again or has ended stays as it is.
func (s *Store) Return(ctx context.Context, jobs []Job, now time.Time) error {
	for _, j := range jobs {
		if j.ID.Watched() {
			if _, err := s.Release(ctx, j.Key(), j.Claims, Again{}, now); err != nil {
				return fmt.Errorf("return a claimed job: %w", err)
			}
			continue
		}
		for _, table := range places(j.Queue, j.ID, now) {
			changed, err := s.db.ExecMany(s.db.Writer(ctx), "UPDATE "+table+" SET band = ?, tries = tries + 1, ready_at = ? "+
				"WHERE queue_id = ? AND id = ? AND claims = ?",
				[]any{PriorityMax - j.Priority, sqldb.At(now), int64(j.Queue), j.ID[:], j.Claims}, false)
			if err != nil && !isMissing(err) {
				return fmt.Errorf("return a claimed job: %w", err)
			}
			if changed == 0 {
				continue
			}
			if err := s.leave(s.db.Writer(ctx), []Key{j.Key()}); err != nil {
				return fmt.Errorf("free the slot of a returned job: %w", err)
			}
			break
		}
	}
	return nil
}

// lapsed is the error of a job whose last claim was not acknowledged in time.
const lapsed = "its time to run ended without an acknowledgement"

// buriedAtOnce is how many jobs one transaction moves to the dead letters.
const buriedAtOnce = 200

// Bury moves up to some hundred jobs of a shelf whose last try has lapsed to the dead letters, and drops those that
// have expired. It returns how many are gone from the shelf.
func (s *Store) Bury(ctx context.Context, f Shelf, now time.Time) (gone int, err error) {
	err = s.db.Tx(ctx, func(tx *gorm.DB) error {
		jobs, err := s.lockReady(tx, f, buriedAtOnce, time.Time{}, now)
		gone = len(jobs)
		if err != nil || gone == 0 {
			return err
		}
		keys := keysOf(jobs)
		if jobs, err = s.endLapsed(tx, jobs, now); err != nil {
			return err
		}
		if err := s.insertDead(tx, jobs, now, lapsed); err != nil {
			return err
		}
		return s.deleteFrom(tx, keys, f.Table)
	})
	if isMissing(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("move jobs to the dead letters: %w", err)
	}
	return gone, nil
}

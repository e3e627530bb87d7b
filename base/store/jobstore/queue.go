package jobstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// Peek returns a job, alive or dead; nil if there is none. A dead one has no tries.
func (s *Store) Peek(ctx context.Context, k Key, now time.Time) (*Job, error) {
	for _, table := range s.tablesOf(k, now) {
		found, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT "+jobColumns+" FROM "+table+" WHERE queue_id = ? AND id = ?",
			int64(k.Queue), k.ID[:]), scanJob)
		if err != nil && !isMissing(err) {
			return nil, fmt.Errorf("read a job: %w", err)
		}
		if len(found) > 0 {
			return &found[0], nil
		}
	}
	found, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT "+deadColumns+" FROM job_dead WHERE queue_id = ? AND id = ?",
		int64(k.Queue), k.ID[:]), scanDead)
	if err != nil {
		return nil, fmt.Errorf("read a dead letter: %w", err)
	}
	if len(found) == 0 {
		return nil, nil
	}
	return &found[0].Job, nil
}

// tablesOf returns the tables in which a job may be, and job_kept, to which a dead one returns.
func (s *Store) tablesOf(k Key, now time.Time) []string {
	var all []string
	for _, name := range append(places(k.Queue, k.ID, now), keptTable) {
		if s.tables.has(name) {
			all = sqldb.AppendNew(all, name)
		}
	}
	return all
}

// First returns the job of a queue that is claimed next, which may have expired; nil if none is ready.
func (s *Store) First(ctx context.Context, q QueueID, now time.Time) (*Job, error) {
	ready, err := s.ReadyShelves(ctx, q, time.Time{}, now)
	if err != nil {
		return nil, err
	}
	ready = slices.DeleteFunc(ready, func(r Ready) bool { return r.LastTries() })
	slices.SortFunc(ready, func(a, b Ready) int { return a.Compare(b.Shelf) })
	for _, f := range ready {
		found, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT "+jobColumns+" FROM "+f.Table+
			s.db.Dialect().ForceIndex(f.Table, "ready")+" WHERE queue_id = ? AND band = ? AND ready_at <= ? "+
			"ORDER BY ready_at, id LIMIT 1", int64(q), f.Band, sqldb.At(now)), scanJob)
		if err != nil && !isMissing(err) {
			return nil, fmt.Errorf("read the first job: %w", err)
		}
		if len(found) > 0 {
			return &found[0], nil
		}
	}
	return nil, nil
}

// Size returns how many jobs of a queue may be claimed now.
func (s *Store) Size(ctx context.Context, q QueueID, now time.Time) (count int64, err error) {
	ready, err := s.ReadyShelves(ctx, q, time.Time{}, now)
	if err != nil {
		return 0, err
	}
	for _, f := range ready {
		if f.LastTries() {
			continue
		}
		var n int64
		err := s.db.Latest(ctx).Raw("SELECT COUNT(*) FROM "+f.Table+s.db.Dialect().ForceIndex(f.Table, "ready")+
			" WHERE queue_id = ? AND band = ? AND ready_at <= ?", int64(q), f.Band, sqldb.At(now)).Row().Scan(&n)
		if err != nil && !isMissing(err) {
			return 0, fmt.Errorf("count ready jobs: %w", err)
		}
		count += n
	}
	return count, nil
}

// destroyedAtOnce is how many jobs one transaction deletes.
const destroyedAtOnce = 500

// Destroy deletes the jobs of a queue that may be claimed now. Delayed and claimed ones stay.
func (s *Store) Destroy(ctx context.Context, q QueueID, now time.Time) error {
	shelves, err := s.ReadyShelves(ctx, q, time.Time{}, now)
	if err != nil {
		return err
	}
	for _, f := range shelves {
		for n := 1; n > 0 && !f.LastTries(); {
			if n, err = s.destroy(ctx, f.Shelf, now); err != nil && !isMissing(err) {
				return fmt.Errorf("delete the jobs of a queue: %w", err)
			}
		}
	}
	return nil
}

// destroy deletes some ready jobs of a shelf, and returns how many.
func (s *Store) destroy(ctx context.Context, f Shelf, now time.Time) (n int, err error) {
	err = s.db.Tx(ctx, func(tx *gorm.DB) error {
		jobs, err := s.lockReady(tx, f, destroyedAtOnce, time.Time{}, now)
		n = len(jobs)
		if err != nil {
			return err
		}
		if err := s.endWatched(tx, keysOf(jobs), ending{end: Withdrawn, error: "the ready jobs of its queue were deleted",
			at: now}); err != nil {
			return err
		}
		return s.deleteFrom(tx, keysOf(jobs), f.Table)
	})
	return n, err
}

// Republish deletes a job, which may be claimed, dead or unknown, and publishes another, maybe in another queue, in one
// transaction.
//
// If the job is watched, its worker has written so many rows.
func (s *Store) Republish(ctx context.Context, old Key, written int64, with Job, now time.Time) error {
	table := home(with.Queue, with.ID)
	if err := s.ensure(ctx, table); err != nil {
		return err
	}
	err := s.db.Tx(ctx, func(tx *gorm.DB) error {
		if err := s.leave(tx, []Key{old}); err != nil {
			return err
		}
		if err := s.deleteFrom(tx, []Key{old}, append(s.tablesOf(old, now), deadTable)...); err != nil {
			return err
		}
		if err := s.endWatched(tx, []Key{old}, ending{end: Succeeded, rows: written, at: now}); err != nil {
			return err
		}
		return s.insert(tx, table, [][]any{with.row()})
	})
	if err != nil {
		return fmt.Errorf("republish a job: %w", err)
	}
	return nil
}

// isMissing reports whether a statement failed because its table does not exist: another process has dropped it, and
// moved its jobs before.
func isMissing(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number == 1146
	}
	return err != nil && strings.Contains(err.Error(), "no such table: job_") // SQLite's has no number of its own.
}

package jobstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

const deadColumns = "queue_id, id, band, died_at, claims, error, body, attributes"

// deadColumnCount is the number of deadColumns.
const deadColumnCount = 8

func (s *Store) insertDead(tx *gorm.DB, jobs []Job, now time.Time, reason string) error {
	rows := make([][]any, len(jobs))
	for i, j := range jobs {
		rows[i] = []any{int64(j.Queue), j.ID[:], PriorityMax - j.Priority, sqldb.At(now), j.Claims, reason, notNil(j.Body),
			j.Attributes}
	}
	return insertRows(s.db, tx, deadTable, deadColumns, deadColumnCount, rows)
}

func scanDead(rows *sql.Rows, d *DeadJob) error {
	var id []byte
	var band int
	var died sqldb.Time
	if err := rows.Scan(&d.Queue, &id, &band, &died, &d.Claims, &d.Error, &d.Body, &d.Attributes); err != nil {
		return err
	}
	d.Priority, d.DiedAt = PriorityMax-band, died.Time
	return d.ID.scan(id)
}

// deadOf is the end of a statement over the oldest dead letters of a queue.
const deadOf = " WHERE queue_id = ? ORDER BY died_at, id LIMIT ?"

// DeadLetters returns how many dead letters a queue has, and the oldest; nil if there is none.
func (s *Store) DeadLetters(ctx context.Context, q QueueID) (count int64, oldest *DeadJob, err error) {
	if err = s.db.Latest(ctx).Raw("SELECT COUNT(*) FROM job_dead WHERE queue_id = ?", int64(q)).Row().Scan(
		&count); err != nil {
		return 0, nil, fmt.Errorf("count dead letters: %w", err)
	}
	found, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT "+deadColumns+" FROM job_dead"+deadOf, int64(q), 1), scanDead)
	if err != nil {
		return 0, nil, fmt.Errorf("read the oldest dead letter: %w", err)
	}
	if len(found) == 0 {
		return 0, nil, nil
	}
	return count, &found[0], nil
}

// ListDead returns dead letters of a queue, the oldest first, up to limit after a place. The place of a dead letter is
// its time and id; a zero time is before all.
func (s *Store) ListDead(ctx context.Context, q QueueID, afterTime time.Time, afterID ID,
	limit int) ([]DeadJob, error) {
	where, args := "queue_id = ?", []any{int64(q)}
	if !afterTime.IsZero() {
		at := sqldb.At(afterTime)
		where, args = where+" AND (died_at > ? OR died_at = ? AND id > ?)", append(args, at, at, afterID[:])
	}
	all, err := sqldb.Rows(s.db.Latest(ctx).Raw("SELECT "+deadColumns+" FROM job_dead"+
		s.db.Dialect().ForceIndex("job_dead", "died")+" WHERE "+where+" ORDER BY died_at, id LIMIT ?",
		append(args, limit)...), scanDead)
	if err != nil {
		return nil, fmt.Errorf("list dead letters: %w", err)
	}
	return all, nil
}

// Respawn makes the oldest dead letters of a queue ready, with one try, for ttl, or forever if that is 0. It returns
// the jobs.
func (s *Store) Respawn(ctx context.Context, q QueueID, limit int, ttl time.Duration, now time.Time) ([]Job, error) {
	var all []Job
	for len(all) < limit {
		jobs, err := s.respawn(ctx, q, min(limit-len(all), buriedAtOnce), ttl, now)
		if err != nil {
			return nil, fmt.Errorf("respawn dead letters: %w", err)
		}
		if len(jobs) == 0 {
			break
		}
		all = append(all, jobs...)
	}
	return all, nil
}

func (s *Store) respawn(ctx context.Context, q QueueID, limit int, ttl time.Duration, now time.Time) (jobs []Job,
	err error) {
	err = s.db.Tx(ctx, func(tx *gorm.DB) error {
		jobs = jobs[:0]
		dead, err := sqldb.Rows(tx.Raw("SELECT "+deadColumns+" FROM job_dead"+deadOf+s.db.Dialect().ForUpdate(), int64(q),
			limit), scanDead)
		if err != nil {
			return err
		}
		rows := make([][]any, 0, len(dead))
		for _, d := range dead {
			j := d.Job
			j.Tries, j.ReadyAt, j.table = 1, now, keptTable
			if ttl > 0 {
				j.ExpiresAt = now.Add(ttl)
			}
			jobs, rows = append(jobs, j), append(rows, j.row())
		}
		// Their days' tables may be gone.
		if err := s.insert(tx, keptTable, rows); err != nil {
			return err
		}
		return s.deleteFrom(tx, keysOf(jobs), deadTable)
	})
	return jobs, err
}

// PruneDead deletes the dead letters of all queues that died before a time.
func (s *Store) PruneDead(ctx context.Context, before time.Time) error {
	for n := 1; n > 0; {
		var err error
		n, err = s.dropDead(ctx, s.db.Dialect().ForceIndex(deadTable, "old")+" WHERE died_at < ? ORDER BY died_at LIMIT ?",
			sqldb.At(before), buriedAtOnce)
		if err != nil {
			return fmt.Errorf("prune dead letters: %w", err)
		}
	}
	return nil
}

// DropDead deletes the oldest dead letters of a queue, and returns how many.
func (s *Store) DropDead(ctx context.Context, q QueueID, limit int) (dropped int, err error) {
	for n := 1; n > 0 && dropped < limit; dropped += n {
		if n, err = s.dropDead(ctx, deadOf, int64(q), min(limit-dropped, buriedAtOnce)); err != nil {
			return dropped, fmt.Errorf("delete dead letters: %w", err)
		}
	}
	return dropped, nil
}

// dropDead deletes the dead letters that a statement selects with the given end, and returns how many.
func (s *Store) dropDead(ctx context.Context, selected string, args ...any) (n int, err error) {
	err = s.db.Tx(ctx, func(tx *gorm.DB) error {
		dead, err := sqldb.Rows(tx.Raw("SELECT "+deadColumns+" FROM "+deadTable+selected+s.db.Dialect().ForUpdate(),
			args...), scanDead)
		if err != nil {
			return err
		}
		keys := make([]Key, len(dead))
		for i, d := range dead {
			keys[i] = d.Key()
		}
		n = len(keys)
		return s.deleteFrom(tx, keys, deadTable)
	})
	return n, err
}

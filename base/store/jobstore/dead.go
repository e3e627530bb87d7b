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

// Dead are the dead letters.
type Dead struct{ rows }

func (s rows) insertDead(tx *gorm.DB, jobs []Job, now time.Time, reason string) error {
	rows := make([][]any, len(jobs))
	for i, j := range jobs {
		rows[i] = []any{int64(j.Queue), j.ID[:], PriorityMax - j.Priority, sqldb.At(now), j.Claims, reason, notNil(j.Body),
			j.Attributes}
	}
	return s.insertInto(tx, deadTable, deadColumns, deadColumnCount, rows)
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

// DeadFilter chooses dead letters of a queue.
type DeadFilter struct {
	Error  string    // is in their error; "" for any
	Before time.Time // they died earlier; zero for any time
}

// deadLike returns the end of a statement over the oldest dead letters of a queue that a filter chooses.
func deadLike(q QueueID, f DeadFilter, limit int) (end string, args []any) {
	end, args = " WHERE queue_id = ?", []any{int64(q)}
	if f.Error != "" {
		end, args = end+" AND INSTR(error, ?) > 0", append(args, f.Error)
	}
	if !f.Before.IsZero() {
		end, args = end+" AND died_at < ?", append(args, sqldb.At(f.Before))
	}
	return end + " ORDER BY died_at, id LIMIT ?", append(args, limit)
}

// DeadLetters returns how many dead letters a queue has, and the oldest; nil if there is none.
func (s Dead) DeadLetters(ctx context.Context, q QueueID) (count int64, oldest *DeadJob, err error) {
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
func (s Dead) ListDead(ctx context.Context, q QueueID, afterTime time.Time, afterID ID,
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

// Respawned is how dead letters become ready.
type Respawned struct {
	TTL   time.Duration // 0 is forever
	Every time.Duration // from one to the next; 0 for all at once
}

// Respawn makes the oldest dead letters of a queue that a filter chooses ready, with one try each. It returns the jobs.
func (s Dead) Respawn(ctx context.Context, q QueueID, f DeadFilter, limit int, how Respawned, now time.Time) ([]Job,
	error) {
	var all []Job
	for len(all) < limit {
		jobs, err := s.respawn(ctx, q, f, min(limit-len(all), buriedAtOnce), how, now, len(all))
		if err != nil {
			return all, fmt.Errorf("respawn dead letters: %w", err)
		}
		if len(jobs) == 0 {
			break
		}
		all = append(all, jobs...)
	}
	return all, nil
}

func (s Dead) respawn(ctx context.Context, q QueueID, f DeadFilter, limit int, how Respawned, now time.Time,
	before int) (jobs []Job, err error) {
	end, args := deadLike(q, f, limit)
	err = s.db.Tx(ctx, func(tx *gorm.DB) error {
		jobs = jobs[:0]
		dead, err := sqldb.Rows(tx.Raw("SELECT "+deadColumns+" FROM job_dead"+end+s.db.Dialect().ForUpdate(), args...),
			scanDead)
		if err != nil {
			return err
		}
		rows := make([][]any, 0, len(dead))
		for i, d := range dead {
			j := d.Job
			j.Tries, j.ReadyAt, j.table = 1, now.Add(time.Duration(before+i)*how.Every), keptTable
			if how.TTL > 0 {
				j.ExpiresAt = j.ReadyAt.Add(how.TTL)
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

// PruneDead deletes the dead letters of all queues that have been kept for a time, which may be another for some
// queues.
func (s Dead) PruneDead(ctx context.Context, keep time.Duration, others map[QueueID]time.Duration,
	now time.Time) error {
	rest, args := " WHERE died_at < ?", []any{sqldb.At(now.Add(-keep))}
	if len(others) > 0 {
		rest += " AND queue_id NOT IN " + sqldb.Tuples(1, len(others))
	}
	for _, q := range sortedKeys(others) {
		args = append(args, int64(q))
		end, own := deadLike(q, DeadFilter{Before: now.Add(-others[q])}, buriedAtOnce)
		if err := s.pruneDead(ctx, end, own); err != nil {
			return err
		}
	}
	return s.pruneDead(ctx, s.db.Dialect().ForceIndex(deadTable, "old")+rest+" ORDER BY died_at LIMIT ?",
		append(args, buriedAtOnce))
}

func (s Dead) pruneDead(ctx context.Context, selected string, args []any) error {
	for n := 1; n > 0; {
		var err error
		if n, err = s.dropDead(ctx, selected, args...); err != nil {
			return fmt.Errorf("prune dead letters: %w", err)
		}
	}
	return nil
}

// DropDead deletes the oldest dead letters of a queue that a filter chooses, and returns how many.
func (s Dead) DropDead(ctx context.Context, q QueueID, f DeadFilter, limit int) (dropped int, err error) {
	for n := 1; n > 0 && dropped < limit; dropped += n {
		end, args := deadLike(q, f, min(limit-dropped, buriedAtOnce))
		if n, err = s.dropDead(ctx, end, args...); err != nil {
			return dropped, fmt.Errorf("delete dead letters: %w", err)
		}
	}
	return dropped, nil
}

// dropDead deletes the dead letters that a statement selects with the given end, and returns how many.
func (s Dead) dropDead(ctx context.Context, selected string, args ...any) (n int, err error) {
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

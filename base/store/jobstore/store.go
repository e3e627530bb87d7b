package jobstore

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// Store is the job queue in one database.
type Store struct {
	Names
	Tokens
	Dead
	Quotas
	Audit
	WatchedJobs
	slots
	rows
}

// Open opens a database of jobs. It creates SQLite's file, and contacts no server. Close it.
func Open(ctx context.Context, cfg sqldb.Database, log *slog.Logger) (*Store, error) {
	db, err := sqldb.OpenDurable(ctx, cfg, log)
	if err != nil {
		return nil, fmt.Errorf("open the database of jobs: %w", err)
	}
	r := rows{db, &tables{}}
	names := Names{rows: r, settings: &atomic.Pointer[map[QueueID]Settings]{}}
	return &Store{Names: names, Tokens: Tokens{r}, Dead: Dead{r}, Quotas: Quotas{r}, Audit: Audit{r},
		WatchedJobs: WatchedJobs{r}, slots: slots{r, names}, rows: r}, nil
}

// Close closes all connections.
func (s *Store) Close() error { return s.db.Close() }

// Schema returns the tables of the queue.
func (s *Store) Schema() sqldb.Schema { return sqldb.SchemaOf(s.db, "jobs") }

// MigrateUp brings the tables to this program's version. It may be repeated, and run concurrently.
func (s *Store) MigrateUp(ctx context.Context) error {
	return s.Schema().MigrateUp(ctx, func() error { return nil })
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Now returns the database's time.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }

const jobColumns = "queue_id, id, band, ready_at, expires_at, tries, claims, body, attributes, backoff, ttr, state, " +
	"released"

// columnCount is the number of jobColumns.
const columnCount = 13

func (j Job) band() int {
	band := PriorityMax - j.Priority
	if j.Tries == 0 {
		band += lastTry
	}
	return band
}

func (j Job) row() []any {
	return []any{int64(j.Queue), j.ID[:], j.band(), sqldb.At(j.ReadyAt), timeOrNull(j.ExpiresAt), j.Tries, j.Claims,
		notNil(j.Body), j.Attributes, j.Backoff, int64(j.TTR / time.Second), j.State, j.Released}
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return sqldb.At(t)
}

// notNil returns an empty slice for none: a nil slice would be NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func scanJob(rows *sql.Rows, j *Job) error {
	var id []byte
	var band int
	var ttr int64
	var ready, expires sqldb.Time
	err := rows.Scan(&j.Queue, &id, &band, &ready, &expires, &j.Tries, &j.Claims, &j.Body, &j.Attributes,
		&j.Backoff, &ttr, &j.State, &j.Released)
	if err != nil {
		return err
	}
	j.Priority, j.ReadyAt, j.ExpiresAt = PriorityMax-band%lastTry, ready.Time, expires.Time
	j.TTR = time.Duration(ttr) * time.Second
	return j.ID.scan(id)
}

// Publish writes jobs in one transaction. An error means that their state is not known if the connection was cut, and
// otherwise that none was written. The jobs' ids must be new.
func (s *Store) Publish(ctx context.Context, jobs []Job) error {
	byTable := map[string][][]any{}
	for _, j := range jobs {
		name := home(j.Queue, j.ID)
		if err := s.ensure(ctx, name); err != nil {
			return err
		}
		byTable[name] = append(byTable[name], j.row())
	}
	err := s.db.Tx(ctx, func(tx *gorm.DB) error {
		for _, name := range sortedKeys(byTable) {
			if err := s.insert(tx, name, byTable[name]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("publish jobs: %w", err)
	}
	return nil
}

// Key names a job.
type Key struct {
	Queue QueueID
	ID    ID
}

// Key returns the job's key.
func (j Job) Key() Key { return Key{j.Queue, j.ID} }

// keysOf returns the keys of jobs.
func keysOf(jobs []Job) []Key {
	keys := make([]Key, len(jobs))
	for i, j := range jobs {
		keys[i] = j.Key()
	}
	return keys
}

// in names one table for all keys.
func in(table string) func(Key) string { return func(Key) string { return table } }

// Ack deletes jobs, claimed or not, alive or dead. A job that is unknown is no error. It may be repeated.
func (s *Store) Ack(ctx context.Context, keys []Key, now time.Time) error {
	return s.AckRows(ctx, keys, 0, now)
}

// AckRows is Ack of jobs whose workers have written so many rows each. Only those of watched jobs are kept.
func (s *Store) AckRows(ctx context.Context, keys []Key, written int64, now time.Time) error {
	err := s.db.IdempotentTx(ctx, func(tx *gorm.DB) error {
		if err := s.leave(tx, keys); err != nil {
			return err
		}
		left, err := s.deleteIn(tx, keys, func(k Key) string { return places(k.Queue, k.ID, now)[0] })
		if err == nil && left > 0 {
			// Some have moved, are dead, or are unknown.
			err = s.deleteFrom(tx, keys, keptTable, deadTable)
		}
		if err != nil {
			return err
		}
		return s.endWatched(tx, keys, ending{end: Succeeded, rows: written, at: now})
	})
	if err != nil {
		return fmt.Errorf("acknowledge jobs: %w", err)
	}
	return nil
}

// move moves some jobs to job_kept, without those that have expired.
func (s *Store) move(ctx context.Context, from string, now time.Time) (moved int, err error) {
	err = s.db.Tx(ctx, func(tx *gorm.DB) error {
		jobs, err := sqldb.Rows(tx.Raw("SELECT "+jobColumns+" FROM "+from+" ORDER BY queue_id, id LIMIT ?"+
			s.db.Dialect().ForUpdate(), movedAtOnce), scanJob)
		if err != nil {
			return err
		}
		moved = len(jobs)
		var rows [][]any
		for _, j := range jobs {
			if !j.Expired(now) {
				rows = append(rows, j.row())
			}
		}
		if err := s.insert(tx, keptTable, rows); err != nil {
			return err
		}
		return s.deleteFrom(tx, keysOf(jobs), from)
	})
	return moved, err
}

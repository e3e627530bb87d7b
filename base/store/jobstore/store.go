package jobstore

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"gorm.io/gorm"

	"adsync/base/sqldb"
)

// Store is the job queue in one database.
type Store struct {
	Names
	Tokens

	db     *sqldb.DB
	tables *tables
}

// Open opens a database of jobs. It creates SQLite's file, and contacts no server. Close it.
func Open(ctx context.Context, cfg sqldb.Database, log *slog.Logger) (*Store, error) {
	db, err := sqldb.OpenDurable(ctx, cfg, log)
	if err != nil {
		return nil, fmt.Errorf("open the database of jobs: %w", err)
	}
	t := &tables{}
	return &Store{Names: Names{db, t}, Tokens: Tokens{db}, db: db, tables: t}, nil
}

// Close closes all connections.
func (s *Store) Close() error { return s.db.Close() }

// migrationSet is the folder of the queue's migrations.
const migrationSet = "jobs"

// MigrateUp brings the tables to this program's version. It may be repeated, and run concurrently.
func (s *Store) MigrateUp(ctx context.Context) error {
	return sqldb.SchemaOf(s.db, migrationSet).MigrateUp(ctx, func() error { return nil })
}

// CheckSchema returns a *sqldb.SchemaError if the tables are older or newer than this program.
func (s *Store) CheckSchema(ctx context.Context) error {
	return sqldb.SchemaOf(s.db, migrationSet).Check(ctx)
}

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Now returns the database's time.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.db.Now(ctx) }

const jobColumns = "queue_id, id, band, ready_at, expires_at, tries, claims, body, attributes"

// columnCount is the number of jobColumns.
const columnCount = 9

func (j Job) band() int {
	band := PriorityMax - j.Priority
	if j.Tries == 0 {
		band += lastTry
	}
	return band
}

func (j Job) row() []any {
	return []any{int64(j.Queue), j.ID[:], j.band(), sqldb.At(j.ReadyAt), timeOrNull(j.ExpiresAt), j.Tries, j.Claims,
		notNil(j.Body), j.Attributes}
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
	var ready, expires sqldb.Time
	err := rows.Scan(&j.Queue, &id, &band, &ready, &expires, &j.Tries, &j.Claims, &j.Body, &j.Attributes)
	if err != nil {
		return err
	}
	j.Priority, j.ReadyAt, j.ExpiresAt = PriorityMax-band%lastTry, ready.Time, expires.Time
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

// insertedAtOnce is how many jobs one statement writes.
const insertedAtOnce = 200

// insert writes rows of jobs into a table, which it sorts.
func (s *Store) insert(tx *gorm.DB, table string, rows [][]any) error {
	return insertRows(s.db, tx, table, jobColumns, columnCount, rows)
}

// insertRows writes rows that begin with a queue and an id, in this order.
func insertRows(d *sqldb.DB, tx *gorm.DB, table, columns string, width int, rows [][]any) error {
	slices.SortFunc(rows, func(a, b []any) int {
		return cmp.Or(cmp.Compare(a[0].(int64), b[0].(int64)), compareIDs(a[1], b[1]))
	})
	for len(rows) > 0 {
		n, err := d.Fitting(table, 2, rows, min(insertedAtOnce, d.RowsPerStatement(width)))
		if err != nil {
			return err
		}
		text := "INSERT INTO " + table + " (" + columns + ") VALUES " + sqldb.Tuples(n, width)
		if _, err := d.ExecMany(tx, text, sqldb.Flatten(rows[:n], width), false); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// compareIDs orders ids as they are written: rows are locked in the order of their keys.
func compareIDs(a, b any) int { return bytes.Compare(a.([]byte), b.([]byte)) }

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
	err := s.db.IdempotentTx(ctx, func(tx *gorm.DB) error {
		left, err := s.deleteIn(tx, keys, func(k Key) string { return places(k.Queue, k.ID, now)[0] })
		if err != nil || left == 0 {
			return err
		}
		// Some have moved, are dead, or are unknown.
		return s.deleteFrom(tx, keys, keptTable, deadTable)
	})
	if err != nil {
		return fmt.Errorf("acknowledge jobs: %w", err)
	}
	return nil
}

// deleteFrom deletes jobs from each of some tables.
func (s *Store) deleteFrom(tx *gorm.DB, keys []Key, tables ...string) error {
	for _, table := range tables {
		if _, err := s.deleteIn(tx, keys, in(table)); err != nil {
			return err
		}
	}
	return nil
}

// deleteIn deletes jobs, each in the table that of names, and returns how many were not there.
func (s *Store) deleteIn(tx *gorm.DB, keys []Key, of func(Key) string) (left int64, err error) {
	byTable := map[string]map[QueueID][]any{}
	for _, k := range keys {
		table := of(k)
		if dayTable.MatchString(table) && !s.tables.has(table) {
			left++
			continue
		}
		if byTable[table] == nil {
			byTable[table] = map[QueueID][]any{}
		}
		byTable[table][k.Queue] = append(byTable[table][k.Queue], k.ID[:])
	}
	for _, table := range sortedKeys(byTable) {
		for _, queue := range sortedKeys(byTable[table]) {
			ids := byTable[table][queue]
			slices.SortFunc(ids, compareIDs)
			changed, err := s.db.ExecMany(tx, deleteSQL(s.db.Dialect(), table, len(ids)),
				append([]any{int64(queue)}, ids...), false)
			if isMissing(err) {
				changed, err = 0, nil
			}
			if err != nil {
				return 0, err
			}
			left += int64(len(ids)) - changed
		}
	}
	return left, nil
}

// deleteSQL deletes by the primary key: the optimiser might otherwise read a small table whole, and wait for rows that
// others have locked.
func deleteSQL(d sqldb.Dialect, table string, n int) string {
	where := " WHERE queue_id = ? AND id IN " + sqldb.Tuples(1, n)
	if d == sqldb.SQLiteDialect {
		return "DELETE FROM " + table + where
	}
	return "DELETE t FROM " + table + " AS t" + d.ForceIndex(table, "PRIMARY") + where
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

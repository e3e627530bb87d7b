package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"
)

// DB is one database: the writer and its readers.
type DB struct {
	dialect  Dialect
	writer   *gorm.DB
	readers  []*gorm.DB
	next     atomic.Uint32
	prepared prepared
	shardBy  string // the end of CREATE TABLE, see Database
	copyBy   string
	server   *connector // of the writer; nil with SQLite
	pulls    *DB        // see Pulls; nil with SQLite, and of the config database
}

// OpenDurable opens a database that is neither config nor data. It opens SQLite's file, which keeps each commit through
// a power failure, and contacts no server.
func OpenDurable(ctx context.Context, cfg Database, log *slog.Logger) (*DB, error) {
	cfg.durable = true
	return openDB(ctx, cfg, false, log)
}

// openDB opens a database, with connections of their own for pulls if it has any.
func openDB(ctx context.Context, cfg Database, pulled bool, log *slog.Logger) (*DB, error) {
	db := &DB{dialect: Dialect(cfg.Driver), shardBy: cfg.ShardBy, copyBy: cfg.CopyBy}
	slow := slowThreshold
	if cfg.Driver == SQLite {
		slow = 0
	}
	gormConfig := gorm.Config{
		SkipDefaultTransaction: true, DisableAutomaticPing: true, Logger: sqlLog{log: log, slow: slow, budget: &lineBudget{}},
		QueryFields: true, NamingStrategy: schema.NamingStrategy{SingularTable: true},
	}
	var err error
	if cfg.Driver == SQLite {
		if db.writer, err = openSQLite(ctx, cfg, gormConfig, 1); err != nil {
			return nil, err
		}
		reader, err := openSQLite(ctx, cfg, gormConfig, 4)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		db.readers = append(db.readers, reader)
		return db, nil
	}
	if db.writer, db.server, err = openMySQL(cfg.Writer, cfg.patience(), gormConfig, cfg.MaxOpenConns); err != nil {
		return nil, err
	}
	for _, dsn := range cfg.Replicas {
		reader, _, err := openMySQL(dsn, cfg.patience(), gormConfig, cfg.MaxOpenConns)
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		db.readers = append(db.readers, reader)
	}
	if !pulled {
		return db, nil
	}
	pulls := &DB{dialect: db.dialect, readers: db.readers, shardBy: db.shardBy, copyBy: db.copyBy}
	pulls.writer, pulls.server, err = openMySQL(cfg.Writer, cfg.patience(), gormConfig, cfg.MaxOpenConns)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	db.pulls = pulls
	return db, nil
}

// Pulls returns the same database for the statements of pulls: they have as many connections of their own to the
// writer, which thousands of pulls may wait for. Nothing else must wait behind them: a summary of hundreds of
// statements would take minutes, and a cancel would not be seen. The replicas are the same. Close closes it too.
func (d *DB) Pulls() *DB {
	if d.pulls == nil {
		return d
	}
	return d.pulls
}

// Close closes the database's connections.
func (d *DB) Close() error {
	var errs []error
	for _, g := range d.Handles() {
		if g == nil {
			continue
		}
		pool, err := g.DB()
		if err == nil {
			err = pool.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Dialect returns the dialect of the database's SQL.
func (d *DB) Dialect() Dialect { return d.dialect }

// readsJSON reports whether the writer reads lists of values as JSON.
func (d *DB) readsJSON() bool { return d.server != nil && d.server.readsJSON() }

// Writer returns the handle for every write and for every read that a decision rests on.
func (d *DB) Writer(ctx context.Context) *gorm.DB { return d.writer.WithContext(ctx) }

// Current returns the handle for reads of the current state: for people, or for a decision that is checked again when
// it is written. It reads from the same server as the writes. In SQLite, which writes on one connection, such reads
// do not wait for it.
func (d *DB) Current(ctx context.Context) *gorm.DB {
	if d.dialect == SQLiteDialect {
		return d.Reader(ctx)
	}
	return d.Writer(ctx)
}

// Reader returns the handle for lists and reports: a replica if there is one. What it reads may be minutes old.
func (d *DB) Reader(ctx context.Context) *gorm.DB {
	if len(d.readers) == 0 {
		return d.Writer(ctx)
	}
	return d.readers[int(d.next.Add(1))%len(d.readers)].WithContext(ctx)
}

// SQL returns the writer's connection pool, for migrations and metrics.
func (d *DB) SQL() (*sql.DB, error) { return d.writer.DB() }

// Ping reports whether the writer answers.
func (d *DB) Ping(ctx context.Context) error {
	pool, err := d.writer.DB()
	if err != nil {
		return err
	}
	return pool.PingContext(ctx)
}

// Tables returns the names of the database's tables and views.
func (d *DB) Tables(ctx context.Context) ([]string, error) {
	query := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name"
	if d.dialect == SQLiteDialect {
		query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!' " +
			"ORDER BY name"
	}
	var names []string
	if err := d.Writer(ctx).Raw(query).Scan(&names).Error; err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	return names, nil
}

// Now returns the database's time in UTC, by which all processes compare.
func (d *DB) Now(ctx context.Context) (time.Time, error) {
	var now Time
	err := d.Writer(ctx).Raw("SELECT " + d.dialect.Now()).Row().Scan(&now)
	return now.Time, err
}

// Tx runs fn in a transaction on the writer. It runs fn again, a few times, if the database ended the transaction for
// a deadlock, a lock wait or a snapshot conflict, or if the connection was cut before the commit. So fn must have no
// effects outside tx. A commit with an unknown outcome (the connection was cut) is returned as an error and not
// repeated.
func (d *DB) Tx(ctx context.Context, fn func(tx *gorm.DB) error) error { return d.TxOf(ctx, nil, fn) }

// TxOf is Tx with options.
func (d *DB) TxOf(ctx context.Context, options *sql.TxOptions, fn func(tx *gorm.DB) error) error {
	return d.Retry(ctx, func() error {
		committing := false
		err := d.Writer(ctx).Transaction(func(tx *gorm.DB) error {
			err := fn(tx)
			committing = err == nil
			return err
		}, options)
		if committing && troubleOf(err) == broken {
			return &unknownCommitError{err}
		}
		return err
	})
}

// IdempotentTx is Tx that also repeats a commit with an unknown outcome: fn must be correct if its changes are
// already committed.
func (d *DB) IdempotentTx(ctx context.Context, fn func(tx *gorm.DB) error) error {
	return d.Retry(ctx, func() error { return d.Writer(ctx).Transaction(fn) })
}

// Latest returns a handle whose reads see everything committed, each statement separately, without occupying SQLite's
// one writer.
func (d *DB) Latest(ctx context.Context) *gorm.DB {
	if d.dialect == SQLiteDialect {
		return d.readers[0].WithContext(ctx)
	}
	return d.Writer(ctx)
}

// Snapshot runs fn in a read-only REPEATABLE READ transaction on the writer: all its reads see the state at one time.
func (d *DB) Snapshot(ctx context.Context, fn func(tx *gorm.DB) error) error {
	if d.dialect == SQLiteDialect {
		// A deferred read transaction of the read handle is a snapshot in WAL mode and does not occupy the one writer.
		return d.Latest(ctx).Transaction(fn, &sql.TxOptions{ReadOnly: true})
	}
	return d.Writer(ctx).Transaction(fn, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
}

// Writers returns the handles behind Writer, and behind that of Pulls, for tests that observe or break their
// statements.
func (d *DB) Writers() []*gorm.DB {
	if d.pulls == nil {
		return []*gorm.DB{d.writer}
	}
	return []*gorm.DB{d.writer, d.pulls.writer}
}

// Handles returns Writers and the handles behind Reader and Current, for the same tests.
func (d *DB) Handles() []*gorm.DB { return append(d.Writers(), d.readers...) }

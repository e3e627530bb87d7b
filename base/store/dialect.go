package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	sqlitedriver "github.com/glebarez/go-sqlite"
	"github.com/glebarez/sqlite"
	"github.com/go-sql-driver/mysql"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"

	"adsync/base/secret"
)

// Dialect is a family of databases with the same SQL.
type Dialect string

// The dialects. MariaDB and MySQL are one: every statement runs on both.
const (
	MySQLDialect  Dialect = MySQL
	SQLiteDialect Dialect = SQLite
)

// InsertIgnore begins an INSERT that leaves rows with a known key alone.
func (d Dialect) InsertIgnore() string {
	if d == SQLiteDialect {
		return "INSERT OR IGNORE INTO "
	}
	return "INSERT IGNORE INTO "
}

// Now is the database's UTC time as an expression, with milliseconds.
func (d Dialect) Now() string {
	if d == SQLiteDialect {
		return "strftime('%Y-%m-%d %H:%M:%f', 'now')"
	}
	return "UTC_TIMESTAMP(3)"
}

// NowPlus is the database's UTC time plus a duration as an expression.
func (d Dialect) NowPlus(after time.Duration) string {
	if d == SQLiteDialect {
		return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '%+.3f seconds')", after.Seconds())
	}
	return fmt.Sprintf("UTC_TIMESTAMP(3) + INTERVAL %d MICROSECOND", after.Microseconds())
}

// Share ends a SELECT (also one inside INSERT … SELECT) that must hold what it read until the statement commits.
// SQLite has one writer and needs none.
func (d Dialect) Share() string {
	if d == SQLiteDialect {
		return ""
	}
	return " LOCK IN SHARE MODE"
}

// ForUpdate ends a SELECT whose rows the transaction is about to change.
func (d Dialect) ForUpdate() string {
	if d == SQLiteDialect {
		return ""
	}
	return " FOR UPDATE"
}

func mysqlConfig(dsn secret.Text) (*mysql.Config, error) {
	c, err := mysql.ParseDSN(dsn.Reveal())
	if err != nil {
		return nil, errors.New("not a DSN of the form user:password@tcp(host:3306)/name") // the driver's text may hold the password
	}
	c.ParseTime = true
	c.Loc = time.UTC
	c.InterpolateParams = true
	c.RejectReadOnly = true
	if c.ReadTimeout == 0 {
		c.ReadTimeout = 60 * time.Second
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = 60 * time.Second
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if err := c.Apply(mysql.TimeTruncate(time.Millisecond)); err != nil {
		return nil, err
	}
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	c.Params["time_zone"] = "'+00:00'"
	// The server ends a session that is idle inside a transaction: a leader that was paused there must not keep its
	// locks. Idle connections of the pool are closed before that, see openMySQL.
	c.Params["wait_timeout"] = "20"
	c.Params["sql_mode"] = "'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
	return c, nil
}

func openMySQL(ctx context.Context, dsn secret.Text, config *gorm.Config, maxOpen int) (*gorm.DB, error) {
	c, err := mysqlConfig(dsn)
	if err != nil {
		return nil, err
	}
	// MySQL 8 and MariaDB 11 know transaction_isolation, MariaDB 10 only tx_isolation: ask once before pooling.
	isolation, err := isolationVariable(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connect to %s/%s: %w", c.Addr, c.DBName, err)
	}
	c.Params[isolation] = "'READ-COMMITTED'"
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(maxOpen)
	pool.SetMaxIdleConns(maxOpen)
	pool.SetConnMaxLifetime(3 * time.Minute)
	pool.SetConnMaxIdleTime(10 * time.Second)
	return gorm.Open(gormmysql.New(gormmysql.Config{Conn: pool, SkipInitializeWithVersion: true}), config)
}

func isolationVariable(ctx context.Context, c *mysql.Config) (string, error) {
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return "", err
	}
	probe := sql.OpenDB(connector)
	defer probe.Close()
	var version string
	if err := probe.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return "", err
	}
	if strings.Contains(version, "MariaDB") && strings.HasPrefix(version, "10.") {
		return "tx_isolation", nil
	}
	return "transaction_isolation", nil
}

func openSQLite(ctx context.Context, path string, config *gorm.Config, conns int) (*gorm.DB, error) {
	query := url.Values{"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", "foreign_keys(1)", "cache_size(-16000)",
	}}
	if conns == 1 {
		// The writer takes its lock at BEGIN: a read-then-write transaction that upgrades later fails with BUSY.
		query.Set("_txlock", "immediate")
	}
	db, err := gorm.Open(sqlite.Open("file:"+path+"?"+query.Encode()), config)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	if err := pool.PingContext(ctx); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

// retriable reports whether the database undid the transaction for a reason that another try may not meet:
// deadlock 1213, lock wait 1205, snapshot conflict 1020, and SQLite's BUSY.
func retriable(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number == 1213 || e.Number == 1205 || e.Number == 1020
	}
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return e.Code()&0xff == 5
	}
	return false
}

const txTries = 8

func (d *DB) retry(ctx context.Context, fn func() error) error {
	for try := 1; ; try++ {
		err := fn()
		if err == nil || try == txTries || !retriable(err) {
			return err
		}
		timer := time.NewTimer(time.Duration(rand.Int64N(int64(time.Duration(try) * 20 * time.Millisecond))))
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		case <-timer.C:
		}
	}
}

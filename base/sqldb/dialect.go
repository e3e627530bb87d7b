package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/libtnb/sqlite"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"

	"adsync/base/secret"
)

// lockWaitMax is InnoDB's own limit.
const lockWaitMax = 50 * time.Second

// Dialect is a family of databases with the same SQL.
type Dialect string

// The dialects. MariaDB and MySQL are one: every statement runs on both.
const (
	MySQLDialect  Dialect = MySQL
	SQLiteDialect Dialect = SQLite
)

// InsertIgnore returns the beginning of an INSERT that does not change rows with a known key.
func (d Dialect) InsertIgnore() string {
	if d == SQLiteDialect {
		return "INSERT OR IGNORE INTO "
	}
	return "INSERT IGNORE INTO "
}

// Now returns an expression for the database's UTC time, with milliseconds.
func (d Dialect) Now() string {
	if d == SQLiteDialect {
		return "strftime('%Y-%m-%d %H:%M:%f', 'now')"
	}
	return "UTC_TIMESTAMP(3)"
}

// NowPlus returns an expression for the database's UTC time plus a duration.
func (d Dialect) NowPlus(after time.Duration) string {
	if d == SQLiteDialect {
		return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '%+.3f seconds')", after.Seconds())
	}
	return fmt.Sprintf("UTC_TIMESTAMP(3) + INTERVAL %d MICROSECOND", after.Microseconds())
}

// Share returns the end of a SELECT (also one inside INSERT … SELECT) that must lock what it read until the statement
// commits. SQLite has one writer and needs none.
func (d Dialect) Share() string {
	if d == SQLiteDialect {
		return ""
	}
	return " LOCK IN SHARE MODE"
}

// ForUpdate returns the end of a SELECT whose rows the transaction will change.
func (d Dialect) ForUpdate() string {
	if d == SQLiteDialect {
		return ""
	}
	return " FOR UPDATE"
}

// ForceIndex returns what follows a table, or its alias, in a statement that must read it by one of its indexes,
// whatever the statistics are. In SQLite an index has its table's name as a prefix.
func (d Dialect) ForceIndex(table, index string) string {
	switch {
	case d != SQLiteDialect:
		return " FORCE INDEX (`" + index + "`)"
	case index == "PRIMARY":
		return " NOT INDEXED" // By the row's id.
	}
	return " INDEXED BY " + table + "_" + index
}

// Contains returns a condition that a text contains the next argument. It is no LIKE, in which some characters have a
// meaning. It compares bytes, which is equivalent for UTF-8: by letters a server takes four times as long.
func (d Dialect) Contains(text string) string {
	if d == SQLiteDialect {
		return "INSTR(" + text + ", ?) > 0"
	}
	return "INSTR(CAST(" + text + " AS BINARY), ?) > 0"
}

// MysqlConfig completes a DSN. Patience is how long the server may take to answer a statement.
func MysqlConfig(dsn secret.Text, patience time.Duration) (*mysql.Config, error) {
	c, err := readDSN(dsn.Reveal())
	if err != nil {
		return nil, err
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = patience
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = patience
	}
	if c.Timeout == 0 {
		c.Timeout = connectTimeout
	}
	// The server ends a wait for a lock before we stop waiting for the server. Otherwise an abandoned statement would
	// still be executed when the lock is free, and one that waits to change a table would block all that come after it.
	lockWait := strconv.Itoa(max(1, int(min(patience/2, lockWaitMax).Seconds())))
	return c, setOurs(c, map[string]string{
		"time_zone": "'+00:00'",
		// The server ends a session that is idle inside a transaction: a leader that was paused there must not keep its
		// locks. Idle connections of the pool are closed before that, see openMySQL.
		"wait_timeout":             "20",
		"innodb_lock_wait_timeout": lockWait,
		"lock_wait_timeout":        lockWait,
		"sql_mode":                 "'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
	})
}

// openMySQL opens a pool. config is its own: gorm keeps the pool in it.
func openMySQL(dsn secret.Text, patience time.Duration, config gorm.Config, maxOpen int) (*gorm.DB, *connector,
	error) {
	c, err := MysqlConfig(dsn, patience)
	if err != nil {
		return nil, nil, err
	}
	connector, err := newConnector(c)
	if err != nil {
		return nil, nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(maxOpen)
	pool.SetMaxIdleConns(maxOpen)
	pool.SetConnMaxLifetime(3 * time.Minute)
	pool.SetConnMaxIdleTime(10 * time.Second)
	db, err := gorm.Open(gormmysql.New(gormmysql.Config{Conn: pool, SkipInitializeWithVersion: true}), &config)
	return db, connector, err
}

// SQLiteFile returns the data source name for SQLite's driver: a file of any name, and how to open it.
func SQLiteFile(path string, query url.Values) string {
	file := url.URL{Path: path} // It is a URI: a # or a ? would end the name.
	return "file:" + file.EscapedPath() + "?" + query.Encode()
}

// openSQLite opens a pool. config is its own, as in openMySQL.
func openSQLite(ctx context.Context, cfg Database, config gorm.Config, conns int) (*gorm.DB, error) {
	path, synced := cfg.Writer.Reveal(), "synchronous(NORMAL)"
	if cfg.durable {
		synced = "synchronous(FULL)"
	}
	query := url.Values{"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", synced, "foreign_keys(1)", "cache_size(-16000)",
	}, "_time_format": {"sqlite"}}
	if conns == 1 {
		// The writer takes its lock at BEGIN: a read-then-write transaction that upgrades later fails with BUSY.
		query.Set("_txlock", "immediate")
	}
	if err := createPrivate(path); err != nil {
		return nil, err
	}
	pool := sql.OpenDB(sqliteConnector{driver: sqliteDriver(), name: SQLiteFile(path, query)})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	db, err := gorm.Open(sqlite.Dialector{Conn: pool}, &config)
	if err == nil {
		err = pool.PingContext(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), pool.Close())
	}
	return db, nil
}

// createPrivate creates the file of a new database for this user alone. The driver would let every user of the
// machine read it. The driver's additional files have the mode of the first.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create the database: %w", err)
	}
	return file.Close()
}

// TextType returns the type of a column with a maximum number of characters. SQLite has no such type: a check refuses
// what MySQL would.
func (d *DB) TextType(name string, characters int) string {
	if d.dialect == SQLiteDialect {
		return fmt.Sprintf("TEXT CHECK (length(%s) <= %d)", name, characters)
	}
	return fmt.Sprintf("VARCHAR(%d)", characters)
}

// asciiType is TextType for a column of ASCII alone.
func (d *DB) asciiType(name string, characters int) string {
	if d.dialect == SQLiteDialect {
		return fmt.Sprintf("TEXT CHECK (length(%[1]s) <= %[2]d AND length(CAST(%[1]s AS BLOB)) = length(%[1]s))", name,
			characters)
	}
	return fmt.Sprintf("VARCHAR(%d) CHARACTER SET ascii COLLATE ascii_bin", characters)
}

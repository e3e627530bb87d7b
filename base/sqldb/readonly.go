package sqldb

import (
	"database/sql"
	"fmt"
	"net/url"
	"time"

	"adsync/base/secret"
)

// OpenReadOnly opens a database that this process only reads, without contacting it, with at most conns connections. A
// statement on MySQL may take as long as patience to answer.
func OpenReadOnly(driver string, dsn secret.Text, patience time.Duration, conns int) (*sql.DB, error) {
	if driver == SQLite {
		query := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}
		pool, err := sql.Open("sqlite", SQLiteFile(dsn.Reveal(), query))
		if err != nil {
			return nil, fmt.Errorf("open a file of SQLite: %w", err) // It may be a DSN by mistake: it stays secret.
		}
		pool.SetMaxOpenConns(conns)
		return pool, nil
	}
	c, err := MysqlConfig(dsn, patience)
	if err != nil {
		return nil, err
	}
	connector, err := NewConnector(c)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(conns)
	pool.SetConnMaxLifetime(3 * time.Minute)
	pool.SetConnMaxIdleTime(10 * time.Second)
	return pool, nil
}

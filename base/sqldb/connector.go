package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"adsync/base/clock"
)

const (
	// connectTimeout bounds opening a connection, from the dial until it is usable. The kernel of a hanging server still
	// accepts connections, so a bound on the dial alone would not suffice.
	connectTimeout = 5 * time.Second
	// restAfterSilence is how long no connection is dialled after a dial without an answer. All callers that wait for a
	// connection then fail at once, and not one after the other.
	restAfterSilence = time.Second
)

// connector opens connections that are bounded in time and use READ COMMITTED.
type connector struct {
	driver.Connector
	where string               // the server and the database, for errors
	json  atomic.Pointer[bool] // whether the server reads lists of values as JSON; nil while unknown
	// packet is the maximum number of bytes of a statement; 0 until a connection has read it from the server.
	packet atomic.Int64

	mu        sync.Mutex
	silence   error // the error of the last dial, until restUntil
	restUntil time.Time
}

// NewConnector returns a connector to a server that is not one of our two databases, with the same time bounds.
func NewConnector(c *mysql.Config) (driver.Connector, error) { return newConnector(c) }

func newConnector(c *mysql.Config) (*connector, error) {
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return &connector{Connector: inner, where: c.Addr + "/" + c.DBName}, nil
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := c.recentSilence(); err != nil {
		return nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := c.connect(bounded)
	if err == nil {
		return conn, nil
	}
	if bounded.Err() != nil && ctx.Err() == nil {
		// For a bad connection of the driver, database/sql would try twice more.
		err = &connectError{c.where, fmt.Errorf("no answer within %s", connectTimeout)}
		c.noteSilence(err)
		return nil, err
	}
	return nil, &connectError{c.where, err}
}

func (c *connector) connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	// A statement, because the variable has one name in MySQL 8 and MariaDB 11 and another in MariaDB 10.
	if _, err = conn.(driver.ExecerContext).ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
		nil); err != nil {
		_ = conn.Close()
		return nil, err
	}
	if err = c.readPacket(ctx, conn); err == nil && c.json.Load() == nil {
		err = c.probeJSON(ctx, conn)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// readsJSON reports whether the server is known to read lists of values as JSON.
func (c *connector) readsJSON() bool {
	known := c.json.Load()
	return known != nil && *known
}

// probeJSON has the server read a difficult list, and records whether it can. MariaDB from 10.6 and MySQL 8 can,
// TiDB cannot.
func (c *connector) probeJSON(ctx context.Context, conn driver.Conn) error {
	query, args, want := jsonProbe()
	can, err := queryReturns(ctx, conn, query, args, want)
	if _, refused := errors.AsType[*mysql.MySQLError](err); err == nil || refused && troubleOf(err) == lasting {
		c.json.Store(&can)
		return nil
	}
	return err
}

// queryReturns reports whether a query with one text column returns the wanted rows.
func queryReturns(ctx context.Context, conn driver.Conn, query string, args []driver.NamedValue, want []string) (bool,
	error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	equal := true
	row := make([]driver.Value, len(rows.Columns()))
	for n := 0; ; n++ {
		err := rows.Next(row)
		if errors.Is(err, io.EOF) {
			return equal && n == len(want), nil
		}
		if err != nil {
			return false, err
		}
		text, _ := row[0].([]byte)
		equal = equal && n < len(want) && string(text) == want[n]
	}
}

func (c *connector) recentSilence() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if clock.Until(c.restUntil) > 0 {
		return c.silence
	}
	return nil
}

func (c *connector) noteSilence(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silence, c.restUntil = err, clock.Mark().Add(restAfterSilence)
}

// WithoutJSON uses lists of values as on servers that do not read JSON, for tests.
func (d *DB) WithoutJSON() {
	if d.server != nil {
		d.server.json.Store(new(bool))
	}
}

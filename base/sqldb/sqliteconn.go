package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/libtnb/sqlite"
)

// sqliteConnector opens SQLite's file. Its connections refuse texts that MySQL and MariaDB refuse, so that tests on
// SQLite alone fail as they would there.
type sqliteConnector struct {
	driver driver.Driver
	name   string
}

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.name)
	if err != nil {
		return nil, err
	}
	whole, ok := conn.(sqliteConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("open %s: the driver's connections are of another kind", c.name)
	}
	return newStrictConn(whole)
}

// Driver implements driver.Connector.
func (c sqliteConnector) Driver() driver.Driver { return c.driver }

// sqliteDriver returns the driver that its package has registered.
var sqliteDriver = sync.OnceValue(func() driver.Driver {
	pool, err := sql.Open(sqlite.DriverName, "")
	if err != nil {
		panic(err) // The package is linked in.
	}
	defer pool.Close() // It has opened nothing.
	return pool.Driver()
})

// sqliteConn lists the interfaces of the driver's connections that database/sql uses.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// statementsKept is how many prepared statements a connection keeps. Preparing takes SQLite as long as inserting some
// rows.
const statementsKept = 64

// strictConn keeps its most recently used statements.
type strictConn struct {
	sqliteConn
	kept *simplelru.LRU[string, *statement]
}

// statement is a prepared statement.
type statement struct {
	driver.Stmt
	busy    bool // it runs, or its rows are read
	dropped bool // it is no longer kept, and is closed when it is not busy
}

func newStrictConn(conn sqliteConn) (strictConn, error) {
	kept, err := simplelru.NewLRU(statementsKept, func(_ string, s *statement) {
		if s.dropped = true; !s.busy {
			_ = s.Close()
		}
	})
	return strictConn{sqliteConn: conn, kept: kept}, err
}

// statement returns a kept or a new statement, which must be released.
func (c strictConn) statement(ctx context.Context, query string) (*statement, error) {
	known, isKept := c.kept.Get(query)
	if isKept && !known.busy {
		known.busy = true
		return known, nil
	}
	prepared, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s := &statement{Stmt: prepared, busy: true, dropped: isKept}
	if !isKept {
		c.kept.Add(query, s)
	}
	return s, nil
}

func (s *statement) release() error {
	if s.busy = false; s.dropped {
		return s.Close()
	}
	return nil
}

// ExecContext implements driver.ExecerContext.
func (c strictConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if failed := s.release(); err == nil {
		err = failed
	}
	return result, err
}

// QueryContext implements driver.QueryerContext.
func (c strictConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		_ = s.release()
		return nil, err
	}
	return statementRows{rows.(sqliteRows), s}, nil
}

// Close implements driver.Conn.
func (c strictConn) Close() error {
	c.kept.Purge()
	return c.sqliteConn.Close()
}

// sqliteRows lists the interfaces of the driver's rows that database/sql uses.
type sqliteRows interface {
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// statementRows are the rows of a statement, which is released with them.
type statementRows struct {
	sqliteRows
	of *statement
}

// Close implements driver.Rows.
func (r statementRows) Close() error { return errors.Join(r.sqliteRows.Close(), r.of.release()) }

// CheckNamedValue implements driver.NamedValueChecker. It refuses a text that is not valid UTF-8, as columns of
// utf8mb4 do.
func (strictConn) CheckNamedValue(arg *driver.NamedValue) (err error) {
	if arg.Value, err = driver.DefaultParameterConverter.ConvertValue(arg.Value); err != nil {
		return err
	}
	if text, ok := arg.Value.(string); ok && !utf8.ValidString(text) {
		return fmt.Errorf("value %d is refused: %.40q is not valid UTF-8", arg.Ordinal, text)
	}
	return nil
}

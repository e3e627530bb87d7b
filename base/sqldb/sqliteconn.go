package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/glebarez/sqlite"
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
	return strictConn{whole}, nil
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
}

type strictConn struct{ sqliteConn }

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

package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	sqlitedriver "github.com/glebarez/go-sqlite"
	"github.com/go-sql-driver/mysql"

	"adsync/base/clock"
)

// trouble is what an error of the database means for the work that met it.
type trouble int

const (
	// lasting is what another try would meet again, or nothing is known of: a full disk, a broken statement, a deadline.
	// The caller hears of it at once, and its own loop decides when to try again.
	lasting trouble = iota
	// conflict is work that the database has undone for the sake of other work.
	conflict
	// broken is work whose connection broke, or that the server refuses as it stops or only takes reads. It was undone, or
	// it was committed and the answer is lost: nobody can tell.
	broken
)

// serverTroubles are the errors of MySQL and MariaDB that pass, by number. A full disk (1021, 1030, 1114) and a lack of
// memory (1037, 1041) are not among them: they do not pass within a second.
var serverTroubles = map[uint16]trouble{
	1020: conflict, // the row changed since the snapshot was taken
	1205: conflict, // lock wait timeout: the statement was undone, and its transaction is with it
	1213: conflict, // deadlock
	1614: conflict, // XA: deadlock

	1040: broken, // too many connections
	1053: broken, // the server shuts down
	1077: broken, // the same, as are the next two
	1078: broken,
	1079: broken,
	1152: broken, // the connection was aborted, as in the next ones
	1158: broken,
	1159: broken,
	1160: broken,
	1161: broken,
	1184: broken,
	1290: broken, // the server only takes reads: a new connection may reach the new writer
	1792: broken,
	1836: broken,
	1317: broken, // the statement was killed by an operator or by the server's stop
	1927: broken, // the connection was killed
	3168: broken, // the server is not available now
}

// unknownCommitError is a cut during a commit that must not be done twice.
type unknownCommitError struct{ error }

func (e *unknownCommitError) Error() string {
	return "it may have been committed, and the answer is lost: " + e.error.Error()
}

func (e *unknownCommitError) Unwrap() error { return e.error }

func troubleOf(err error) trouble {
	if _, ok := errors.AsType[*unknownCommitError](err); ok {
		return lasting
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return serverTroubles[e.Number]
	}
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		if e.Code()&0xff == 5 { // BUSY
			return conflict
		}
		return lasting
	}
	// What the driver says of a connection that is gone. With RejectReadOnly it says the same of a server that only takes
	// reads, and has closed the connection to it.
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return broken
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return broken
	}
	return lasting
}

// unfitErrors are MySQL's words for a value that its column does not take, by number.
var unfitErrors = []uint16{
	1264, // a number out of range
	1265, // a value that would be cut
	1292, // no time, or no number
	1366, // text in another character set
	1406, // text that is too long
	3140, // no JSON
}

// IsUnfit reports whether a statement failed since a column does not take a value: another try would meet it again.
func IsUnfit(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains(unfitErrors, e.Number)
	}
	e, ok := errors.AsType[*sqlitedriver.Error](err)
	return ok && strings.Contains(e.Error(), unfitText)
}

const (
	conflictTries = 8
	cutTries      = 4
	// cutPatience is how long after its beginning work is begun again on a new connection. A server that does not answer
	// at all takes longer than that to be noticed: its caller hears of it the first time.
	cutPatience = 2 * time.Second
)

// retry does work again, a few times, that the database undid or whose connection was cut. What was cut may have been
// committed unseen, so fn must be right when it is done twice.
func (d *DB) retry(ctx context.Context, fn func() error) error {
	began := clock.Mark()
	for conflicts, cuts := 0, 0; ; {
		err := fn()
		if err == nil || ctx.Err() != nil {
			return err
		}
		switch troubleOf(err) {
		case conflict:
			if conflicts++; conflicts == conflictTries {
				return err
			}
		case broken:
			if cuts++; cuts == cutTries || clock.Since(began) > cutPatience {
				return explainCut(err)
			}
		case lasting:
			return err
		}
		timer := time.NewTimer(rand.N(time.Duration(conflicts+cuts) * 20 * time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, ctx.Err())
		case <-timer.C:
		}
	}
}

// explainCut adds to an error that says no more than "bad connection" what may be behind it.
func explainCut(err error) error {
	if !errors.Is(err, driver.ErrBadConn) && !errors.Is(err, mysql.ErrInvalidConn) {
		return err
	}
	return fmt.Errorf("%w (the connection was cut, or the server only takes reads)", err)
}

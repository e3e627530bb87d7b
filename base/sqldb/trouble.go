package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
	sqlitedriver "modernc.org/sqlite"
)

// trouble is what an error of the database means for the work that it interrupted.
type trouble int

const (
	// lasting is an error that another try would meet again, or an unknown one: a broken statement, a deadline. The
	// caller gets it at once.
	lasting trouble = iota
	// unable is what the server cannot do now and for longer than seconds: its disk is full, or the user lacks a right.
	// The caller gets it at once, and its own loop decides when to try again.
	unable
	// conflict is work that the database has undone in favour of other work.
	conflict
	// broken is work whose connection broke, for which the server accepts no connection, or that it refuses because it
	// stops or only takes reads. It was undone, or it was committed and the answer is lost: the two cannot be
	// distinguished.
	broken
)

// serverTroubles are the errors of MySQL, MariaDB and TiDB that are the server's trouble and no mistake of the
// statement, by number.
var serverTroubles = map[uint16]trouble{
	1020: conflict, // the row changed since the snapshot was taken
	1205: conflict, // lock wait timeout: the statement and its transaction were undone
	1213: conflict, // deadlock
	1412: conflict, // the table was altered since the transaction began
	1613: conflict, // XA: lock wait timeout
	1614: conflict, // XA: deadlock
	1615: conflict, // the statement must be prepared again
	1689: conflict, // a lock wait was ended
	3101: conflict, // group replication undid the commit in favour of another server's
	8002: conflict, // TiDB: write conflict, as are the next three
	8005: conflict,
	8022: conflict,
	9007: conflict,
	8028: conflict, // TiDB: the table was altered since the transaction began

	1040: broken, // too many connections
	1203: broken, // too many connections of this user
	1226: broken, // the user's own limit, of concurrent connections, or of connections, statements or changes an hour
	1047: broken, // a node of a Galera cluster that has not joined, or is without a majority
	1053: broken, // the server shuts down
	1077: broken, // the server shuts down, as in the next three
	1078: broken,
	1079: broken,
	1080: broken,
	1129: broken, // the server takes no connection of this host, because too many broke off
	1135: broken, // no thread for a connection
	1152: broken, // the connection was aborted, as in the next ones
	1156: broken,
	1157: broken,
	1158: broken,
	1159: broken,
	1160: broken,
	1161: broken,
	1184: broken,
	1290: broken, // the server only takes reads: a new connection may reach the new writer
	1792: broken,
	1836: broken,
	1874: broken,
	1317: broken, // the statement was killed by an operator or by the server's stop
	1927: broken, // the connection was killed
	3169: broken, // the connection was killed
	3032: broken, // the server is in offline mode
	3168: broken, // the server is not available now
	4031: broken, // the server closed an idle connection
	1180: broken, // an error during COMMIT
	3100: broken, // group replication cannot commit, for example without a majority
	1637: broken, // too many transactions at a time
	8027: broken, // TiDB: the server has lost touch with its cluster
	9001: broken, // TiDB: the cluster does not answer or has no leader, as in the next ones
	9002: broken,
	9003: broken,
	9004: broken,
	9005: broken,

	1021: unable, // the disk is full
	1026: unable, // a write failed
	1030: unable, // the storage engine failed, as with a full disk
	1114: unable, // the table is full, as with a full disk
	1878: unable, // a temporary file cannot be written
	3019: unable, // the undo log is full
	1037: unable, // no memory
	1038: unable,
	1041: unable,
	1206: unable, // no room for locks
	1969: unable, // the statement took longer than the server allows
	3024: unable, // the statement took longer than the server allows
	1044: unable, // the user may not use the database
	1142: unable, // the user lacks a right, as in the next ones
	1143: unable,
	1227: unable,
	1370: unable,
}

// sqliteTroubles are the primary error codes of SQLite that are the file's trouble and no mistake of the statement.
var sqliteTroubles = map[int]trouble{
	5:  conflict, // BUSY
	6:  conflict, // LOCKED
	7:  unable,   // NOMEM
	8:  unable,   // READONLY
	10: unable,   // IOERR
	13: unable,   // FULL
	14: unable,   // CANTOPEN
}

// unknownCommitError is a cut during a commit that must not be repeated.
type unknownCommitError struct{ error }

func (e *unknownCommitError) Error() string {
	return "it may have been committed, and the answer is lost: " + e.error.Error()
}

func (e *unknownCommitError) Unwrap() error { return e.error }

// connectError means that a connection could not be opened, for any reason.
type connectError struct {
	where string // the server and the database
	err   error
}

func (e *connectError) Error() string { return "connect to " + e.where + ": " + e.err.Error() }

func (e *connectError) Unwrap() error { return e.err }

func troubleOf(err error) trouble {
	if _, ok := errors.AsType[*unknownCommitError](err); ok {
		return lasting
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return serverTroubles[e.Number]
	}
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return sqliteTroubles[e.Code()&0xff]
	}
	for _, cut := range cuts {
		if errors.Is(err, cut) {
			return broken
		}
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return broken
	}
	return lasting
}

// cuts are the driver's errors of a connection that is gone, or whose bytes are invalid. With RejectReadOnly it also
// returns ErrBadConn for a server that only takes reads, and has closed the connection to it.
var cuts = []error{
	driver.ErrBadConn, sql.ErrConnDone, mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync, mysql.ErrPktSyncMul,
	mysql.ErrBusyBuffer,
	io.EOF, io.ErrUnexpectedEOF,
}

// refused are the errors of a server that answered and does not accept the user, or does not allow what the work
// needs. These are permanent.
var refused = map[uint16]bool{
	1044: true, // the user may not use the database
	1045: true, // wrong password, or no such user
	1049: true, // no such database
	1130: true, // the user may not come from this host
	1698: true, // the user signs in another way
	1820: true, // the password has expired, as in the next one
	1862: true,
	3118: true, // the account is locked, as in the next two
	3955: true,
	4151: true,
	3159: true, // the server wants TLS
	1142: true, // the user lacks a right, as in the next ones
	1143: true,
	1227: true,
	1370: true,
}

// unfit are the driver's own errors of a sign-in that cannot succeed with these settings.
var unfit = []error{
	mysql.ErrNoTLS, mysql.ErrCleartextPassword, mysql.ErrNativePassword, mysql.ErrOldPassword, mysql.ErrUnknownPlugin,
	mysql.ErrOldProtocol,
}

// Refused reports whether the server answered and does not accept us, or does not allow what the work needs: the
// user, the password, the database's name or the way to sign in is wrong, or the user lacks a right. These are
// permanent.
func Refused(err error) bool {
	for _, kind := range unfit {
		if errors.Is(err, kind) {
			return true
		}
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && refused[e.Number]
}

// Unavailable reports whether err is a trouble of the database's server and no mistake in the request, and returns
// the reason. The same work can succeed later. The reason contains neither statements nor values.
func Unavailable(err error) (reason string, unavailable bool) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "", false // The caller's own time was over.
	}
	_, unknown := errors.AsType[*unknownCommitError](err)
	connect, connecting := errors.AsType[*connectError](err)
	if troubleOf(err) == lasting && !unknown && !connecting && !Refused(err) {
		return "", false
	}
	if unknown {
		return "the connection was cut during the commit", true
	}
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Error(), true
	}
	if connecting {
		return connect.Error(), true
	}
	if e, ok := errors.AsType[*sqlitedriver.Error](err); ok {
		return e.Error(), true
	}
	return "the connection was cut, or the server only takes reads", true
}

// unfitErrors are MySQL's errors of a value that its column does not accept, by number.
var unfitErrors = []uint16{
	1264, // a number out of range
	1265, // a value that would be cut
	1292, // not a time, or not a number
	1366, // text in another character set
	1406, // text that is too long
	3140, // not JSON
}

// IsUnfit reports whether a statement failed because a column does not accept a value. Another try would fail too.
func IsUnfit(err error) bool {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return slices.Contains(unfitErrors, e.Number)
	}
	e, ok := errors.AsType[*sqlitedriver.Error](err)
	return ok && strings.Contains(e.Error(), unfitText)
}

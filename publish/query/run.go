package query

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"adsync/base/sqldb"
	"adsync/publish/format"
)

// ErrTooManyRows means that a query has more rows than RunOptions.MaxRows.
var ErrTooManyRows = errors.New("too many rows")

// serverExtra is how much longer than RunOptions.Timeout the server may work on a query. Its own limit ends a query
// whose connection was closed, which some servers notice only when they send rows.
const serverExtra = time.Second

// RunOptions are the limits of Run.
type RunOptions struct {
	Dialect sqldb.Dialect // of the database
	MaxRows int           // 0 for no maximum
	Timeout time.Duration // of the whole run, with the time that the caller takes for the rows; 0 for none
	// Before, if not nil, reads other rows of the query's snapshot, before the query runs. Its error ends the run and is
	// returned as it is.
	Before func(ctx context.Context, tx *sql.Tx) error
}

// Run runs a query in one read-only snapshot. It calls columns once, also if the query has no rows, and then row for
// each row, in the order of the query. The rows are read one at a time. A row and its elements are valid until row
// returns. An error of columns or row ends the run and is returned as it is.
//
// In SQLite an expression has no declared type: its column has the type of its value in the first row, and Text if that
// is null or there are no rows. A value of a later row that the type cannot hold is an error.
//
// A run with a timeout on MySQL and MariaDB sets the server's limit in the session, and closes its connection at the
// end.
func Run(ctx context.Context, db *sql.DB, q *Query, values map[string]any, o RunOptions,
	columns func([]format.Column) error, row func([][]byte) error,
) error {
	text, args, err := q.SQL(values)
	if err != nil {
		return err
	}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout,
			fmt.Errorf("the query takes longer than %s: %w", o.Timeout, context.DeadlineExceeded))
		defer cancel()
	}
	err = snapshot(ctx, db, o, func(tx *sql.Tx) error {
		if o.Before != nil {
			if err := o.Before(ctx, tx); err != nil {
				return err
			}
		}
		rows, err := tx.QueryContext(ctx, text, args...)
		if err != nil {
			return fmt.Errorf("run the query: %w", err)
		}
		defer rows.Close()
		return read(ctx, rows, o, columns, row)
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("run the query: %w", context.Cause(ctx))
	}
	return err
}

// snapshot runs fn in a read-only transaction. All its SELECTs see the state at one time: MySQL makes the snapshot of a
// REPEATABLE READ transaction with the first read, as SQLite does.
func snapshot(ctx context.Context, db *sql.DB, o RunOptions, fn func(tx *sql.Tx) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close()
	options := &sql.TxOptions{ReadOnly: true}
	if o.Dialect != sqldb.SQLiteDialect {
		options.Isolation = sql.LevelRepeatableRead
		if o.Timeout > 0 {
			// The limit must not apply to later users of the connection, and its value before is not known.
			defer discard(conn)
			if err := limitTime(ctx, conn, o.Timeout+serverExtra); err != nil {
				return fmt.Errorf("limit the time of the query: %w", err)
			}
		}
	}
	tx, err := conn.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin a snapshot: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // Nothing was written.
	return fn(tx)
}

// limitTime limits the time of the session's SELECTs on the server.
func limitTime(ctx context.Context, conn *sql.Conn, most time.Duration) error {
	var version string
	if err := conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return err
	}
	set := fmt.Sprintf("SET SESSION max_execution_time = %d", most.Milliseconds())
	if strings.Contains(version, "MariaDB") {
		set = fmt.Sprintf("SET SESSION max_statement_time = %.3f", most.Seconds())
	}
	_, err := conn.ExecContext(ctx, set)
	return err
}

// discard closes a connection, and does not return it to the pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// read calls columns and row with what a query returns.
func read(ctx context.Context, rows *sql.Rows, o RunOptions, columns func([]format.Column) error,
	row func([][]byte) error,
) error {
	types, err := rows.ColumnTypes()
	if err != nil {
		return fmt.Errorf("read the columns of the query: %w", err)
	}
	more := rows.Next()
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the first row: %w", err)
	}
	first := make([]any, len(types))
	if more && o.Dialect == sqldb.SQLiteDialect {
		if err := rows.Scan(pointers(first)...); err != nil {
			return fmt.Errorf("read the first row: %w", err)
		}
	}
	header := make([]format.Column, len(types))
	for i, t := range types {
		if header[i], err = columnOf(t, first[i], o.Dialect); err != nil {
			return err
		}
	}
	if err := columns(header); err != nil {
		return err
	}
	raw, texts := make([]sql.RawBytes, len(types)), make([][]byte, len(types))
	numbers := make([]any, len(types)) // in place of raw: MySQL's driver returns whole numbers, and not their digits
	buffers, into := make([][]byte, len(types)), pointers(raw)
	for i := range buffers {
		buffers[i] = []byte{} // An empty text is not nil.
		if header[i].Type == format.Integer && o.Dialect != sqldb.SQLiteDialect {
			into[i] = &numbers[i]
		}
	}
	for n := 1; more; n++ {
		if o.MaxRows > 0 && n > o.MaxRows {
			return fmt.Errorf("the query has more than %d rows: %w", o.MaxRows, ErrTooManyRows)
		}
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("read row %d: %w", n, err)
		}
		for i, value := range raw {
			switch number := numbers[i].(type) {
			case int64:
				buffers[i] = strconv.AppendInt(buffers[i][:0], number, 10)
			case uint64:
				buffers[i] = strconv.AppendUint(buffers[i][:0], number, 10)
			case []byte:
				buffers[i], err = canonical(buffers[i][:0], number, header[i])
			default:
				if value == nil {
					texts[i] = nil
					continue
				}
				buffers[i], err = canonical(buffers[i][:0], value, header[i])
			}
			if err != nil {
				return fmt.Errorf("row %d, column %s: %w", n, header[i].Name, err)
			}
			texts[i] = buffers[i]
		}
		if err := row(texts); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		more = rows.Next()
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the rows of the query: %w", err)
	}
	return nil
}

func pointers[T any](values []T) []any {
	all := make([]any, len(values))
	for i := range values {
		all[i] = &values[i]
	}
	return all
}

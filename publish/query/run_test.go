package query_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/base/store/storetest"
	"adsync/publish/format"
	"adsync/publish/query"
)

var onSQLite = query.RunOptions{Dialect: sqldb.SQLiteDialect}

// result is what a run returned.
type result struct {
	columns []format.Column
	rows    [][]string // "NULL" for null
}

func run(t testing.TB, db *sql.DB, q *query.Query, values map[string]any, o query.RunOptions) (r result, err error) {
	t.Helper()
	err = query.Run(t.Context(), db, q, values, o, func(columns []format.Column) error {
		require.Empty(t, r.columns, "the columns come once")
		r.columns = columns
		return nil
	}, func(row [][]byte) error {
		require.Len(t, row, len(r.columns), "the columns come first")
		var texts []string
		for _, value := range row {
			if value == nil {
				texts = append(texts, "NULL")
			} else {
				texts = append(texts, string(value))
			}
		}
		r.rows = append(r.rows, texts)
		return nil
	})
	return r, err
}

// typed is a view of all types.
var typed = []query.View{{Name: "typed", Game: "game", Key: []string{"id"}}}

func checkTyped(t testing.TB, text string) *query.Query {
	t.Helper()
	q, err := query.Check(text, typed, query.Scope{Games: []string{"g"}})
	require.NoError(t, err)
	return q
}

func openTyped(t testing.TB) *sql.DB {
	t.Helper()
	return open(t, "CREATE TABLE typed (id INTEGER, game TEXT, ok BOOLEAN, price DECIMAL(10,2), share REAL, day DATE, "+
		"at DATETIME, name TEXT)",
		"INSERT INTO typed VALUES (1, 'g', 1, 12.5, 0.00000015, '2026-01-02', '2026-01-02 10:11:12.5', ''), "+
			"(2, 'g', 0, -3, 2, '2026-01-03', '2026-01-03 00:00:00', 'é'), (3, 'g', NULL, NULL, NULL, NULL, NULL, NULL)")
}

func TestRun_ReturnsColumnsAndCanonicalRows(t *testing.T) {
	t.Parallel()
	db := openTyped(t)
	r, err := run(t, db, checkTyped(t, "SELECT id AS `Id`, ok, price, share, day, at, name, id * 2 AS twice, "+
		"id / 2.0 AS half, MAX(day) OVER () AS latest, :text AS txt, NULL AS nothing FROM typed ORDER BY id"),
		map[string]any{"text": "x?"}, onSQLite)
	require.NoError(t, err)
	require.Equal(t, result{
		columns: []format.Column{
			{Name: "Id", Type: format.Integer}, {Name: "ok", Type: format.Bool}, {Name: "price", Type: format.Decimal, Scale: 2},
			{Name: "share", Type: format.Float}, {Name: "day", Type: format.Day}, {Name: "at", Type: format.Time},
			{Name: "name", Type: format.Text}, {Name: "twice", Type: format.Integer}, {Name: "half", Type: format.Float},
			{Name: "latest", Type: format.Text}, {Name: "txt", Type: format.Text}, {Name: "nothing", Type: format.Text},
		},
		rows: [][]string{
			{"1", "1", "12.50", "1.5e-07", "2026-01-02", "2026-01-02 10:11:12.5", "", "2", "0.5", "2026-01-03", "x?", "NULL"},
			{"2", "0", "-3.00", "2", "2026-01-03", "2026-01-03 00:00:00", "é", "4", "1", "2026-01-03", "x?", "NULL"},
			{"3", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "6", "1.5", "2026-01-03", "x?", "NULL"},
		},
	}, r)
}

func TestRun_WithoutRowsReturnsTheColumns(t *testing.T) {
	t.Parallel()
	r, err := run(t, openTyped(t), checkTyped(t, "SELECT id, id + 1 AS next FROM typed WHERE id = :id ORDER BY id"),
		map[string]any{"id": 9}, onSQLite)
	require.NoError(t, err)
	require.Equal(t, result{columns: []format.Column{{Name: "id", Type: format.Integer}, {Name: "next"}}}, r)
}

func TestRun_RefusesAValueThatTheColumnCannotHold(t *testing.T) {
	t.Parallel()
	_, err := run(t, openTyped(t), checkTyped(t, "SELECT id, CASE id WHEN 2 THEN 'two' ELSE id END AS mixed "+
		"FROM typed ORDER BY id"), nil, onSQLite)
	require.EqualError(t, err, `row 2, column mixed: "two" is not of the column's type: want a whole number, or a CAST`)
}

func TestRun_StopsAtMaxRows(t *testing.T) {
	t.Parallel()
	db, q, o := openTyped(t), checkTyped(t, "SELECT id FROM typed ORDER BY id"), onSQLite
	o.MaxRows = 3
	r, err := run(t, db, q, nil, o)
	require.NoError(t, err)
	require.Len(t, r.rows, 3)
	o.MaxRows = 2
	r, err = run(t, db, q, nil, o)
	require.ErrorIs(t, err, query.ErrTooManyRows)
	require.EqualError(t, err, "the query has more than 2 rows: too many rows")
	require.Len(t, r.rows, 2)
}

func TestRun_ReturnsTheErrorsOfItsCallers(t *testing.T) {
	t.Parallel()
	db, q := openTyped(t), checkTyped(t, "SELECT id FROM typed ORDER BY id")
	failed := errors.New("failed")
	calls := 0
	row := func([][]byte) error { calls++; return failed }
	err := query.Run(t.Context(), db, q, nil, onSQLite, func([]format.Column) error { return nil }, row)
	require.Equal(t, failed, err)
	require.Equal(t, 1, calls)
	err = query.Run(t.Context(), db, q, nil, onSQLite, func([]format.Column) error { return failed }, row)
	require.Equal(t, failed, err)
	require.Equal(t, 1, calls)
	_, err = run(t, db, checkTyped(t, "SELECT nothing FROM typed ORDER BY nothing, id"), nil, onSQLite)
	require.ErrorContains(t, err, "run the query: ")
	_, err = run(t, db, checkTyped(t, "SELECT :day AS d FROM typed ORDER BY d"), nil, onSQLite)
	require.ErrorContains(t, err, "the parameter :day has no value")
	require.NoError(t, db.Close())
	_, err = run(t, db, q, nil, onSQLite)
	require.ErrorContains(t, err, "connect to the database")
}

// A transaction of another connection between two rows does not change what the run reads.
func TestRun_ReadsOneSnapshot(t *testing.T) {
	t.Parallel()
	db := openTyped(t)
	var ids []string
	err := query.Run(t.Context(), db, checkTyped(t, "SELECT id FROM typed ORDER BY id"), nil, onSQLite,
		func([]format.Column) error { return nil },
		func(row [][]byte) error {
			ids = append(ids, string(row[0]))
			_, err := db.ExecContext(t.Context(), "UPDATE typed SET id = id + 10")
			return err
		})
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2", "3"}, ids)
}

func TestRun_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	db, q := openTyped(t), checkTyped(t, "SELECT id FROM typed ORDER BY id")
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by a test")
	rows := 0
	err := query.Run(ctx, db, q, nil, onSQLite, func([]format.Column) error { return nil },
		func([][]byte) error { rows++; cancel(stopped); return nil })
	require.ErrorIs(t, err, stopped)
	require.Equal(t, 1, rows)

	o := onSQLite
	o.Timeout = time.Nanosecond
	_, err = run(t, db, q, nil, o)
	require.EqualError(t, err, "run the query: the query takes longer than 1ns: context deadline exceeded")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, db.Stats().InUse, "no connection is left in use")
}

func TestRun_OnAServer(t *testing.T) {
	t.Parallel()
	if os.Getenv(storetest.ServerEnv) == "" {
		t.Skip("needs a MySQL or MariaDB")
	}
	db := connect(t, storetest.Config(t).Data)
	execute(t, db,
		"CREATE TABLE typed (id BIGINT UNSIGNED, game VARCHAR(9), ok TINYINT(1), price DECIMAL(10,2), share DOUBLE, "+
			"day DATE, at DATETIME(6), name VARCHAR(20), year YEAR, js JSON, f FLOAT)",
		"INSERT INTO typed VALUES (18446744073709551615, 'g', 1, 12.5, 0.00000015, '2026-01-02', "+
			"'2026-01-02 10:11:12.5', '', 2026, '{}', 0.1), "+
			"(2, 'g', 0, -3, 2, '2026-01-03', '2026-01-03', 'é\\\\', 1999, NULL, 1), "+
			"(3, 'g', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), "+
			"(4, 'theirs', 0, 0, 0, NULL, NULL, 'x', 1999, NULL, 0)",
	)
	o := query.RunOptions{Dialect: sqldb.MySQLDialect, MaxRows: 3, Timeout: time.Minute}
	r, err := run(t, db, checkTyped(t, "SELECT id, ok, price, share, day, at, name, year, js, f, ok = 1 AS yes, "+
		"price / 3 AS third, DATE_FORMAT(day, '%Y-%m') AS mon, :text AS txt, '?' AS mark FROM typed ORDER BY id DESC"),
		map[string]any{"text": `\'`}, o)
	require.NoError(t, err)
	require.Equal(t, []format.Column{
		{Name: "id", Type: format.Integer}, {Name: "ok", Type: format.Integer},
		{Name: "price", Type: format.Decimal, Scale: 2},
		{Name: "share", Type: format.Float}, {Name: "day", Type: format.Day}, {Name: "at", Type: format.Time},
		{Name: "name", Type: format.Text}, {Name: "year", Type: format.Integer}, {Name: "js", Type: format.Text},
		{Name: "f", Type: format.Float}, {Name: "yes", Type: format.Integer}, {Name: "third", Type: format.Decimal, Scale: 6},
		{Name: "mon", Type: format.Text}, {Name: "txt", Type: format.Text}, {Name: "mark", Type: format.Text},
	}, r.columns)
	require.Equal(t, [][]string{
		{"18446744073709551615", "1", "12.50", "1.5e-07", "2026-01-02", "2026-01-02 10:11:12.5", "", "2026", "{}", "0.1", "1",
			"4.166667", "2026-01", `\'`, "?"},
		{"3", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", "NULL", `\'`, "?"},
		{"2", "0", "-3.00", "2", "2026-01-03", "2026-01-03 00:00:00", `é\`, "1999", "NULL", "1", "0", "-1.000000",
			"2026-01", `\'`, "?"},
	}, r.rows)
	require.Zero(t, db.Stats().OpenConnections, "the connection with the time limit is closed")
	testServerSyntax(t, db)
	testServerLimit(t, db)
}

// testServerSyntax runs what SQLite has not.
func testServerSyntax(t *testing.T, db *sql.DB) {
	t.Helper()
	o := query.RunOptions{Dialect: sqldb.MySQLDialect}
	for _, test := range []expectation{
		{"WITH x AS (SELECT day AS d FROM typed), y (e) AS (SELECT d FROM x) SELECT COUNT(*) AS n FROM x JOIN y ORDER BY n",
			"9"},
		{"SELECT GROUP_CONCAT(id ORDER BY id SEPARATOR '''') AS a FROM typed ORDER BY a", "2'3'18446744073709551615"},
		{"SELECT MAX(id > ALL (SELECT 2)) AS a FROM typed ORDER BY a", "1"},
		{"SELECT MAX((id, ok) = (2, 0)) AS a FROM typed ORDER BY a", "1"},
		{"SELECT MAX(day + INTERVAL - -1 DAY) AS a FROM typed ORDER BY a", "2026-01-04"},
		{"SELECT COUNT(*) AS a FROM (typed a, typed b) LEFT JOIN typed c ON c.id = a.id RIGHT JOIN typed d ON d.ok = " +
			"b.ok ORDER BY a",
			"7"},
		{"(SELECT id FROM typed ORDER BY id LIMIT 1) UNION (SELECT id FROM typed ORDER BY id LIMIT 1) ORDER BY id", "2"},
		{"SELECT id FROM typed INTERSECT SELECT 2 ORDER BY id", "2"},
		{"SELECT SUM(ok) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM typed WHERE id = 2 ORDER " +
			"BY a",
			"0"},
		{"SELECT TRIM(LEADING 'x' FROM 'xa') AS a, !ok AS b FROM typed WHERE id = 2 ORDER BY a, b", "a 1"},
		{"SELECT js->>'$.a' AS a, DATE '2026-01-02' AS b FROM typed WHERE id = 2 ORDER BY a, b", "NULL 2026-01-02"},
		{"SELECT `a``b`.id AS 'x''y' FROM typed AS `a``b` WHERE `a``b`.id = 2 ORDER BY 1", "2"},
		{"SELECT - -1 AS a, '\n FROM hidden --' AS b FROM typed WHERE id = 2 ORDER BY a, b", "1 \n FROM hidden --"},
	} {
		r, err := run(t, db, checkTyped(t, test.text), nil, o)
		require.NoError(t, err, test.text)
		require.Len(t, r.rows, 1, test.text)
		require.Equal(t, test.want, strings.Join(r.rows[0], " "), test.text)
	}
}

// testServerLimit requires that the server ends a query whose connection was closed.
func testServerLimit(t *testing.T, db *sql.DB) {
	t.Helper()
	execute(t, db,
		"DELETE FROM typed",
		"INSERT INTO typed (id, game) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "+
			"SELECT i, 'g' FROM n",
	)
	q := checkTyped(t, "SELECT COUNT(*) AS n FROM typed endless JOIN typed b JOIN typed c JOIN typed d "+
		"ON endless.id + b.id + c.id < d.id ORDER BY n")
	_, err := run(t, db, q, nil, query.RunOptions{Dialect: sqldb.MySQLDialect, Timeout: 100 * time.Millisecond})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Eventually(t, func() bool {
		var running int
		err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE ? "+
			"AND db = DATABASE() AND id <> CONNECTION_ID()", "%endless%").Scan(&running)
		return err == nil && running == 0
	}, 20*time.Second, 50*time.Millisecond, "the server works on the query for a second longer")
}

package query_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // opens the databases
	"pgregory.net/rapid"

	"adsync/base/sqldb"
	"adsync/base/store/storetest"
	"adsync/publish/format"
	"adsync/publish/query"
)

// mark is in every text of the other customer, and 777 begins each of its numbers.
const mark = "theirs"

// open returns an empty SQLite database.
func open(t testing.TB, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", sqldb.SQLiteFile(filepath.Join(t.TempDir(), "test.db"),
		url.Values{"_pragma": {"journal_mode(WAL)"}}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	execute(t, db, statements...)
	return db
}

// two are databases with equal rows of one customer. Both also has rows of another customer. A query that is limited
// to the first customer must return equal rows from both.
type two struct {
	alone, both *sql.DB
	dialect     sqldb.Dialect
}

func newTwo(t testing.TB) two {
	t.Helper()
	d := two{alone: open(t), both: open(t), dialect: sqldb.SQLiteDialect}
	d.fill(t)
	return d
}

// newTwoOnServer is newTwo on the server of the tests.
func newTwoOnServer(t testing.TB) two {
	t.Helper()
	if os.Getenv(storetest.ServerEnv) == "" {
		t.Skip("needs a MySQL or MariaDB")
	}
	cfg := storetest.Config(t)
	d := two{alone: connect(t, cfg.Config), both: connect(t, cfg.Data), dialect: sqldb.MySQLDialect}
	d.fill(t)
	return d
}

// connect opens a database of the server as the service does.
func connect(t testing.TB, d sqldb.Database) *sql.DB {
	t.Helper()
	cfg, err := sqldb.MysqlConfig(d.Writer, sqldb.PatienceDefault)
	require.NoError(t, err)
	connector, err := sqldb.NewConnector(cfg)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func (d two) fill(t testing.TB) {
	t.Helper()
	statements := []string{
		"CREATE TABLE report (day DATE, account_id INTEGER, game TEXT, media TEXT, cost INTEGER, note TEXT)",
		"CREATE TABLE all_accounts (id INTEGER, game TEXT, name TEXT, token TEXT)",
		"CREATE VIEW account AS SELECT * FROM all_accounts",
		"CREATE TABLE hidden (day DATE, game TEXT, note TEXT, x INTEGER)",
		"INSERT INTO report VALUES ('2026-01-01', 1, 'mine', 'm', 10, 'a'), ('2026-01-02', 1, 'mine', 'm', 20, NULL), " +
			"('2026-01-01', 2, 'o''mine', 'n', 30, 'c')",
		"INSERT INTO all_accounts VALUES (1, 'mine', 'one', 'theirs t1'), (2, 'o''mine', 'two', 'theirs t2')",
	}
	theirs := []string{
		"INSERT INTO report VALUES ('2026-01-01', 7771, 'theirs', 'theirs', 777100, 'theirs a'), " +
			"('2026-01-02', 1, 'theirs', 'm', 777200, 'theirs b'), ('2026-01-03', 2, '', 'm', 777300, 'theirs c')",
		"INSERT INTO all_accounts VALUES (7771, 'theirs', 'theirs one', 'theirs t'), (1, 'theirs', 'theirs two', 'theirs t')",
		"INSERT INTO hidden VALUES ('2026-01-01', 'mine', 'theirs', 777)",
	}
	execute(t, d.alone, statements...)
	execute(t, d.both, append(statements, theirs...)...)
}

func execute(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		require.NoError(t, err, s)
	}
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	require.TestingT
	Context() context.Context
}

// same runs a query on both databases and requires equal rows, and on SQLite equal errors. It returns the number of
// rows, or -1 for an error. A server may compute the query's own conditions for rows that it removes afterwards, so
// there an error may occur on one database alone.
func (d two) same(t tester, q *query.Query) int {
	values := map[string]any{}
	for _, p := range q.Params() {
		values[p] = "2026-01-01"
	}
	alone, aloneErr := d.lines(t, d.alone, q, values)
	both, bothErr := d.lines(t, d.both, q, values)
	text, _, err := q.SQL(values)
	require.NoError(t, err)
	if d.dialect == sqldb.SQLiteDialect {
		require.Equal(t, fmt.Sprint(aloneErr), fmt.Sprint(bothErr), text)
	}
	if aloneErr == nil && bothErr == nil {
		require.Equal(t, alone, both, text)
	}
	for _, line := range both {
		require.NotContains(t, line, mark, text)
		require.NotContains(t, line, "777", text)
	}
	if bothErr != nil {
		return -1
	}
	return len(both)
}

// lines returns the rows of a query as texts.
func (d two) lines(t tester, db *sql.DB, q *query.Query, values map[string]any) (all []string, err error) {
	err = query.Run(t.Context(), db, q, values, query.RunOptions{Dialect: d.dialect},
		func([]format.Column) error { return nil },
		func(row [][]byte) error {
			all = append(all, fmt.Sprintf("%q", row))
			return nil
		})
	return all, err
}

// hostile are queries that try to read more than the scope. Some are refused, the others must return rows of the
// scope alone. Their number of rows on SQLite is given: -1 if SQLite has no such syntax, and refusedQuery if Check
// refuses them.
var hostile = []struct {
	text string
	rows int
}{
	{"SELECT note FROM report WHERE 1=1 OR game='theirs' ORDER BY note, day, account_id", 3},
	{"SELECT note FROM report WHERE game='theirs' ORDER BY note, day, account_id", 0},
	{"SELECT note FROM report r WHERE r.game <> 'mine' OR TRUE ORDER BY day, account_id", 3},
	{"SELECT note FROM report WHERE game IN ('theirs') OR game IS NULL ORDER BY 1", 0},
	{"SELECT 1 AS a FROM report WHERE ((1) OR (1)) UNION SELECT note FROM report ORDER BY a", 4},
	{"SELECT id FROM account UNION ALL SELECT account_id FROM report ORDER BY id", 5},
	{"SELECT id FROM account EXCEPT SELECT 1 ORDER BY id", 1},
	{"SELECT id FROM account INTERSECT SELECT account_id FROM report ORDER BY id", 2},
	{"SELECT (SELECT MAX(cost) FROM report) AS a FROM account ORDER BY a", 2},
	{"SELECT (SELECT MAX(note) FROM report r WHERE r.account_id = a.id) AS x FROM account a ORDER BY x", 2},
	{"SELECT id FROM account WHERE id IN (SELECT account_id FROM report) ORDER BY id", 2},
	{"SELECT id FROM account WHERE 777200 IN (SELECT cost FROM report) ORDER BY id", 0},
	{"SELECT id FROM account WHERE EXISTS (SELECT 1 FROM report WHERE cost > 777) ORDER BY id", 0},
	{"SELECT id FROM account WHERE id = (SELECT COUNT(*) FROM report) ORDER BY id", 0},
	{"SELECT COUNT(*) AS n FROM account GROUP BY id HAVING (SELECT SUM(cost) FROM report) > 100 ORDER BY n", 0},
	{"SELECT CASE WHEN (SELECT COUNT(*) FROM report) > 3 THEN 'theirs' END AS a ORDER BY a", 1},
	{"SELECT d.n FROM (SELECT COUNT(*) AS n FROM report) d ORDER BY n", 1},
	{"SELECT d.note FROM (SELECT * FROM report) d ORDER BY note", 3},
	{"SELECT d.note FROM (SELECT report.* FROM report) d ORDER BY note", 3},
	{"SELECT SUM(cost) OVER () AS a FROM report ORDER BY a", 3},
	{"SELECT LAG(note) OVER (ORDER BY cost) AS a FROM report ORDER BY a", 3},
	{"WITH x AS (SELECT * FROM report) SELECT note FROM x ORDER BY note", 3},
	{"WITH x AS (SELECT * FROM report), y AS (SELECT * FROM x) SELECT y.note FROM y JOIN x USING (cost) ORDER BY 1", 3},
	{"WITH hidden AS (SELECT * FROM report) SELECT note FROM hidden ORDER BY note", 3},
	{"WITH all_accounts AS (SELECT id AS token FROM account) SELECT token FROM all_accounts ORDER BY token", 2},
	{"WITH x (a) AS (SELECT note FROM report) SELECT hidden.a FROM x AS hidden ORDER BY a", 3},
	{"WITH hidden AS (SELECT 1 AS x) SELECT (SELECT COUNT(*) FROM hidden) AS n ORDER BY n", 1},
	{"SELECT hidden.note FROM report AS hidden ORDER BY note", 3},
	{"SELECT account.note FROM report AS account JOIN account AS report ON report.id = account.account_id ORDER BY 1", 3},
	{"SELECT report.note FROM report, report AS r2 ORDER BY 1", 9},
	{"SELECT r.note FROM report r JOIN report s USING (game) ORDER BY 1", 5},
	{"SELECT r.note FROM report r NATURAL JOIN account a ORDER BY 1", 3},
	{"SELECT a.name FROM report r RIGHT JOIN account a ON a.id = r.account_id AND a.game = 'theirs' ORDER BY 1", 2},
	{"SELECT a.name FROM account a LEFT JOIN (report r JOIN account b ON b.id = r.account_id) ON TRUE ORDER BY 1", 6},
	{"SELECT a.name FROM (report r, account a) JOIN account b ORDER BY 1", 12},
	{"SELECT token FROM account ORDER BY token", -1},
	{"SELECT account.token AS a FROM account ORDER BY a", -1},
	{"SELECT id FROM account WHERE token LIKE 'theirs%' ORDER BY id", -1},
	{"SELECT rowid AS a FROM account ORDER BY a", -1},
	{"SELECT `report`.`note` FROM `report` ORDER BY note", 3},
	{"SELECT r.note FROM `report`/**/AS/**/`r` ORDER BY note", 3},
	{"SELECT `a``b`.note FROM report AS `a``b` ORDER BY note", 3},
	{"SELECT `a.b`.note FROM report AS `a.b` ORDER BY note", 3},
	{"SELECT `) UNION SELECT note FROM hidden -- `.note FROM report AS `) UNION SELECT note FROM hidden -- ` ORDER BY 1",
		3},
	{"SELECT note AS ') , (SELECT note FROM hidden) AS (' FROM report ORDER BY 1", 3},
	{"SELECT note AS `a\nb` FROM report ORDER BY 1", 3},
	{"SELECT 'it''s' AS a, '\n, note FROM hidden -- ' AS b FROM report ORDER BY a, b", 3},
	{"SELECT - -1 AS a, '\n, note FROM hidden -- ' AS b FROM report ORDER BY a, b", 3},
	{"SELECT 1 - - -1 AS a, '\n, (SELECT note FROM hidden) AS n --' AS b FROM report ORDER BY a, b", 3},
	{"SELECT 1 -(-1) AS a, -(-(-1)) AS b, '\n FROM hidden --' AS c FROM report ORDER BY a, b, c", 3},
	{"SELECT 1--1 AS a, '\n FROM hidden --' AS b FROM report ORDER BY a, b", 3},
	{"SELECT -:p AS a, '\n FROM hidden --' AS b FROM report ORDER BY a, b", 3},
	{"SELECT ~-1 AS a, +-1 AS b, '\n FROM hidden --' AS c FROM report ORDER BY a, b, c", 3},
	{"SELECT !-1 AS a FROM report ORDER BY a", -1},
	{"SELECT 4 /(2) AS a, '*/ note FROM hidden' AS b FROM report ORDER BY a, b", 3},
	{"SELECT \"note\" AS a FROM report ORDER BY a", 3},
	{"SELECT \"a' , (SELECT note FROM hidden) AS '\" AS a FROM report ORDER BY a", 3},
	{"SELECT '\"' AS a, '\" FROM hidden' AS b FROM report ORDER BY a, b", 3},
	{"SELECT '`' AS a, '` FROM hidden' AS b FROM report ORDER BY a, b", 3},
	{"SELECT '?' AS a, ':note' AS b, :p AS c FROM report ORDER BY 1, 2, 3", 3},
	{"SELECT '’' AS a, 'ʼ OR 1=1 --' AS b, '＇' AS c FROM report ORDER BY 1, 2, 3", 3},
	{"SELECT note AS `ｎｏｔｅ` FROM report AS `ｈidden` ORDER BY 1", 3},
	{"SELECT id FROM account WHERE (id, name) IN (SELECT account_id, note FROM report) ORDER BY id", 0},
	{"SELECT id FROM account WHERE id > ALL (SELECT account_id FROM report) ORDER BY id", -1},
	{"SELECT id FROM account JOIN (SELECT 1) AS x ON (SELECT COUNT(*) FROM report) = 6 ORDER BY id", 0},
	{"SELECT x.n FROM (SELECT COUNT(*) AS n FROM report GROUP BY game ORDER BY n, 1 LIMIT 9) x ORDER BY n", 2},
	{"SELECT MAX(note) AS a FROM report ORDER BY a LIMIT 9223372036854775807", 1},
	{"SELECT note FROM report WHERE IF(cost > 777, ABS(-9223372036854775807 - 1), 1) > 0 ORDER BY 1", 3},
	{"SELECT note FROM report WHERE IF(cost > 777, ~0 + 1, 1) > 0 ORDER BY 1", 3},
	{"SELECT r.note FROM report r WHERE r.note IS NULL OR JSON_EXTRACT(r.note, '$') IS NULL ORDER BY 1", -1},
	{"SELECT r.note FROM report r WHERE r.cost <= 777 OR JSON_EXTRACT(r.note, '$') IS NULL ORDER BY 1", 3},
	{"SELECT SUM(IF(cost > 777, 9223372036854775807, 1)) AS a FROM report ORDER BY a", 1},
	{"SELECT a.id FROM account a JOIN report r ON IF(r.cost > 777, ABS(-9223372036854775807 - 1), 1) > 0 ORDER BY 1", 6},
	{"SELECT id FROM account LIMIT 1 UNION SELECT 2 ORDER BY id", refusedQuery},
	{"SELECT note FROM report UNION SELECT note FROM hidden ORDER BY note", refusedQuery},
	{"SELECT note FROM hidden ORDER BY note", refusedQuery},
	{"SELECT name FROM all_accounts ORDER BY name", refusedQuery},
	{"SELECT (SELECT note FROM hidden) AS a FROM report ORDER BY a", refusedQuery},
	{"SELECT 1 AS a FROM report WHERE 1 IN (SELECT x FROM hidden) ORDER BY a", refusedQuery},
	{"SELECT 1 AS a FROM report GROUP BY (SELECT x FROM hidden) ORDER BY a", refusedQuery},
	{"SELECT 1 AS a FROM report HAVING (SELECT x FROM hidden) ORDER BY a", refusedQuery},
	{"SELECT 1 AS a FROM report JOIN report s ON s.cost = (SELECT x FROM hidden) ORDER BY a", refusedQuery},
	{"SELECT SUM((SELECT x FROM hidden)) OVER () AS a FROM report ORDER BY a", refusedQuery},
	{"SELECT RANK() OVER (ORDER BY (SELECT x FROM hidden)) AS a FROM report ORDER BY a", refusedQuery},
	{"SELECT RANK() OVER (PARTITION BY (SELECT x FROM hidden)) AS a FROM report ORDER BY a", refusedQuery},
	{"SELECT GROUP_CONCAT(note ORDER BY (SELECT x FROM hidden)) AS a FROM report ORDER BY a", refusedQuery},
	{"SELECT CASE (SELECT x FROM hidden) WHEN 1 THEN 2 END AS a ORDER BY a", refusedQuery},
	{"SELECT COALESCE((SELECT x FROM hidden)) AS a ORDER BY a", refusedQuery},
	{"SELECT CAST((SELECT x FROM hidden) AS CHAR) AS a ORDER BY a", refusedQuery},
	{"SELECT 1 + INTERVAL (SELECT x FROM hidden) DAY AS a ORDER BY a", refusedQuery},
	{"SELECT (1, (SELECT x FROM hidden)) = (1, 2) AS a ORDER BY a", refusedQuery},
	{"SELECT 1 BETWEEN (SELECT x FROM hidden) AND 2 AS a ORDER BY a", refusedQuery},
	{"SELECT 'a' LIKE (SELECT note FROM hidden) AS a ORDER BY a", refusedQuery},
	{"SELECT (SELECT x FROM hidden) IS NULL AS a ORDER BY a", refusedQuery},
	{"SELECT 1 > ANY (SELECT x FROM hidden) AS a ORDER BY a", refusedQuery},
	{"SELECT {d '2026-01-01'} AS a, x FROM {OJ hidden} ORDER BY a, x", refusedQuery},
}

// refusedQuery stands for the rows of a query that Check refuses.
const refusedQuery = -2

func TestHostileQueriesReadTheirScopeAlone(t *testing.T) {
	t.Parallel()
	d := newTwo(t)
	for _, test := range hostile {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			q, err := check(test.text, mine)
			if test.rows == refusedQuery {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.rows, d.same(t, q))
		})
	}
}

func TestHostileQueriesReadTheirScopeAlone_OnAServer(t *testing.T) {
	t.Parallel()
	d := newTwoOnServer(t)
	ran := 0
	for _, test := range hostile {
		if test.rows == refusedQuery {
			continue
		}
		q, err := check(test.text, mine)
		require.NoError(t, err)
		if d.same(t, q) >= 0 {
			ran++
		}
	}
	require.Greater(t, ran, 50)
}

// A test that always passes would prove nothing: without a scope the queries read the other customer's rows.
func TestTwoDatabasesDifferWithoutAScope(t *testing.T) {
	t.Parallel()
	d := newTwo(t)
	q, err := check("SELECT note FROM report ORDER BY note, day", query.Scope{})
	require.NoError(t, err)
	both, err := d.lines(t, d.both, q, nil)
	require.NoError(t, err)
	require.Contains(t, strings.Join(both, "\n"), mark)
	alone, err := d.lines(t, d.alone, q, nil)
	require.NoError(t, err)
	require.NotEqual(t, alone, both)
}

func TestEachListOfAScopeLimitsTheRows(t *testing.T) {
	t.Parallel()
	d := newTwo(t)
	for want, s := range map[string]query.Scope{
		`["a"] [nil] ["c"]`: mine,
		`["a"] [nil]`:       {Games: []string{"mine"}},
		`["theirs c"]`:      {Games: []string{""}},
		`["theirs a"]`:      {Accounts: []int64{7771}},
		`["c"]`:             {Media: []string{"n", "x' OR '1'='1"}},
		`["theirs b"]`:      {Games: []string{"theirs"}, Accounts: []int64{1, 2}, Media: []string{"m"}},
		"":                  {Games: []string{"mine"}, Accounts: []int64{2}},
	} {
		q, err := check("SELECT note FROM report ORDER BY account_id, day, note", s)
		require.NoError(t, err)
		got, err := d.lines(t, d.both, q, nil)
		require.NoError(t, err)
		require.Equal(t, want, strings.ReplaceAll(strings.Join(got, " "), `""`, "nil"))
	}
}

// writer writes random queries. Depth is how many more queries and expressions may be inside of what it writes.
type writer struct {
	t    *rapid.T
	ctes []string
}

func (w *writer) pick(parts ...string) string { return rapid.SampledFrom(parts).Draw(w.t, "part") }

// expression returns an expression over the table a.
func (w *writer) expression(depth int) string {
	most := 9
	if depth <= 0 {
		most = 2
	}
	inner := func() string { return w.expression(depth - 1) }
	switch rapid.IntRange(0, most).Draw(w.t, "expression") {
	case 0:
		return w.pick("1", "'theirs'", "NULL", "'\n-- '", `"'"`, "'it''s'", ":p", "777200", "TRUE")
	case 1, 2:
		return w.pick("a.x", "x", "y", "a.y", "`x`")
	case 3:
		return w.pick(" -", " +", " ~") + inner()
	case 4:
		return "(NOT EXISTS (" + w.selection("x", depth-1) + "))"
	case 5:
		return "(" + inner() + w.pick(" IN (", " NOT IN (") + w.selection("x", depth-1) + "))"
	case 6:
		return "(SELECT MAX(x) FROM (" + w.selection("x", depth-1) + ") m)"
	case 7:
		return "COALESCE(" + inner() + ", " + inner() + ")"
	case 8:
		return "CASE WHEN " + inner() + " THEN " + inner() + " END"
	}
	operator := w.pick(" OR ", " AND ", " = ", " <> ", " + ", " - ", "-", " * ", " < ", " LIKE ")
	return "(" + inner() + operator + inner() + ")"
}

// table returns a table whose columns are x and y.
func (w *writer) table(alias string, depth int) string {
	if depth > 0 && rapid.Bool().Draw(w.t, "derived") {
		return "(SELECT x, y FROM " + w.table("a", depth-1) + " WHERE " + w.expression(depth-1) + ") AS " + alias
	}
	tables := []string{
		"(SELECT game AS x, note AS y FROM report)", "(SELECT cost AS x, media AS y FROM report AS account)",
		"(SELECT id AS x, name AS y FROM `account` hidden)",
		"(SELECT r.cost AS x, a.name AS y FROM report r LEFT JOIN account a ON a.id = r.account_id)",
		"(SELECT r.cost AS x, a.name AS y FROM report r RIGHT JOIN account a ON a.id = r.account_id)",
		"(SELECT cost AS x, name AS y FROM report NATURAL JOIN account)",
		"(SELECT COUNT(*) AS x, MAX(note) AS y FROM report, account b)",
		"(SELECT media AS x, SUM(cost) AS y FROM report GROUP BY media HAVING MAX(cost) > 10)",
	}
	return w.pick(append(tables, w.ctes...)...) + " AS " + alias
}

// selection returns a SELECT of some columns over the table a.
func (w *writer) selection(columns string, depth int) string {
	s := "SELECT " + w.pick("", "DISTINCT ") + columns + " FROM " + w.table("a", depth-1)
	if rapid.Bool().Draw(w.t, "where") {
		s += " WHERE " + w.expression(depth-1)
	}
	if depth > 0 && rapid.IntRange(0, 3).Draw(w.t, "set") == 0 {
		s += w.pick(" UNION ", " UNION ALL ", " EXCEPT ") + w.selection(columns, depth-1)
	}
	return s
}

func (w *writer) query() string {
	var with []string
	for n := range rapid.IntRange(0, 2).Draw(w.t, "with") {
		name := w.pick("hidden", "all_accounts", "t") + strings.Repeat("x", n)
		with = append(with, name+" AS ("+w.selection("x, y", 2)+")")
		w.ctes = append(w.ctes, name)
	}
	text := w.selection("x, y", 4) + " ORDER BY " + w.pick("x, y", "2, 1", "y DESC, 1") + w.pick("", " LIMIT 3")
	if len(with) > 0 {
		text = "WITH " + strings.Join(with, ", ") + " " + text
	}
	return text
}

func TestRandomQueriesReadTheirScopeAlone(t *testing.T) {
	t.Parallel()
	testRandomQueries(t, newTwo(t))
}

func TestRandomQueriesReadTheirScopeAlone_OnAServer(t *testing.T) {
	t.Parallel()
	testRandomQueries(t, newTwoOnServer(t))
}

func testRandomQueries(t *testing.T, d two) {
	t.Helper()
	var failed, empty, full int
	rapid.Check(t, func(t *rapid.T) {
		text := (&writer{t: t}).query()
		q, err := check(text, mine)
		if err != nil {
			require.ErrorContains(t, err, "the query reads more than 50 tables", text)
			return
		}
		switch n := d.same(t, q); {
		case n < 0:
			failed++
		case n == 0:
			empty++
		default:
			full++
		}
	})
	require.Positive(t, empty)
	require.Greater(t, full, failed, "most queries run")
}

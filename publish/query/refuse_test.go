package query_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// expectation is a query and a text that it must give.
type expectation struct{ text, want string }

// refused are queries with a part of the error that each must give. None of them may run.
var refused = []expectation{
	// Statements.
	{"", "the query has 0 statements"},
	{" -- SELECT", "the query has 0 statements"},
	{"SELECT 1 AS a; SELECT 2", "the query has 2 statements"},
	{"INSERT INTO report SELECT 1", "want one SELECT"},
	{"UPDATE report SET a = 1", "want one SELECT"},
	{"DELETE FROM report", "want one SELECT"},
	{"SET @a = 1", "want one SELECT"},
	{"SHOW TABLES", "want one SELECT"},
	{"DROP TABLE report", "want one SELECT"},
	{"CALL p()", "want one SELECT"},
	{"EXPLAIN SELECT 1", "want one SELECT"},
	{"DO SLEEP(1)", "want one SELECT"},
	{"PREPARE s FROM 'SELECT 1'", "want one SELECT"},
	{"HANDLER report OPEN", "line 1, column 1: want a SELECT of MySQL, found \"HANDLER report OPEN\""},
	{"ATTACH 'x' AS y", "want a SELECT of MySQL"},
	{"PRAGMA table_info(report)", "want a SELECT of MySQL"},
	{"TABLE report ORDER BY day", "line 1, column 1: TABLE is refused: want SELECT"},
	{"VALUES ROW(1, 2) ORDER BY 1", "VALUES is refused: want SELECT"},
	{"SELECT (TABLE hidden) AS a FROM report ORDER BY a", "TABLE is refused"},
	{"SELECT a FROM (VALUES ROW(1)) v ORDER BY a", "VALUES is refused"},
	{"SELECT id FROM account UNION TABLE hidden ORDER BY id", "TABLE is refused"},

	// Clauses.
	{"SELECT id FROM account ORDER BY id INTO OUTFILE '/tmp/x'", "SELECT … INTO is refused"},
	{"SELECT id FROM account ORDER BY id INTO @x", "want a SELECT of MySQL"},
	{"SELECT id FROM account ORDER BY id INTO DUMPFILE 'x'", "want a SELECT of MySQL"},
	{"SELECT id\nFROM account ORDER BY id FOR UPDATE", "line 2, column 26: a locking SELECT is refused"},
	{"SELECT id FROM account ORDER BY id FOR SHARE OF account", "a locking SELECT is refused"},
	{"SELECT id FROM account ORDER BY id LOCK IN SHARE MODE", "a locking SELECT is refused"},
	{"SELECT id FROM account PROCEDURE ANALYSE()", "want a SELECT of MySQL"},
	{"SELECT id FROM account ORDER BY id LIMIT :n", "a parameter in LIMIT is refused"},
	{"SELECT id FROM account ORDER BY id LIMIT 1 OFFSET :n", "a parameter in LIMIT is refused"},
	{"SELECT id FROM account ORDER BY :n", "a parameter cannot name a column"},
	{"SELECT COUNT(*) AS n FROM account GROUP BY :n ORDER BY n", "a parameter cannot name a column"},
	{"SELECT id FROM account ORDER BY id, (SELECT 1)", "a query inside ORDER BY is refused"},
	{"SELECT id FROM account ORDER BY EXISTS (SELECT 1)", "a query inside ORDER BY is refused"},
	{"SELECT id, COUNT(*) AS n FROM account GROUP BY id WITH ROLLUP ORDER BY id, n", "WITH ROLLUP is refused"},
	{"SELECT HIGH_PRIORITY id FROM account ORDER BY id", "an option of SELECT is refused"},
	{"SELECT SQL_NO_CACHE id FROM account ORDER BY id", "an option of SELECT is refused"},
	{"SELECT SQL_CALC_FOUND_ROWS id FROM account ORDER BY id", "an option of SELECT is refused"},
	{"SELECT SQL_BIG_RESULT id FROM account ORDER BY id", "an option of SELECT is refused"},
	{"SELECT SQL_SMALL_RESULT id FROM account ORDER BY id", "an option of SELECT is refused"},
	{"SELECT SQL_BUFFER_RESULT id FROM account ORDER BY id", "an option of SELECT is refused"},
	{"SELECT STRAIGHT_JOIN id FROM account ORDER BY id", "an option of SELECT is refused"},
	{"SELECT r.day FROM report r STRAIGHT_JOIN account a ORDER BY 1", "STRAIGHT_JOIN is refused"},
	{"SELECT RANK() OVER w AS a FROM report WINDOW w AS (ORDER BY day) ORDER BY a", "WINDOW is refused"},
	{"SELECT RANK() OVER (w) AS a FROM report ORDER BY a", "a named window is refused"},
	{"SELECT RANK() OVER w AS a FROM report ORDER BY a", "a named window is refused"},

	// Set operations and common table expressions.
	{"SELECT 1 AS a UNION SELECT 2 INTERSECT SELECT 3 ORDER BY a", "INTERSECT next to UNION or EXCEPT is refused"},
	{"SELECT 1 AS a EXCEPT (SELECT 2 UNION SELECT 3 LIMIT 1) ORDER BY a", "inside brackets are refused"},
	{"WITH RECURSIVE x AS (SELECT 1) SELECT 1 AS a ORDER BY a", "WITH RECURSIVE is refused"},
	{"WITH report AS (SELECT * FROM hidden) SELECT day FROM report ORDER BY 1", "\"report\" has the name of a view"},
	{"WITH rePORT AS (SELECT 1) SELECT day FROM report ORDER BY 1", "\"rePORT\" has the name of a view"},
	{"WITH x AS (SELECT 1), X AS (SELECT 2) SELECT 1 AS a ORDER BY a", "\"X\" is defined twice"},
	{"WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT 1 AS a ORDER BY a", "the table \"b\" is unknown"},
	{"WITH a AS (SELECT * FROM a) SELECT 1 AS a ORDER BY a", "the table \"a\" is unknown"},
	{"WITH hidden AS (SELECT * FROM hidden) SELECT 1 AS a ORDER BY a", "the table \"hidden\" is unknown"},
	{"SELECT (WITH x AS (SELECT 1) SELECT 1 FROM x) AS a ORDER BY a", "WITH inside the query is refused"},
	{"SELECT a FROM (WITH x AS (SELECT 1 AS a) SELECT a FROM x UNION SELECT 1) y ORDER BY a",
		"WITH inside the query is refused"},
	{"SELECT 1 AS a UNION (WITH hidden AS (SELECT 1) SELECT a FROM hidden) ORDER BY a",
		"WITH inside the query is refused"},
	{"WITH x AS (WITH y AS (SELECT 1) SELECT 1) SELECT 1 AS a ORDER BY a", "WITH inside the query is refused"},

	// Tables.
	{"SELECT 1 AS a FROM hidden ORDER BY a",
		"line 1, column 20: the table \"hidden\" is unknown: want one of account, report"},
	{"SELECT 1 AS a FROM Report ORDER BY a", "the table \"Report\" is unknown"},
	{"SELECT 1 AS a FROM `report ` ORDER BY a", "the table \"report \" is unknown"},
	{"SELECT 1 AS a FROM ``.report ORDER BY a", "Incorrect database name"},
	{"SELECT 1 AS a FROM main.report ORDER BY a", "the table \"main\".\"report\" is refused"},
	{"SELECT 1 AS a FROM `main`/**/.`hidden` ORDER BY a", "the table \"main\".\"hidden\" is refused"},
	{"SELECT 1 AS a FROM `main.hidden` ORDER BY a", "the table \"main.hidden\" is unknown"},
	{"SELECT 1 AS a FROM `report`` UNION SELECT * FROM hidden` ORDER BY a", "is unknown"},
	{`SELECT 1 AS a FROM "report" ORDER BY a`, "want a SELECT of MySQL"},
	{"SELECT 1 AS a FROM [hidden] ORDER BY a", "want a SELECT of MySQL"},
	{"SELECT 1 AS a FROM 'hidden' ORDER BY a", "want a SELECT of MySQL"},
	{"SELECT 1 AS a FROM `ｒeport` ORDER BY a", "is unknown"},
	{"SELECT 1 AS a FROM report\u200b ORDER BY a", "is unknown"},
	{"SELECT 1 AS a FROM report USE INDEX (x) ORDER BY a", "want its name alone"},
	{"SELECT 1 AS a FROM report IGNORE INDEX () ORDER BY a", "want its name alone"},
	{"SELECT 1 AS a FROM report PARTITION (p0) ORDER BY a", "want its name alone"},
	{"SELECT 1 AS a FROM report TABLESAMPLE SYSTEM (10) ORDER BY a", "want its name alone"},
	{"SELECT 1 AS a FROM report AS OF TIMESTAMP '2026-01-01' ORDER BY a", "want its name alone"},
	{"SELECT 1 AS a FROM report FOR SYSTEM_TIME ALL ORDER BY a", "want a SELECT of MySQL"},
	{"SELECT 1 AS a FROM report r, LATERAL (SELECT * FROM hidden) h ORDER BY a", "LATERAL is refused"},
	{"SELECT 1 AS a FROM JSON_TABLE('[]', '$' COLUMNS (a INT PATH '$')) j ORDER BY a", "want a SELECT of MySQL"},
	{"SELECT 1 AS a FROM pragma_table_info('hidden') ORDER BY a", "want a SELECT of MySQL"},
	{"SELECT 1 AS a FROM (SELECT 1 AS b) ORDER BY a", "a derived table has no name"},
	{"SELECT 1 AS a FROM report WHERE cost IN hidden ORDER BY a", "want a SELECT of MySQL"},
	{"SELECT main.report.day AS a FROM report ORDER BY a", "the column main.report.day is refused"},
	{"SELECT x.a FROM (SELECT main.report.* FROM report) x ORDER BY a", "main.report.* is refused"},
	{"SELECT 1 AS a FROM report r JOIN account c USING (main.c.id) ORDER BY a", "main.c.id is refused"},

	// The header.
	{"SELECT * FROM report ORDER BY day, account_id", "line 1, column 8: * is refused: name the columns"},
	{"SELECT day, report.* FROM report ORDER BY day, account_id", "line 1, column 13: * is refused"},
	{"SELECT day FROM report UNION SELECT * FROM report ORDER BY 1", "* is refused"},
	{"SELECT day, 1 + 1 FROM report ORDER BY 1, 2", "line 1, column 13: column 2 has no name"},
	{"SELECT day, cost AS DAY FROM report ORDER BY 1, 2", "two columns have the name DAY"},
	{`SELECT 1 AS 'a\0b' FROM report ORDER BY 1`, "contains a control character"},

	// Comments, quotes and characters.
	{"SELECT 1 AS a /*! FROM hidden */ ORDER BY a", "line 1, column 15: a comment that servers execute is refused"},
	{"SELECT 1 AS a /*!50000 FROM hidden */ ORDER BY a", "a comment that servers execute is refused"},
	{"SELECT 1 AS a /*M!100 FROM hidden */ ORDER BY a", "a comment that servers execute is refused"},
	{"SELECT 1 AS a /*T! FROM hidden */ ORDER BY a", "a comment that servers execute is refused"},
	{"SELECT /*+ SET_VAR(sql_mode = '') */ 1 AS a ORDER BY a", "an optimizer hint is refused"},
	{"SELECT 1 AS a /* ORDER BY a", "/ begins a text, name or comment without an end"},
	{"SELECT 1 AS a /*/ ORDER BY a", "without an end"},
	{"SELECT 'a AS a", "' begins a text"},
	{"SELECT `a AS a", "` begins a text"},
	{`SELECT 'a\' AS a ORDER BY a`, "' begins a text"},
	{`SELECT '\\' AS a, ' FROM hidden -- ' AS b ORDER BY 1, 2`, "a text with a backslash"},
	{`SELECT 'a\_b' AS a ORDER BY a`, "a text with a backslash"},
	{`SELECT '\0' AS a ORDER BY a`, "or a control character is refused"},
	{"SELECT 1 AS a\x00 FROM report ORDER BY a", "line 1, column 14: the control character U+0000 is refused"},
	{"SELECT '\xff' AS a FROM report ORDER BY a", "line 1, column 9: a byte is no UTF-8"},
	{"SELECT a || b AS a FROM report ORDER BY a", "line 1, column 10: || is refused"},
	{"SELECT ? AS a FROM report ORDER BY a", "line 1, column 8: ? is refused"},
	{"SELECT :Day AS a FROM report ORDER BY a", "a colon begins a parameter"},
	{"SELECT :day2 AS a FROM report ORDER BY a", "a colon begins a parameter"},
	{"SELECT : day AS a FROM report ORDER BY a", "a colon begins a parameter"},
	{"SELECT a::day AS a FROM report ORDER BY a", "a colon begins a parameter"},
	{"SELECT @a:=1 AS a FROM report ORDER BY a", "a colon begins a parameter"},
	{"SELECT 10:00 AS a FROM report ORDER BY a", "a colon begins a parameter"},

	// Numbers, which the parser itself may not survive.
	{"SELECT 1234567890123456789012345678901 AS a ORDER BY a",
		"line 1, column 8: a number has 31 digits: want at most 30"},
	{"SELECT .1234567890123456789012345678901 AS a ORDER BY a", "a number has 31 digits"},
	{"SELECT 1.1234567890123456789012345678901 AS a ORDER BY a", "a number has 31 digits"},
	{"SELECT 1e999 AS a ORDER BY a", "want a SELECT of MySQL: "},

	// Expressions.
	{"SELECT @a AS a FROM report ORDER BY a", "line 1, column 8: a variable is refused"},
	{"SELECT @@version AS a FROM report ORDER BY a", "a variable is refused"},
	{"SELECT @@global.secure_file_priv AS a ORDER BY a", "a variable is refused"},
	{"SELECT @'a' AS a FROM report ORDER BY a", "a variable is refused"},
	{"SELECT a COLLATE utf8mb4_bin AS a FROM report ORDER BY a", "COLLATE is refused"},
	{"SELECT a REGEXP 'x' AS a FROM report ORDER BY a", "REGEXP is refused"},
	{"SELECT a ILIKE 'x' AS a FROM report ORDER BY a", "ILIKE and this ESCAPE are refused"},
	{`SELECT a LIKE 'x' ESCAPE '\\' AS a FROM report ORDER BY a`, "ILIKE and this ESCAPE are refused"},
	{"SELECT MATCH (a) AGAINST ('x') AS a FROM report ORDER BY a", "this expression is refused"},
	{"SELECT DEFAULT(a) AS a FROM report ORDER BY a", "this expression is refused"},
	{"SELECT VALUES(a) AS a FROM report ORDER BY a", "this expression is refused"},
	{"SELECT NEXT VALUE FOR s AS a ORDER BY a", "refused"},
	{"SELECT NEXTVAL(s) AS a ORDER BY a", "refused"},
	{"SELECT x'41' AS a FROM report ORDER BY a", "this literal is refused"},
	{"SELECT 0x41 AS a FROM report ORDER BY a", "this literal is refused"},
	{"SELECT b'1' AS a FROM report ORDER BY a", "this literal is refused"},
	{"SELECT _latin1'a' AS a FROM report ORDER BY a", "this literal is refused"},
	{"SELECT N'a' AS a FROM report ORDER BY a", "this literal is refused"},
	{"SELECT BINARY a AS a FROM report ORDER BY a", "this cast is refused"},
	{"SELECT CONVERT(a, SIGNED) AS a FROM report ORDER BY a", "this cast is refused"},
	{"SELECT CONVERT(a USING latin1) AS a FROM report ORDER BY a", "the function CONVERT is refused"},
	{"SELECT CAST(a AS CHAR CHARSET latin1) AS a FROM report ORDER BY a", "this cast is refused"},
	{"SELECT CAST(a AS SIGNED ARRAY) AS a FROM report ORDER BY a", "this cast is refused"},
	{"SELECT GROUP_CONCAT(a) AS a FROM report ORDER BY a", "GROUP_CONCAT has no order"},
	{"SELECT JSON_ARRAYAGG(a) AS a FROM report ORDER BY a", "the function JSON_ARRAYAGG is refused"},
	{"SELECT JSON_OBJECTAGG(a, b) OVER () AS a FROM report ORDER BY a", "the function JSON_OBJECTAGG is refused"},
	{"SELECT ROW_NUMBER() OVER () AS a FROM report ORDER BY a", "ROW_NUMBER has no order"},
	{"SELECT LAG(a) IGNORE NULLS OVER (ORDER BY a) AS a FROM report ORDER BY a",
		"IGNORE NULLS and FROM LAST are refused"},
	{"SELECT db.abs(a) AS a FROM report ORDER BY a", "the function db.abs is refused"},
	{"SELECT DATE('now') AS a FROM report ORDER BY a", "DATE of an expression is refused"},
	{"SELECT ABS(1, 2) AS a FROM report ORDER BY a", "ABS with 2 arguments is refused"},
	{"SELECT UNIX_TIMESTAMP() AS a FROM report ORDER BY a", "UNIX_TIMESTAMP with 0 arguments is refused"},
}

func TestCheck_Refuses(t *testing.T) {
	t.Parallel()
	for _, test := range refused {
		t.Run(test.text, func(t *testing.T) {
			t.Parallel()
			_, err := check(test.text, mine)
			require.ErrorContains(t, err, test.want)
		})
	}
}

func TestCheck_RefusesFunctionsOfTheTimeTheSessionAndTheServer(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		"NOW()", "CURRENT_DATE", "CURRENT_DATE()", "CURDATE()", "CURRENT_TIME", "CURTIME(3)", "CURRENT_TIMESTAMP",
		"LOCALTIME",
		"LOCALTIMESTAMP(2)", "UTC_DATE", "UTC_TIME", "UTC_TIMESTAMP", "UTC_TIMESTAMP()", "SYSDATE()", "RAND()", "RAND(1)",
		"RANDOM()", "UUID()", "UUID_SHORT()", "USER()", "CURRENT_USER", "CURRENT_USER()", "SESSION_USER()", "SYSTEM_USER()",
		"CURRENT_ROLE()", "DATABASE()", "SCHEMA()", "VERSION()", "CONNECTION_ID()", "FOUND_ROWS()", "ROW_COUNT()",
		"LAST_INSERT_ID()", "LAST_INSERT_ID(5)", "LOAD_FILE('/etc/passwd')", "SLEEP(1)", "BENCHMARK(1, 1)",
		"GET_LOCK('a', 1)", "RELEASE_LOCK('a')", "IS_FREE_LOCK('a')", "RELEASE_ALL_LOCKS()", "MASTER_POS_WAIT('a', 1)",
		"PASSWORD('a')", "CHARSET(a)", "ANY_VALUE(a)", "NAME_CONST('a', 1)", "REPEAT('a', 9)", "SPACE(9)", "LPAD(a, 9, 'b')",
		"RPAD(a, 9, 'b')", "GET_FORMAT(DATE, 'USA')", "FORMAT(a, 2)", "CHAR(1)", "INSERT(a, 1, 2, 'b')", "INTERVAL(a, 1)",
		"TIME(a)", "TIMESTAMP(a)", "COMPRESS(a)", "AES_ENCRYPT(a, 'k')", "EXTRACTVALUE(a, 'b')", "UPDATEXML(a, 'b', 'c')",
		"LOAD_EXTENSION('x')", "RANDOMBLOB(9)", "ZEROBLOB(9)", "STRFTIME('%s', 'now')", "JULIANDAY('now')", "CHANGES()",
		"LAST_INSERT_ROWID()", "SQLITE_VERSION()", "READFILE('x')", "FTS3_TOKENIZER('x')", "TIDB_VERSION()", "my_function(a)",
		"`sleep`(1)", "1 MEMBER OF(a)", "WEIGHT_STRING(a)", "TIME '10:00:00'", "{t '10:00:00'}", "JSON_SUM_CRC32(a AS JSON)",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			_, err := check("SELECT "+call+" AS a FROM report ORDER BY a", mine)
			require.Error(t, err)
			if !strings.Contains(err.Error(), "want a SELECT of MySQL") {
				require.ErrorContains(t, err, "refused")
			}
		})
	}
}

func TestCheck_TakesTheFunctionsOfReports(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		"ABS(a)", "ROUND(a / 100, 2)", "MOD(a, 2)", "GREATEST(a, b, 1)", "COALESCE(a, 0)", "IFNULL(a, 0)", "NULLIF(a, 0)",
		"IF(a > 1, 'x', 'y')", "ISNULL(a)", "CONCAT(a, '-', b)", "CONCAT_WS(',', a, b)", "LOWER(a)", "CHAR_LENGTH(a)",
		"LEFT(a, 2)", "SUBSTRING(a FROM 2 FOR 3)", "SUBSTRING_INDEX(a, '/', 1)", "TRIM(BOTH 'x' FROM a)",
		"REPLACE(a, 'x', 'y')",
		"POSITION('a' IN b)", "a->'$.b'", "a->>'$.b'", "DATE(a)", "DATE(:day)", "YEAR(a)", "WEEK(a, 3)", "DATEDIFF(a, :day)",
		"DATE_FORMAT(a, '%Y-%m')", "DATE_ADD(:day, INTERVAL 1 DAY)", "ADDDATE(a, 1)", "a + INTERVAL 1 MONTH",
		"TIMESTAMPDIFF(DAY, a, :day)", "EXTRACT(YEAR_MONTH FROM a)", "DATE '2026-01-02'", "{ts '2026-01-02 10:00:00'}",
		"FROM_UNIXTIME(a)", "STR_TO_DATE(a, '%d')", "CAST(a AS DECIMAL(10, 2))", "CAST(a AS CHAR)",
		"CASE a WHEN 1 THEN 2 END",
		"COUNT(*)", "COUNT(DISTINCT a, b)", "SUM(a)", "STDDEV(a)", "GROUP_CONCAT(a ORDER BY b SEPARATOR ';')",
		"SUM(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 6 PRECEDING AND CURRENT ROW)", "RANK() OVER (ORDER BY a)",
		"LAG(a, 1, 0) OVER (ORDER BY b)", "a IS NOT TRUE", "a <=> NULL", "a DIV 2", "a LIKE 'x|%' ESCAPE '|'",
		"a = ANY (SELECT 1)", "(a, b) = (1, 2)", "a NOT BETWEEN 1 AND 2", "1.5e3", "12.50",
		"123456789012345678901234567890.123456789012345678901234567890", "18446744073709551615", "TRUE",
		"'\t\u00e9\U0001F600'", "_utf8mb4'a'",
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			_, err := check("SELECT "+call+" AS a FROM report ORDER BY a", mine)
			require.NoError(t, err)
		})
	}
}

func TestCheck_IsBounded(t *testing.T) {
	t.Parallel()
	const most = 64 << 10
	fill := func(part string) string { return strings.Repeat(part, most/len(part)-20) }
	for _, text := range []string{
		fill("("), fill("SELECT ("), fill("SELECT (SELECT "), "SELECT " + fill("NOT ") + "1 AS a ORDER BY a",
		"SELECT " + fill("1+") + "1 AS a ORDER BY a", "SELECT " + fill("- ") + "1 AS a ORDER BY a",
		"SELECT " + fill("CASE WHEN ") + "1", "SELECT " + fill("ABS(") + "1", fill("SELECT 1 UNION "),
		"SELECT 1 AS a FROM " + fill("report,") + "report ORDER BY a", "SELECT 1 AS a FROM " + fill("(") + "report",
		"SELECT 1 AS a FROM " + fill("report JOIN ") + "report ORDER BY a", "WITH " + fill("a AS (SELECT 1),"),
		fill("/*"), fill("'"), fill("`"), fill(":a "), fill("WITH a AS (SELECT "), fill("/**/"), fill("--\n"),
	} {
		_, err := check(text, mine)
		require.Error(t, err, text[:40])
	}
	_, err := check("SELECT 1 AS a ORDER BY a"+strings.Repeat(" ", most), mine)
	require.ErrorContains(t, err, "want at most 65536")
	list := "SELECT 1 AS a FROM report r0"
	for n := range 49 {
		list += ", report r" + strings.Repeat("x", n+1)
	}
	_, err = check(list+" ORDER BY a", mine)
	require.NoError(t, err)
	_, err = check(list+", report y ORDER BY a", mine)
	require.ErrorContains(t, err, "the query reads more than 50 tables")
	wide := mine
	wide.Accounts = make([]int64, 100_000)
	_, err = check(list+" ORDER BY a", wide)
	require.ErrorContains(t, err, "want at most 4194304")
	_, err = check("SELECT "+strings.Repeat("1+", 300)+"1 AS a ORDER BY a", mine)
	require.NoError(t, err)
	_, err = check("SELECT "+strings.Repeat("1+", 400)+"1 AS a ORDER BY a", mine)
	require.ErrorContains(t, err, "nested too deeply: want at most 400 levels")
}

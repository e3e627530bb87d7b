package query_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/publish/query"
)

// views are the views of all tests, and mine is the scope of one customer. The calendar belongs to all customers.
var (
	views = []query.View{
		{Name: "report", Game: "game", Account: "account_id", Media: "media", Key: []string{"day", "account_id"}},
		{Name: "account", Game: "game", Account: "id", Columns: []string{"id", "name", "game"}, Key: []string{"id"}},
		{Name: "calendar", Columns: []string{"day", "week"}, Key: []string{"day"}},
	}
	mine = query.Scope{Games: []string{"mine", "o'mine"}}
)

const (
	reportOfMine   = "(SELECT * FROM `report` WHERE `game` IN ('mine','o''mine'))"
	accountsOfMine = "(SELECT `id`,`name`,`game` FROM `account` WHERE `game` IN ('mine','o''mine'))"
)

// check checks a query on the views without those that have no game.
func check(text string, s query.Scope) (*query.Query, error) { return query.Check(text, views[:2], s) }

func TestCheck_WritesTheQueryWithItsScope(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"a plain query", "SELECT day, cost FROM report ORDER BY day, account_id",
			"SELECT `day`,`cost` FROM " + reportOfMine + " AS `report` ORDER BY `day`,`account_id`"},
		{"an alias", "select r.day from report r order by 1",
			"SELECT `r`.`day` FROM " + reportOfMine + " AS `r` ORDER BY 1"},
		{"texts, signs and rows", `SELECT "it's" AS a, - -1 AS b FROM report WHERE (day, cost) IN ((1, 2)) ORDER BY a, b`,
			"SELECT 'it''s' AS `a`,-(-(1)) AS `b` FROM " + reportOfMine +
				" AS `report` WHERE (`day`, `cost`) IN ((1, 2)) ORDER BY `a`,`b`"},
		{"operators get brackets", "SELECT a|b=c<d AS x FROM report WHERE NOT a AND b OR c BETWEEN 1 AND 2 ORDER BY x",
			"SELECT (((`a` | `b`) = `c`) < `d`) AS `x` FROM " + reportOfMine +
				" AS `report` WHERE ((NOT (`a`) AND `b`) OR (`c` BETWEEN 1 AND 2)) ORDER BY `x`"},
		{"joins", "SELECT a.name AS n FROM report r JOIN account a ON a.id = r.account_id NATURAL JOIN (account AS c) " +
			"LEFT JOIN account USING (id) ORDER BY n",
			"SELECT `a`.`name` AS `n` FROM ((" + reportOfMine + " AS `r` JOIN " + accountsOfMine +
				" AS `a` ON (`a`.`id` = `r`.`account_id`)) NATURAL JOIN " + accountsOfMine + " AS `c`) LEFT JOIN " +
				accountsOfMine + " AS `account` USING (`id`) ORDER BY `n`"},
		{"a list of derived tables", "SELECT a.x FROM (SELECT 1 AS x FROM report) a, (SELECT 2 AS x) b, report ORDER BY x",
			"SELECT `a`.`x` FROM ((SELECT 1 AS `x` FROM " + reportOfMine + " AS `report`) AS `a` JOIN (SELECT 2 AS `x`) " +
				"AS `b`) JOIN " + reportOfMine + " AS `report` ORDER BY `x`"},
		{"common table expressions", "WITH a AS (SELECT day FROM report), b (d) AS (SELECT day FROM a AS z) " +
			"SELECT b.d FROM b JOIN A ORDER BY d",
			"WITH `cte 1` AS (SELECT `day` FROM " + reportOfMine + " AS `report`), `cte 2` (`d`) AS " +
				"(SELECT `day` FROM `cte 1` AS `z`) SELECT `b`.`d` FROM `cte 2` AS `b` JOIN `cte 1` AS `A` ORDER BY `d`"},
		{"a union", "SELECT id FROM account UNION ALL (SELECT account_id FROM report) ORDER BY id LIMIT 2, 3;",
			"SELECT `id` FROM " + accountsOfMine + " AS `account` UNION ALL (SELECT `account_id` FROM " + reportOfMine +
				" AS `report`) ORDER BY `id` LIMIT 2,3"},
		{"comments", "-- one\nSELECT /* :no ' */ id # '\nFROM account ORDER BY id --",
			"SELECT `id` FROM " + accountsOfMine + " AS `account` ORDER BY `id`"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q, err := check(test.text, mine)
			require.NoError(t, err)
			sql, args, err := q.SQL(nil)
			require.NoError(t, err)
			require.Equal(t, test.want, sql)
			require.Empty(t, args)
		})
	}
}

func TestCheck_EachListOfTheScopeRestricts(t *testing.T) {
	t.Parallel()
	const text = "SELECT account_id FROM report ORDER BY 1"
	for want, s := range map[string]query.Scope{
		"`report` AS `report`": {},
		"(SELECT * FROM `report` WHERE `game` IN ('a') AND `account_id` IN (-1,2) AND `media` IN ('m','n')) AS `report`": {
			Games: []string{"a"}, Accounts: []int64{-1, 2}, Media: []string{"m", "n"}},
	} {
		q, err := query.Check(text, views, s)
		require.NoError(t, err)
		sql, _, err := q.SQL(nil)
		require.NoError(t, err)
		require.Equal(t, "SELECT `account_id` FROM "+want+" ORDER BY 1", sql)
	}

	q, err := query.Check("SELECT day FROM calendar c ORDER BY day", views, query.Scope{})
	require.NoError(t, err)
	sql, _, err := q.SQL(nil)
	require.NoError(t, err)
	require.Equal(t, "SELECT `day` FROM (SELECT `day`,`week` FROM `calendar`) AS `c` ORDER BY `day`", sql,
		"without a scope the view's columns alone can be read")

	for want, s := range map[string]query.Scope{
		"calendar cannot be limited to games":    {Games: []string{"a"}},
		"calendar cannot be limited to accounts": {Accounts: []int64{1}},
		"calendar cannot be limited to media":    {Media: []string{"m"}},
	} {
		_, err := query.Check("SELECT week, day FROM calendar ORDER BY week, day", views, s)
		require.ErrorContains(t, err, "line 1, column 23: the table "+want)
	}
	for _, bad := range []string{`a\`, "a\x00", "a\xff"} {
		_, err := query.Check(text, views, query.Scope{Games: []string{bad}})
		require.ErrorContains(t, err, "the scope contains")
		_, err = query.Check(text, views, query.Scope{Media: []string{bad}})
		require.ErrorContains(t, err, "the scope contains")
	}
}

func TestParams_AreInTheOrderOfTheStatement(t *testing.T) {
	t.Parallel()
	q, err := check(`WITH w AS (SELECT :with AS x FROM report WHERE day>=:from AND ':no' <> ":no")
SELECT TRIM(LEADING :lead FROM :trimmed) AS a, CASE :day WHEN '10:00:00' THEN 1 ELSE :day END AS b, (SELECT :sub) AS c
FROM w JOIN report AS `+"`:no`"+` ON :on = 1 WHERE x IN (:in_a, :in_b, -:in_c) /* :no */ AND game=:game
GROUP BY 1, 2, 3 HAVING a > :having -- :no
UNION SELECT :period, 2, 3 ORDER BY 1, 2, 3 LIMIT 4`, query.Scope{})
	require.NoError(t, err)
	require.Equal(t, []string{"day", "from", "game", "having", "in_a", "in_b", "in_c", "lead", "on", "period", "sub",
		"trimmed", "with"}, q.Params())
	values := map[string]any{"unused": 1.5}
	for _, name := range q.Params() {
		values[name] = "value of " + name
	}
	values["on"], values["in_a"], values["in_b"] = 1, int64(2), true
	sql, args, err := q.SQL(values)
	require.NoError(t, err)
	require.Len(t, args, strings.Count(sql, "?"))
	require.Equal(t, []any{
		"value of with", "value of from", "value of lead", "value of trimmed", "value of day", "value of day",
		"value of sub", 1, int64(2), true, "value of in_c", "value of game", "value of having", "value of period",
	}, args)

	delete(values, "from")
	_, _, err = q.SQL(values)
	require.ErrorContains(t, err, "the parameter :from has no value: want one of day, game, having")
	values["from"] = []string{"secret"}
	_, _, err = q.SQL(values)
	require.EqualError(t, err, "the parameter :from is a []string: want a text, a whole number or a boolean")
}

// The parser's own parameters would be lost here.
func TestParams_NoneIsLostInTrim(t *testing.T) {
	t.Parallel()
	q, err := check("SELECT TRIM(:a FROM :b) AS x, :c AS y FROM report ORDER BY x, y", mine)
	require.NoError(t, err)
	_, args, err := q.SQL(map[string]any{"a": 1, "b": 2, "c": 3})
	require.NoError(t, err)
	require.Equal(t, []any{1, 2, 3}, args)
}

func TestOrder_IsTotal(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SELECT day, cost FROM report ORDER BY day, account_id",
		"SELECT day, cost FROM report ORDER BY Account_ID DESC, 1",
		"SELECT r.day AS d, cost FROM report r ORDER BY d, r.account_id",
		"SELECT r.day AS d, cost FROM report r ORDER BY r.day, r.account_id",
		"SELECT account_id AS day, day AS d FROM report ORDER BY d, day",
		"SELECT day, cost FROM report ORDER BY cost, day",
		"SELECT day, cost AS c FROM report ORDER BY c, 1",
		"SELECT DISTINCT media AS m, game FROM report ORDER BY m, report.game",
		"SELECT day, SUM(cost) AS cost FROM report GROUP BY day ORDER BY day",
		"SELECT SUM(cost) AS cost FROM report GROUP BY day, report.media ORDER BY media, day",
		"SELECT YEAR(day) AS y, SUM(cost) AS cost FROM report GROUP BY YEAR(day) ORDER BY y",
		"SELECT YEAR(day) AS y, SUM(cost) AS cost FROM report GROUP BY 1 ORDER BY 1",
		"SELECT a.id, SUM(cost) AS c FROM account a JOIN report r ON a.id = r.account_id GROUP BY a.id ORDER BY a.id",
		"SELECT id FROM account UNION SELECT day FROM report ORDER BY id",
		"(SELECT day FROM report GROUP BY day) ORDER BY day",
		"SELECT x.d FROM (SELECT day AS d FROM report ORDER BY day, account_id LIMIT 3) x ORDER BY d",
		"SELECT day FROM (report) ORDER BY day, account_id",
	} {
		_, err := check(text, mine)
		require.NoError(t, err, text)
	}
	for _, test := range []expectation{
		{"SELECT day FROM report", "line 1, column 23: the query has no order: want a total ORDER BY"},
		{"SELECT day FROM report LIMIT 1", "a LIMIT needs a total ORDER BY"},
		{"SELECT day, cost FROM report ORDER BY day",
			"want every returned column (cost missing), or the key of report (account_id missing)"},
		{"SELECT day FROM report ORDER BY day + 0", "(day missing)"},
		{"SELECT day FROM report ORDER BY 2", "ORDER BY 2: want a position from 1 to 1"},
		{"SELECT day FROM report ORDER BY 0", "ORDER BY 0: want a position from 1 to 1"},
		{"SELECT cost AS day, account_id FROM report ORDER BY day, 1",
			"(account_id missing), or the key of report (day, account_id missing)"},
		{"SELECT DISTINCT media, game FROM report ORDER BY media, report.account_id, day",
			"the ORDER BY of SELECT DISTINCT has another column"},
		{"SELECT day, SUM(cost) AS c FROM report GROUP BY day, media ORDER BY day",
			"want every returned column (c missing), or every expression of GROUP BY"},
		{"SELECT YEAR(day) AS y, SUM(cost) AS c FROM report GROUP BY y ORDER BY y", "(`y` missing)"},
		{"SELECT YEAR(day) AS day, SUM(cost) AS c FROM report GROUP BY day ORDER BY day", "(`day` missing)"},
		{"SELECT day, 1 AS x FROM report r JOIN account a ORDER BY day, account_id, id", "(x missing)"},
		{"SELECT day, 1 AS x FROM calendar c ORDER BY day, week, c.day2", "unknown"},
		{"SELECT id, game FROM account UNION SELECT 1, 2 ORDER BY id", "(game missing)"},
		{"SELECT x.a FROM (SELECT day AS a, cost FROM report ORDER BY a LIMIT 1) x ORDER BY a",
			"(cost missing), or the key of report (account_id missing)"},
		{"SELECT x.day FROM (SELECT * FROM report r JOIN account a ORDER BY day LIMIT 1) x ORDER BY day", "not total"},
		{"SELECT x.a FROM (SELECT 1 AS a UNION SELECT 2 LIMIT 1) x ORDER BY a", "a LIMIT needs a total ORDER BY"},
	} {
		_, err := check(test.text, mine)
		require.ErrorContains(t, err, test.want, test.text)
	}
	q, err := query.Check("SELECT week, day FROM calendar ORDER BY day", views, query.Scope{})
	require.NoError(t, err, "the key")
	require.Empty(t, q.Params())
}

// With the sessions' sql_mode a server takes a column that is not grouped from any row of the group.
func TestGroups_DetermineTheirColumns(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"SELECT day, YEAR(day) + 1 AS y, SUM(cost) / COUNT(*) AS c, :p AS p, (SELECT MAX(id) FROM account) AS i " +
			"FROM report GROUP BY day ORDER BY day",
		"SELECT YEAR(day) AS y, YEAR(day) + :p AS z, MAX(cost) AS c FROM report GROUP BY YEAR(day) ORDER BY y, z, c",
		"SELECT YEAR(day) AS y, MAX(cost) AS c FROM report GROUP BY y HAVING y > 1 AND c > MAX(note) ORDER BY y, c",
		"SELECT YEAR(day) AS y, MAX(cost) AS c FROM report GROUP BY 1 ORDER BY 1",
		"SELECT r.day, SUM(a.id) AS s FROM report r JOIN account a GROUP BY day ORDER BY day, s",
		"SELECT day, RANK() OVER (ORDER BY SUM(cost)) AS r FROM report GROUP BY day ORDER BY day, r",
		"SELECT MAX(day) AS a, 1 AS b FROM report ORDER BY a, b",
		"SELECT (day, 1) = (day, 2) AS a FROM report GROUP BY day ORDER BY day",
	} {
		_, err := check(text, mine)
		require.NoError(t, err, text)
	}
	for _, test := range []expectation{
		{"SELECT day, note FROM report GROUP BY day ORDER BY day", "line 1, column 13: the column note is neither grouped"},
		{"SELECT day, MAX(cost) + r.cost AS c FROM report r GROUP BY day ORDER BY day", "the column r.cost is neither"},
		{"SELECT MAX(day) AS a, note FROM report ORDER BY a, note", "the column note is neither"},
		{"SELECT day FROM report GROUP BY day HAVING note > '' ORDER BY day", "the column note is neither"},
		{"SELECT day FROM report GROUP BY day ORDER BY note, day", "the column note is neither"},
		{"SELECT day FROM report GROUP BY day ORDER BY ABS(cost), day", "the column cost is neither"},
		{"SELECT x.d FROM (SELECT day AS d, note FROM report GROUP BY day) x ORDER BY d", "the column note is neither"},
		{"SELECT x.d FROM (SELECT r.*, 1 AS d FROM report r GROUP BY day) x ORDER BY d", "* is refused in a SELECT"},
		{"SELECT YEAR(day) AS y, MONTH(day) AS m FROM report GROUP BY YEAR(day) ORDER BY y, m", "the column day is neither"},
		{"SELECT day, RANK() OVER (ORDER BY cost) AS r FROM report GROUP BY day ORDER BY day", "the column cost is neither"},
		{"SELECT (day, note) = (1, 2) AS a FROM report GROUP BY day ORDER BY day", "the column note is neither"},
		{"SELECT a.day, 1 AS x FROM report a JOIN report b GROUP BY b.day ORDER BY x, 1", "the column a.day is neither"},
	} {
		_, err := check(test.text, mine)
		require.ErrorContains(t, err, test.want, test.text)
	}
}

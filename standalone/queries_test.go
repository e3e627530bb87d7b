package standalone

import (
	"database/sql"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/engine"
	"adsync/media"
)

// answer is a query's result: its columns, and its rows as text, "NULL" for no value.
type answer struct {
	columns []string
	rows    []map[string]string
}

// queries returns the queries of the page for analysts, by their first line.
func queries(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile("../docs/queries.md")
	require.NoError(t, err)
	found := map[string]string{}
	for _, block := range regexp.MustCompile("(?s)```sql\n-- ([^\n]*)\n(.*?)\n```").FindAllStringSubmatch(string(page),
		-1) {
		found[block[1]] = block[2]
	}
	require.Len(t, found, 5)
	return found
}

func ask(t *testing.T, db *sql.DB, query string) answer {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err, query)
	defer rows.Close()
	var a answer
	a.columns, err = rows.Columns()
	require.NoError(t, err)
	for rows.Next() {
		values := make([]sql.NullString, len(a.columns))
		dest := make([]any, len(values))
		for i := range values {
			dest[i] = &values[i]
		}
		require.NoError(t, rows.Scan(dest...))
		row := map[string]string{}
		for i, v := range values {
			row[a.columns[i]] = "NULL"
			if v.Valid {
				row[a.columns[i]] = v.String
			}
		}
		a.rows = append(a.rows, row)
	}
	require.NoError(t, rows.Err())
	return a
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err, text)
	return n
}

// exampleMedia matches a platform's name in an example.
var exampleMedia = regexp.MustCompile(`\bmedia = '\w+'`)

// testQueries runs the queries of the page on the tables of a pulled world, and marks two of its days as not whole.
func testQueries(t *testing.T, database string) {
	t.Helper()
	db, err := sql.Open("sqlite", sqldb.SQLiteFile(database, nil))
	require.NoError(t, err)
	defer db.Close()

	// In the first minutes of a day it has coverage, and no rows yet.
	last := ask(t, db, "SELECT MAX(day) AS day FROM coverage WHERE report = 'report_hourly'").rows[0]["day"]
	today, err := day.Parse(last[:len("2026-11-21")])
	require.NoError(t, err)
	busiest := ask(t, db, "SELECT external_id, SUM(cost) AS cost FROM wide_daily_account WHERE media = '"+
		engine.PlatformNames()[0]+"' GROUP BY external_id ORDER BY cost DESC LIMIT 1").rows[0]["external_id"]
	page := queries(t)
	for name, query := range page {
		for _, example := range [][2]string{{"2026-11-21", today.String()}, {"2026-11-20", today.Add(-1).String()},
			{"2026-11-15", today.Add(-6).String()}, {"20000058", busiest}} {
			query = strings.ReplaceAll(query, example[0], example[1])
		}
		page[name] = exampleMedia.ReplaceAllString(query, "media = '"+engine.PlatformNames()[0]+"'")
	}

	spend := ask(t, db, page["today against yesterday"])
	require.Equal(t, []string{"game", "media", "currency", "today", "yesterday_by_then", "yesterday"}, spend.columns)
	total := ask(t, db, "SELECT SUM(cost) / 1000000.0 AS cost FROM summary_daily WHERE day = '"+today.Add(-1).String()+
		"'").rows[0]["cost"]
	var sum float64
	for _, row := range spend.rows {
		if row["yesterday"] == "NULL" { // A game that began today, as seen shortly after midnight.
			require.Equal(t, "NULL", row["yesterday_by_then"])
			continue
		}
		sum += number(t, row["yesterday"])
		if row["yesterday_by_then"] != "NULL" {
			require.LessOrEqual(t, number(t, row["yesterday_by_then"]), number(t, row["yesterday"]))
		}
	}
	require.InDelta(t, number(t, total), sum, 0.01)

	creatives := ask(t, db, page["top creatives"])
	require.Len(t, creatives.rows, 20)
	most := ask(t, db, "SELECT SUM(cost) / 1000000.0 AS cost FROM report_daily_creative WHERE day >= '"+
		today.Add(-6).String()+"' GROUP BY account_id, object_id ORDER BY cost DESC LIMIT 1").rows[0]["cost"]
	require.InDelta(t, number(t, most), number(t, creatives.rows[0]["spend"]), 0.01)
	require.NotEqual(t, "NULL", creatives.rows[0]["adgroup"])

	hours := ask(t, db, page["an account's hours"])
	require.NotEmpty(t, hours.rows)
	require.LessOrEqual(t, len(hours.rows), 48)

	campaigns := ask(t, db, page["pay-back by campaign"])
	hasCampaigns := slices.ContainsFunc(engine.Platforms(), func(p media.Platform) bool {
		return slices.ContainsFunc(p.Lists(), func(l media.List) bool { return l.Level == "campaign" })
	})
	require.Equal(t, hasCampaigns, len(campaigns.rows) > 0, "of the platforms that have campaigns, there are some")
	for _, row := range campaigns.rows {
		require.NotEqual(t, "NULL", row["campaign"])
		if row["day_7"] != "NULL" { // The platform may have no such figures.
			require.LessOrEqual(t, number(t, row["day_1"]), number(t, row["day_7"]))
		}
	}

	require.Empty(t, ask(t, db, page["accounts that are not whole"]).rows)
	const of = " WHERE report = 'report_daily' AND level = 'account' AND day = ? AND account_id = "
	yesterday := today.Add(-1).String()
	_, err = db.ExecContext(t.Context(), "UPDATE coverage SET state = 'suspect'"+of+
		"(SELECT MIN(account_id) FROM coverage)", yesterday)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "DELETE FROM coverage"+of+"(SELECT MAX(account_id) FROM coverage)", yesterday)
	require.NoError(t, err)
	states := []string{}
	for _, row := range ask(t, db, page["accounts that are not whole"]).rows {
		states = append(states, row["state"])
	}
	require.ElementsMatch(t, []string{"suspect", "never pulled"}, states)
}

package e2e

import (
	"cmp"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/tidb/pkg/parser"
	"github.com/stretchr/testify/require"

	"adsync/base/sqldb"
	"adsync/engine"
)

// pattern is a statement that docs/sharding.md lists among those that may read all shards. In its text … matches
// anything.
type pattern struct {
	text  string
	shape *regexp.Regexp
}

type patterns []pattern

// readAllShards returns the statements that docs/sharding.md lists: the lines of its block "statements" without a #.
func readAllShards(t *testing.T) patterns {
	t.Helper()
	page, err := os.ReadFile("../../docs/sharding.md")
	require.NoError(t, err)
	_, block, found := strings.Cut(string(page), "\n```statements\n")
	require.True(t, found, "docs/sharding.md has no block of statements")
	block, _, _ = strings.Cut(block, "\n```")
	var all patterns
	for text := range strings.SplitSeq(block, "\n") {
		if strings.HasPrefix(text, "#") {
			continue
		}
		shape := strings.ReplaceAll(regexp.QuoteMeta(compact(text)), "…", ".*")
		all = append(all, pattern{text, regexp.MustCompile("^" + shape + "$")})
	}
	require.NotEmpty(t, all)
	return all
}

// find returns the text of the pattern that a shape has, or "".
func (p patterns) find(shape string) string {
	shape = compact(shape)
	if i := slices.IndexFunc(p, func(p pattern) bool { return p.shape.MatchString(shape) }); i >= 0 {
		return p[i].text
	}
	return ""
}

// shapeOf returns a statement without its values, with lists of rows cut to their first and the days of the log under
// one name.
func shapeOf(text string) string {
	shape := strings.ReplaceAll(parser.Normalize(text, "ON"), "`", "")
	shape = strings.NewReplacer(" . ", ".", "( ", "(", " )", ")", " ,", ",").Replace(shape)
	return logDay.ReplaceAllString(moreRows.ReplaceAllString(shape, ""), "task_$1")
}

// moreRows matches the rows of a list except the first.
var moreRows = regexp.MustCompile(`( union all select ([-?., ]|null)+)+`)

// compact removes what may be written in several ways.
func compact(statement string) string {
	return besideSigns.ReplaceAllString(strings.ToLower(statement), "$1")
}

var besideSigns = regexp.MustCompile(` *([(),.=<>…]) *`)

// statement is one that a deployment has sent.
type statement struct {
	Text   string `json:"text"`
	Shape  string `json:"shape"`
	Listed string `json:"listed,omitempty"` // the pattern of docs/sharding.md that it has
}

// shapeTexts is how many statements of a shape test/vitess plans: the shortest and the longest. Plans differ by
// whether a list has one row or several, and by whether these are on one shard.
const shapeTexts = 20

// writeStatements writes the statements that a deployment has sent to its data database, and the tables there.
func (d *deployment) writeStatements(t *testing.T, path string, all []statement, refused []string, list patterns) {
	t.Helper()
	byShape := map[string][]statement{}
	for _, s := range all {
		byShape[s.Shape] = append(byShape[s.Shape], s)
	}
	var some []statement
	for _, of := range byShape {
		slices.SortFunc(of, func(a, b statement) int { return cmp.Compare(len(a.Text), len(b.Text)) })
		if len(of) > shapeTexts {
			of = slices.Concat(of[:shapeTexts/2], of[len(of)-shapeTexts/2:])
		}
		some = append(some, of...)
	}
	listed := make([]string, len(list))
	for i, p := range list {
		listed[i] = p.text
	}
	written, err := json.Marshal(map[string]any{"tables": d.shardedTables(t), "statements": some, "refused": refused,
		"listed": listed})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, written, 0o600))
}

type shardedColumn struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Collation string `json:"collation,omitempty"`
}

type shardedTable struct {
	Key     string          `json:"key,omitempty"`    // the shard's key
	Copied  bool            `json:"copied,omitempty"` // to every shard
	Columns []shardedColumn `json:"columns"`
}

// shardedTables returns the tables of the data database and where their rows are.
func (d *deployment) shardedTables(t *testing.T) map[string]shardedTable {
	t.Helper()
	rows, err := d.store.Data.Writer(t.Context()).Raw(
		"SELECT c.table_name, c.column_name, c.data_type, COALESCE(c.collation_name, '')" +
			" FROM information_schema.columns c JOIN information_schema.tables t ON t.table_schema = c.table_schema AND " +
			"t.table_name = c.table_name" +
			" WHERE c.table_schema = DATABASE() AND t.table_type = 'BASE TABLE'" +
			" ORDER BY c.table_name, c.ordinal_position").Rows()
	require.NoError(t, err)
	defer rows.Close()
	router, places := newRouter(), sqldb.Places(engine.RawTables())
	tables := map[string]shardedTable{}
	for rows.Next() {
		var name string
		var c shardedColumn
		require.NoError(t, rows.Scan(&name, &c.Name, &c.Type, &c.Collation))
		tables[name] = shardedTable{Key: router.shardKey(name), Copied: places[name] == sqldb.EveryShard,
			Columns: append(tables[name].Columns, c)}
	}
	require.NoError(t, rows.Err())
	return tables
}

package engine

import (
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
)

func TestShards_EachTableHasAPlaceAndItsKeyInEachUniqueKey(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), RawTables()))
	require.NoError(t, s.EnsureLogTable(t.Context(), day.Day("2026-11-21")))
	places := sqldb.Places(RawTables())
	places["task_log_20261121"], places["task_failure_20261121"] = sqldb.ByRun, sqldb.ByRun

	tables := tablesOf(t, s)
	for table := range places {
		require.Contains(t, tables, table, "it has a place, and is not there")
	}
	for _, table := range tables {
		require.Contains(t, places, table)
		key := places[table].ShardKey(table)
		if key == "" {
			continue
		}
		unique := uniqueKeysOf(t, s, table)
		require.NotEmpty(t, unique, table)
		for name, columns := range unique {
			require.Contains(t, columns, key, "unique key %s of %s", name, table)
		}
	}
}

// A server without a proxy accepts a comment in place of a proxy's clause.
func TestShards_TablesAreCreatedWithTheProxysClause(t *testing.T) {
	t.Parallel()
	cfg := storetest.Config(t)
	if cfg.Data.Driver == sqldb.SQLite {
		t.Skip("SQLite is not sharded")
	}
	cfg.Data.ShardBy, cfg.Data.CopyBy = "COMMENT='by {key}'", "COMMENT='everywhere'"
	require.NoError(t, cfg.Validate())
	s, err := store.Open(t.Context(), cfg, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.EnsureRawTables(t.Context(), RawTables()))
	require.NoError(t, s.EnsureLogTable(t.Context(), day.Day("2026-11-21")))
	places := sqldb.Places(RawTables())
	places["task_log_20261121"], places["task_failure_20261121"] = sqldb.ByRun, sqldb.ByRun
	for table, place := range places {
		want := ""
		if place == sqldb.EveryShard {
			want = "everywhere"
		} else if key := place.ShardKey(table); key != "" {
			want = "by " + key
		}
		var comment string
		require.NoError(t,
			s.Data.Writer(t.Context()).Raw(
				"SELECT table_comment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?",
				table).Row().Scan(&comment))
		require.Equal(t, want, comment, table)
	}
}

// The page has the same place for each table as the code.
func TestShards_ThePageNamesEachTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/sharding.md")
	require.NoError(t, err)
	lines := strings.Join(strings.Fields(string(page)), " ")
	byPlace := map[sqldb.Place][]string{sqldb.ByRun: {"task_log_YYYYMMDD", "task_failure_YYYYMMDD"}}
	for table, place := range sqldb.Places(nil) {
		byPlace[place] = append(byPlace[place], table)
	}
	for place, tables := range byPlace {
		slices.Sort(tables)
		require.Contains(t, lines, "- "+string(place)+": `"+strings.Join(tables, "`, `")+"`")
	}
}

func tablesOf(t *testing.T, s *store.Store) []string {
	t.Helper()
	query := "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE " +
		"TABLE'"
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"
	}
	var tables []string
	require.NoError(t, s.Data.Writer(t.Context()).Raw(query).Scan(&tables).Error)
	return tables
}

// uniqueKeysOf returns the columns of a table's unique keys, by name.
func uniqueKeysOf(t *testing.T, s *store.Store, table string) map[string][]string {
	t.Helper()
	query := "SELECT index_name, column_name FROM information_schema.statistics WHERE table_schema = DATABASE() AND " +
		"table_name = ? AND non_unique = 0"
	if s.Data.Dialect() == sqldb.SQLiteDialect {
		query = "SELECT l.name, i.name FROM pragma_index_list(?) l JOIN pragma_index_info(l.name) i WHERE l.\"unique\" = 1"
	}
	read := func(query string) map[string][]string {
		rows, err := s.Data.Writer(t.Context()).Raw(query, table).Rows()
		require.NoError(t, err)
		defer rows.Close()
		keys := map[string][]string{}
		for rows.Next() {
			var name, column string
			require.NoError(t, rows.Scan(&name, &column))
			keys[name] = append(keys[name], column)
		}
		require.NoError(t, rows.Err())
		return keys
	}
	keys := read(query)
	if s.Data.Dialect() == sqldb.SQLiteDialect && len(keys) == 0 { // A key that is the row's own number has no index.
		keys = read("SELECT 'primary', name FROM pragma_table_info(?) WHERE pk > 0")
	}
	return keys
}

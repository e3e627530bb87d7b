package sqldb_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/rawtable"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/base/store/storetest"
)

func withDSN(dsn string) sqldb.Config {
	cfg := sqldb.DefaultConfig()
	cfg.Data.Writer = secret.NewText(dsn)
	return cfg
}

func TestValidate_RefusesADSNThatChangesWhatIsStored(t *testing.T) {
	t.Parallel()
	const base = "u:p@ss/w?rd@tcp(db:3306)/adsync?"
	for _, variable := range []string{
		"character_set_client=latin1", "character_set_results=utf8", "collation_connection=utf8_bin", "autocommit=0",
		"sql_select_limit=100", "foreign_key_checks=0", "sql_safe_updates=1",
		"timestamp=1", "sql_auto_is_null=1", "sql_log_bin=0", "group_concat_max_len=4", "nobody_knows=1",
		"max_statement_time=5%2Csql_mode%3D''", "max_statement_time=5,autocommit%3D0",
		"optimizer_switch='a'%2Cautocommit%3D0",
	} {
		err := withDSN(base + variable).Validate()
		require.ErrorContains(t, err, "data.writer: ", variable)
		name, _, _ := strings.Cut(variable, "=")
		require.ErrorContains(t, err, `"`+name+`" is refused`, variable)
		require.NotContains(t, err.Error(), "p@ss", "no password in an error")
	}
	for _, parameter := range []string{
		"charset=utf8", "charset=utf8mb4,utf8&collation=utf8_general_ci&parseTime=False&loc=Local", "multiStatements=true",
		"clientFoundRows=true", "interpolateParams=false",
		"sql_mode=''", "time_zone=SYSTEM", "tls=skip-verify&timeout=3s&readTimeout=5s",
		"max_statement_time=5&optimizer_switch='index_merge%3Doff'", "compress=true",
		"maxAllowedPacket=1024", "allowAllFiles=true", "columnsWithAlias=true", "checkConnLiveness=false",
		"transaction_isolation='SERIALIZABLE'",
	} {
		require.NoError(t, withDSN(base+parameter).Validate(), parameter)
	}
	require.ErrorContains(t, withDSN("hunter2").Validate(),
		"data.writer: want a DSN such as user:password@tcp(host:3306)/name")
}

// DSNs as in old documents, and worse ones: what is stored and read is the same.
func TestConnection_IsOursWhateverTheDSN(t *testing.T) {
	t.Parallel()
	cfg := storetest.Config(t)
	if cfg.Data.Driver == sqldb.MySQL {
		dsn := cfg.Data.Writer.Reveal() +
			"?charset=utf8&collation=utf8_general_ci&parseTime=False&loc=Asia%2FShanghai&clientFoundRows=true" +
			"&columnsWithAlias=true&multiStatements=true" +
			"&interpolateParams=false&sql_mode=''&time_zone='%2B08:00'&maxAllowedPacket=1024"
		cfg.Data.Writer, cfg.Config.Writer = secret.NewText(dsn), secret.NewText(cfg.Config.Writer.Reveal()+"?charset=latin1")
	}
	s := storetest.Open(t, cfg)
	require.NoError(t, s.MigrateUp(t.Context()))
	const text = "a 😀 广告 and é"
	for _, db := range []*sqldb.DB{s.Config, s.Data} {
		w := db.Writer(t.Context())
		table, length := "CREATE TABLE emoji (id INTEGER PRIMARY KEY, name TEXT)", "LENGTH(name)"
		if cfg.Data.Driver == sqldb.MySQL {
			table, length = "CREATE TABLE emoji (id INTEGER PRIMARY KEY, name VARCHAR(64) CHARACTER SET utf8mb4)",
				"CHAR_LENGTH(name)"
		}
		require.NoError(t, w.Exec(table).Error)
		require.NoError(t, w.Exec("INSERT INTO emoji (id, name) VALUES (1, ?)", text).Error)
		var got string
		var characters int
		require.NoError(t, w.Raw("SELECT name, "+length+" FROM emoji").Row().Scan(&got, &characters))
		require.Equal(t, text, got)
		require.Len(t, []rune(text), characters)
		res := w.Exec("UPDATE emoji SET name = ? WHERE id = 1", text)
		require.NoError(t, res.Error)
		if cfg.Data.Driver == sqldb.MySQL {
			require.Zero(t, res.RowsAffected, "rows that match without a change do not count")
			var mode, zone string
			require.NoError(t, w.Raw("SELECT @@sql_mode, @@time_zone").Row().Scan(&mode, &zone))
			require.Contains(t, mode, "STRICT_TRANS_TABLES")
			require.Equal(t, "+00:00", zone)
			var at time.Time
			require.NoError(t, w.Raw("SELECT CAST('2026-11-21 10:00:00' AS DATETIME)").Row().Scan(&at))
			require.Equal(t, time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), at)
		}
	}
}

// This is a database that was created with another character set.
func TestTables_AllHaveTheirOwnCharacterSet(t *testing.T) {
	t.Parallel()
	cfg := storetest.Config(t)
	if cfg.Data.Driver == sqldb.SQLite {
		t.Skip("SQLite has one character set: needs " + storetest.ServerEnv)
	}
	s := storetest.Open(t, cfg)
	for _, db := range []*sqldb.DB{s.Config, s.Data} {
		require.NoError(t, db.Writer(t.Context()).Exec("ALTER DATABASE CHARACTER SET latin1 COLLATE latin1_swedish_ci").Error)
	}
	s = storetest.Open(t, cfg)
	require.NoError(t, s.MigrateUp(t.Context()))
	require.NoError(t, s.EnsureLogTable(t.Context(), "2026-11-21"))
	require.NoError(t, s.EnsureRawTables(t.Context(),
		[]rawtable.Table{largeTable, {Name: "fake_words", Shape: rawtable.Objects,
			Columns: []rawtable.Column{{Name: "word", Kind: rawtable.Text}}}}))
	for _, db := range []*sqldb.DB{s.Config, s.Data} {
		var tables, columns []string
		require.NoError(t,
			db.Writer(t.Context()).Raw(
				"SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_collation <> "+
					"'utf8mb4_bin'").Scan(&tables).Error)
		require.Empty(t, tables)
		require.NoError(t,
			db.Writer(t.Context()).Raw(
				"SELECT CONCAT(table_name, '.', column_name, ' ', character_set_name) FROM information_schema.columns c WHERE "+
					"table_schema = DATABASE()"+
					" AND EXISTS (SELECT 1 FROM information_schema.tables t WHERE t.table_schema = c.table_schema AND t.table_name = "+
					"c.table_name AND t.table_type = 'BASE TABLE')"+
					" AND character_set_name IS NOT NULL AND CONCAT(character_set_name, collation_name) NOT IN "+
					"('utf8mb4utf8mb4_bin', "+
					"'asciiascii_bin')").Scan(&columns).Error)
		require.Empty(t, columns)
	}
}

// SQLite refuses what MySQL's columns refuse, so that tests on SQLite alone find it.
func TestTexts_ThatExceedTheirColumnAreRefused(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	require.NoError(t, s.EnsureLogTable(t.Context(), "2026-11-21"))
	require.NoError(t, s.EnsureRawTables(t.Context(),
		[]rawtable.Table{{Name: "fake_words", Shape: rawtable.Objects,
			Columns: []rawtable.Column{{Name: "word", Kind: rawtable.Text}}}}))
	long := func(n int) string { return strings.Repeat("广", n) }
	raw := "INSERT INTO fake_words (account_id, object_id, word, row_json, last_seen_at, version) VALUES (1, ?, ?, ?, " +
		"'2026-11-21 00:00:00', 1)"
	name := "INSERT INTO object_name (account_id, level, object_id, since, name) VALUES (1, 'adgroup', '1', '2026-11-21 " +
		"00:00:00', ?)"
	w := s.Data.Writer(t.Context())
	for what, insert := range map[string]func() error{
		"a text cut inside a character": func() error { return w.Exec(raw, "1", "广\xe5\xb9", "{}").Error },
		"JSON cut inside a character":   func() error { return w.Exec(raw, "1", "w", "{\"x\":\"\xe5\"}").Error },
		"a text of 256 characters":      func() error { return w.Exec(raw, "1", long(256), "{}").Error },
		"an id of 65 characters":        func() error { return w.Exec(raw, strings.Repeat("1", 65), "w", "{}").Error },
		"an id of other letters":        func() error { return w.Exec(raw, "广", "w", "{}").Error },
		"an ascii column's other letters": func() error {
			return w.Exec(
				"INSERT INTO object_name (account_id, level, object_id, since, name) VALUES (1, 'adgroup', '😀', '2026-11-21 " +
					"00:00:00', 'n')").Error
		},
		"a name of 256 characters":      func() error { return w.Exec(name, long(256)).Error },
		"a name cut inside a character": func() error { return w.Exec(name, "\xe5").Error },
		"an error of 1025 characters": func() error {
			return w.Exec(
				"INSERT INTO task_log_20261121 (run_id, account_id, part, state, delivery, attempt, created_at, error_text) "+
					"VALUES (1, 1, 'd', 'waiting', 1, 0, '2026-11-21 00:00:00', ?)", long(1025)).Error
		},
		"a note that is made too long later": func() error { return w.Exec("UPDATE leader SET holder = ?", long(65)).Error },
		"an upsert's row with a text too long": func() error {
			return s.Data.Upsert(w, sqldb.Table{Name: "object_name", Key: []string{"account_id", "level", "object_id", "since"},
				Columns: []string{"name"}}, [][]any{{1, "adgroup", "1", "2026-11-21 00:00:00", long(256)}})
		},
	} {
		require.Error(t, insert(), what)
	}
	require.NoError(t, w.Exec(raw, "1", long(255), "{}").Error)
	require.NoError(t, w.Exec(name, long(255)).Error, "characters count, not bytes")
	require.NoError(t, w.Exec("UPDATE leader SET holder = ?", long(64)).Error)
}

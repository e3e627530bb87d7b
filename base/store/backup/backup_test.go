package backup_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/sqldb"
	"adsync/base/store"
	"adsync/base/store/storetest"
	"adsync/base/task"
)

const (
	oldDay  day.Day = "2026-11-20"
	fromDay day.Day = "2026-11-27"
	lastDay day.Day = "2026-11-28"
)

var at = time.Date(2026, 11, 28, 2, 0, 0, 0, time.UTC)

// run returns the nth run of a day.
func run(d day.Day, n int64) int64 { return task.FirstRunID(d) + n }

// leftOut are the tables of the data database that are in no backup.
var leftOut = []string{
	// Figures, and what is known of them: the platforms and the partner have them.
	"account_balance", "binding_applied", "config_change", "coverage", "creative_asset", "file_pull", "fund_daily",
	"hole", "object_name", "partner_cursor", "partner_daily", "partner_unusable", "reconciliation", "report_daily",
	"report_hourly", "report_tombstone", "summary_daily", "summary_fence", "summary_hourly", "summary_rebound",
	"unusable_value", "wide_daily", "wide_day", "pruned", "copy_cursor",
	// The state of processes and servers.
	"assignment", "destination_slot", "destination_state", "leader", "one_row", "redis_reached", "redis_server",
	"floor", "floor_consumer", "floor_state", "serial_hold",
	// Rows of outside workers whose pulls have not ended.
	"outside_pull", "outside_part",
}

// allOf are the tables of the ledger of which a backup has all rows.
var allOf = []string{"task_schedule", "task_good", "subtask_dead", "stop_order", "outcome_seq", "outcome_notice",
	"publication", "publication_need"}

// someOf are the tables of the ledger of which a backup has the rows of some runs, with the column that names a run.
var someOf = map[string]string{"tick": "run_id", "tick_answer": "run_id", "manual_order": "run_id", "run": "id",
	"subtask_due": "run_id"}

func TestBackup_HasOrLeavesOutEachTable(t *testing.T) {
	t.Parallel()
	tables, err := sqldb.TablesOf("data")
	require.NoError(t, err)
	known := slices.Concat(leftOut, allOf)
	for name := range someOf {
		known = append(known, name)
	}
	require.ElementsMatch(t, known, tables,
		"decide whether a backup needs the rows of a new table: ledgerTables and docs/backup.md, or leftOut")
}

func TestRestore_WritesWhatTheBackupHas(t *testing.T) {
	t.Parallel()
	from := storetest.New(t)
	fill(t, from)
	to := storetest.New(t)
	restoreInto(t, from, to)
}

func TestRestore_BetweenKindsOfDatabases(t *testing.T) {
	t.Parallel()
	if os.Getenv(storetest.ServerEnv) == "" {
		t.Skip("there is one kind of database without " + storetest.ServerEnv)
	}
	from := storetest.NewSQLite(t)
	fill(t, from)
	between := storetest.New(t)
	restoreInto(t, from, between)
	restoreInto(t, between, storetest.NewSQLite(t))
}

// restoreInto restores a backup of one store into another, and compares them.
func restoreInto(t *testing.T, from, to *store.Store) {
	t.Helper()
	file := written(t, from)
	done, err := to.Restore(t.Context(), bytes.NewReader(file), false)
	require.NoError(t, err)
	require.Equal(t, fromDay, done.Head.LedgerFrom)
	require.Equal(t, at, done.Head.At)
	require.EqualValues(t, strings.Count(plain(t, file), "\n["), done.Rows)

	tables, err := sqldb.TablesOf("config")
	require.NoError(t, err)
	require.Contains(t, tables, "media_token")
	for _, name := range tables {
		require.NotEmpty(t, rows(t, from.Config, name), name)
		require.Equal(t, rows(t, from.Config, name), rows(t, to.Config, name), name)
	}
	for _, name := range append(slices.Clone(allOf), "task_log_20261127", "task_log_20261128", "task_failure_20261127",
		"task_failure_20261128") {
		require.NotEmpty(t, rows(t, from.Data, name), name)
		require.Equal(t, rows(t, from.Data, name), rows(t, to.Data, name), name)
	}
	days, err := to.LogDays(t.Context())
	require.NoError(t, err)
	require.Equal(t, []day.Day{fromDay, lastDay}, days)
	for table, want := range map[string][]int64{
		"run": {run(oldDay, 3), run(oldDay, 4), run(fromDay, 0), run(lastDay, 1)},
		// The run of task 8's newest tick is open, and its log is too old: its work is done again.
		"tick":         {run(oldDay, 4), run(oldDay, 5), run(fromDay, 0), run(lastDay, 1)},
		"tick_answer":  {run(fromDay, 0), run(lastDay, 1)},
		"manual_order": {run(fromDay, 0), run(lastDay, 1)},
		"subtask_due":  {run(fromDay, 0), run(lastDay, 1)},
	} {
		var got []int64
		column := someOf[table]
		require.NoError(t, to.Data.Writer(t.Context()).Raw("SELECT "+column+" FROM "+table+" ORDER BY "+column).
			Scan(&got).Error)
		require.Equal(t, want, got, table)
		kept := fmt.Sprintf("(SELECT * FROM %s WHERE %s IN (%s)) k", table, column, sqldb.Numbers(want))
		require.Equal(t, rows(t, from.Data, kept), rows(t, to.Data, table), table)
	}
}

// fill writes rows into each table that a backup has: runs of an old day, of the first day, and of the last.
func fill(t *testing.T, s *store.Store) {
	t.Helper()
	tables, err := sqldb.TablesOf("config")
	require.NoError(t, err)
	for _, name := range tables {
		for i := range 3 {
			add(t, s.Config, name, i, nil)
		}
	}
	add(t, s.Config, "audit_log", 7, map[string]any{"actor": "销售 <&>\u2028\\", "before_value": "a\n\"b\"\t\x01",
		"after_value": nil})
	for _, name := range allOf {
		add(t, s.Data, name, 1, nil)
	}
	state := func(state string) map[string]any { return map[string]any{"state": state} }
	for _, d := range []day.Day{oldDay, fromDay, lastDay} {
		require.NoError(t, s.EnsureLogTable(t.Context(), d))
	}
	for i, d := range []day.Day{oldDay, oldDay, oldDay, oldDay, oldDay, oldDay, fromDay, lastDay} {
		id := run(d, []int64{0, 1, 2, 3, 4, 5, 0, 1}[i])
		// Of the old runs the first two are dropped, 3 has dead subtasks, and 4 and 5 are those of the newest ticks.
		of := state([]string{"ended", "running", "ended", "ended", "ended", "fanning_out", "running", "ended"}[i])
		of["id"] = id
		add(t, s.Data, "run", i, of)
		taskID := []int64{7, 7, 7, 7, 9, 8, 7, 7}[i]
		add(t, s.Data, "tick", i, map[string]any{"run_id": id, "task_id": taskID,
			"planned_at": sqldb.At(task.RunTime(id).Add(time.Duration(i) * time.Second))})
		for _, name := range []string{"tick_answer", "manual_order", "subtask_due"} {
			add(t, s.Data, name, i, map[string]any{"run_id": id})
		}
		digits := strings.ReplaceAll(string(d), "-", "")
		add(t, s.Data, "task_log_"+digits, i, map[string]any{"run_id": id})
		add(t, s.Data, "task_failure_"+digits, i, map[string]any{"run_id": id})
	}
	add(t, s.Data, "subtask_dead", 3, map[string]any{"run_id": run(oldDay, 3)})
}

// add writes a row: the values of some columns, and others by i.
func add(t *testing.T, db *sqldb.DB, table string, i int, set map[string]any) {
	t.Helper()
	found, err := db.Writer(t.Context()).Raw("SELECT * FROM " + table + " WHERE 1 = 0").Rows()
	require.NoError(t, err)
	types, err := found.ColumnTypes()
	require.NoError(t, err)
	require.NoError(t, found.Err())
	require.NoError(t, found.Close())
	var names []string
	var row []any
	for c, column := range types {
		value, given := set[column.Name()]
		if !given {
			value = some(column.Name(), column.DatabaseTypeName(), c, i)
		}
		names, row = append(names, "`"+column.Name()+"`"), append(row, value)
	}
	require.NoError(t, db.Writer(t.Context()).Exec("INSERT INTO "+table+" ("+strings.Join(names, ", ")+") VALUES "+
		sqldb.Tuples(1, len(row)), row...).Error, table)
}

// some returns a value of a type. SQLite declares some moments as texts.
func some(name, declared string, column, i int) any {
	switch declared = strings.TrimPrefix(declared, "UNSIGNED "); {
	case strings.Contains(declared, "INT"):
		return 50 + column + i
	case declared == "DOUBLE", declared == "REAL":
		return 0.95
	case declared == "DATETIME", strings.HasSuffix(name, "_at"):
		return fmt.Sprintf("2026-11-2%d 01:02:03.%03d", i, column)
	case declared == "DATE":
		return fmt.Sprintf("2026-11-2%d", i)
	default:
		return fmt.Sprintf("%c%c%c", 'a'+i, 'a'+column%26, 'a'+column/26)
	}
}

// rows returns the rows of a table as texts. Kinds of databases differ in the order of columns.
func rows(t *testing.T, db *sqldb.DB, table string) (all []string) {
	t.Helper()
	found, err := db.Writer(t.Context()).Raw("SELECT * FROM " + table).Rows()
	require.NoError(t, err)
	defer func() { require.NoError(t, found.Close()) }()
	columns, err := found.Columns()
	require.NoError(t, err)
	for found.Next() {
		row, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		require.NoError(t, found.Scan(into...))
		text := make([]string, len(row))
		for i, value := range row {
			switch v := value.(type) {
			case []byte:
				value = string(v)
			case time.Time:
				value = v.UTC().Format(sqldb.TimeLayout)
			}
			text[i] = fmt.Sprintf("%s=%#v", columns[i], value)
		}
		slices.Sort(text)
		all = append(all, strings.Join(text, " "))
	}
	require.NoError(t, found.Err())
	slices.Sort(all)
	return all
}

// written returns a backup of a store.
func written(t *testing.T, s *store.Store) []byte {
	t.Helper()
	var file bytes.Buffer
	n, err := s.WriteBackup(t.Context(), &file, at, fromDay)
	require.NoError(t, err)
	require.EqualValues(t, strings.Count(plain(t, file.Bytes()), "\n["), n)
	return file.Bytes()
}

// plain returns the lines of a backup.
func plain(t *testing.T, file []byte) string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(file))
	require.NoError(t, err)
	text, err := io.ReadAll(zip)
	require.NoError(t, err)
	return string(text)
}

// packed returns the file of lines.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var file bytes.Buffer
	zip := gzip.NewWriter(&file)
	_, err := zip.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	return file.Bytes()
}

// altered returns a backup with another text instead of one that it has, and the sum of what is there then.
func altered(t *testing.T, file []byte, old, with string) []byte {
	t.Helper()
	text := plain(t, file)
	require.Contains(t, text, old)
	text = strings.Replace(text, old, with, 1)
	end := strings.LastIndex(text, `{"tail"`)
	sum := sha256.Sum256([]byte(text[:end]))
	var tail struct {
		Tail struct {
			Rows   map[string]int64 `json:"rows"`
			SHA256 string           `json:"sha256"`
		} `json:"tail"`
	}
	require.NoError(t, json.Unmarshal([]byte(text[end:]), &tail))
	tail.Tail.SHA256 = hex.EncodeToString(sum[:])
	last, err := json.Marshal(tail)
	require.NoError(t, err)
	return packed(t, text[:end]+string(last)+"\n")
}

func TestRestore_RefusesADamagedFileBeforeItWrites(t *testing.T) {
	t.Parallel()
	from, to := storetest.New(t), storetest.New(t)
	fill(t, from)
	file := written(t, from)
	before := rows(t, to.Config, "lane")
	text := plain(t, file)
	for name, damaged := range map[string][]byte{
		"cut in the middle": file[:len(file)/2],
		"cut at the end":    file[:len(file)-1],
		"another sum of gzip": append(slices.Clone(file[:len(file)-5]), file[len(file)-5]+1, file[len(file)-4],
			file[len(file)-3], file[len(file)-2], file[len(file)-1]),
		"another value":         packed(t, strings.Replace(text, "0.95", "0.96", 1)),
		"a row less":            packed(t, strings.Replace(text, "\n[50,", "\n", 1)),
		"without its tail":      packed(t, text[:strings.LastIndex(text, `{"tail"`)]),
		"more after it":         packed(t, text+"\n"),
		"a count that is wrong": altered(t, file, `"config.lane":`, `"config.lane":1`),
	} {
		_, err := to.Restore(t.Context(), bytes.NewReader(damaged), false)
		require.ErrorContains(t, err, "damaged or incomplete", name)
	}
	for name, other := range map[string][]byte{"empty": nil, "short": []byte("cut"), "no gzip": []byte("name,cost,day\n"),
		"no head": packed(t, "[1]\n")} {
		_, err := to.Restore(t.Context(), bytes.NewReader(other), false)
		require.ErrorContains(t, err, "no backup", name)
	}
	require.Equal(t, before, rows(t, to.Config, "lane"))
	require.Empty(t, rows(t, to.Data, "run"))
}

func TestRestore_RefusesAnotherVersion(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	file := written(t, s)
	versions, err := s.Versions(t.Context())
	require.NoError(t, err)
	now := fmt.Sprintf(`"config":%d`, versions["config"])
	_, err = s.Restore(t.Context(), bytes.NewReader(altered(t, file, now, `"config":12`)), false)
	require.ErrorContains(t, err, fmt.Sprintf("version 12 of the config database, and the tables are at %d",
		versions["config"]))
	require.ErrorContains(t, err, "then run `adsync migrate up`")
	_, err = s.Restore(t.Context(), bytes.NewReader(altered(t, file, `"format":1`, `"format":2`)), false)
	require.ErrorContains(t, err, "its format is 2")
}

func TestRestore_RefusesDatabasesInUse(t *testing.T) {
	t.Parallel()
	from := storetest.New(t)
	fill(t, from)
	file := written(t, from)
	for _, table := range []string{"media_account", "audit_log"} {
		to := storetest.New(t)
		add(t, to.Config, table, 1, nil)
		_, err := to.Restore(t.Context(), bytes.NewReader(file), true)
		require.ErrorContains(t, err, "the config database has rows in "+table)
	}
	to := storetest.New(t)
	require.NoError(t, to.EnsureLogTable(t.Context(), oldDay))
	add(t, to.Data, "task_log_20261120", 1, nil)
	_, err := to.Restore(t.Context(), bytes.NewReader(file), false)
	require.ErrorContains(t, err, "the data database has rows in task_log_20261120")

	done, err := to.Restore(t.Context(), bytes.NewReader(file), true)
	require.NoError(t, err, "the data database is left alone")
	require.Equal(t, rows(t, from.Config, "media_account"), rows(t, to.Config, "media_account"))
	require.Empty(t, rows(t, to.Data, "run"))
	require.Positive(t, done.Rows)
}

func TestRestore_LeavesTheConfigDatabaseAfterAnError(t *testing.T) {
	t.Parallel()
	from := storetest.New(t)
	fill(t, from)
	file := written(t, from)
	for name, test := range map[string]struct{ old, with, want string }{
		"a table of no backup": {`"config.rate_limit"`, `"config.adsync_config_version"`, "does not know it"},
		"another column":       {`"tier_by"`, `"tier_from"`, "has the columns"},
	} {
		to := storetest.New(t)
		before := rows(t, to.Config, "lane")
		changed := altered(t, file, test.old, test.with)
		if name == "a table of no backup" {
			changed = altered(t, changed, `"config.rate_limit"`, `"config.adsync_config_version"`) // In the tail.
		}
		_, err := to.Restore(t.Context(), bytes.NewReader(changed), false)
		require.ErrorContains(t, err, test.want, name)
		require.Equal(t, before, rows(t, to.Config, "lane"), name)
		require.Empty(t, rows(t, to.Config, "account_binding"), name)
	}
}

func TestWriteBackup_RefusesTablesOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	require.NoError(t, s.Config.Writer(t.Context()).Exec(
		"INSERT INTO adsync_config_version (version_id, is_applied) VALUES (9999, ?)", true).Error)
	_, err := s.WriteBackup(t.Context(), io.Discard, at, fromDay)
	require.ErrorContains(t, err, "newer than this program's")
}

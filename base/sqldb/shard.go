package sqldb

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"adsync/base/rawtable"
)

// Place is where the rows of a table of the data database are if a proxy spreads it over several servers. The config
// database is small and stays whole.
type Place string

// The places.
const (
	ByRun     Place = "by run"     // each row on the shard of its run's id
	ByAccount Place = "by account" // each row on the shard of its account's id
	// A small table that statements of each shard read with their own rows: all shards have all of it.
	EveryShard Place = "every shard"
	OneServer  Place = "one server" // small, and never joined to sharded tables: all rows on one server
)

// places has the tables of the data database except the days of the log and the platforms' raw tables. The shard key
// is a part of each unique key of its table, is never updated, and is a value in each statement of the hot path.
var places = map[string]Place{
	"run":          ByRun, // by id
	"subtask_due":  ByRun,
	"subtask_dead": ByRun,
	"file_pull":    ByRun,

	"coverage":        ByAccount,
	"hole":            ByAccount,
	"unusable_value":  ByAccount,
	"report_daily":    ByAccount,
	"report_hourly":   ByAccount,
	"binding_applied": ByAccount, // summaries join it to the reports
	"account_balance": ByAccount,
	"fund_daily":      ByAccount,
	"object_name":     ByAccount,
	"config_change":   ByAccount,
	"creative_asset":  ByAccount,
	"reconciliation":  ByAccount,
	"wide_day":        ByAccount,
	"wide_daily":      ByAccount,
	"outside_pull":    ByAccount,
	"outside_part":    ByAccount,

	"leader":     EveryShard, // the leader's writes read its row with a lock, in the same statement
	"stop_order": EveryShard, // outcomes read it when they end a run
	"one_row":    EveryShard, // changes by lists of keys begin with it

	"tick":                OneServer,
	"tick_answer":         OneServer,
	"manual_order":        OneServer,
	"task_schedule":       OneServer,
	"task_good":           OneServer,
	"assignment":          OneServer,
	"outcome_seq":         OneServer, // notices: only of tasks with an application
	"outcome_notice":      OneServer,
	"redis_reached":       OneServer,
	"redis_server":        OneServer,
	"summary_daily":       OneServer, // games, not accounts
	"summary_hourly":      OneServer,
	"summary_fence":       OneServer,
	"summary_rebound":     OneServer,
	"pruned":              OneServer,
	"report_tombstone":    OneServer, // a warehouse reads it by time; rows of summaries have no account
	"serial_hold":         OneServer, // a key is of several accounts and runs
	"floor":               OneServer,
	"floor_state":         OneServer,
	"floor_consumer":      OneServer,
	"copy_cursor":         OneServer, // and the tables of copies, which operators create
	"partner_daily":       OneServer, // its account may become known later, and so cannot be its key
	"partner_cursor":      OneServer,
	"partner_unusable":    OneServer,
	"publication":         OneServer, // report files
	"publication_need":    OneServer,
	"destination_state":   OneServer,
	"destination_slot":    OneServer,
	"adsync_data_version": OneServer,
}

// LogTablePrefix begins the names of the tables with the days of the log.
const LogTablePrefix = "task_log_"

// FailureTablePrefix begins the names of the tables with the failures of subtasks, one for each day of the log.
const FailureTablePrefix = "task_failure_"

// LogTablePattern matches the names of the tables with the days of the log.
var LogTablePattern = regexp.MustCompile(`^task_log_\d{8}$`)

// Places returns the places of the tables of the data database, including those of the platforms, but without the
// days of the log.
func Places(raw []rawtable.Table) map[string]Place {
	all := maps.Clone(places)
	for _, t := range raw {
		all[t.Name] = ByAccount
	}
	return all
}

// placeOf returns the place of a table. Unnamed tables are a platform's.
func placeOf(table string) Place {
	place, known := places[table]
	switch {
	case LogTablePattern.MatchString(table), strings.HasPrefix(table, FailureTablePrefix):
		return ByRun
	case known:
		return place
	default:
		return ByAccount
	}
}

// ShardKey returns the column of a table that determines a row's shard.
func (p Place) ShardKey(table string) string {
	switch {
	case p == ByAccount:
		return "account_id"
	case p == ByRun && table == "run":
		return "id"
	case p == ByRun:
		return "run_id"
	default:
		return ""
	}
}

// shardKeyPlace stands for a table's key in Database.ShardBy.
const shardKeyPlace = "{key}"

// Placing returns the end of CREATE TABLE with which the proxy places a table of the data database.
func Placing(d *DB, table string) string {
	place := placeOf(table)
	switch key := place.ShardKey(table); {
	case d.shardBy == "" || place == OneServer:
		return ""
	case key != "":
		return " " + strings.ReplaceAll(d.shardBy, shardKeyPlace, key)
	default:
		return " " + d.copyBy
	}
}

// placedFiles are migrations that place each table.
type placedFiles struct {
	fs.FS
	db *DB
}

// created matches the creation of a table up to its options. Partitions follow after these.
var created = regexp.MustCompile(
	`CREATE TABLE IF NOT EXISTS (\w+) \([^;]*?\n\) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`)

// Open implements fs.FS.
func (f placedFiles) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || !strings.HasSuffix(name, ".sql") {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	placed := created.ReplaceAllFunc(text, func(table []byte) []byte {
		return append(slices.Clone(table), Placing(f.db, string(created.FindSubmatch(table)[1]))...)
	})
	return placedFile{file, bytes.NewReader(placed)}, nil
}

type placedFile struct {
	fs.File
	text *bytes.Reader
}

// Read implements fs.File.
func (f placedFile) Read(p []byte) (int, error) { return f.text.Read(p) }

// OnShards returns a condition, beginning with AND, that names the shards of the rows that a statement reaches by
// their keys: the values of the shard key. A proxy reads conditions. For values in a list alone it would have to
// query all shards. SQLite has no proxy.
func OnShards(d *DB, table string, key []string, keys [][]any) (condition string, args []any) {
	column := placeOf(table).ShardKey(table)
	i := slices.Index(key, column)
	if i < 0 {
		return "", nil
	}
	return among(d, column, len(keys), func(row int) any { return keys[row][i] })
}

// onShardsOf is OnShards for a statement that joins the table, as t, to a list. Values that are equal in all its rows
// are already in the statement's condition.
func onShardsOf(d *DB, table string, v *Values) (condition string, args []any) {
	column := placeOf(table).ShardKey(table)
	for _, c := range v.listed() {
		if c.name == column {
			return among(d, "t."+column, v.Rows, c.value)
		}
	}
	return "", nil
}

func among(d *DB, column string, n int, value func(row int) any) (condition string, args []any) {
	if d.dialect == SQLiteDialect {
		return "", nil
	}
	known := map[any]bool{}
	for row := range n {
		if v := value(row); row == 0 || args[len(args)-1] != v && !known[v] {
			known[v] = true
			args = append(args, v)
		}
	}
	return " AND " + column + " IN (" + strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ") + ")", args
}

// Package backup writes the config database and the last days of the ledger to a file, and restores them.
//
// The file is gzip of lines of JSON. It has no SQL, so that a backup of SQLite can be restored into MySQL and the other
// way round:
//
//	{"head":{"format":1,"at":…,"program":…,"versions":{"config":36,"data":35},"ledger_from":"2026-11-27"}}
//	{"table":{"name":"data.run","columns":["id",…]}}   before the rows of each table
//	[7529853616300212345,"tulip.report_daily",…]       a row; moments and days are texts in UTC
//	{"tail":{"rows":{"data.run":1,…},"sha256":"…"}}    the sum of all lines before it
//
// Each database is read in one snapshot, the config database last: it has each task and account that the ledger names.
package backup

import (
	"time"

	"adsync/base/day"
	"adsync/base/sqldb"
)

// Backups writes and restores backups.
type Backups struct{ *sqldb.Databases }

// formatVersion is the format of the file that this program writes and reads.
const formatVersion = 1

// Head describes a backup.
type Head struct {
	Format  int       `json:"format"`
	At      time.Time `json:"at"`      // when it was begun
	Program string    `json:"program"` // the release that wrote it
	// Versions are the numbers of the newest migrations, by the name of the database.
	Versions map[string]int64 `json:"versions"`
	// LedgerFrom is the first UTC day of the ledger that the backup has.
	LedgerFrom day.Day `json:"ledger_from"`
}

// Tail ends a backup.
type Tail struct {
	Rows   map[string]int64 `json:"rows"`   // by the name of the table
	SHA256 string           `json:"sha256"` // in hex, of all lines before the tail
}

// total returns the number of all rows.
func (t Tail) total() (n int64) {
	for _, rows := range t.Rows {
		n += rows
	}
	return n
}

// line is a line of the file that is no row: one of its fields is set.
type line struct {
	Head  *Head        `json:"head,omitempty"`
	Table *tableHeader `json:"table,omitempty"`
	Tail  *Tail        `json:"tail,omitempty"`
}

// tableHeader begins the rows of a table.
type tableHeader struct {
	Name    string   `json:"name"` // "<database>.<table>"
	Columns []string `json:"columns"`
}

// The names of the databases.
const (
	configName = "config"
	dataName   = "data"
)

// ledgerTable is a table of the ledger, without the days of the log.
type ledgerTable struct {
	name string
	// where chooses rows; {first} is the lowest id of a run, and {newest} the runs of the newest tick of each task. Empty
	// chooses all.
	where string
}

// ledgerTables is what a backup has of the data database. Report files are among it: without their rows, files of
// earlier periods would be planned and delivered again. The rest are figures, which the platforms have, and the state
// of processes, which they make again.
var ledgerTables = []ledgerTable{
	{"task_schedule", ""},
	{"task_good", ""},
	// From the newest tick of a task on, its later moments count as missed. A tick without a run would get one.
	{"tick", "run_id >= {first} OR run_id IN ({newest})"},
	{"tick_answer", "run_id >= {first}"},
	{"manual_order", "run_id >= {first}"},
	// An open run whose log the backup lacks could never end.
	{"run", "id >= {first} OR state NOT IN ('fanning_out', 'running') AND " +
		"(id IN ({newest}) OR EXISTS (SELECT 1 FROM subtask_dead d WHERE d.run_id = run.id))"},
	{"subtask_due", "run_id >= {first}"},
	{"subtask_dead", ""},
	{"stop_order", ""},
	{"outcome_seq", ""},
	{"outcome_notice", ""},
	{"publication", ""},
	{"publication_need", ""},
}

// seededTables have rows in a new database. A restore replaces them.
var seededTables = map[string]bool{"cron_task": true, "lane": true, "game": true, "audit_row": true}

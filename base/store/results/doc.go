// Package results writes the results of pulls, in the data database: coverage, the platforms' raw tables,
// report_daily and report_hourly, report_tombstone, fund_daily and account_balance, object_name, config_change,
// creative_asset, unusable_value, file_pull, outside_pull, outside_part. It also keeps what checks of them find: hole
// and reconciliation.
//
// Transactions. A pull's write is one transaction. It first locks the scope's coverage rows, in the order of their keys
// (the fence), then reads and changes raw and public rows by key, then coverage, and wide_day. Reports that end at the
// same time share a transaction with the same steps. A pull that is compared with other reports of its account locks
// their coverage too: alone after its own, in a shared transaction together with it.
//
// Promises. A pull that claimed a day earlier changes nothing of it once a later pull has claimed it. Rows that did
// not change are left alone. Rows are deleted only after a whole pull whose answer is believed, and by primary key;
// each deletion of a public row leaves a tombstone. The caller's rule decides what is believed: Judging and JudgeRows
// run under the fence. All writes may be repeated.
package results

import "adsync/base/sqldb"

// Results writes the results of pulls, under the fence of coverage. Make it with Of.
type Results struct {
	*sqldb.Databases
	together *together
}

// Of returns the Results of two databases. Only pulls of the same one share transactions.
func Of(db *sqldb.Databases) Results { return Results{Databases: db, together: &together{}} }

// MissingDays finds the days that coverage lacks.
type MissingDays struct{ *sqldb.Databases }

// Reconciliation compares the levels of reports with each other.
type Reconciliation struct{ *sqldb.Databases }

// Healing finds dead subtasks whose days have become whole since.
type Healing struct{ *sqldb.Databases }

// Backfill fills new columns of public tables from raw rows.
type Backfill struct{ *sqldb.Databases }

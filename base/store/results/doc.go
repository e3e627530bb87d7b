// Package results writes what pulls bring, in the data database: coverage, the platforms' raw tables, report_daily and report_hourly,
// report_tombstone, fund_daily and account_balance, object_name, config_change, creative_asset, unusable_value; and what is looked for in
// them: hole and reconciliation.
//
// Transactions. A pull's write is one transaction. It locks the scope's coverage rows first, in the order of days (the fence), then reads and
// changes raw and public rows by key, then coverage, and marks wide_day last.
//
// Promises. A pull that was claimed earlier changes nothing of a day that a later one has claimed. Rows that did not change are left
// alone. Rows are deleted only after a whole pull whose answer is believed, and by primary key; each deletion of a public row leaves a
// tombstone. What is believed is the caller's rule: Judging and JudgeRows run under the fence. All writes may be repeated.
package results

import "adsync/base/sqldb"

// Results writes what pulls bring, under the fence of coverage.
type Results struct{ *sqldb.Databases }

// MissingDays finds the days that coverage lacks.
type MissingDays struct{ *sqldb.Databases }

// Reconciliation compares the levels of reports with each other.
type Reconciliation struct{ *sqldb.Databases }

// Healing finds dead subtasks whose days have become whole.
type Healing struct{ *sqldb.Databases }

// Backfill fills new columns of public tables from raw rows.
type Backfill struct{ *sqldb.Databases }

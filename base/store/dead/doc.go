// Package dead finds the subtasks that died, counts them by cause, redrives and drops them. Its table is
// subtask_dead, whose rows outlive the run and the day's log.
//
// Transactions. A redrive marks rows, and deletes those that were done, under the leader's row. A drop deletes by
// key, in the order of keys, and only rows that no run redrives.
//
// Promises. A list reads an index and a bounded number of rows for a page: a page may be short and still have a next
// one.
package dead

import "adsync/base/sqldb"

// DeadSubtasks finds, redrives and drops subtasks that died.
type DeadSubtasks struct{ *sqldb.Databases }

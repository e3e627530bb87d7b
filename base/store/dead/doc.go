// Package dead finds the subtasks that died, counts them by cause, has them done anew and drops them. Its table is subtask_dead, whose rows outlive the run
// and the day's log.
//
// Transactions. A redrive takes rows up, and takes them away when they were done, under the leader's row. A drop deletes by key, in the order of keys, and only
// rows that no run takes up.
//
// Promises. A list walks along an index and looks at a bounded number of rows for a page: a page may be short and yet have a next one.
package dead

import "adsync/base/sqldb"

// DeadSubtasks finds, redrives and drops subtasks that died.
type DeadSubtasks struct{ *sqldb.Databases }

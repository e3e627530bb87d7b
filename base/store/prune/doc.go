// Package prune takes away what is older than it is kept: partitions where there are some, else rows by key, a batch a transaction. It notes in the table
// pruned up to which day rows are gone before they go, and rebuilds look there: a summary is never made of days of which a part is gone.
package prune

import "adsync/base/sqldb"

// Pruning deletes what is older than it is kept.
type Pruning struct{ *sqldb.Databases }

// Package prune deletes rows that are past their retention: whole partitions where there are some, otherwise rows by
// key, a batch per transaction. Before rows go it records in the table pruned up to which day they go. Rebuilds read
// that: no summary is made of days that have lost a part of their rows.
package prune

import "adsync/base/sqldb"

// Pruning deletes rows that are past their retention.
type Pruning struct{ *sqldb.Databases }

// Package overview reads, for people and metrics, across the tables of all subjects: lists of accounts, what the first page shows, and the metrics of
// the business. It writes nothing and locks nothing. Glance reads in one snapshot.
package overview

import "adsync/base/sqldb"

// Lists lists accounts for people.
type Lists struct{ *sqldb.Databases }

// Watching reads the metrics of the business.
type Watching struct{ *sqldb.Databases }

// Glances reads what the first page shows.
type Glances struct{ *sqldb.Databases }

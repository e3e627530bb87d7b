// Package overview reads across the tables of all subjects, for people and metrics: lists of accounts, the first
// page, and the metrics of the business. It writes nothing and locks nothing. Glance reads in one snapshot.
package overview

import "adsync/base/sqldb"

// Lists lists accounts for people.
type Lists struct{ *sqldb.Databases }

// Watching reads the metrics of the business.
type Watching struct{ *sqldb.Databases }

// Glances reads the contents of the first page.
type Glances struct{ *sqldb.Databases }

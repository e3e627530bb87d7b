// Package sqldb accesses the two databases: config, which operators edit, and data, which the engine writes; on
// MySQL, MariaDB and SQLite.
//
// It provides connections with bounded waits, the differences of the servers' SQL, the classification of errors for
// retries, statements of many rows that fit into a packet, migrations, the creation of raw tables, and the checks of
// a deployment's databases. It knows tables of adsync only by name, where a proxy spreads them over servers (Places).
//
// The caller chooses the handle: Writer for everything that a decision rests on, Current for the current state,
// Reader for lists and reports, which may be minutes old. Tx runs its function again after a deadlock, a lock wait or
// a cut before the commit. A commit with an unknown outcome is an error, except for IdempotentTx. Rows of one
// statement are locked in the order of their keys: Upsert, UpdateByValues and DeleteByKeys sort, or their comment
// requires the caller to do so.
package sqldb

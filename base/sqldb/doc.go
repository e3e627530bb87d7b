// Package sqldb talks to the two databases: config, which operators edit, and data, which the engine writes; on MySQL, MariaDB
// and SQLite alike.
//
// It has connections and their patience, how the servers' SQL differs, which troubles are tried again, statements of many rows that
// fit into a packet, the running of migrations, the making of raw tables, and what is looked at when a deployment is checked. It knows no
// table of adsync but by name where a proxy spreads them over servers (Places).
//
// The caller's choice of handle is explicit: Writer for everything that a decision rests on, Current for how things stand, Reader for
// lists and reports, which may be minutes old. Tx runs its function again after a deadlock, a lock wait or a cut before the
// commit; a commit whose outcome is unknown is an error, but for IdempotentTx. Rows of one statement are locked in the order of their
// keys: Upsert, UpdateByValues and DeleteByKeys sort, or say that the caller has to.
package sqldb

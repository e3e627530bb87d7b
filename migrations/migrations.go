// Package migrations holds the numbered changes of both databases' tables, for MySQL (and MariaDB) and for SQLite.
package migrations

import "embed"

// FS holds <dialect>/<database>/NNNN_name.sql, as goose reads them.
//
//go:embed mysql sqlite
var FS embed.FS

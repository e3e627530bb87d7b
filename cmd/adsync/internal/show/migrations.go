package show

import (
	"io"

	"adsync/base/sqldb"
)

// Migrations prints the migrations of both databases.
func Migrations(w io.Writer, all []sqldb.MigrationStatus) error { return migrations.print(w, all) }

var migrations = columns[sqldb.MigrationStatus]{
	{"DATABASE", func(m *sqldb.MigrationStatus) any { return m.Database }},
	{"VERSION", func(m *sqldb.MigrationStatus) any { return m.Version }},
	{"NAME", func(m *sqldb.MigrationStatus) any { return m.Name }},
	{"STATE", func(m *sqldb.MigrationStatus) any {
		if m.Applied {
			return "applied"
		}
		return "missing"
	}},
}

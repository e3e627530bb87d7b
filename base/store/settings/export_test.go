package settings

import "slices"

// Watched returns the columns of an owned table whose changes audit_log records, with those that identify its rows.
func Watched(table string) []string {
	t := owned(table)
	all := slices.Clone(t.columns)
	for _, column := range t.key {
		if !slices.Contains(all, column) && column != "id" {
			all = append(all, column)
		}
	}
	return all
}

// OwnedColumns returns the columns of each table of ownedTables that are a row's key or whose changes are edits.
func OwnedColumns() map[string][]string {
	all := map[string][]string{}
	for _, t := range ownedTables {
		for _, column := range slices.Concat(t.key, t.columns) {
			all[t.name] = append(all[t.name], columnName(column))
		}
	}
	return all
}

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

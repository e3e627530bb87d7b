package sqldb

import (
	"context"
	"maps"
	"slices"
)

// TablesOf returns the names of the tables that the migrations of a database, "config" or "data", create, sorted. Log
// tables, raw tables and views are not among them.
func TablesOf(database string) ([]string, error) {
	tables, err := textColumns(database)
	return slices.Sorted(maps.Keys(tables)), err
}

// Versions returns the number of the newest migration of each database, by its name.
func (s *Databases) Versions(ctx context.Context) (map[string]int64, error) {
	all := map[string]int64{}
	for _, name := range databases {
		have, _, err := s.schema(name).versions(ctx)
		if err != nil {
			return nil, err
		}
		all[name] = have
	}
	return all, nil
}

// Package rawtable describes the tables that hold platforms' rows as they came: what a row stands for, its key, and
// the typed columns. A platform declares them, and the store creates and fills them. The package also defines the
// parts of rows other than figures: images and videos (asset.go), and values that cannot be used (fault.go). It
// imports nothing, so that platforms can be written without the store.
package rawtable

// Kind is the type of a raw table's column.
type Kind int

// The kinds.
const (
	Int     Kind = iota // counts, and money in the unit that the column's name contains
	Text                // up to 255 characters
	Instant             // a UTC time
)

// Column is a typed column of a raw table.
type Column struct {
	Name string
	Kind Kind
}

// Shape defines what a raw table has one row per.
type Shape int

// The shapes and their keys.
const (
	Objects       Shape = iota // (account_id, object_id)
	DailyRows                  // (day, account_id, level, object_id)
	HourlyRows                 // (day, account_id, level, object_id, hour)
	AccountRows                // (account_id)
	FundRows                   // (account_id, fund_type)
	DailyFundRows              // (day, account_id, fund_type)
)

// Table holds a platform's rows as they came: typed columns that we use, and the whole row as JSON. The platform's
// package declares the tables and EnsureRawTables creates them, so that a new platform needs no migration.
type Table struct {
	Name    string // "<media>_<what>"
	Shape   Shape
	Columns []Column
}

// Key returns the columns of the primary key.
func (t Table) Key() []string {
	switch t.Shape {
	case DailyRows:
		return []string{"day", "account_id", "level", "object_id"}
	case HourlyRows:
		return []string{"day", "account_id", "level", "object_id", "hour"}
	case AccountRows:
		return []string{"account_id"}
	case FundRows:
		return []string{"account_id", "fund_type"}
	case DailyFundRows:
		return []string{"day", "account_id", "fund_type"}
	default:
		return []string{"account_id", "object_id"}
	}
}

// Values returns the other columns in the order of Upsert: the typed ones, row_json, then those that the engine keeps
// (configuration: last_seen_at, deleted_at; all: version).
func (t Table) Values() []string {
	names := make([]string, 0, len(t.Columns)+4)
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	names = append(names, "row_json")
	if t.Shape == Objects {
		names = append(names, "last_seen_at", "deleted_at")
	}
	return append(names, "version")
}

// Shown selects the objects of a configuration level that are being shown: the raw table's column has the value.
type Shown struct{ Column, Value string }

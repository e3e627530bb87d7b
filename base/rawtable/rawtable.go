// Package rawtable describes the tables that hold platforms' rows as they came: what has a row, by which key, and which columns are typed. A platform declares
// them, and the store makes and fills them. It also has the words for what rows hold apart from figures: images and videos (asset.go), and values that cannot be
// used (fault.go). It imports nothing, so that platforms can be written without the store.
package rawtable

// Kind is the type of a raw table's column.
type Kind int

// The kinds.
const (
	Int     Kind = iota // counts, and money in the unit that the column's name says
	Text                // up to 255 characters
	Instant             // a UTC time
)

// Column is a typed column of a raw table.
type Column struct {
	Name string
	Kind Kind
}

// Shape says what a raw table has a row per.
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

// Table holds a platform's rows as they came: typed columns that we use, and the whole row as JSON. The tables are
// declared by the platform's package and made by EnsureRawTables, so that a new platform needs no migration.
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

// Values returns the other columns in the order in which Upsert wants them: the typed ones, row_json, then those
// that the engine keeps (configuration: last_seen_at, deleted_at; all: version).
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

// Shown are the objects of a configuration level that are being shown: the raw table's column has the value.
type Shown struct{ Column, Value string }

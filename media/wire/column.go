package wire

import (
	"strconv"
	"time"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
)

// Column is a typed column of a list's raw table, and how it is read from a field of a row. An unusable value is NULL.
type Column struct {
	Field string // of the platform's rows; the column has its name, with the unit of money
	kept  rawtable.Column
	read  func(r *Row, field string) any
}

// Of returns the column, read from a field of another name.
func (c Column) Of(field string) Column { c.Field = field; return c }

// Read returns the column's value from a field of a row.
func (c Column) Read(r *Row, field string) any { return c.read(r, field) }

// Columns are the typed columns of a raw table, in its order.
type Columns []Column

// Table returns the columns of the raw table.
func (cs Columns) Table() []rawtable.Column {
	columns := make([]rawtable.Column, len(cs))
	for i, c := range cs {
		columns[i] = c.kept
	}
	return columns
}

// Read returns the values of a row.
func (cs Columns) Read(r *Row) []any {
	values := make([]any, len(cs))
	for i, c := range cs {
		values[i] = c.read(r, c.Field)
	}
	return values
}

func column(field string, kind rawtable.Kind, read func(r *Row, field string) any) Column {
	return Column{field, rawtable.Column{Name: field, Kind: kind}, read}
}

// TextColumn returns the column of a text.
func TextColumn(field string) Column {
	return column(field, rawtable.Text, func(r *Row, field string) any { return Text(r.Text(field)) })
}

// ExactColumn returns the column of a text that must not be changed.
func ExactColumn(field string) Column {
	return column(field, rawtable.Text, func(r *Row, field string) any { return Text(r.Exact(field)) })
}

// IDColumn returns the column of another object's id, or of a code, which is kept as text.
func IDColumn(field string) Column {
	return column(field, rawtable.Text, func(r *Row, field string) any { return Text(string(r.TextID(field))) })
}

// CodeColumn returns the column of a number that stands for something, 0 too. It is kept as text.
func CodeColumn(field string) Column {
	return column(field, rawtable.Text, func(r *Row, field string) any {
		if n := r.Int(field); n.Set {
			return strconv.FormatInt(n.Value, 10)
		}
		return nil
	})
}

// TruthColumn returns the column of a value that is true or false. It is kept as text.
func TruthColumn(field string) Column {
	return column(field, rawtable.Text, func(r *Row, field string) any {
		if value := r.Truth(field); value != nil {
			return strconv.FormatBool(*value)
		}
		return nil
	})
}

// CountColumn returns the column of a count.
func CountColumn(field string) Column {
	return column(field, rawtable.Int, func(r *Row, field string) any { return r.Int(field).Column() })
}

// LengthColumn returns the column of a length in seconds, with decimals. It is kept in milliseconds.
func LengthColumn(field string) Column {
	c := column(field+"_ms", rawtable.Int, func(r *Row, field string) any { return r.Scaled(field, 3) })
	return c.Of(field)
}

// MoneyColumn returns the function that returns the column of an amount in a unit.
func MoneyColumn(u Unit) func(field string) Column {
	return func(field string) Column {
		return Column{field, u.Column(field), func(r *Row, field string) any { return r.Money(field, u) }}
	}
}

// MilliColumn returns the column of a time in Unix milliseconds.
func MilliColumn(field string) Column {
	return column(field, rawtable.Instant, func(r *Row, field string) any { return sqldb.At(r.UnixMilli(field)) })
}

// TimeColumn returns the function that returns the column of a time, which parse reads from a text.
func TimeColumn(parse func(text string) (time.Time, error)) func(field string) Column {
	return func(field string) Column {
		return column(field, rawtable.Instant, func(r *Row, field string) any { return sqldb.At(r.Time(field, parse)) })
	}
}

// TimeIn returns a function that parses times without a zone, which are those of a zone. The layouts differ in length.
func TimeIn(zone *time.Location, layouts ...string) func(text string) (time.Time, error) {
	return func(text string) (time.Time, error) {
		layout := layouts[0]
		for _, other := range layouts[1:] {
			if len(other) == len(text) {
				layout = other
			}
		}
		t, err := time.ParseInLocation(layout, text, zone)
		return t.UTC(), err
	}
}

package wire

import (
	"encoding/json"
	"fmt"
	"slices"

	"adsync/base/metric"
	"adsync/base/rawtable"
)

// Unit is the unit of a platform's figure.
type Unit int

// The units. Money is in the account's currency: a fen is a hundredth of it, a yuan is one unit.
const (
	Count Unit = iota
	Fen
	Yuan
)

// places returns the decimal places by which a value of the unit is shifted to hundredths and to millionths.
func (u Unit) places() (hundredths, millionths int) {
	if u == Yuan {
		return 2, 6
	}
	return 0, 4
}

// String returns the unit's name.
func (u Unit) String() string { return [...]string{"count", "fen", "yuan"}[u] }

// Basis is the day or hour to which a platform counts the results of an ad.
type Basis int

// The bases.
const (
	ByAd         Basis = iota // when the ad was shown, or paid for
	ByEvent                   // when the result happened
	ByActivation              // when the user first started the app
	Undocumented              // the platform does not document it
)

// String returns the basis as text.
func (b Basis) String() string {
	return [...]string{"when the ad was shown", "when it happened", "when the app was first started", "not documented"}[b]
}

// Figure is one figure of a platform's reports: its field on the wire, and its metric.
type Figure struct {
	Field  string
	Metric string
	Unit   Unit
	Basis  Basis
	// Grows is for how many days after the row's own day users' actions still increase the figure; 0 if it is complete
	// with the day. Platforms correct figures later in any case.
	Grows int
	// Inexact means that the platform does not report the figure exactly, so that its rows need not add up to the
	// reported sum.
	Inexact bool
}

// column returns the figure's column in the raw table. Money is kept in fen, which is in the column's name.
func (f Figure) column() string {
	if f.Unit == Count {
		return f.Field
	}
	return f.Field + "_fen"
}

// Figures are the figures of a platform's reports, in the order of the raw table's columns.
type Figures []Figure

// Fields returns the fields' names on the wire.
func (fs Figures) Fields() []string {
	names := make([]string, len(fs))
	for i, f := range fs {
		names[i] = f.Field
	}
	return names
}

// Columns returns the raw table's columns.
func (fs Figures) Columns() []rawtable.Column {
	columns := make([]rawtable.Column, len(fs))
	for i, f := range fs {
		columns[i] = rawtable.Column{Name: f.column(), Kind: rawtable.Int}
	}
	return columns
}

// Read returns the values of the raw columns and the metrics of a row. Missing and unusable figures stay unset.
func (fs Figures) Read(row map[string]json.RawMessage) (raw []any, values metric.Values, bad []Fault) {
	raw = make([]any, len(fs))
	for i, f := range fs {
		value, kept, set, err := f.read(row[f.Field])
		if err != nil {
			bad = append(bad, Fault{Field: f.Field, Kind: FigureFault, Why: err.Error(), Metric: f.Metric})
			continue
		}
		if set {
			raw[i] = kept
			values.Set(metric.Index(f.Metric), value)
		}
	}
	return raw, values, bad
}

// Sums returns the metrics of a platform's own sums to which the rows must add up.
func (fs Figures) Sums(sums map[string]json.RawMessage) (metric.Values, []Fault) {
	exact := slices.DeleteFunc(slices.Clone(fs), func(f Figure) bool { return f.Inexact })
	_, values, bad := exact.Read(sums)
	return values, bad
}

// figureMax is a bound that no figure of a row reaches, in millionths of a currency or as a count: a greater figure
// means a broken answer. A column still holds the sum of a few hundred such figures.
const figureMax = 1e16

func (f Figure) read(data json.RawMessage) (value, kept int64, set bool, err error) {
	var d Decimal
	if err := d.UnmarshalJSON(data); err != nil || !d.IsSet() {
		return 0, 0, false, err
	}
	if value, kept, err = f.scale(d); err == nil && (value > figureMax || value < -figureMax) {
		err = fmt.Errorf("%d is greater than any figure", value)
	}
	return value, kept, err == nil, err
}

func (f Figure) scale(d Decimal) (value, kept int64, err error) {
	if f.Unit == Count {
		value, err = d.Int()
		return value, value, err
	}
	hundredths, millionths := f.Unit.places()
	if kept, err = d.Scaled(hundredths); err != nil {
		return 0, 0, err
	}
	value, err = d.Scaled(millionths)
	return value, kept, err
}

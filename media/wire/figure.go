package wire

import (
	"encoding/json"
	"fmt"
	"slices"

	"adsync/base/metric"
	"adsync/base/rawtable"
)

// Unit says what a platform's figure counts.
type Unit int

// The units. Money is in the account's currency: a fen is a hundredth, a yuan the whole of it.
const (
	Count Unit = iota
	Fen
	Yuan
)

// places is by how many decimal places a value of the unit is moved to become hundredths, and to become millionths.
func (u Unit) places() (hundredths, millionths int) {
	if u == Yuan {
		return 2, 6
	}
	return 0, 4
}

// String is the unit's name.
func (u Unit) String() string { return [...]string{"count", "fen", "yuan"}[u] }

// Basis says to which day or hour a platform counts what came of an ad.
type Basis int

// The bases.
const (
	ByAd         Basis = iota // when the ad was shown, or paid for
	ByEvent                   // when it happened
	ByActivation              // when the user had first started the app
	Untold                    // the platform does not say
)

// String tells the basis in words.
func (b Basis) String() string {
	return [...]string{"when the ad was shown", "when it happened", "when the app was first started", "not told"}[b]
}

// Figure is one figure of a platform's reports: its field on the wire, and the metric that it becomes.
type Figure struct {
	Field  string
	Metric string
	Unit   Unit
	Basis  Basis
	// Grows is for how many days beyond the row's own the figure still grows by what users do; 0 of one that is whole when
	// the day is. Platforms correct figures later all the same.
	Grows int
	// Inexact says that the platform does not tell the figure exactly, so that its rows need not add up to the sum it
	// tells of them.
	Inexact bool
}

// column is the figure's column in the raw table: money carries its unit in the name, and is kept in fen.
func (f Figure) column() string {
	if f.Unit == Count {
		return f.Field
	}
	return f.Field + "_fen"
}

// Figures are the figures of a platform's reports, in the order of the raw table's columns.
type Figures []Figure

// Fields returns the names on the wire.
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

// Read brings a row's figures to the raw columns' values and to metrics. What the row lacks, and what cannot be used,
// stays unset.
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

// Sums reads the metrics of the sums that a platform tells of all rows: those that the rows must add up to.
func (fs Figures) Sums(sums map[string]json.RawMessage) (metric.Values, []Fault) {
	exact := slices.DeleteFunc(slices.Clone(fs), func(f Figure) bool { return f.Inexact })
	_, values, bad := exact.Read(sums)
	return values, bad
}

// figureMax is what no figure of a row reaches, in millionths of a currency or in things counted: what lies beyond is
// a broken answer. A few hundred of them still add up to less than a column holds.
const figureMax = 1e16

func (f Figure) read(data json.RawMessage) (value, kept int64, set bool, err error) {
	var d Decimal
	if err := d.UnmarshalJSON(data); err != nil || !d.IsSet() {
		return 0, 0, false, err
	}
	if value, kept, err = f.scale(d); err == nil && (value > figureMax || value < -figureMax) {
		err = fmt.Errorf("%d is more than any figure", value)
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

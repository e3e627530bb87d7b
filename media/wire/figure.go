package wire

import (
	"encoding/json"
	"slices"

	"adsync/base/metric"
	"adsync/base/rawtable"
)

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
	return [...]string{"when the ad was shown", "when it happened", "at the first start", "not documented"}[b]
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
	// Inexact means that the platform does not report the figure exactly: it is rounded to the columns' units, and its
	// rows need not add up to the reported sum.
	Inexact bool
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
		columns[i] = f.Unit.Column(f.Field)
	}
	return columns
}

// Read returns the values of the raw columns and the metrics of a row. Missing and unusable figures stay unset.
func (fs Figures) Read(row map[string]json.RawMessage) (raw []any, values metric.Values, bad []Fault) {
	raw = make([]any, len(fs))
	for i, f := range fs {
		value, kept, set, fault := f.Unit.read(f.Field, row[f.Field], f.Inexact)
		if raw[i] = kept; set {
			values.Set(metric.Index(f.Metric), value)
		} else if fault != nil {
			fault.Metric = f.Metric
		}
		if fault != nil {
			bad = append(bad, *fault)
		}
	}
	return raw, values, bad
}

// Sums returns the metrics of a platform's own sums to which the rows must add up. They are only compared, and so they
// may be rounded.
func (fs Figures) Sums(sums map[string]json.RawMessage) (metric.Values, []Fault) {
	exact := slices.DeleteFunc(slices.Clone(fs), func(f Figure) bool { return f.Inexact })
	for i := range exact {
		exact[i].Inexact = true
	}
	_, values, bad := exact.Read(sums)
	return values, bad
}

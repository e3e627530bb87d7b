package wire

import (
	"encoding/json"
	"fmt"

	"adsync/base/rawtable"
)

// Unit is the unit of a platform's figure or amount.
type Unit int

// The units. Money is in the account's currency: a yuan is one unit of it, a fen is a hundredth, a li is a thousandth.
const (
	Count Unit = iota
	Fen
	Li
	MilliFen // a thousandth of a fen
	// Yuan is for platforms whose amounts have at most two decimals, Major for those of currencies that may have none
	// (JPY, KRW) or three (KWD).
	Yuan
	Major
)

// figureMax is a bound that no figure of a row reaches, in millionths of a currency or as a count: a greater figure
// means a broken answer. A column still holds the sum of a few hundred such figures.
const figureMax = 1e16

// units holds everything that depends on a unit. A raw column holds a value × 10^kept, in the unit that its name ends
// in. A public column holds a value × 10^public: millionths of the currency, or a count.
var units = [...]struct {
	name, suffix string
	kept, public int
	most         int64 // in the public column's unit
}{
	Count:    {name: "count", most: figureMax},
	Fen:      {name: "fen", suffix: "_fen", public: 4, most: figureMax},
	Li:       {name: "li", suffix: "_li", public: 3, most: figureMax},
	MilliFen: {name: "1/1000 fen", suffix: "_millifen", public: 1, most: figureMax},
	Yuan:     {name: "yuan", suffix: "_fen", kept: 2, public: 6, most: figureMax},
	// Ten times as much, as a dollar is worth more than 10,000 of some currencies.
	Major: {name: "one of the currency", suffix: "_micros", kept: 6, public: 6, most: 10 * figureMax},
}

// String returns the unit's name.
func (u Unit) String() string { return units[u].name }

// Column returns the raw table's column of a field in the unit.
func (u Unit) Column(field string) rawtable.Column {
	return rawtable.Column{Name: field + units[u].suffix, Kind: rawtable.Int}
}

// read returns a field's value for the public column, and for the raw column: nil if it is not set. A value that a
// column does not hold exactly is a fault, unless it may be rounded.
func (u Unit) read(field string, data json.RawMessage, rounded bool) (value int64, kept any, set bool, bad *Fault) {
	var d Decimal
	if err := d.UnmarshalJSON(data); err != nil {
		return 0, nil, false, &Fault{Field: field, Kind: FigureFault, Why: err.Error()}
	}
	if !d.set {
		return 0, nil, false, nil
	}
	value, err := d.in(units[u].public, rounded)
	if err == nil && (value > units[u].most || value < -units[u].most) {
		err = fmt.Errorf("%d is greater than any figure", value)
	}
	if err != nil {
		return 0, nil, false, &Fault{Field: field, Kind: FigureFault, Why: err.Error()}
	}
	raw, err := d.in(units[u].kept, rounded)
	if err != nil {
		return value, nil, true, &Fault{Field: field, Kind: AttributeFault, Why: err.Error()}
	}
	return value, raw, true, nil
}

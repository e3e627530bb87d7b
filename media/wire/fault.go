package wire

import (
	"adsync/base/rawtable"
)

// FaultKind is the effect of an unusable value.
type FaultKind = rawtable.FaultKind

// The kinds, the slightest first.
const (
	// AttributeFault affects only the value: the field is not set, or its text is repaired.
	AttributeFault = rawtable.AttributeFault
	// FutureFault is a time ahead of the platform's clock. It is kept as data and does not move the high-water mark.
	FutureFault = rawtable.FutureFault
	// FigureFault is a figure of a report or an amount of money: the field is not set, and the day is not whole.
	FigureFault = rawtable.FigureFault
	// KeyFault is a key of a row: the row is lost, and the pulled day or list is not whole.
	KeyFault = rawtable.KeyFault
)

// Fault is an unusable value of a platform's row.
type Fault struct {
	Field string // the platform's name, after the names of the objects around it: "delivery_setting.budget"
	Kind  FaultKind
	Why   string // what is wrong with the value
	// Metric is the metric of a report's figure.
	Metric string
}

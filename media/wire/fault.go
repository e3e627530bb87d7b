package wire

import (
	"adsync/base/rawtable"
)

// FaultKind says what a value that cannot be used costs.
type FaultKind = rawtable.FaultKind

// The kinds, the least first.
const (
	// AttributeFault costs the value alone: the field is not set, or its text is repaired.
	AttributeFault = rawtable.AttributeFault
	// FutureFault is a time that lies ahead of the platform's clock. It is kept as data and moves no mark.
	FutureFault = rawtable.FutureFault
	// FigureFault is a figure of a report or an amount of money: the field is not set, and the day is not whole.
	FigureFault = rawtable.FigureFault
	// KeyFault is what a row is known by: the row is lost, and what was asked for is not whole.
	KeyFault = rawtable.KeyFault
)

// Fault is a value of a platform's row that cannot be used.
type Fault struct {
	Field string // the platform's name, after those of the objects around it: "delivery_setting.budget"
	Kind  FaultKind
	Why   string // what is wrong with the value
	// Metric is what the field becomes, of a report's figure.
	Metric string
}

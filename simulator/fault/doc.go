// Package fault disturbs calls. faults.go has the faults that are ordered (latency, statuses, cut connections, wrong
// rows), fields.go those of a field of reports, alter.go the alterations of what is served and choose.go what an
// alteration is about when the order leaves it open.
//
// traps.go decides which calls meet a trap, traps_call.go, traps_value.go and traps_report.go spring them: in the
// place of an answer, in a value of it, and in the rows of a report.
package fault

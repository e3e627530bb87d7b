// Package fault disturbs calls. faults.go has the ordered faults (latency, statuses, cut connections, wrong rows),
// fields.go those of a field of reports, alter.go the alterations of served data, and choose.go completes an order
// that leaves open what to alter.
//
// traps.go decides which calls meet a trap. traps_call.go, traps_value.go and traps_report.go apply the traps: they
// replace an answer, change a value of it, or change the rows of a report.
package fault

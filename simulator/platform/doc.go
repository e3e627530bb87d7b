// Package platform has the interface of a simulated platform (Platform), and what a platform uses to answer: the
// Call, the Simulation, the Writer of JSON, and the grouping and sorting of rows of reports (report.go). traps.go has
// the traps in written values.
//
// A platform is a package next to this one, and a line in platforms.go of package simulator.
package platform

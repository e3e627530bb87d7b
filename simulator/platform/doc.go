// Package platform is what a simulated platform implements (Platform) and what it is given to answer with: the Call,
// the Simulation that it is answered from, the Writer of JSON, and the grouping and sorting of the rows of reports
// (report.go). traps.go has the traps that lie in what is written.
//
// A platform is a package next to this one, and a line in platforms.go of package simulator.
package platform

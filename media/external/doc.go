// Package external has what adsync knows of the rows that outside workers write, and of platforms without Go code.
//
// row.go reads a worker's rows: the metrics and units of report_daily and report_hourly, as docs/outside-workers.md
// describes them. platform.go is a platform without Go code, and table.go has the raw tables of such platforms.
package external

// Package external has what adsync knows of the rows that outside workers write, and of platforms without Go code.
//
// row.go reads a worker's rows: the metrics and units of report_daily and report_hourly, as docs/outside-workers.md
// describes them. table.go has the raw tables of platforms without Go code.
package external

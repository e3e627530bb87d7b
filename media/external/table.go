package external

import "adsync/base/rawtable"

// The raw tables of all platforms without Go code. Their rows are those of the workers, as JSON.
var (
	dailyTable  = rawtable.Table{Name: "external_report_daily", Shape: rawtable.DailyRows}
	hourlyTable = rawtable.Table{Name: "external_report_hourly", Shape: rawtable.HourlyRows}
)

// Tables returns the raw tables of platforms without Go code.
func Tables() []rawtable.Table { return []rawtable.Table{dailyTable, hourlyTable} }

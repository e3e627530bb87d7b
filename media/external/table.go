package external

import "adsync/base/rawtable"

// The reports.
const (
	dailyName  = "report_daily"
	hourlyName = "report_hourly"
)

// The raw tables of all platforms without Go code. The rows of reports are those of the workers, as JSON.
var (
	accountTable = rawtable.Table{Name: "external_account", Shape: rawtable.AccountRows}
	dailyTable   = rawtable.Table{Name: "external_" + dailyName, Shape: rawtable.DailyRows}
	hourlyTable  = rawtable.Table{Name: "external_" + hourlyName, Shape: rawtable.HourlyRows}
)

// Tables returns the raw tables of platforms without Go code.
func Tables() []rawtable.Table { return []rawtable.Table{accountTable, dailyTable, hourlyTable} }

package bilibili

import (
	"context"
	"encoding/json"
	"strconv"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// The custom report (自定义报表). GUIDE names it, its day and its page. Its path, and the names of its parameters, are
// not documented.
const (
	reportEndpoint = "report/v3/custom"
	reportPage     = 100 // the greatest size of a page (GUIDE)
	reportDays     = 1   // how many days a query may span (GUIDE)
	reportLookBack = 365 // how far back a report reaches is not documented
)

// The dimensions: their values are the keys of a row (GUIDE).
const (
	dimensionDay  = "date_time" // "2026-09-01", or with a time of day (READER)
	dimensionHour = "hour"
)

// lateDays is for how many days conversions change. It is not documented.
const lateDays = 7

// figures are requested at every level. READER has the first three, and the unit of the spend. GUIDE names
// activations, registrations and payments: the fields and units of all others are not documented.
var figures = wire.Figures{
	{Field: "charged_cost_milli", Metric: "cost", Unit: wire.MilliFen},
	{Field: "show_count", Metric: "impressions"},
	{Field: "click_count", Metric: "clicks"},
	{Field: "app_download_count", Metric: "downloads", Basis: wire.Undocumented},
	{Field: "app_install_count", Metric: "installs", Basis: wire.Undocumented},
	{Field: "app_activate_count", Metric: "activations", Basis: wire.Undocumented},
	{Field: "register_count", Metric: "registrations", Basis: wire.Undocumented},
	{Field: "conversion_count", Metric: "conversions", Basis: wire.Undocumented, Grows: lateDays},
	{Field: "first_pay_count", Metric: "first_pays", Basis: wire.Undocumented},
	{Field: "pay_count", Metric: "pays", Basis: wire.Undocumented},
	{Field: "pay_amount_milli", Metric: "pay_amount", Unit: wire.MilliFen, Basis: wire.Undocumented},
	{Field: "first_day_pay_amount_milli", Metric: "pay_amount_d1", Unit: wire.MilliFen, Basis: wire.ByActivation},
	{Field: "seven_day_pay_amount_milli", Metric: "pay_amount_d7", Unit: wire.MilliFen, Basis: wire.ByActivation,
		Grows: lateDays},
	{Field: "retention_count", Metric: "next_day_retained", Basis: wire.ByActivation, Grows: 1},
}

var (
	dailyTable = rawtable.Table{Name: Name + "_report_daily", Shape: rawtable.DailyRows, Columns: figures.Columns()}
	hourTable  = rawtable.Table{Name: Name + "_report_hourly", Shape: rawtable.HourlyRows, Columns: figures.Columns()}
)

// report is the custom report at one level.
type report struct {
	object string // the dimension of the object's id; "" at account level
	hourly bool
}

// Reports implements media.Platform.
func (Platform) Reports() (reports []media.Report) {
	for _, hourly := range []bool{false, true} {
		for _, of := range []struct{ level, object string }{
			{"account", ""}, {"campaign", "campaign_id"}, {"adgroup", "unit_id"}, {"creative", "creative_id"},
		} {
			r := report{of.object, hourly}
			described := media.Report{
				Name: "report_daily", Level: of.level, MaxDays: reportDays, LookBack: reportLookBack, Table: dailyTable,
				Keys: r.dimensions(), Figures: figures, Values: values, Page: r.page,
			}
			if hourly {
				described.Name, described.Hourly, described.Table = "report_hourly", true, hourTable
			}
			reports = append(reports, described)
		}
	}
	return reports
}

func (r report) dimensions() []string {
	names := []string{dimensionDay}
	if r.hourly {
		names = append(names, dimensionHour)
	}
	if r.object != "" {
		names = append(names, r.object)
	}
	return names
}

// page fetches a page. That answers have a total is not documented.
func (r report) page(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	asked := q.Fields(figures.Fields())
	body := of(api, map[string]any{
		"start_date": q.From, "end_date": q.To, "dimensions": r.dimensions(), "metrics": asked, "filters": []any{},
	})
	pages := media.Numbered{Endpoint: reportEndpoint, Size: reportPage, SizeName: "size", Rows: "rows", Total: "total",
		OptionalTotal: true}
	out, err := pages.PostPage(ctx, api, page, body, media.EachRow(r.read))
	return out, media.NameField(err, asked, strconv.Itoa(codeParameter))
}

func (r report) read(from *wire.Row) media.Row {
	keys := from
	if _, grouped := from.Fields()["dimensions"]; grouped {
		keys = from.In("dimensions")
	}
	row := media.Row{Day: readDay(keys)}
	if r.hourly {
		row.Hour = keys.KeyInt(dimensionHour, 0, 23)
	}
	if r.object != "" {
		row.Object = keys.KeyNumber(r.object)
	}
	fields, ok := figuresOf(from.Fields())
	if !ok {
		from.Add([]wire.Fault{{Field: "metrics", Kind: wire.FigureFault, Why: "is not an object of figures"}})
	}
	var bad []wire.Fault
	row.Raw, row.Metrics, bad = figures.Read(fields)
	from.Add(bad)
	return row
}

// readDay reads a row's day, which may have a time of day.
func readDay(keys *wire.Row) day.Day {
	text := keys.KeyText(dimensionDay)
	if len(text) == len("2026-09-01 00:00:00") {
		text = text[:len("2026-09-01")]
	}
	d, err := day.Parse(text)
	if err != nil {
		keys.Lose(dimensionDay, err)
	}
	return d
}

// figuresOf returns the figures of a row's fields: the group metrics, or the row itself if it has no groups (READER
// takes both). ok is false if the group is not an object.
func figuresOf(row map[string]json.RawMessage) (fields map[string]json.RawMessage, ok bool) {
	group := row["metrics"]
	if group == nil && row["dimensions"] == nil {
		return row, true
	}
	fields, err := wire.Fields(group)
	return fields, err == nil && fields != nil
}

// values implements media.Report.Values.
func values(row json.RawMessage) (map[string]json.RawMessage, error) {
	fields, err := wire.Fields(row)
	if err != nil {
		return nil, err
	}
	fields, _ = figuresOf(fields)
	return fields, nil
}

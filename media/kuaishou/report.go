package kuaishou

import (
	"context"
	"slices"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// reportPage is how many rows a page of a report holds at most (document 2606).
const reportPage = 2000

// weekDays is how many days one query of a report may span, and how many days before today it reaches back (document
// 2606).
const weekDays = 7

// figures are those of the reports (documents 2606 to 2610). ad_show counts the impressions of ads, and bclick
// the actions on it, which are the clicks of other platforms. conversion_num counts conversions when they happen, and
// conversion_num_by_impression_7d when the ad was billed. The basis of the others is not documented.
var figures = wire.Figures{
	{Field: "charge", Metric: "cost", Unit: wire.Yuan},
	{Field: "ad_show", Metric: "impressions"},
	{Field: "bclick", Metric: "clicks"},
	{Field: "download_completed", Metric: "downloads", Basis: wire.Undocumented},
	{Field: "download_installed", Metric: "installs", Basis: wire.Undocumented},
	{Field: "activation", Metric: "activations", Basis: wire.Undocumented},
	{Field: "event_register", Metric: "registrations", Basis: wire.Undocumented},
	{Field: "conversion_num_by_impression_7d", Metric: "conversions", Grows: 7},
	{Field: "conversion_num", Metric: "conversions_event", Basis: wire.ByEvent},
	{Field: "event_new_user_pay", Metric: "first_pays", Basis: wire.Undocumented},
	{Field: "event_pay", Metric: "pays", Basis: wire.Undocumented},
	{Field: "event_pay_purchase_amount", Metric: "pay_amount", Unit: wire.Yuan, Basis: wire.Undocumented},
	{Field: "event_pay_purchase_amount_first_day", Metric: "pay_amount_d1", Unit: wire.Yuan, Basis: wire.ByActivation},
	{Field: "event_pay_purchase_amount_three_day_by_conversion", Metric: "pay_amount_d3", Unit: wire.Yuan,
		Basis: wire.ByActivation, Grows: 3},
	{Field: "event_pay_purchase_amount_week_by_conversion", Metric: "pay_amount_d7", Unit: wire.Yuan,
		Basis: wire.ByActivation, Grows: 7},
	{Field: "event_next_day_stay", Metric: "next_day_retained", Basis: wire.ByActivation, Grows: 1},
	{Field: "download_started", Metric: "download_starts", Basis: wire.Undocumented},
	{Field: "key_action", Metric: "key_actions", Basis: wire.Undocumented},
	{Field: "event_pay_first_day", Metric: "pays_d1", Basis: wire.ByActivation},
	{Field: "event_order_paid", Metric: "orders", Basis: wire.Undocumented},
	{Field: "event_order_paid_purchase_amount", Metric: "order_amount", Unit: wire.Yuan, Basis: wire.Undocumented},
	{Field: "form_count", Metric: "forms", Basis: wire.Undocumented},
}

// hourFigures are the figures of hourly reports. Only daily ones have event_next_day_stay (document 2606). What hourly
// ones have in that field is not documented, so it is not read.
var hourFigures = slices.DeleteFunc(slices.Clone(figures), func(f wire.Figure) bool {
	return f.Field == "event_next_day_stay"
})

var (
	dailyTable = rawtable.Table{Name: Name + "_report_daily", Shape: rawtable.DailyRows, Columns: figures.Columns()}
	hourTable  = rawtable.Table{Name: Name + "_report_hourly", Shape: rawtable.HourlyRows, Columns: hourFigures.Columns()}
)

// report is a report of one level.
type report struct {
	endpoint string
	key      string // the field of the object's id; "" at account level
	view     int    // the view_type of files
	hourly   bool
}

var (
	byAccount  = report{endpoint: "v1/report/account_report", view: 1}
	byCampaign = report{endpoint: "v1/report/campaign_report", key: "campaign_id", view: 2}
	byUnit     = report{endpoint: "v1/report/unit_report", key: "unit_id", view: 3}
	byCreative = report{endpoint: "v1/report/creative_report", key: "creative_id", view: 4}
	// Program creatives, which the platform makes from a unit's package.
	byProgram = report{endpoint: "v1/report/program_creative_report", key: "creative_id", view: 10}
)

// The two reports that make up the level of creatives.
const (
	custom  = "custom"
	program = "program"
)

// of returns the report of a variant.
func (r report) of(variant string) report {
	if variant == program {
		r.endpoint, r.view = byProgram.endpoint, byProgram.view
	}
	return r
}

// Reports implements media.Platform. The reports of units and creatives leave out some material of the account, so that
// they need not hold all of its spend.
func (Platform) Reports() []media.Report {
	var reports []media.Report
	for _, hourly := range []bool{false, true} {
		for _, of := range []struct {
			level string
			report
		}{{"account", byAccount}, {"campaign", byCampaign}, {"adgroup", byUnit}, {"creative", byCreative}} {
			r := of.report
			r.hourly = hourly
			described := media.Report{
				Name: "report_daily", Level: of.level, MaxDays: weekDays, LookBack: filesDays, Table: dailyTable, Keys: r.keys(),
				Figures: r.figures(), Values: media.FieldsOf, Overlaps: of.level == "adgroup" || of.level == "creative",
				Page: r.page, Files: r.files(),
			}
			if of.level == "creative" {
				described.Variants = []string{custom, program}
			}
			if hourly {
				described.Name, described.Hourly, described.MaxDays, described.Table = "report_hourly", true, 1, hourTable
			}
			reports = append(reports, described)
		}
	}
	return reports
}

func (r report) figures() wire.Figures {
	if r.hourly {
		return hourFigures
	}
	return figures
}

func (r report) keys() []string {
	keys := []string{"stat_date"}
	if r.hourly {
		keys = append(keys, "stat_hour")
	}
	if r.key != "" {
		keys = append(keys, r.key)
	}
	return keys
}

func (r report) granularity() string {
	if r.hourly {
		return "HOURLY"
	}
	return "DAILY"
}

func (r report) page(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	r = r.of(q.Variant)
	body := of(api, map[string]any{
		"start_date": q.From, "end_date": q.To, "temporal_granularity": r.granularity(),
	})
	return rowsOf(r.endpoint, reportPage).PostPage(ctx, api, page, body,
		media.EachRow(func(row *wire.Row) media.Row { return r.read(row, q) }))
}

// read reads a row. The platform always returns all fields: those that the query leaves out are not set.
func (r report) read(from *wire.Row, q media.ReportQuery) media.Row {
	row := media.Row{Day: from.KeyDay("stat_date")}
	if r.hourly {
		row.Hour = from.KeyInt("stat_hour", 0, 23)
	}
	if r.key != "" {
		row.Object = from.KeyNumber(r.key)
	}
	fields := from.Fields()
	for _, name := range q.Without {
		delete(fields, name)
	}
	var bad []wire.Fault
	row.Raw, row.Metrics, bad = r.figures().Read(fields)
	from.Add(bad)
	return row
}

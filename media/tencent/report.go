package tencent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const (
	dailyEndpoint  = "daily_reports/get"
	hourlyEndpoint = "hourly_reports/get"
)

// The platform returns 2,000 rows a page, and none beyond the 10,000th of a query. A condition takes 100 values.
const (
	reportPage = 2_000
	reportCap  = 10_000
	valuesMax  = 100
)

// figures are requested at every level. Those of payments are counted by the time of the ad's request (time_line).
var figures = wire.Figures{
	{Field: "cost", Metric: "cost", Unit: wire.Fen},
	{Field: "view_count", Metric: "impressions"},
	{Field: "valid_click_count", Metric: "clicks"},
	{Field: "download_count", Metric: "downloads"},
	{Field: "install_count", Metric: "installs"},
	{Field: "activated_count", Metric: "activations"},
	{Field: "reg_pv", Metric: "registrations"},
	{Field: "conversions_count", Metric: "conversions"},
	{Field: "deep_conversions_count", Metric: "deep_conversions"},
	{Field: "first_pay_count", Metric: "first_pays"},
	{Field: "purchase_pv", Metric: "pays"},
	{Field: "purchase_amount", Metric: "pay_amount", Unit: wire.Fen},
	{Field: "first_day_pay_amount", Metric: "pay_amount_d1", Unit: wire.Fen},
	{Field: "payment_amount_activated_d3", Metric: "pay_amount_d3", Unit: wire.Fen, Grows: 2},
	{Field: "payment_amount_activated_d7", Metric: "pay_amount_d7", Unit: wire.Fen, Grows: 6},
	{Field: "retention_count", Metric: "next_day_retained", Grows: 1},
	{Field: "first_day_pay_count", Metric: "pays_d1"},
	{Field: "order_pv", Metric: "orders"},
	{Field: "order_amount", Metric: "order_amount", Unit: wire.Fen},
}

var (
	dailyTable  = rawtable.Table{Name: "tencent_report_daily", Shape: rawtable.DailyRows, Columns: figures.Columns()}
	hourlyTable = rawtable.Table{Name: "tencent_report_hourly", Shape: rawtable.HourlyRows, Columns: figures.Columns()}
)

// report is one report at one level.
type report struct {
	endpoint string
	level    string   // the platform's name of the level
	objects  []string // the id fields of a row's object, the highest first; none at account level
	hourly   bool
}

var (
	byAdgroup  = []string{"adgroup_id"}
	byCreative = []string{"adgroup_id", "dynamic_creative_id"}
)

// Reports implements media.Platform.
func (Platform) Reports() []media.Report {
	// A query may span any number of days, but its rows are capped: with a week, only an account with more than 1,400
	// busy ad groups reaches the cap.
	daily := func(level string, maxDays int, split *media.Split, r report) media.Report {
		return media.Report{
			Name: "report_daily", Level: level, MaxDays: maxDays, LookBack: 365, Table: dailyTable, Keys: r.keys(),
			Figures: figures, Values: media.FieldsOf,
			RowsMax: reportCap, Split: split, Page: r.page,
		}
	}
	hourly := func(level string, split *media.Split, r report) media.Report {
		return media.Report{
			Name: "report_hourly", Level: level, Hourly: true, MaxDays: 1, LookBack: 90, Table: hourlyTable, Keys: r.keys(),
			Figures: figures, Values: media.FieldsOf,
			RowsMax: reportCap, Split: split, Page: r.page,
		}
	}
	adgroups := report{endpoint: dailyEndpoint, level: "REPORT_LEVEL_ADGROUP", objects: byAdgroup}
	// Creatives and hours of a day belong to the ad groups that have rows on it. A day with more than 10,000 busy ad
	// groups cannot be narrowed: no query lists them all. A part has about one page: the platform freezes a level when
	// the queries of ten seconds match more than 40,000 of its rows, and each page of a query counts all rows of the
	// query.
	byAdgroups := &media.Split{Page: adgroups.page, Most: valuesMax, Rows: reportPage}
	return []media.Report{
		daily("account", 30, nil, report{endpoint: dailyEndpoint, level: "REPORT_LEVEL_ADVERTISER"}),
		daily("adgroup", 7, nil, adgroups),
		daily("creative", 7, byAdgroups, report{endpoint: dailyEndpoint, level: "REPORT_LEVEL_DYNAMIC_CREATIVE",
			objects: byCreative}),
		hourly("account", nil, report{endpoint: hourlyEndpoint, level: "REPORT_LEVEL_ADVERTISER", hourly: true}),
		hourly("adgroup", byAdgroups, report{endpoint: hourlyEndpoint, level: "REPORT_LEVEL_ADGROUP", hourly: true,
			objects: byAdgroup}),
		hourly("creative", byAdgroups, report{endpoint: hourlyEndpoint, level: "REPORT_LEVEL_DYNAMIC_CREATIVE", hourly: true,
			objects: byCreative}),
	}
}

// moment returns the field of a row's time.
func (r report) moment() string {
	if r.hourly {
		return "hour"
	}
	return "date"
}

// object returns the field of a row's object; "" at account level.
func (r report) object() string {
	if len(r.objects) == 0 {
		return ""
	}
	return r.objects[len(r.objects)-1]
}

// keys returns the key fields of the rows. The ad group of a creative is one of them, so that it is always requested.
func (r report) keys() []string { return append([]string{r.moment()}, r.objects...) }

// sorting is by time and object: the platform takes two fields.
func (r report) sorting() []order {
	sorting := []order{{SortField: r.moment(), SortType: "ASCENDING"}}
	if object := r.object(); object != "" {
		sorting = append(sorting, order{SortField: object, SortType: "ASCENDING"})
	}
	return sorting
}

type order struct {
	SortField string `json:"sort_field"`
	SortType  string `json:"sort_type"`
}

func (r report) page(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	if r.hourly && q.From != q.To {
		return media.Page{}, &media.Error{Class: media.Bug,
			Message: fmt.Sprintf("%s takes one day a call, not %s to %s", r.endpoint, q.From, q.To)}
	}
	fields := q.Fields(figures.Fields())
	query := url.Values{
		"account_id": {api.Account().ExternalID},
		"level":      {r.level},
		"date_range": {asJSON(map[string]string{"start_date": q.From.String(), "end_date": q.To.String()})},
		"group_by":   {asJSON(r.keys())},
		"fields":     {asJSON(append(r.keys(), fields...))},
		"order_by":   {asJSON(r.sorting())},
		"time_line":  {"REQUEST_TIME"},
	}
	if len(q.Within) > 0 {
		query.Set("filtering", asJSON([]filter{{Field: "adgroup_id", Operator: "IN", Values: q.Within}}))
	}
	pages := media.Numbered{Endpoint: r.endpoint, Size: reportPage, Reach: reportCap}
	read := media.EachRow(func(row *wire.Row) media.Row { return r.readRow(row, q) })
	out, err := pages.Page(ctx, api, page, query, read)
	if refusesOrder(err) {
		// The documents do not list the fields to sort by. Without an order rows may move between pages, and the pull
		// detects that.
		query.Del("order_by")
		out, err = pages.Page(ctx, api, page, query, read)
	}
	return out, media.NameField(err, fields, unknownField...)
}

// refusesOrder reports whether a call was refused because of its order.
func refusesOrder(err error) bool {
	e, ok := errors.AsType[*media.Error](err)
	return ok && e.Class == media.Bug && (strings.Contains(e.Message, "order_by") ||
		strings.Contains(e.Message, "sort_field"))
}

func (r report) readRow(from *wire.Row, q media.ReportQuery) media.Row {
	row := media.Row{Day: q.From}
	if r.hourly {
		// Hourly rows need not have the date: the query is for one day.
		row.Hour = from.KeyInt("hour", 0, 23)
	} else {
		row.Day = from.KeyDay("date")
	}
	if object := r.object(); object != "" {
		row.Object = from.Key(object)
	}
	var bad []wire.Fault
	row.Raw, row.Metrics, bad = figures.Read(from.Fields())
	from.Add(bad)
	return row
}

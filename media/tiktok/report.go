package tiktok

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const reportEndpoint = "report/integrated/get/"

// reportPage is how many rows a page of a report has at most.
const reportPage = 1000

// objectsMax is how many objects the rows of one query have at most. The platform does not say which ones it leaves
// out, or whether the total counts them. A query with fewer rows than that has fewer objects, and is whole.
const objectsMax = 20_000

// valuesMax is how many values a condition takes.
const valuesMax = 100

// statusAll selects objects in any state. Without it, lists and reports leave out deleted objects, so that the sums of
// past days shrink when objects are deleted.
const statusAll = "STATUS_ALL"

// windowDays is the longest usual attribution window of an ad group: the platform counts a conversion for the click or
// the view that led to it, up to so many days earlier. Some ad groups have windows of 30 or 32 days.
const windowDays = 28

// figures are requested at every level. Those that begin with real_time_ count conversions when they happen, and all
// others when the ad was clicked or viewed.
var figures = wire.Figures{
	{Field: "spend", Metric: "cost", Unit: wire.Major},
	{Field: "impressions", Metric: "impressions"},
	{Field: "clicks", Metric: "clicks"},
	{Field: "app_install", Metric: "activations", Grows: windowDays},
	{Field: "registration", Metric: "registrations", Grows: windowDays},
	{Field: "conversion", Metric: "conversions", Grows: windowDays},
	{Field: "real_time_conversion", Metric: "conversions_event", Basis: wire.ByEvent},
	{Field: "purchase", Metric: "first_pays", Grows: windowDays},
	{Field: "total_purchase", Metric: "pays", Grows: windowDays},
	{Field: "total_purchase_value", Metric: "pay_amount", Unit: wire.Major, Grows: windowDays},
}

var (
	dailyTable  = rawtable.Table{Name: Name + "_report_daily", Shape: rawtable.DailyRows, Columns: figures.Columns()}
	hourlyTable = rawtable.Table{Name: Name + "_report_hourly", Shape: rawtable.HourlyRows, Columns: figures.Columns()}
)

// report is the BASIC report at one level.
type report struct {
	level  string // data_level
	id     string // the dimension of a row's object
	status string // the condition on the state of the level's objects; "" at account level
	hourly bool
}

var (
	byAccount  = report{level: "AUCTION_ADVERTISER", id: "advertiser_id"}
	byCampaign = report{level: "AUCTION_CAMPAIGN", id: "campaign_id", status: "campaign_status"}
	byAdGroup  = report{level: "AUCTION_ADGROUP", id: "adgroup_id", status: "adgroup_status"}
	byAd       = report{level: "AUCTION_AD", id: "ad_id", status: "ad_status"}
)

// Reports implements media.Platform. A query with days spans up to 30 of them, and one with hours a single day. How far
// back they reach is not documented: it is our own choice. Reports as files are not used: they have the same days, and
// leave out deleted objects.
func (Platform) Reports() []media.Report {
	var reports []media.Report
	for _, hourly := range []bool{false, true} {
		for _, of := range []struct {
			level string
			report
		}{{"account", byAccount}, {"campaign", byCampaign}, {"adgroup", byAdGroup}, {"creative", byAd}} {
			r := of.report
			r.hourly = hourly
			described := media.Report{
				Name: "report_daily", Level: of.level, MaxDays: 30, LookBack: 365, Table: dailyTable, Keys: r.dimensions(),
				Figures: figures, Values: media.FieldsIn("metrics"), HasSums: true, Page: r.page,
			}
			if hourly {
				described.Name, described.Hourly, described.Table = "report_hourly", true, hourlyTable
				described.MaxDays, described.LookBack = 1, 90
				described.HasSums, described.RepeatsHours = false, true
			}
			if r.status != "" {
				described.RowsMax = objectsMax - 1
			}
			if of.level == "adgroup" || of.level == "creative" {
				described.Split = &media.Split{Page: byCampaign.page, Most: valuesMax}
			}
			reports = append(reports, described)
		}
	}
	return reports
}

func (r report) dimensions() []string {
	if r.hourly {
		return []string{"stat_time_hour", r.id}
	}
	return []string{"stat_time_day", r.id}
}

// condition is a condition of a report. Its value is JSON as text.
type condition struct {
	Field string `json:"field_name"`
	Type  string `json:"filter_type"`
	Value string `json:"filter_value"`
}

// query returns the parameters of a report of the days from one to another, both included.
func (r report) query(from, to day.Day, metrics, within []string) url.Values {
	query := url.Values{
		"service_type": {"AUCTION"}, "report_type": {"BASIC"}, "data_level": {r.level},
		"dimensions": {asJSON(r.dimensions())}, "metrics": {asJSON(metrics)},
		"start_date": {from.String()}, "end_date": {to.String()},
	}
	var conditions []condition
	if r.status != "" {
		conditions = append(conditions, condition{r.status, "IN", asJSON([]string{statusAll})})
	}
	if len(within) > 0 {
		conditions = append(conditions, condition{"campaign_ids", "IN", asJSON(within)})
	}
	if len(conditions) > 0 {
		query.Set("filtering", asJSON(conditions))
	}
	return query
}

// page fetches a page. Rows can be ordered by figures only, so that no order is requested.
func (r report) page(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	if r.hourly && q.From != q.To {
		return media.Page{}, &media.Error{Class: media.Bug,
			Message: fmt.Sprintf("a report of hours takes one day a call, not %s to %s", q.From, q.To)}
	}
	metrics := q.Fields(figures.Fields())
	query := r.query(q.From, q.To, metrics, q.Within)
	query.Set("advertiser_id", api.Account().ExternalID)
	pages := media.Numbered{Endpoint: reportEndpoint, Size: reportPage}
	if !r.hourly { // The platform has no sums of hours.
		query.Set("enable_total_metrics", "true")
		pages.Summary = readSums
	}
	out, err := pages.Page(ctx, api, page, query, media.EachRow(r.read))
	return out, media.NameField(err, metrics, unknownMetric)
}

// readSums reads the platform's own sums, which are next to the rows of each page.
func readSums(page *media.Page, answer map[string]json.RawMessage) {
	raw := answer["total_metrics"]
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	row := wire.Open(raw)
	sums, bad := figures.Sums(row.Fields())
	page.Sums, page.Faults = &sums, append(page.Faults, append(row.Faults(), bad...)...)
}

func (r report) read(from *wire.Row) media.Row {
	dimensions := from.In("dimensions")
	var row media.Row
	row.Day, row.Hour = r.readTime(dimensions)
	if id := dimensions.KeyNumber(r.id); r.status != "" {
		row.Object = id
	}
	fields := from.Figures("metrics")
	var bad []wire.Fault
	row.Raw, row.Metrics, bad = figures.Read(fields)
	from.Add(bad)
	return row
}

// readTime reads the day, and the hour, from "2026-11-21 14:00:00", which is in the account's zone.
func (r report) readTime(dimensions *wire.Row) (d day.Day, hour int) {
	name := r.dimensions()[0]
	moment := dimensions.KeyText(name)
	text, clock, _ := strings.Cut(moment, " ")
	d, err := day.Parse(text)
	if err == nil && r.hourly {
		name, rest, _ := strings.Cut(clock, ":")
		if hour, err = strconv.Atoi(name); err != nil || hour < 0 || hour > 23 || rest == "" {
			err = fmt.Errorf("%.40q has no hour", moment)
		}
	}
	if err != nil {
		dimensions.Lose(name, err)
		return "", 0
	}
	return d, hour
}

// Total implements media.Totaler. Each page of the daily report of an account has the sums of all days.
func (Platform) Total(ctx context.Context, api media.API, q media.ReportQuery) (metric.Values, error) {
	page, err := byAccount.page(ctx, api, q, "")
	switch {
	case err != nil:
		return metric.Values{}, err
	case page.Sums == nil:
		return metric.Values{}, media.Broken(reportEndpoint, errors.New("total_metrics is missing"))
	}
	return *page.Sums, nil
}

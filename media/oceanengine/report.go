package oceanengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const reportEndpoint = "v3.0/report/custom/get/"

// reportPage is how many rows a page of a report holds at most.
const reportPage = 100

// The dimensions: their values are the keys of a row.
const (
	dimensionDay       = "stat_time_day"  // "2026-11-21"
	dimensionHour      = "stat_time_hour" // "2026-11-21 14:00 - 14:59"
	dimensionProject   = "cdp_project_id"
	dimensionPromotion = "cdp_promotion_id"
	dimensionMaterial  = "material_id"
)

// The topics of the custom report: materials have a separate one.
const (
	topicBasic    = "BASIC_DATA"
	topicMaterial = "MATERIAL_DATA"
)

// figures are requested at every level. By the platform's comments on its metrics, convert_cnt counts conversions
// when they happen, those that begin with attribution_ count by the time of activation, and payments from the second
// day on are published a day late. From the second day on amounts are also inexact, so that their rows do not add up
// exactly.
var figures = wire.Figures{
	{Field: "stat_cost", Metric: "cost", Unit: wire.Yuan},
	{Field: "show_cnt", Metric: "impressions"},
	{Field: "click_cnt", Metric: "clicks"},
	{Field: "download_finish_cnt", Metric: "downloads", Basis: wire.Undocumented},
	{Field: "install_finish_cnt", Metric: "installs", Basis: wire.Undocumented},
	{Field: "active", Metric: "activations", Basis: wire.Undocumented},
	{Field: "active_register", Metric: "registrations", Basis: wire.Undocumented},
	{Field: "convert_cnt", Metric: "conversions_event", Basis: wire.ByEvent},
	{Field: "deep_convert_cnt", Metric: "deep_conversions", Basis: wire.Undocumented},
	{Field: "active_pay", Metric: "first_pays", Basis: wire.Undocumented},
	{Field: "game_pay_count", Metric: "pays", Basis: wire.Undocumented},
	{Field: "attribution_game_in_app_ltv_1day", Metric: "pay_amount_d1", Unit: wire.Yuan, Basis: wire.ByActivation},
	{Field: "attribution_game_in_app_ltv_3days", Metric: "pay_amount_d3", Unit: wire.Yuan, Basis: wire.ByActivation,
		Grows: 3, Inexact: true},
	{Field: "attribution_game_in_app_ltv_7days", Metric: "pay_amount_d7", Unit: wire.Yuan, Basis: wire.ByActivation,
		Grows: 7, Inexact: true},
	{Field: "attribution_next_day_open_cnt", Metric: "next_day_retained", Basis: wire.ByActivation, Grows: 1},
	{Field: "click_start_cnt", Metric: "download_starts", Basis: wire.Undocumented},
	{Field: "game_addiction", Metric: "key_actions", Basis: wire.Undocumented},
	{Field: "in_app_order", Metric: "orders", Basis: wire.Undocumented},
	{Field: "in_app_order_gmv", Metric: "order_amount", Unit: wire.Yuan, Basis: wire.Undocumented},
}

var (
	dailyTable  = rawtable.Table{Name: "oceanengine_report_daily", Shape: rawtable.DailyRows, Columns: figures.Columns()}
	hourlyTable = rawtable.Table{Name: "oceanengine_report_hourly", Shape: rawtable.HourlyRows, Columns: figures.Columns()}
)

// report is the custom report at one level.
type report struct {
	hourly  bool
	topic   string
	objects []string // the dimensions of a row's object, whose values are joined by colons; none at account level
	topics  *topics  // nil uses the documented values
}

// hasSums reports whether the rows add up to total_metrics. For materials the platform does not document it.
func (r report) hasSums() bool { return r.topic == topicBasic }

// overlaps reports whether two rows may count the same figures.
func (r report) overlaps() bool { return r.topic == topicMaterial }

var (
	byAccount   = report{topic: topicBasic}
	byProject   = report{topic: topicBasic, objects: []string{dimensionProject}}
	byPromotion = report{topic: topicBasic, objects: []string{dimensionPromotion}}
	byMaterial  = report{topic: topicMaterial, objects: []string{dimensionPromotion, dimensionMaterial}}
)

// Reports implements media.Platform. The platform documents neither how many days a query may span nor how far back
// it reaches. By its answers to users a query spans a month of days or a week of hours; the reach is our own choice.
func (p Platform) Reports() []media.Report {
	daily := func(level string, r report) media.Report {
		r.topics = p.topics
		return media.Report{
			Name: "report_daily", Level: level, MaxDays: 30, LookBack: 365, Table: dailyTable, Keys: r.dimensions(),
			Figures: figures, Values: media.FieldsIn("metrics"),
			HasSums: r.hasSums(), Overlaps: r.overlaps(), Page: r.page,
		}
	}
	hourly := func(level string, r report) media.Report {
		r.hourly, r.topics = true, p.topics
		return media.Report{
			Name: "report_hourly", Level: level, Hourly: true, MaxDays: 7, LookBack: 90, Table: hourlyTable,
			Keys: r.dimensions(), Figures: figures, Values: media.FieldsIn("metrics"),
			HasSums: r.hasSums(), Overlaps: r.overlaps(), HasHours: true, Page: r.page,
		}
	}
	return []media.Report{
		daily("account", byAccount),
		daily("campaign", byProject),
		daily("adgroup", byPromotion),
		daily("creative", byMaterial),
		hourly("account", byAccount),
		hourly("campaign", byProject),
		hourly("adgroup", byPromotion),
		hourly("creative", byMaterial),
	}
}

func (r report) dimensions() []string {
	moment := dimensionDay
	if r.hourly {
		moment = dimensionHour
	}
	return append([]string{moment}, r.objects...)
}

type order struct {
	Field string `json:"field"`
	Type  string `json:"type"`
}

func (r report) page(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	about, err := r.topics.about(ctx, api, r.topic)
	if err != nil {
		return media.Page{}, err
	}
	metrics := q.Fields(figures.Fields())
	filters := []condition{} // required, even when empty
	if r.topic == topicMaterial {
		filters = append(filters, about.shown)
	}
	pages := media.Numbered{Endpoint: reportEndpoint, Size: reportPage, Rows: "rows"}
	if r.hasSums() {
		pages.Summary = r.readSums
	}
	out, err := pages.Page(ctx, api, page, url.Values{
		"advertiser_id": {api.Account().ExternalID},
		"data_topic":    {r.topic},
		"dimensions":    {asJSON(r.dimensions())},
		"metrics":       {asJSON(metrics)},
		"filters":       {asJSON(filters)},
		"start_time":    {fmt.Sprintf("%s %02d:00:00", q.From, q.FromHour)},
		"end_time":      {q.To.String() + " 23:59:59"},
		"order_by":      {asJSON(about.sorting(r.dimensions(), metrics))},
	}, media.EachRow(r.readRow))
	// A whole day among hours is a row without a usable key.
	if len(out.Rows) > 0 && !slices.ContainsFunc(out.Rows, func(row media.Row) bool { return !isWholeDay(row) }) {
		return media.Page{}, &media.Error{
			Class: media.Invalid, Err: media.ErrNoHours,
			Message: fmt.Sprintf(
				"the platform returned whole days for hours of %s to %s: it keeps hours for about eight days",
				q.From, q.To),
		}
	}
	return out, media.NameField(err, metrics, unknownMetric)
}

// readSums reads the platform's own sums, which are next to the rows of each page.
func (r report) readSums(page *media.Page, answer map[string]json.RawMessage) {
	raw := answer["total_metrics"]
	if len(raw) == 0 || string(raw) == "null" {
		return
	}
	row := wire.Open(raw)
	sums, bad := figures.Sums(row.Fields())
	page.Sums, page.Faults = &sums, append(page.Faults, append(row.Faults(), bad...)...)
}

func (r report) readRow(from *wire.Row) (row media.Row) {
	dimensions := from.In("dimensions")
	row.Day, row.Hour = r.readTime(dimensions)
	ids := make([]string, len(r.objects))
	for i, dimension := range r.objects {
		ids[i] = dimensions.Key(dimension)
	}
	row.Object = strings.Join(ids, ":")
	fields := from.Figures("metrics")
	var bad []wire.Fault
	row.Raw, row.Metrics, bad = figures.Read(fields)
	from.Add(bad)
	return row
}

// errWholeDay reports a row of an hourly report that is for a whole day. Users report this for hours older than about
// eight days; it is not documented.
var errWholeDay = errors.New("the row is for a whole day and not for an hour")

// isWholeDay reports whether a row was lost because it is for a whole day.
func isWholeDay(row media.Row) bool {
	return row.Lost && slices.ContainsFunc(row.Faults, func(f wire.Fault) bool { return f.Why == errWholeDay.Error() })
}

// readTime reads the day, and the hour from "2026-11-21 14:00 - 14:59".
func (r report) readTime(dimensions *wire.Row) (d day.Day, hour int) {
	dimension := r.dimensions()[0]
	text := dimensions.KeyText(dimension)
	const dayLength, hourEnd = len("2026-11-21"), len("2026-11-21 14")
	if _, err := day.Parse(text); r.hourly && err == nil {
		dimensions.Lose(dimension, errWholeDay)
		return "", 0
	}
	if len(text) < dayLength || r.hourly && len(text) < hourEnd {
		dimensions.Lose(dimension, fmt.Errorf("%.40q is too short", text))
		return "", 0
	}
	d, err := day.Parse(text[:dayLength])
	if err == nil && r.hourly {
		if hour, err = strconv.Atoi(text[dayLength+1 : hourEnd]); err == nil && (hour < 0 || hour > 23) {
			err = fmt.Errorf("%.40q has no hour", text)
		}
	}
	if err != nil {
		dimensions.Lose(dimension, err)
	}
	return d, hour
}

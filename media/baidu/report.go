package baidu

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

const reportEndpoint = searchPath + "OpenApiReportService/getReportData"

// The platform answers ranges of at most 731 days (page 100140); how far back is not documented. A page of thousands
// of rows is in use, and the greatest one is not documented; nor is how many accounts a query takes.
const (
	reportDays  = 31
	lookBack    = 730
	reportPage  = 1000
	accountsMax = 20
)

// figures are those of search reports (pages 100140 to 100142) by their names there; two are misspelt there. They count
// when the ad was clicked. For how long payments and retention grow follows from their names.
var figures = wire.Figures{
	{Field: "cost", Metric: "cost", Unit: wire.Yuan},
	{Field: "impression", Metric: "impressions"},
	{Field: "click", Metric: "clicks"},
	{Field: "ocpcConversions", Metric: "conversions", Grows: 30},
	{Field: "deepOCPCConversions", Metric: "deep_conversions", Grows: 30},
	{Field: "ocpcConversionsDetail4", Metric: "activations", Grows: 30},
	{Field: "ocpcConversionsDetail25", Metric: "registrations", Grows: 30},
	{Field: "ocpcConversionsDetail26", Metric: "first_pays", Grows: 30},
	{Field: "ocpcConversionsDetail26One", Metric: "pay_amount_d1", Unit: wire.Yuan, Grows: 1},
	{Field: "ocpcConversionsDetail26Three", Metric: "pay_amount_d3", Unit: wire.Yuan, Grows: 3},
	{Field: "ocpcConversionsDetail26Seven", Metric: "pay_amount_d7", Unit: wire.Yuan, Grows: 7},
	{Field: "ocpcConversionsDetail28", Metric: "next_day_retained", Grows: 1},
	{Field: "ocpcConvertsionsDetail3", Metric: "forms", Grows: 30},
}

// feedNames are the names of figures in feed reports, where they differ from those of search.
var feedNames = map[string]string{
	"ocpcConversions": "ocpcTargetTrans", "deepOCPCConversions": "ocpcDeepTargetTrans",
	"ocpcConversionsDetail4": "activeConversions", "ocpcConversionsDetail25": "registerUv",
	"ocpcConversionsDetail26": "consumeUv", "ocpcConversionsDetail26One": "oneDayConsumeAfterActive",
	"ocpcConversionsDetail26Three": "threeDaysConsumeAfterActive",
	"ocpcConversionsDetail26Seven": "sevenDaysConsumeAfterActive", "ocpcConversionsDetail28": "retentions",
	"ocpcConvertsionsDetail3": "aggrFormSubmitSuccess",
}

// values returns the fields of a row, with figures by their names in search reports.
func values(row json.RawMessage) (map[string]json.RawMessage, error) {
	fields, err := wire.Fields(row)
	named(fields)
	return fields, err
}

func named(fields map[string]json.RawMessage) {
	for name, own := range feedNames {
		if value, ok := fields[own]; ok {
			fields[name] = value
		}
	}
}

var (
	dailyTable = rawtable.Table{Name: Name + "_report_daily", Shape: rawtable.DailyRows, Columns: figures.Columns()}
	hourTable  = rawtable.Table{Name: Name + "_report_hourly", Shape: rawtable.HourlyRows, Columns: figures.Columns()}
)

// report is a report of one level: the numbers of its kinds, and the field of its object's id.
type report struct {
	level        string
	search, feed int
	key          string
	hourly       bool
}

var levels = []report{
	{level: "campaign", search: 2290316, feed: 2276038, key: "campaignId"},
	{level: "account", search: 2208157, feed: 2149145},
	{level: "adgroup", search: 2284618, feed: 2330652, key: "adGroupId"},
	{level: "creative", search: 2665235, feed: 2094816, key: "ideaId"},
}

// Reports implements media.Platform. An account's own rows are the sums of two reports. Those of all other levels are
// of different objects in both.
func (Platform) Reports() []media.Report {
	var reports []media.Report
	for _, hourly := range []bool{false, true} {
		for _, r := range levels {
			r.hourly = hourly
			described := media.Report{
				Name: "report_daily", Level: r.level, MaxDays: reportDays, LookBack: lookBack, Table: dailyTable,
				Keys: r.keys(), Figures: figures, Values: values, Variants: []string{search, feed}, Page: r.page,
				AccountsMax: accountsMax,
			}
			if r.level == "account" {
				// A sum has a list of two rows as its JSON, as a repeated hour has.
				described.Variants, described.RepeatsHours, described.Page = nil, true, r.sums
			}
			if hourly {
				described.Name, described.Hourly, described.MaxDays, described.Table = "report_hourly", true, 1, hourTable
			}
			reports = append(reports, described)
		}
	}
	return reports
}

func (r report) keys() []string {
	keys := []string{"date", "userId"}
	if r.key != "" {
		keys = append(keys, r.key)
	}
	return keys
}

// columns returns the columns to request. Fields that a query leaves out may have either name.
func (r report) columns(q media.ReportQuery) []string {
	names := q.Fields(figures.Fields())
	if q.Variant == feed {
		for i, name := range names {
			names[i] = cmp.Or(feedNames[name], name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(q.Without, name) })
	return append(r.keys(), names...)
}

// sort is an order of rows.
type sort struct {
	Column string `json:"column"`
	Rule   string `json:"sortRule"`
}

// page fetches a page; its token is the number of its first row. Rows are ordered by their day and id.
func (r report) page(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	start, err := media.PageNumber(page, 0)
	if err != nil {
		return media.Page{}, err
	}
	columns := r.columns(q)
	body := map[string]any{
		"reportType": r.search, "timeUnit": "DAY", "startDate": q.From, "endDate": q.To, "columns": columns,
		"sorts":   []sort{{"date", "ASC"}, {cmp.Or(r.key, "userId"), "ASC"}},
		"filters": []any{}, "startRow": start, "rowCount": reportPage, "needSum": false,
	}
	if q.Variant == feed {
		body["reportType"] = r.feed
	}
	if r.hourly {
		body["timeUnit"] = "HOUR"
	}
	if len(q.Accounts) > 0 {
		ids := make([]json.Number, len(q.Accounts))
		for i, account := range q.Accounts {
			ids[i] = json.Number(account.ExternalID)
		}
		body["userIds"] = ids
	}
	payload, err := ask(ctx, api, reportEndpoint, body)
	if e, ok := errors.AsType[*media.Error](err); ok && e.Class == media.Bug {
		// The code for an unknown column is not documented.
		return media.Page{}, media.NameField(err, columns, e.Code)
	}
	if err != nil {
		return media.Page{}, err
	}
	return r.read(payload, q, start)
}

// read reads a page. A part of a joint query that failed must be an account's, whose rows the page then lacks.
func (r report) read(payload json.RawMessage, q media.ReportQuery, start int) (media.Page, error) {
	data, failures := open(payload)
	for _, f := range failures {
		if !slices.ContainsFunc(q.Accounts, func(a media.Account) bool { return a.ExternalID == string(f.id) }) {
			return media.Page{}, f.as(false, nil)
		}
	}
	// Most answers have an array with one object, and some have the object.
	if one, err := wire.Elements(data); err == nil && one != nil {
		if len(one) != 1 {
			return media.Page{}, media.Broken(reportEndpoint, errors.New("there is not one report"))
		}
		data = one[0]
	}
	answer, err := wire.Fields(data)
	if err != nil {
		return media.Page{}, media.Broken(reportEndpoint, err)
	}
	var total wire.Int
	if err := total.UnmarshalJSON(answer["totalRowCount"]); err != nil || !total.Set {
		return media.Page{}, media.Broken(reportEndpoint, errors.New("there is no totalRowCount"))
	}
	rows, err := wire.ListOf(answer["rows"])
	if err != nil {
		return media.Page{}, media.Broken(reportEndpoint, fmt.Errorf("rows: %w", err))
	}
	page := media.Page{Total: int(total.Value)}
	for _, raw := range rows {
		page.Rows = append(page.Rows, media.OpenRow(raw, func(row *wire.Row) media.Row { return r.readRow(row, q) }))
	}
	if due := min(max(page.Total-start, 0), reportPage); len(page.Rows) != due {
		page.Moved = fmt.Sprintf("the page from row %d has %d rows, and %d are due of a total of %d", start, len(page.Rows),
			due, page.Total)
	}
	if start+reportPage < page.Total {
		page.Next = strconv.Itoa(start + reportPage)
	}
	return page, nil
}

func (r report) readRow(from *wire.Row, q media.ReportQuery) media.Row {
	var row media.Row
	if r.hourly {
		row.Day, row.Hour = keyHour(from)
	} else {
		row.Day = from.KeyDay("date")
	}
	if r.key != "" {
		row.Object = from.KeyNumber(r.key)
	}
	if len(q.Accounts) > 0 {
		row.Account = from.KeyNumber("userId")
	}
	fields := from.Fields()
	named(fields)
	for _, name := range q.Without {
		delete(fields, name)
	}
	var bad []wire.Fault
	row.Raw, row.Metrics, bad = figures.Read(fields)
	from.Add(bad)
	return row
}

// keyHour reads the date of an hourly row: "2026-09-01 23:00".
func keyHour(from *wire.Row) (day.Day, int) {
	text := from.KeyText("date")
	date, clock, _ := strings.Cut(text, " ")
	d, err := day.Parse(date)
	hour, notHour := strconv.Atoi(strings.TrimSuffix(clock, ":00"))
	if err != nil || notHour != nil || len(clock) != len("23:00") || hour < 0 || hour > 23 {
		from.Lose("date", fmt.Errorf("%.40q is not an hour of a day", text))
		return "", 0
	}
	return d, hour
}

// rowKey is what an account's own rows differ in.
type rowKey struct {
	day     day.Day
	hour    int
	account string
}

// sums fetches an account's own rows: all of search, and all of feed added to them.
func (r report) sums(ctx context.Context, api media.API, q media.ReportQuery, _ string) (media.Page, error) {
	var all media.Page
	places := map[rowKey]int{}
	for _, q.Variant = range []string{search, feed} {
		for token := ""; ; {
			page, err := r.page(ctx, api, q, token)
			if err != nil {
				return media.Page{}, err
			}
			all.Moved = cmp.Or(all.Moved, page.Moved)
			for _, row := range page.Rows {
				key := rowKey{row.Day, row.Hour, row.Account}
				if at, has := places[key]; has && q.Variant == feed && !row.Lost {
					all.Rows[at] = sum(all.Rows[at], row)
					delete(places, key) // A second row of feed shows that the pages are not parts of one whole.
					continue
				}
				if q.Variant == search && !row.Lost {
					places[key] = len(all.Rows)
				}
				all.Rows = append(all.Rows, row)
			}
			if token = page.Next; token == "" {
				break
			}
		}
	}
	all.Total = len(all.Rows)
	return all, nil
}

// sum adds the row of feed to that of search. A figure that one of them lacks is not set.
func sum(a, b media.Row) media.Row {
	added := a
	added.Metrics = metric.Values{}
	for i := range metric.N {
		x, hasX := a.Metrics.Get(i)
		if y, hasY := b.Metrics.Get(i); hasX && hasY {
			added.Metrics.Set(i, x+y)
		}
	}
	added.Raw = make([]any, len(a.Raw))
	for i := range a.Raw {
		x, hasX := a.Raw[i].(int64)
		if y, hasY := b.Raw[i].(int64); hasX && hasY {
			added.Raw[i] = x + y
		}
	}
	added.JSON = slices.Concat([]byte("["), a.JSON, []byte(","), b.JSON, []byte("]"))
	added.Faults = slices.Concat(a.Faults, b.Faults)
	return added
}

package tencent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"adsync/base/day"
	"adsync/base/store"
	"adsync/media"
	"adsync/media/wire"
)

const (
	dailyEndpoint  = "daily_reports/get"
	hourlyEndpoint = "hourly_reports/get"
)

// The platform gives out 2,000 rows a page, and none beyond the 10,000th of a query.
const (
	reportPage = 2_000
	reportCap  = 10_000
)

// figures are asked for at every level. Those of payments are by the moment of the ad's request (time_line).
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
}

var (
	dailyTable  = store.RawTable{Name: "tencent_report_daily", Shape: store.DailyRows, Columns: figures.Columns()}
	hourlyTable = store.RawTable{Name: "tencent_report_hourly", Shape: store.HourlyRows, Columns: figures.Columns()}
)

// report is one report at one level.
type report struct {
	endpoint string
	level    string // in the platform's words
	byObject bool
	hourly   bool
}

// Reports implements media.Platform.
func (Platform) Reports() []media.Report {
	// A query may span any number of days, but its rows are capped: with a week, only an account of more than 1,400 busy
	// ad groups meets the cap.
	daily := func(level string, maxDays int, r report) media.Report {
		return media.Report{Name: "report_daily", Level: level, MaxDays: maxDays, LookBack: 365, Table: dailyTable, Figures: figures, Page: r.page}
	}
	hourly := func(level string, r report) media.Report {
		return media.Report{Name: "report_hourly", Level: level, Hourly: true, MaxDays: 1, LookBack: 90, Table: hourlyTable, Figures: figures, Page: r.page}
	}
	return []media.Report{
		daily("account", 30, report{endpoint: dailyEndpoint, level: "REPORT_LEVEL_ADVERTISER"}),
		daily("adgroup", 7, report{endpoint: dailyEndpoint, level: "REPORT_LEVEL_ADGROUP", byObject: true}),
		hourly("account", report{endpoint: hourlyEndpoint, level: "REPORT_LEVEL_ADVERTISER", hourly: true}),
		hourly("adgroup", report{endpoint: hourlyEndpoint, level: "REPORT_LEVEL_ADGROUP", hourly: true, byObject: true}),
	}
}

// keys are the fields that a row is known by, and that rows are ordered by.
func (r report) keys() []string {
	keys := []string{"date"}
	if r.hourly {
		keys = []string{"hour"}
	}
	if r.byObject {
		keys = append(keys, "adgroup_id")
	}
	return keys
}

type order struct {
	SortField string `json:"sort_field"`
	SortType  string `json:"sort_type"`
}

func (r report) page(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	number := 1
	if page != "" {
		var err error
		if number, err = strconv.Atoi(page); err != nil {
			return media.Page{}, &media.Error{Class: media.Bug, Message: "page " + strconv.Quote(page) + " is none that was given out"}
		}
	}
	if r.hourly && q.From != q.To {
		return media.Page{}, &media.Error{Class: media.Bug, Message: fmt.Sprintf("%s takes one day a call, not %s to %s", r.endpoint, q.From, q.To)}
	}
	var sorting []order
	for _, key := range r.keys() {
		sorting = append(sorting, order{SortField: key, SortType: "ASCENDING"})
	}
	data, err := api.Get(ctx, r.endpoint, url.Values{
		"account_id": {api.Account().ExternalID},
		"level":      {r.level},
		"date_range": {asJSON(map[string]string{"start_date": q.From.String(), "end_date": q.To.String()})},
		"group_by":   {asJSON(r.keys())},
		"fields":     {asJSON(append(r.keys(), figures.Fields()...))},
		"order_by":   {asJSON(sorting)},
		"time_line":  {"REQUEST_TIME"},
		"page":       {strconv.Itoa(number)},
		"page_size":  {strconv.Itoa(reportPage)},
	})
	if err != nil {
		return media.Page{}, err
	}
	out, err := r.read(data, q)
	if err != nil {
		return media.Page{}, media.Broken(r.endpoint, err)
	}
	if out.Total > reportCap {
		return media.Page{}, &media.Error{
			Class: media.Invalid, Err: media.ErrRowCap,
			Message: fmt.Sprintf("%s of account %s, %s to %s, has %d rows", r.endpoint, api.Account().ExternalID, q.From, q.To, out.Total),
		}
	}
	if number*reportPage < out.Total {
		out.Next = strconv.Itoa(number + 1)
	}
	return out, nil
}

func (r report) read(data json.RawMessage, q media.ReportQuery) (media.Page, error) {
	var answer struct {
		List []json.RawMessage `json:"list"`
		Page pageInfo          `json:"page_info"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return media.Page{}, err
	}
	if !answer.Page.TotalNumber.Set {
		return media.Page{}, errors.New("page_info has no total_number")
	}
	page := media.Page{Total: int(answer.Page.TotalNumber.Value)}
	for _, raw := range answer.List {
		row, err := r.readRow(raw, q)
		if err != nil {
			return media.Page{}, err
		}
		page.Rows = append(page.Rows, row)
	}
	return page, nil
}

func (r report) readRow(raw json.RawMessage, q media.ReportQuery) (media.Row, error) {
	var keys struct {
		Date      string   `json:"date"`
		Hour      wire.Int `json:"hour"`
		AdgroupID wire.ID  `json:"adgroup_id"`
	}
	var fields map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &keys), json.Unmarshal(raw, &fields)); err != nil {
		return media.Row{}, err
	}
	row := media.Row{Day: q.From, JSON: raw}
	if r.hourly {
		// Hourly rows need not carry the date: one day was asked for.
		if !keys.Hour.Set || keys.Hour.Value < 0 || keys.Hour.Value > 23 {
			return media.Row{}, fmt.Errorf("hour %v is not 0 to 23", keys.Hour.Column())
		}
		row.Hour = int(keys.Hour.Value)
	} else {
		var err error
		if row.Day, err = day.Parse(keys.Date); err != nil {
			return media.Row{}, err
		}
	}
	if r.byObject {
		if row.Object = string(keys.AdgroupID); row.Object == "" {
			return media.Row{}, errNoID
		}
	}
	var err error
	row.Raw, row.Metrics, err = figures.Read(fields)
	return row, err
}

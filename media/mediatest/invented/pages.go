package invented

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/rawtable"
	"adsync/media"
	"adsync/media/wire"
)

// pageSize is how many rows a page holds, listSize how many objects a page of a list holds, and rowsMax how many rows
// of a report Tulip returns for one query.
const (
	pageSize = 1_000
	listSize = 100
	rowsMax  = 10_000
)

// accountsMax is how many accounts one query of Orchid covers.
const accountsMax = 4

var tulipFigures = wire.Figures{
	{Field: "cost", Metric: "cost", Unit: wire.Fen},
	{Field: "views", Metric: "impressions"},
	{Field: "clicks", Metric: "clicks"},
	{Field: "downloads", Metric: "downloads"},
	{Field: "installs", Metric: "installs"},
	{Field: "activations", Metric: "activations"},
	{Field: "signups", Metric: "registrations"},
	{Field: "conversions", Metric: "conversions"},
	{Field: "paid_1d", Metric: "pay_amount_d1", Unit: wire.Fen},
	{Field: "paid_3d", Metric: "pay_amount_d3", Unit: wire.Fen, Grows: 2},
	{Field: "paid_7d", Metric: "pay_amount_d7", Unit: wire.Fen, Grows: 6},
	{Field: "retained", Metric: "next_day_retained", Grows: 1},
}

var orchidFigures = wire.Figures{
	{Field: "spend", Metric: "cost", Unit: wire.Major},
	{Field: "shows", Metric: "impressions"},
	{Field: "clicks", Metric: "clicks"},
	{Field: "signups", Metric: "registrations", Basis: wire.Undocumented},
	{Field: "paid_1d", Metric: "pay_amount_d1", Unit: wire.Major, Basis: wire.ByActivation},
	{Field: "paid_7d", Metric: "pay_amount_d7", Unit: wire.Major, Basis: wire.ByActivation, Grows: 7, Inexact: true},
}

// report is one report of one level.
type report struct {
	name, level string
	hourly      bool
	orchid      bool
}

// Reports implements media.Platform.
func (p Platform) Reports() []media.Report {
	levels, longest := []string{"account", "adgroup", "creative"}, 7
	if p.orchid {
		levels, longest = []string{"account", "campaign", "adgroup", "creative"}, 30
	}
	var reports []media.Report
	for _, level := range levels {
		r := report{name: "report_daily", level: level, orchid: p.orchid}
		days := longest
		if level == "account" {
			days = 30
		}
		described := r.described(media.Report{MaxDays: days, LookBack: 365,
			Table: p.table(r.name, rawtable.DailyRows, r.figures().Columns()...)})
		if p.orchid {
			described.Files = r.files()
		}
		reports = append(reports, described)
	}
	for _, level := range levels {
		r := report{name: "report_hourly", level: level, hourly: true, orchid: p.orchid}
		reports = append(reports, r.described(media.Report{MaxDays: 1, LookBack: 90,
			Table: p.table(r.name, rawtable.HourlyRows, r.figures().Columns()...)}))
	}
	return reports
}

// described sets the fields of the report that follow from its name and level.
func (r report) described(of media.Report) media.Report {
	of.Name, of.Level, of.Hourly, of.Keys, of.Figures, of.Values, of.Page = r.name, r.level, r.hourly, r.keys(),
		r.figures(), r.values, r.page
	if r.orchid {
		of.HasHours, of.RepeatsHours, of.AccountsMax = r.hourly, r.hourly, accountsMax
		return of
	}
	of.RowsMax = rowsMax
	if r.level == "creative" || r.hourly && r.level == "adgroup" {
		of.Split = &media.Split{Page: report{name: "report_daily", level: "adgroup"}.page, Most: 100, Rows: pageSize}
	}
	return of
}

func (r report) figures() wire.Figures {
	if r.orchid {
		return orchidFigures
	}
	return tulipFigures
}

// keys returns the key fields of the rows.
func (r report) keys() []string {
	keys := []string{"date"}
	if r.hourly {
		keys = append(keys, "hour")
	}
	if r.level != "account" {
		keys = append(keys, "id")
	}
	return keys
}

// values returns the fields of a row's figures. They are next to its keys; in Orchid's pages they are in an object.
func (r report) values(raw json.RawMessage) (fields map[string]json.RawMessage, err error) {
	err = json.Unmarshal(raw, &fields)
	if within, ok := fields["figures"]; ok && r.orchid && err == nil {
		fields = nil
		err = json.Unmarshal(within, &fields)
	}
	return fields, err
}

func (r report) page(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	fields := q.Fields(r.figures().Fields())
	query := url.Values{
		"account": {api.Account().ExternalID}, "level": {r.level}, "from": {q.From.String()}, "to": {q.To.String()},
		"fields": {asJSON(fields)},
	}
	if len(q.Accounts) > 0 {
		var ids []string
		for _, a := range q.Accounts {
			ids = append(ids, a.ExternalID)
		}
		query.Set("account", strings.Join(ids, ","))
	}
	if q.FromHour > 0 {
		query.Set("from_hour", strconv.Itoa(q.FromHour))
	}
	if len(q.Within) > 0 {
		query.Set("adgroups", asJSON(q.Within))
	}
	out, err := media.Numbered{Endpoint: r.name, Size: pageSize}.Page(ctx, api, page, query,
		media.EachRow(func(from *wire.Row) media.Row {
			row := r.read(from)
			if len(q.Accounts) > 0 {
				row.Account = from.KeyNumber("account")
			}
			return row
		}))
	return out, media.NameField(err, fields, strconv.Itoa(unknownField))
}

func (r report) read(from *wire.Row) media.Row {
	figures := from
	if r.orchid {
		figures = from.In("figures")
	}
	return r.readFrom(from, figures)
}

// readFrom reads a row whose figures are in an object of their own, or in the row itself.
func (r report) readFrom(from, figures *wire.Row) media.Row {
	row := media.Row{Day: from.KeyDay("date")}
	if r.hourly {
		row.Hour = from.KeyInt("hour", 0, 23)
	}
	if r.level != "account" {
		row.Object = from.Key("id")
	}
	var bad []wire.Fault
	row.Raw, row.Metrics, bad = r.figures().Read(figures.Fields())
	from.Add(bad)
	return row
}

// page fetches a page of a list of objects.
func (o object) page(ctx context.Context, api media.API, q media.ListQuery, page string) (media.Page, error) {
	query := url.Values{"account": {api.Account().ExternalID}}
	switch {
	case q.Since.IsZero():
	case o.byDay:
		query.Set("modified_from", day.Of(q.Since, zone).String())
	default:
		query.Set("modified_since", strconv.FormatInt(q.Since.Unix(), 10))
	}
	return o.ask(ctx, api, query, page)
}

func (o object) ask(ctx context.Context, api media.API, query url.Values, page string) (media.Page, error) {
	list := media.Numbered{Endpoint: o.level, Size: listSize, NoTotal: o.noTotal, Bare: o.bare, More: o.more}
	return list.Page(ctx, api, page, query, media.EachRow(o.read))
}

// The amounts of each fund type.
var (
	balanceAmounts = wire.Amounts{{Field: "balance", Is: fund.Balance, Unit: wire.Fen}}
	flowAmounts    = wire.Amounts{
		{Field: "deposit", Is: fund.Deposit, Unit: wire.Fen},
		{Field: "paid", Is: fund.Paid, Unit: wire.Fen},
		{Field: "balance", Is: fund.Balance, Unit: wire.Fen}, // at the end of the day
	}
	fundTypes = media.FundTypes{{Word: "cash", Kind: fund.Cash}, {Word: "credit", Kind: fund.Credit}}
)

// Funds implements media.Platform.
func (p Platform) Funds() media.Funds {
	days, lookBack := 10, 730
	if p.orchid {
		days, lookBack = 30, 365
	}
	return media.Funds{
		Types: fundTypes,
		Balance: media.Balance{
			Table: p.table("fund", rawtable.FundRows, balanceAmounts.Columns()...), Amounts: balanceAmounts, Fetch: fetchBalance,
		},
		Daily: media.FundDaily{
			Table: p.table("fund_daily", rawtable.DailyFundRows, flowAmounts.Columns()...), Amounts: flowAmounts,
			MaxDays: days, LookBack: lookBack, PublishedAfter: 8 * time.Hour, Page: fetchFlow,
		},
	}
}

func fetchBalance(ctx context.Context, api media.API) ([]media.Row, error) {
	const endpoint = "balance"
	data, err := api.Get(ctx, endpoint, url.Values{"account": {api.Account().ExternalID}})
	if err != nil {
		return nil, err
	}
	var answer struct {
		List wire.List `json:"list"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, media.Broken(endpoint, err)
	}
	if answer.List == nil {
		return nil, media.Broken(endpoint, errors.New("there is no list"))
	}
	var rows []media.Row
	for _, raw := range answer.List {
		rows = append(rows, media.OpenRow(raw, func(r *wire.Row) media.Row { return readFund(r, balanceAmounts) }))
	}
	return rows, nil
}

func fetchFlow(ctx context.Context, api media.API, q media.ReportQuery, page string) (media.Page, error) {
	return media.Numbered{Endpoint: "fund_daily", Size: pageSize}.Page(ctx, api, page, url.Values{
		"account": {api.Account().ExternalID}, "from": {q.From.String()}, "to": {q.To.String()},
	}, media.EachRow(func(r *wire.Row) media.Row {
		row := readFund(r, flowAmounts)
		row.Day = r.KeyDay("date")
		return row
	}))
}

func readFund(r *wire.Row, amounts wire.Amounts) media.Row {
	row := media.Row{Object: r.Key("type")}
	var bad []wire.Fault
	row.Raw, row.Funds, bad = amounts.Read(r.Fields(), fundTypes.Kind(row.Object))
	r.Add(bad)
	return row
}

func asJSON(list []string) string {
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // A list of texts always has a JSON form.
	}
	return string(text)
}

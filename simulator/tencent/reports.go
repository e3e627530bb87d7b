package tencent

import (
	"slices"
	"strconv"

	"adsync/simulator/fault/trap"
	"adsync/simulator/ledger"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// tencentField is a column of a report, with its output and sort order.
type tencentField struct {
	write   platform.Write[*world.Row] // nil for columns that need the call
	compare func(a, b *world.Row) int
	metric  *world.Metric // nil if it is not a metric
}

func tencentMetric(m world.Metric) tencentField {
	return tencentField{func(w *platform.Writer, r *world.Row) { w.Number(r.Figures[m]) }, platform.ByMetric(m), &m}
}

// tencentEach returns the column for the cost of one of a metric, in whole fen.
func tencentEach(of world.Metric, times int64) tencentField {
	price := func(f *world.Figures) int64 { return platform.Each(f[world.Cost]*times, f[of]) }
	return tencentField{
		write:   func(w *platform.Writer, r *world.Row) { w.Number(price(&r.Figures)) },
		compare: platform.ByRatio(func(f *world.Figures) float64 { return float64(price(f)) }),
	}
}

func tencentRatio(a, b world.Metric) tencentField {
	of := func(f *world.Figures) float64 { return platform.Ratio(f[a], f[b]) }
	return tencentField{write: func(w *platform.Writer, r *world.Row) { w.Float(of(&r.Figures)) },
		compare: platform.ByRatio(of)}
}

// tencentFields holds the fields that exist in this world.
var tencentFields = map[string]tencentField{
	"date": {write: func(w *platform.Writer, r *world.Row) { w.Text(world.FormatDay(r.Day)) },
		compare: platform.ByDay},
	"hour": {write: func(w *platform.Writer, r *world.Row) { w.Number(int64(max(r.Hour, 0))) },
		compare: platform.ByHour},
	"account_id":   {compare: func(_, _ *world.Row) int { return 0 }}, // written by the call, which has the account
	"adgroup_id":   {write: func(w *platform.Writer, r *world.Row) { w.Number(r.AdID()) }, compare: platform.ByAd},
	"adgroup_name": {compare: platform.ByAd}, // so are these
	"dynamic_creative_id": {write: func(w *platform.Writer, r *world.Row) {
		if r.Creative == nil {
			w.Number(0)
			return
		}
		w.Number(r.Object)
	}, compare: platform.ByObject},
	"dynamic_creative_name": {compare: platform.ByObject},
	"site_set": {write: func(w *platform.Writer, r *world.Row) {
		if r.Ad == nil {
			w.Text("")
			return
		}
		w.Text(r.Ad.Site())
	}, compare: func(_, _ *world.Row) int { return 0 }},

	"cost": tencentMetric(world.Cost), "view_count": tencentMetric(world.Impressions),
	"valid_click_count": tencentMetric(world.Clicks),
	"download_count":    tencentMetric(world.Downloads), "install_count": tencentMetric(world.Installs),
	"activated_count": tencentMetric(world.Activations),
	"reg_pv":          tencentMetric(world.Registrations), "reg_dedup_pv": tencentMetric(world.Registrations),
	"conversions_count": tencentMetric(world.Conversions), "deep_conversions_count": tencentMetric(world.DeepConversions),
	"first_pay_count": tencentMetric(world.FirstPays), "purchase_pv": tencentMetric(world.Pays),
	"purchase_amount":             tencentMetric(world.PayAmount),
	"first_day_pay_amount":        tencentMetric(world.PayAmountD1),
	"payment_amount_activated_d3": tencentMetric(world.PayAmountD3),
	"payment_amount_activated_d7": tencentMetric(world.PayAmountD7),
	"retention_count":             tencentMetric(world.NextDayRetained),
	"first_day_pay_count":         tencentMetric(world.PaysD1),
	"order_pv":                    tencentMetric(world.Orders),
	"order_amount":                tencentMetric(world.OrderAmount),

	"ctr":                   tencentRatio(world.Clicks, world.Impressions),
	"conversions_rate":      tencentRatio(world.Conversions, world.Clicks),
	"deep_conversions_rate": tencentRatio(world.DeepConversions, world.Clicks),
	"retention_rate":        tencentRatio(world.NextDayRetained, world.Activations),
	"purchase_roi":          tencentRatio(world.PayAmount, world.Cost),
	"roi_activated_d1":      tencentRatio(world.PayAmountD1, world.Cost),
	"roi_activated_d3":      tencentRatio(world.PayAmountD3, world.Cost),
	"roi_activated_d7":      tencentRatio(world.PayAmountD7, world.Cost),
	"cpc":                   tencentEach(world.Clicks, 1), "thousand_display_price": tencentEach(world.Impressions, 1000),
	"conversions_cost": tencentEach(world.Conversions, 1), "deep_conversions_cost": tencentEach(world.DeepConversions, 1),
	"activated_cost": tencentEach(world.Activations, 1), "reg_cost": tencentEach(world.Registrations, 1),
	"purchase_cost": tencentEach(world.Pays, 1), "first_pay_cost": tencentEach(world.FirstPays, 1),
}

const (
	tencentRowsMax      = 10_000
	tencentDailyBack    = 365
	tencentDailySpan    = 90
	tencentHourlyBack   = 90
	tencentLevelAccount = "REPORT_LEVEL_ADVERTISER"
	tencentLevelAdgroup = "REPORT_LEVEL_ADGROUP"

	tencentLevelCreative = "REPORT_LEVEL_DYNAMIC_CREATIVE"
)

// tencentGroups holds the fields to group each level by, daily and hourly; nil if the report does not exist. They are
// from the page "Insight into advertising data" (广告数据洞察), and for projects and templates from "Rules of aggregation"
// (聚合规则). Levels without rules have the day, the hour and the ad group. Levels of components, images and videos are
// not served: this world has no figures for them.
var tencentGroups = map[string]map[bool][]string{
	tencentLevelAccount: {false: {"date"}, true: {"hour"}},
	tencentLevelAdgroup: {false: {"date", "adgroup_id", "site_set"}, true: {"hour", "adgroup_id"}},

	tencentLevelCreative: {false: {"date", "adgroup_id", "dynamic_creative_id", "site_set"},
		true: {"hour", "adgroup_id", "dynamic_creative_id"}},

	// This world has nothing at these levels: they have no rows.
	"REPORT_LEVEL_CHANNEL": {false: {"date", "channel_id", "site_set"},
		true: {"hour", "adgroup_id", "channel_id"}},
	"REPORT_LEVEL_BIDWORD": {false: {"date", "bidword_id", "adgroup_id", "site_set"},
		true: {"hour", "adgroup_id", "bidword_id"}},
	"REPORT_LEVEL_QUERYWORD":       {false: {"date", "bidword_id", "queryword", "site_set"}},
	"REPORT_LEVEL_MARKETING_ASSET": {false: {"date", "marketing_target_type", "marketing_asset_id", "site_set"}},
	"REPORT_LEVEL_PRODUCT_CATALOG": {
		false: {"date", "product_catalog_id", "product_series_id", "product_outer_id", "adgroup_id", "site_set"},
	},
	"REPORT_LEVEL_PROJECT": {false: {"date", "adgroup_id", "site_set"}, true: {"hour", "adgroup_id"}},
	"REPORT_LEVEL_PROJECT_CREATIVE": {false: {"date", "adgroup_id", "dynamic_creative_id", "site_set"},
		true: {"hour", "adgroup_id", "dynamic_creative_id"}},
	"REPORT_LEVEL_PRODUCT_CREATIVE_TEMPLATE": {false: {"date", "creative_template_group_id", "adgroup_id", "site_set"}},
	"REPORT_LEVEL_VIDEO_HIGHLIGHT":           {false: {"date", "adgroup_id"}, true: {"hour", "adgroup_id"}},
	"REPORT_LEVEL_WECHAT_SHOP_PRODUCT":       {false: {"date", "adgroup_id"}},
	"REPORT_LEVEL_PLAYLET":                   {false: {"date", "adgroup_id"}},
}

// tencentReportFilters holds the conditions of hourly and daily reports, from the tables of their pages. The page of
// daily reports has no operators for md5, which gets those of the other texts.
var tencentReportFilters = map[bool]map[string][]string{
	true: tencentIn("adgroup_id", "dynamic_creative_id", "component_id", "component_type", "bidword_id", "channel_id",
		"image_id", "video_id"),
	false: tencentIn("adgroup_id", "dynamic_creative_id", "component_id", "component_type", "bidword_id", "channel_id",
		"image_id", "video_id",
		"marketing_target_type", "marketing_asset_id", "md5", "product_catalog_id", "product_series_id", "product_outer_id",
		"creative_template_group_id"),
}

// tencentByDelivery is the only condition of daily reports with operators other than EQUALS and IN.
const tencentByDelivery = "smart_delivery_platform"

func tencentIn(names ...string) map[string][]string {
	operators := make(map[string][]string, len(names)+1)
	for _, name := range names {
		operators[name] = []string{"EQUALS", "IN"}
	}
	if slices.Contains(names, "md5") {
		operators[tencentByDelivery] = []string{"EQUALS", "NOT_EQUALS"}
	}
	return operators
}

func (t *tencent) dailyReports(c *platform.Call, l *world.Login) *platform.Failure {
	return t.report(c, l, false)
}
func (t *tencent) hourlyReports(c *platform.Call, l *world.Login) *platform.Failure {
	return t.report(c, l, true)
}

// tencentQuery is a report's parameters.
type tencentQuery struct {
	account world.Account
	scope   world.Scope
	by      platform.Grouping
	fields  []string
	columns []tencentField // the columns of the fields
	silence world.Silence
	filters []tencentFilter
	orders  []platform.Order
	page    int
	size    int
	empty   bool // this world has nothing at the level
}

func (t *tencent) report(c *platform.Call, l *world.Login, hourly bool) *platform.Failure {
	q, err := t.reportQuery(c, l, hourly)
	if err != nil {
		return err
	}
	kind := c.Query.Get("level")
	if r, open := c.Sim.Limits.Open(c.Spec.Name, kind, c.App); !open {
		t.OverLimit(c, r)
		c.Outcome = ledger.Refused
		return nil
	}
	var rows []world.Row
	if !q.empty {
		rows = slices.DeleteFunc(c.Rows(&q.account, q.scope), func(r world.Row) bool { return !q.fits(&r) })
	}
	list := platform.Sorted(q.by.Apply(rows, q.scope.Level), q.orders)
	if q.page == 1 && len(list) > tencentRowsMax {
		c.Sim.Switches.Meet(trap.RowsOverCap)
	}
	from, to, total := c.PageOf(q.page, q.size, len(list))
	w := begin(c)
	w.OpenArray("list")
	for _, r := range list[from:to] {
		t.writeRow(c, &w, &q, r)
	}
	w.Close(']')
	w.PageInfo(q.page, q.size, total)
	c.Sim.Limits.Match(c.Spec.Name, kind, c.App, total)
	end(c, &w)
	c.CountSilence(&q.silence)
	return nil
}

func (t *tencent) writeRow(c *platform.Call, w *platform.Writer, q *tencentQuery, r *world.Row) {
	w.Open('{')
	for i, f := range q.fields {
		if m := q.columns[i].metric; m != nil && platform.LeavesOut(&q.silence, w, f, *m, &r.Figures) {
			continue
		}
		w.Key(f)
		switch {
		case q.columns[i].write != nil:
			q.columns[i].write(w, r)
		case f == "account_id":
			w.Number(q.account.ID)
		case f == "dynamic_creative_name" && r.Creative != nil:
			o := r.Creative.At(c.Now)
			w.Text(o.Name)
		case f == "adgroup_name" && r.Ad != nil:
			o := r.Ad.At(c.Now)
			w.Text(o.Name)
		default:
			w.Text("")
		}
	}
	c.CountTraits(w, &q.account, nil)
	w.Close('}')
}

// fits reports whether the conditions hold for a row. For a condition on an object it is the object's row. Apart from
// ad groups and creatives, the only value that rows have for conditions is the target of all ads of this world.
func (q *tencentQuery) fits(r *world.Row) bool {
	for _, f := range q.filters {
		value := ""
		switch f.Field {
		case "adgroup_id":
			value = strconv.FormatInt(r.AdID(), 10)
		case "dynamic_creative_id":
			value = strconv.FormatInt(r.Object, 10)
		case "marketing_target_type":
			value = tencentTarget
		}
		if slices.Contains(f.Values, value) == (f.Operator == "NOT_EQUALS") {
			return false
		}
	}
	return true
}

// narrow replaces the rows of an account's report by those of its objects if conditions concern objects, before the
// rows are added up.
func (q *tencentQuery) narrow() {
	for _, f := range q.filters {
		switch f.Field {
		case "dynamic_creative_id":
			q.by.Object = q.by.Object && q.scope.Level == world.LevelCreative
			q.scope.Level = world.LevelCreative
		case "adgroup_id":
			if q.scope.Level == world.LevelAccount {
				q.scope.Level = world.LevelAd
			}
		}
	}
}

func (t *tencent) reportQuery(c *platform.Call, l *world.Login, hourly bool) (q tencentQuery, err *platform.Failure) {
	if q.account, err = t.account(c, l); err != nil {
		return q, err
	}
	levelName := c.Query.Get("level")
	if levelName == "" {
		return q, platform.Failf(18001, "level")
	}
	groups := tencentGroups[levelName][hourly]
	if groups == nil {
		return q, platform.Failf(18009, "level %q", levelName)
	}
	switch levelName {
	case tencentLevelAdgroup:
		q.scope.Level = world.LevelAd
	case tencentLevelCreative:
		q.scope.Level = world.LevelCreative
	case tencentLevelAccount:
	default:
		q.empty = true
	}
	q.scope.Hourly, q.silence = hourly, q.account.Silence()
	if err = dateRange(c, &q.account, &q.scope); err != nil {
		return q, err
	}
	if q.by, err = groupBy(c, q.scope.Level, groups); err != nil {
		return q, err
	}
	q.fields, err = readFields(c, func(name string) bool {
		f, ok := tencentFieldOf(c, name)
		q.columns = append(q.columns, f)
		return ok
	})
	if err != nil {
		return q, err
	}
	if q.fields == nil {
		return q, platform.Failf(18001, "fields")
	}
	if q.filters, err = readFilters(c, 40, tencentReportFilters[hourly]); err != nil {
		return q, err
	}
	q.narrow()
	if q.orders, err = orderBy(c); err != nil {
		return q, err
	}
	if _, err = oneOf(c, "time_line", "REQUEST_TIME", "REPORTING_TIME", "ACTIVE_TIME"); err != nil {
		return q, err
	}
	pagesMax := 99_999
	if hourly {
		pagesMax = 100
	}
	if q.page, err = integer(c, "page", 1, pagesMax); err != nil {
		return q, err
	}
	if q.size, err = integer(c, "page_size", 10, 2000); err != nil {
		return q, err
	}
	if q.page*q.size > tencentRowsMax {
		return q, platform.Failf(18003, "page x page_size is at most %d", tencentRowsMax)
	}
	return q, nil
}

// dateRange reads the days: up to 90 of the last 365, or one of the last 90 for hourly reports.
func dateRange(c *platform.Call, a *world.Account, s *world.Scope) *platform.Failure {
	if s.Hourly {
		return readDays(c, a, s, 1, tencentHourlyBack)
	}
	return readDays(c, a, s, tencentDailySpan, tencentDailyBack)
}

// readDays reads the days of an account's report: at most span days, and at most back days ago.
func readDays(c *platform.Call, a *world.Account, s *world.Scope, span, back int) *platform.Failure {
	var days struct {
		Start string `json:"start_date"`
		End   string `json:"end_date"`
	}
	found, err := decode(c, "date_range", &days)
	if err != nil {
		return err
	}
	if !found || days.Start == "" || days.End == "" {
		return platform.Failf(18001, "date_range")
	}
	var wrong error
	if s.From, wrong = world.ParseDay(days.Start); wrong != nil {
		return platform.Failf(18002, "date_range: start_date")
	}
	if s.To, wrong = world.ParseDay(days.End); wrong != nil {
		return platform.Failf(18002, "date_range: end_date")
	}
	switch {
	case s.To < s.From:
		return platform.Failf(18004, "date_range: end_date is before start_date")
	case s.To-s.From >= span:
		return platform.Failf(18003, "date_range: at most %d days", span)
	case s.From < a.Calendar.DayOf(c.Now)-back:
		return platform.Failf(18004, "date_range: at most %d days back", back)
	}
	return nil
}

func groupBy(c *platform.Call, l world.Level, allowed []string) (g platform.Grouping, err *platform.Failure) {
	var list []string
	found, err := decode(c, "group_by", &list)
	switch {
	case err != nil:
		return g, err
	case !found:
		return g, platform.Failf(18001, "group_by")
	case len(list) == 0:
		return g, platform.Failf(18012, "group_by")
	case len(list) > 10:
		return g, platform.Failf(18003, "group_by has at most 10 fields")
	}
	for _, name := range list {
		if !slices.Contains(allowed, name) {
			return g, platform.Failf(18009, "group_by is of %v at this level, not %q", allowed, name)
		}
		switch name {
		case "date":
			g.Day = true
		case "hour":
			g.Day, g.Hour = true, true // an hourly report has one day only
		case "adgroup_id":
			g.Ad = true
			g.Object = g.Object || l == world.LevelAd
		case "dynamic_creative_id":
			g.Object = true
		case "site_set":
			g.Site = true
		}
	}
	return g, nil
}

func orderBy(c *platform.Call) (orders []platform.Order, err *platform.Failure) {
	var list []struct {
		Field string `json:"sort_field"`
		Type  string `json:"sort_type"`
	}
	if _, err := decode(c, "order_by", &list); err != nil {
		return nil, err
	}
	if len(list) > 2 {
		return nil, platform.Failf(18003, "order_by has at most 2 fields")
	}
	for _, o := range list {
		f, ok := tencentColumns()[o.Field]
		if !ok {
			return nil, platform.Failf(12009, "order_by: %q", o.Field)
		}
		if o.Type != "ASCENDING" && o.Type != "DESCENDING" {
			return nil, platform.Failf(18009, "order_by: sort_type %q", o.Type)
		}
		orders = append(orders, platform.Order{Compare: f.compare, Desc: o.Type == "DESCENDING"})
	}
	return orders, nil
}

// tencentFieldOf returns a field of a report that a call requests.
func tencentFieldOf(c *platform.Call, name string) (tencentField, bool) {
	switch c.Sim.Faults.Field(c, name) {
	case platform.FieldRetired:
		return tencentField{}, false
	case platform.FieldAdded:
		return tencentMetric(world.Clicks), true
	}
	f, ok := tencentColumns()[name]
	return f, ok
}

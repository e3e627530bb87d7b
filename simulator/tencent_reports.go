package simulator

import (
	"slices"
	"strconv"
)

// tencentField is a column of a report: how it is written, and how rows are sorted by it.
type tencentField struct {
	write   write[*row] // nil for what the call must know
	compare func(a, b *row) int
	metric  *metric // nil if it is none
}

func tencentMetric(m metric) tencentField {
	return tencentField{func(w *jsonWriter, r *row) { w.number(r.figures[m]) }, byMetric(m), &m}
}

// tencentEach is what one of a metric costs, in whole fen.
func tencentEach(of metric, times int64) tencentField {
	price := func(f *figures) int64 { return each(f[cost]*times, f[of]) }
	return tencentField{
		write:   func(w *jsonWriter, r *row) { w.number(price(&r.figures)) },
		compare: byRatio(func(f *figures) float64 { return float64(price(f)) }),
	}
}

func tencentRatio(a, b metric) tencentField {
	of := func(f *figures) float64 { return ratio(f[a], f[b]) }
	return tencentField{write: func(w *jsonWriter, r *row) { w.float(of(&r.figures)) }, compare: byRatio(of)}
}

// tencentFields are the fields that this world has something for.
var tencentFields = map[string]tencentField{
	"date":         {write: func(w *jsonWriter, r *row) { w.text(formatDay(r.day)) }, compare: byDay},
	"hour":         {write: func(w *jsonWriter, r *row) { w.number(int64(max(r.hour, 0))) }, compare: byHour},
	"account_id":   {compare: func(_, _ *row) int { return 0 }}, // written by the call, which knows it
	"adgroup_id":   {write: func(w *jsonWriter, r *row) { w.number(r.adID()) }, compare: byAd},
	"adgroup_name": {compare: byAd}, // so are these
	"dynamic_creative_id": {write: func(w *jsonWriter, r *row) {
		if r.creative == nil {
			w.number(0)
			return
		}
		w.number(r.object)
	}, compare: byObject},
	"dynamic_creative_name": {compare: byObject},
	"site_set": {write: func(w *jsonWriter, r *row) {
		if r.ad == nil {
			w.text("")
			return
		}
		w.text(r.ad.site())
	}, compare: func(_, _ *row) int { return 0 }},

	"cost": tencentMetric(cost), "view_count": tencentMetric(impressions), "valid_click_count": tencentMetric(clicks),
	"download_count": tencentMetric(downloads), "install_count": tencentMetric(installs), "activated_count": tencentMetric(activations),
	"reg_pv": tencentMetric(registrations), "reg_dedup_pv": tencentMetric(registrations),
	"conversions_count": tencentMetric(conversions), "deep_conversions_count": tencentMetric(deepConversions),
	"first_pay_count": tencentMetric(firstPays), "purchase_pv": tencentMetric(pays), "purchase_amount": tencentMetric(payAmount),
	"first_day_pay_amount": tencentMetric(payAmountD1), "payment_amount_activated_d3": tencentMetric(payAmountD3),
	"payment_amount_activated_d7": tencentMetric(payAmountD7), "retention_count": tencentMetric(nextDayRetained),

	"ctr": tencentRatio(clicks, impressions), "conversions_rate": tencentRatio(conversions, clicks),
	"deep_conversions_rate": tencentRatio(deepConversions, clicks), "retention_rate": tencentRatio(nextDayRetained, activations),
	"purchase_roi": tencentRatio(payAmount, cost), "roi_activated_d1": tencentRatio(payAmountD1, cost),
	"roi_activated_d3": tencentRatio(payAmountD3, cost), "roi_activated_d7": tencentRatio(payAmountD7, cost),
	"cpc": tencentEach(clicks, 1), "thousand_display_price": tencentEach(impressions, 1000),
	"conversions_cost": tencentEach(conversions, 1), "deep_conversions_cost": tencentEach(deepConversions, 1),
	"activated_cost": tencentEach(activations, 1), "reg_cost": tencentEach(registrations, 1),
	"purchase_cost": tencentEach(pays, 1), "first_pay_cost": tencentEach(firstPays, 1),
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

// tencentGroups are what each level can be grouped by, daily and hourly; nil where there is no such report. They are
// those of the page "Insight into advertising data" (广告数据洞察), and of "Rules of aggregation" (聚合规则) for projects and
// templates. Those of the levels without rules are the day, the hour and the ad group. Levels of components, images and
// videos are not served: this world has no figures of theirs.
var tencentGroups = map[string]map[bool][]string{
	tencentLevelAccount: {false: {"date"}, true: {"hour"}},
	tencentLevelAdgroup: {false: {"date", "adgroup_id", "site_set"}, true: {"hour", "adgroup_id"}},

	tencentLevelCreative: {false: {"date", "adgroup_id", "dynamic_creative_id", "site_set"}, true: {"hour", "adgroup_id", "dynamic_creative_id"}},

	// Nothing of this world is of these levels: they have no rows.
	"REPORT_LEVEL_CHANNEL":         {false: {"date", "channel_id", "site_set"}, true: {"hour", "adgroup_id", "channel_id"}},
	"REPORT_LEVEL_BIDWORD":         {false: {"date", "bidword_id", "adgroup_id", "site_set"}, true: {"hour", "adgroup_id", "bidword_id"}},
	"REPORT_LEVEL_QUERYWORD":       {false: {"date", "bidword_id", "queryword", "site_set"}},
	"REPORT_LEVEL_MARKETING_ASSET": {false: {"date", "marketing_target_type", "marketing_asset_id", "site_set"}},
	"REPORT_LEVEL_PRODUCT_CATALOG": {
		false: {"date", "product_catalog_id", "product_series_id", "product_outer_id", "adgroup_id", "site_set"},
	},
	"REPORT_LEVEL_PROJECT":                   {false: {"date", "adgroup_id", "site_set"}, true: {"hour", "adgroup_id"}},
	"REPORT_LEVEL_PROJECT_CREATIVE":          {false: {"date", "adgroup_id", "dynamic_creative_id", "site_set"}, true: {"hour", "adgroup_id", "dynamic_creative_id"}},
	"REPORT_LEVEL_PRODUCT_CREATIVE_TEMPLATE": {false: {"date", "creative_template_group_id", "adgroup_id", "site_set"}},
	"REPORT_LEVEL_VIDEO_HIGHLIGHT":           {false: {"date", "adgroup_id"}, true: {"hour", "adgroup_id"}},
	"REPORT_LEVEL_WECHAT_SHOP_PRODUCT":       {false: {"date", "adgroup_id"}},
	"REPORT_LEVEL_PLAYLET":                   {false: {"date", "adgroup_id"}},
}

// tencentReportFilters are the conditions of reports, by the hour and daily, from the tables of their pages. The page
// of daily reports gives md5 no operators: it has those of the other texts.
var tencentReportFilters = map[bool]map[string][]string{
	true: tencentIn("adgroup_id", "dynamic_creative_id", "component_id", "component_type", "bidword_id", "channel_id", "image_id", "video_id"),
	false: tencentIn("adgroup_id", "dynamic_creative_id", "component_id", "component_type", "bidword_id", "channel_id", "image_id", "video_id",
		"marketing_target_type", "marketing_asset_id", "md5", "product_catalog_id", "product_series_id", "product_outer_id", "creative_template_group_id"),
}

// tencentByDelivery is the one condition of daily reports that is not of the operators EQUALS and IN.
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

func (t *tencent) dailyReports(c *call, l *login) *apiError  { return t.report(c, l, false) }
func (t *tencent) hourlyReports(c *call, l *login) *apiError { return t.report(c, l, true) }

// tencentQuery is a report's parameters.
type tencentQuery struct {
	account account
	scope   scope
	by      grouping
	fields  []string
	columns []tencentField // of the fields
	untold  silence
	filters []tencentFilter
	orders  []order
	page    int
	size    int
	empty   bool // this world has nothing of the level
}

func (t *tencent) report(c *call, l *login, hourly bool) *apiError {
	q, err := t.reportQuery(c, l, hourly)
	if err != nil {
		return err
	}
	kind := c.query.Get("level")
	if r, open := c.sim.limits.open(c.p.name, kind, c.app); !open {
		t.overLimit(c, r)
		c.outcome = outcomeRefused
		return nil
	}
	var rows []row
	if !q.empty {
		rows = slices.DeleteFunc(c.rows(&q.account, q.scope), func(r row) bool { return !q.fits(&r) })
	}
	list := sorted(q.by.apply(rows, q.scope.level), q.orders)
	if q.page == 1 && len(list) > tencentRowsMax {
		c.sim.switches.meet(trapRowsOverCap)
	}
	from, to, total := c.pageOf(q.page, q.size, len(list))
	w := t.begin(c)
	w.openArray("list")
	for _, r := range list[from:to] {
		t.writeRow(c, &w, &q, r)
	}
	w.close(']')
	w.pageInfo(q.page, q.size, total)
	c.sim.limits.match(c.p.name, kind, c.app, total)
	t.end(c, &w)
	c.countSilence(&q.untold)
	return nil
}

func (t *tencent) writeRow(c *call, w *jsonWriter, q *tencentQuery, r *row) {
	w.open('{')
	for i, f := range q.fields {
		if m := q.columns[i].metric; m != nil && leavesOut(&q.untold, w, f, *m, &r.figures) {
			continue
		}
		w.key(f)
		switch {
		case q.columns[i].write != nil:
			q.columns[i].write(w, r)
		case f == "account_id":
			w.number(q.account.id)
		case f == "dynamic_creative_name" && r.creative != nil:
			o := r.creative.at(c.now)
			w.text(o.name)
		case f == "adgroup_name" && r.ad != nil:
			o := r.ad.at(c.now)
			w.text(o.name)
		default:
			w.text("")
		}
	}
	c.told(w, &q.account, nil)
	w.close('}')
}

// fits reports whether the conditions hold for a row, which is that of an object where one of them is about an object.
// Of what conditions name beside ad groups and creatives, no row has anything but the target that all ads of this world
// have.
func (q *tencentQuery) fits(r *row) bool {
	for _, f := range q.filters {
		value := ""
		switch f.Field {
		case "adgroup_id":
			value = strconv.FormatInt(r.adID(), 10)
		case "dynamic_creative_id":
			value = strconv.FormatInt(r.object, 10)
		case "marketing_target_type":
			value = tencentTarget
		}
		if slices.Contains(f.Values, value) == (f.Operator == "NOT_EQUALS") {
			return false
		}
	}
	return true
}

// narrow makes the rows of an account's report those of its objects where conditions are about them, before they are
// added up.
func (q *tencentQuery) narrow() {
	for _, f := range q.filters {
		switch f.Field {
		case "dynamic_creative_id":
			q.by.object = q.by.object && q.scope.level == levelCreative
			q.scope.level = levelCreative
		case "adgroup_id":
			if q.scope.level == levelAccount {
				q.scope.level = levelAd
			}
		}
	}
}

func (t *tencent) reportQuery(c *call, l *login, hourly bool) (q tencentQuery, err *apiError) {
	if q.account, err = t.account(c, l); err != nil {
		return q, err
	}
	levelName := c.query.Get("level")
	if levelName == "" {
		return q, failure(18001, "level")
	}
	groups := tencentGroups[levelName][hourly]
	if groups == nil {
		return q, failure(18009, "level %q", levelName)
	}
	switch levelName {
	case tencentLevelAdgroup:
		q.scope.level = levelAd
	case tencentLevelCreative:
		q.scope.level = levelCreative
	case tencentLevelAccount:
	default:
		q.empty = true
	}
	q.scope.hourly, q.untold = hourly, q.account.silence()
	if err = t.dateRange(c, &q.account, &q.scope); err != nil {
		return q, err
	}
	if q.by, err = t.groupBy(c, q.scope.level, groups); err != nil {
		return q, err
	}
	q.fields, err = t.fields(c, func(name string) bool {
		f, ok := tencentFieldOf(c, name)
		q.columns = append(q.columns, f)
		return ok
	})
	if err != nil {
		return q, err
	}
	if q.fields == nil {
		return q, failure(18001, "fields")
	}
	if q.filters, err = t.filters(c, 40, tencentReportFilters[hourly]); err != nil {
		return q, err
	}
	q.narrow()
	if q.orders, err = t.orderBy(c); err != nil {
		return q, err
	}
	if _, err = t.oneOf(c, "time_line", "REQUEST_TIME", "REPORTING_TIME", "ACTIVE_TIME"); err != nil {
		return q, err
	}
	pagesMax := 99_999
	if hourly {
		pagesMax = 100
	}
	if q.page, err = t.integer(c, "page", 1, pagesMax); err != nil {
		return q, err
	}
	if q.size, err = t.integer(c, "page_size", 10, 2000); err != nil {
		return q, err
	}
	if q.page*q.size > tencentRowsMax {
		return q, failure(18003, "page x page_size is at most %d", tencentRowsMax)
	}
	return q, nil
}

// dateRange reads the days: up to 90 of the last 365, or one of the last 90 by the hour.
func (t *tencent) dateRange(c *call, a *account, s *scope) *apiError {
	if s.hourly {
		return t.days(c, a, s, 1, tencentHourlyBack)
	}
	return t.days(c, a, s, tencentDailySpan, tencentDailyBack)
}

// days reads the days of an account's report: so many at the most, and so far back.
func (t *tencent) days(c *call, a *account, s *scope, span, back int) *apiError {
	var days struct {
		Start string `json:"start_date"`
		End   string `json:"end_date"`
	}
	found, err := t.decode(c, "date_range", &days)
	if err != nil {
		return err
	}
	if !found || days.Start == "" || days.End == "" {
		return failure(18001, "date_range")
	}
	var wrong error
	if s.from, wrong = parseDay(days.Start); wrong != nil {
		return failure(18002, "date_range: start_date")
	}
	if s.to, wrong = parseDay(days.End); wrong != nil {
		return failure(18002, "date_range: end_date")
	}
	switch {
	case s.to < s.from:
		return failure(18004, "date_range: end_date is before start_date")
	case s.to-s.from >= span:
		return failure(18003, "date_range: at most %d days", span)
	case s.from < a.calendar.dayOf(c.now)-back:
		return failure(18004, "date_range: at most %d days back", back)
	}
	return nil
}

func (t *tencent) groupBy(c *call, l level, allowed []string) (g grouping, err *apiError) {
	var list []string
	found, err := t.decode(c, "group_by", &list)
	switch {
	case err != nil:
		return g, err
	case !found:
		return g, failure(18001, "group_by")
	case len(list) == 0:
		return g, failure(18012, "group_by")
	case len(list) > 10:
		return g, failure(18003, "group_by has at most 10 fields")
	}
	for _, name := range list {
		if !slices.Contains(allowed, name) {
			return g, failure(18009, "group_by is of %v at this level, not %q", allowed, name)
		}
		switch name {
		case "date":
			g.day = true
		case "hour":
			g.day, g.hour = true, true // an hourly report has one day only
		case "adgroup_id":
			g.ad = true
			g.object = g.object || l == levelAd
		case "dynamic_creative_id":
			g.object = true
		case "site_set":
			g.site = true
		}
	}
	return g, nil
}

func (t *tencent) orderBy(c *call) (orders []order, err *apiError) {
	var list []struct {
		Field string `json:"sort_field"`
		Type  string `json:"sort_type"`
	}
	if _, err := t.decode(c, "order_by", &list); err != nil {
		return nil, err
	}
	if len(list) > 2 {
		return nil, failure(18003, "order_by has at most 2 fields")
	}
	for _, o := range list {
		f, ok := tencentColumns()[o.Field]
		if !ok {
			return nil, failure(12009, "order_by: %q", o.Field)
		}
		if o.Type != "ASCENDING" && o.Type != "DESCENDING" {
			return nil, failure(18009, "order_by: sort_type %q", o.Type)
		}
		orders = append(orders, order{f.compare, o.Type == "DESCENDING"})
	}
	return orders, nil
}

// tencentFieldOf finds a field of a report that a call asks for.
func tencentFieldOf(c *call, name string) (tencentField, bool) {
	switch c.sim.faults.Field(c, name) {
	case fieldRetired:
		return tencentField{}, false
	case fieldAdded:
		return tencentMetric(clicks), true
	}
	f, ok := tencentColumns()[name]
	return f, ok
}

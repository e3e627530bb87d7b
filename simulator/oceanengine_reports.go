package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// oceanMetric is a metric of custom reports. All values are strings: money in yuan and rates in percent, both with
// two digits after the point, and counts.
type oceanMetric struct {
	name  string
	about string
	kind  byte // 'n' count, 'y' yuan or percent in hundredths
	value func(f *figures) int64
	of    *metric // nil of what is made of several
}

func oceanCount(name, about string, m metric) oceanMetric {
	kind := byte('n')
	if m.isMoney() {
		kind = 'y'
	}
	return oceanMetric{name, about, kind, func(f *figures) int64 { return f[m] }, &m}
}

// oceanCost is what one of a metric costs.
func oceanCost(name, about string, of metric, times int64) oceanMetric {
	return oceanMetric{name, about, 'y', func(f *figures) int64 { return each(f[cost]*times, f[of]) }, nil}
}

// oceanShare is a part of another metric: as a rate in percent, as a return in times.
func oceanShare(name, about string, a, b metric, times int64) oceanMetric {
	return oceanMetric{name, about, 'y', func(f *figures) int64 { return each(f[a]*times, f[b]) }, nil}
}

func oceanNothing(name, about string, kind byte) oceanMetric {
	return oceanMetric{name, about, kind, func(*figures) int64 { return 0 }, nil}
}

const (
	inPercent = 10_000
	inTimes   = 100
)

var oceanMetrics = []oceanMetric{
	oceanCount("stat_cost", "消耗", cost), oceanCount("show_cnt", "展示数", impressions), oceanCount("click_cnt", "点击数", clicks),
	oceanShare("ctr", "点击率", clicks, impressions, inPercent), oceanCost("cpm_platform", "平均千次展现费用", impressions, 1000),
	oceanCost("cpc_platform", "平均点击单价", clicks, 1),
	oceanCount("convert_cnt", "转化数", conversions), oceanCost("conversion_cost", "平均转化成本", conversions, 1),
	oceanShare("conversion_rate", "转化率", conversions, clicks, inPercent),
	oceanCount("attribution_convert_cnt", "转化数(计费时间)", conversions),
	oceanCost("attribution_convert_cost", "转化成本(计费时间)", conversions, 1),
	oceanShare("attribution_conversion_rate", "转化率(计费时间)", conversions, clicks, inPercent),
	oceanCount("deep_convert_cnt", "深度转化数", deepConversions), oceanCost("deep_convert_cost", "深度转化成本", deepConversions, 1),
	oceanShare("deep_convert_rate", "深度转化率", deepConversions, conversions, inPercent),
	oceanCount("click_start_cnt", "下载开始数", downloads), oceanCount("download_finish_cnt", "下载完成数", downloads),
	oceanCount("install_finish_cnt", "安装完成数", installs),
	oceanCount("active", "激活数", activations), oceanCost("active_cost", "激活成本", activations, 1),
	oceanShare("active_rate", "激活率", activations, clicks, inPercent),
	oceanCount("active_register", "注册数", registrations), oceanCost("active_register_cost", "注册成本", registrations, 1),
	oceanShare("active_register_rate", "注册率", registrations, activations, inPercent),
	oceanNothing("game_addiction", "关键行为数", 'n'), oceanNothing("game_addiction_cost", "关键行为成本", 'y'),
	oceanCount("attribution_next_day_open_cnt", "次留数", nextDayRetained),
	oceanShare("attribution_next_day_open_rate", "次留率", nextDayRetained, activations, inPercent),
	oceanCount("next_day_open", "次留数(回传时间)", nextDayRetained),
	oceanCount("active_pay", "首次付费数", firstPays), oceanCost("active_pay_cost", "首次付费成本", firstPays, 1),
	oceanCount("game_pay_count", "付费次数", pays), oceanCost("game_pay_cost", "付费成本", pays, 1),
	oceanCount("attribution_game_pay_7d_count", "7日付费次数", pays),
	oceanCount("active_pay_intra_day_count", "激活当日首次付费数", firstPays),
	oceanCount("attribution_day_active_pay_count", "计费当日首次付费数", firstPays),
	oceanCount("attribution_game_in_app_ltv_1day", "当日付费金额", payAmountD1),
	oceanCount("attribution_game_in_app_ltv_2days", "激活后一日付费金额", payAmountD1),
	oceanCount("attribution_game_in_app_ltv_3days", "激活后二日付费金额", payAmountD3),
	oceanCount("attribution_game_in_app_ltv_4days", "激活后三日付费金额", payAmountD3),
	oceanCount("attribution_game_in_app_ltv_5days", "激活后四日付费金额", payAmountD3),
	oceanCount("attribution_game_in_app_ltv_6days", "激活后五日付费金额", payAmountD3),
	oceanCount("attribution_game_in_app_ltv_7days", "激活后六日付费金额", payAmountD7),
	oceanCount("attribution_game_in_app_ltv_8days", "激活后七日付费金额", payAmountD7),
	oceanShare("attribution_game_in_app_roi_1day", "当日付费ROI", payAmountD1, cost, inTimes),
	oceanShare("attribution_game_in_app_roi_3days", "激活后二日付费ROI", payAmountD3, cost, inTimes),
	oceanShare("attribution_game_in_app_roi_7days", "激活后六日付费ROI", payAmountD7, cost, inTimes),
	oceanNothing("in_app_order", "APP内下单数", 'n'), oceanNothing("in_app_order_gmv", "APP内下单金额", 'y'),
	oceanNothing("in_app_order_roi", "APP内下单ROI", 'y'),
	oceanCost("click_start_cost", "下载开始成本", downloads, 1), oceanShare("click_start_rate", "下载开始率", downloads, clicks, inPercent),
	oceanCost("download_finish_cost", "下载完成成本", downloads, 1), oceanShare("download_finish_rate", "下载完成率", downloads, downloads, inPercent),
	oceanCost("install_finish_cost", "安装完成成本", installs, 1), oceanShare("install_finish_rate", "安装完成率", installs, downloads, inPercent),
	oceanNothing("game_addiction_rate", "关键行为率", 'y'),
	oceanCost("attribution_next_day_open_cost", "次留成本", nextDayRetained, 1),
	oceanShare("active_pay_rate", "首次付费率", firstPays, activations, inPercent),
	oceanCost("attribution_game_pay_7d_cost", "7日付费成本", pays, 1),
	oceanShare("attribution_active_pay_7d_per_count", "7日人均付费次数", pays, firstPays, inTimes),
	oceanCost("attribution_day_active_pay_cost", "计费当日首次付费成本", firstPays, 1),
	oceanShare("attribution_day_active_pay_rate", "计费当日首次付费率", firstPays, activations, inPercent),
	oceanCost("active_pay_intra_day_cost", "激活当日首次付费成本", firstPays, 1),
	oceanShare("active_pay_intra_day_rate", "激活当日首次付费率", firstPays, activations, inPercent),
	oceanShare("attribution_game_in_app_roi_2days", "激活后一日付费ROI", payAmountD1, cost, inTimes),
	oceanShare("attribution_game_in_app_roi_4days", "激活后三日付费ROI", payAmountD3, cost, inTimes),
	oceanShare("attribution_game_in_app_roi_5days", "激活后四日付费ROI", payAmountD3, cost, inTimes),
	oceanShare("attribution_game_in_app_roi_6days", "激活后五日付费ROI", payAmountD3, cost, inTimes),
	oceanShare("attribution_game_in_app_roi_8days", "激活后七日付费ROI", payAmountD7, cost, inTimes),
	oceanNothing("in_app_uv", "APP内访问数", 'n'), oceanNothing("in_app_detail_uv", "APP内访问详情页数", 'n'),
	oceanNothing("in_app_cart", "APP内加入购物车数", 'n'), oceanNothing("in_app_pay", "APP内付费数", 'n'),
}

var oceanMetricByName = func() map[string]*oceanMetric {
	all := map[string]*oceanMetric{}
	for i := range oceanMetrics {
		all[oceanMetrics[i].name] = &oceanMetrics[i]
	}
	return all
}()

func (m *oceanMetric) append(b []byte, f *figures) []byte {
	if m.kind == 'y' {
		return appendFixed2(b, m.value(f))
	}
	return strconv.AppendInt(b, m.value(f), 10)
}

// oceanDimension is what rows are kept apart by.
type oceanDimension struct {
	name, about string
	group       func(g *grouping)
	compare     func(a, b *row) int
	value       func(q *oceanQuery, r *row) string
	// isSortable says that rows can be put in order by it. Which ones can the documents leave to sort_able.
	isSortable bool
}

// oceanAlike is a dimension in which all rows of this world are alike.
func oceanAlike(name, about, value string) oceanDimension {
	return oceanDimension{name, about, func(*grouping) {}, func(*row, *row) int { return 0 }, func(*oceanQuery, *row) string { return value }, false}
}

var oceanDimensions = []oceanDimension{
	{"stat_time_day", "时间-天", func(g *grouping) { g.day = true }, byDay,
		func(_ *oceanQuery, r *row) string { return formatDay(r.day) }, true},
	{"stat_time_hour", "时间-小时", func(g *grouping) { g.day, g.hour = true, true }, func(a, b *row) int {
		if c := byDay(a, b); c != 0 {
			return c
		}
		return byHour(a, b)
	}, func(_ *oceanQuery, r *row) string {
		if r.hour == noHour {
			return formatDay(r.day) // the platform keeps the hours of the last days alone
		}
		return fmt.Sprintf("%s %02d:00 - %02d:59", formatDay(r.day), r.hour, r.hour)
	}, true},
	{"cdp_project_id", "项目ID", func(g *grouping) { g.project = true }, byProject,
		func(_ *oceanQuery, r *row) string { return objectText(r.ad.project) }, true},
	{"cdp_project_name", "项目名称", func(g *grouping) { g.project = true }, byProject,
		func(q *oceanQuery, r *row) string { return q.projectName(r.ad.project) }, false},
	{"cdp_promotion_id", "单元ID", func(g *grouping) { g.ad = true }, byAd,
		func(_ *oceanQuery, r *row) string { return objectText(r.adID()) }, true},
	{"cdp_promotion_name", "单元名称", func(g *grouping) { g.ad = true }, byAd,
		func(q *oceanQuery, r *row) string { o := r.ad.at(q.now); return o.name }, false},
	oceanAlike("landing_type", "推广目的", "APP"), oceanAlike("external_action", "优化目标", "AD_CONVERT_TYPE_ACTIVE"),
	oceanAlike("deep_external_action", "深度优化目标", "AD_CONVERT_TYPE_PAY"), oceanAlike("pricing", "出价方式", "PRICING_OCPM"),
	oceanAlike("delivery_mode", "投放模式", "MANUAL"), oceanAlike("platform", "平台", "ANDROID"),
	oceanAlike("app_code", "首选媒体", oceanOther), oceanAlike("package_name", "应用包名", oceanOther), oceanAlike("gender", "性别", oceanOther),
	oceanAlike("age", "年龄", oceanOther), oceanAlike("ac", "网络", oceanOther), oceanAlike("province_name", "省份", oceanOther),
	oceanAlike("city_name", "城市", oceanOther),
}

// oceanOther is how the platform calls what it did not recognise of who has seen an ad.
const oceanOther = "其他"

// oceanMaterialDimensions are dimensions of MATERIAL_DATA alone.
var oceanMaterialDimensions = []oceanDimension{
	{"material_id", "素材ID", func(g *grouping) { g.material = true }, byMaterial,
		func(_ *oceanQuery, r *row) string { return objectText(r.creative.material) }, false},
	{"image_mode", "素材类型", func(g *grouping) { g.mode = true }, func(a, b *row) int { return cmp.Compare(a.creative.mode, b.creative.mode) },
		func(_ *oceanQuery, r *row) string { return r.creative.mode }, false},
}

// MATERIAL_DATA is about each material of a promotion, its title among them: what is asked for without a condition on image_mode counts
// for each kind again.
const (
	oceanBasicData    = "BASIC_DATA"
	oceanMaterialData = "MATERIAL_DATA"
)

// oceanTopics are the platform's topics (documents 1741387668314126 and 1755261744248832). This world has figures of the first two.
var oceanTopics = []string{
	oceanBasicData, oceanMaterialData, "QUERY_DATA", "BIDWORD_DATA", "PRODUCT_DATA", "ONE_KEY_BOOST_DATA", "DMP_DATA", "VIDEO_DUARATION_DATA",
	"MATERIAL_BOOST_DATA", "STD_BASIC_DATA", "STD_MATERIAL_DATA", "STD_QUERY_DATA", "STD_BIDWORD_DATA", "STD_DMP_DATA", "STD_PRODUCT_DATA",
}

func oceanDimensionsOf(topic string) []oceanDimension {
	if topic == oceanMaterialData {
		return slices.Concat(oceanDimensions, oceanMaterialDimensions)
	}
	return oceanDimensions
}

func byMaterial(a, b *row) int { return cmp.Compare(a.creative.material, b.creative.material) }

func byProject(a, b *row) int {
	return cmp.Compare(a.ad.project, b.ad.project)
}

// oceanSpanMax is how many days one report may ask for.
const oceanSpanMax = 30

// oceanQuery is a report's parameters.
type oceanQuery struct {
	now        int64
	topic      string
	account    account
	projects   []project
	scope      scope
	firstHour  int // of the first day, and lastHour of the last
	lastHour   int
	by         grouping
	dimensions []*oceanDimension
	metrics    []*oceanMetric
	filters    []oceanFilter
	orders     []order
	page, size int
	untold     silence
}

func (q *oceanQuery) projectName(id int64) string {
	if q.projects == nil {
		q.projects = q.account.projects(q.now)
	}
	for i := range q.projects {
		if q.projects[i].id == id {
			return q.projects[i].name
		}
	}
	return ""
}

func (o *oceanEngine) report(c *call, l *login) *apiError {
	q := &oceanQuery{now: c.now}
	if err := o.reportQuery(c, l, q); err != nil {
		return err
	}
	var rows []row
	if q.topic == oceanBasicData || q.topic == oceanMaterialData {
		rows = c.rows(&q.account, q.scope)
	}
	if q.scope.hourly && (q.firstHour > 0 || q.lastHour < 23) {
		rows = slices.DeleteFunc(rows, func(r row) bool {
			return (r.day == q.scope.from && r.hour < q.firstHour) || (r.day == q.scope.to && r.hour > q.lastHour)
		})
	}
	if kept := int(c.sim.hoursKept.Load()); q.scope.hourly && kept > 0 {
		rows = withoutOldHours(rows, dayOf(c.now)-kept)
	}
	if q.scope.level == levelCreative {
		rows = append(rows, oceanTitles(rows)...)
	}
	// A condition on a dimension is about what is added up, whether the dimension was chosen or not, one on a metric about the sums.
	rows = q.filtered(rows, func(f *oceanFilter) bool { return f.dimension != nil })
	rows = q.filtered(q.by.apply(rows, q.scope.level), func(f *oceanFilter) bool { return f.metric != nil })
	list := sorted(rows, q.orders)
	from, to, count := c.pageOf(q.page, q.size, len(list))
	w := o.begin(c)
	w.open('{')
	w.openArray("rows")
	for _, r := range list[from:to] {
		w.open('{')
		w.openObject("dimensions")
		for _, d := range q.dimensions {
			w.textField(d.name, d.value(q, r))
		}
		w.close('}')
		o.writeMetrics(&w, "metrics", q, &r.figures)
		c.told(&w, &q.account, nil)
		w.close('}')
	}
	w.close(']')
	total := sum(rows)
	o.writeMetrics(&w, "total_metrics", q, &total)
	w.pageInfo(q.page, q.size, count)
	w.close('}')
	o.end(c, &w)
	c.countSilence(&q.untold)
	return nil
}

// withoutOldHours makes whole days of the hours up to a day.
func withoutOldHours(rows []row, last int) []row {
	if !slices.ContainsFunc(rows, func(r row) bool { return r.day <= last }) {
		return rows
	}
	for i := range rows {
		if rows[i].day <= last {
			rows[i].hour = noHour
		}
	}
	return grouping{day: true, hour: true, ad: true, material: true}.apply(rows, levelCreative)
}

// filtered drops the rows that one of the query's conditions of a kind does not fit.
func (q *oceanQuery) filtered(rows []row, isOfKind func(*oceanFilter) bool) []row {
	for i := range q.filters {
		if f := &q.filters[i]; isOfKind(f) {
			rows = slices.DeleteFunc(rows, func(r row) bool { return !f.fits(q, &r) })
		}
	}
	return rows
}

func (o *oceanEngine) writeMetrics(w *jsonWriter, name string, q *oceanQuery, f *figures) {
	w.openObject(name)
	for _, m := range q.metrics {
		if m.of != nil && leavesOut(&q.untold, w, m.name, *m.of, f) {
			continue
		}
		w.key(m.name)
		w.sep()
		w.b = append(w.b, '"')
		w.b = append(m.append(w.b, f), '"')
	}
	w.close('}')
}

func (o *oceanEngine) reportQuery(c *call, l *login, q *oceanQuery) (err *apiError) {
	if q.account, err = o.advertiser(c, l); err != nil {
		return err
	}
	q.untold = q.account.silence()
	q.topic = cmp.Or(c.query.Get("data_topic"), oceanBasicData)
	if !slices.Contains(oceanTopics, q.topic) {
		return failure(40000, "data_topic %q", q.topic)
	}
	dimensions := oceanDimensionsOf(q.topic)
	var names struct{ dimensions, metrics []string }
	if found, err := o.decode(c, "dimensions", &names.dimensions); err != nil || !found || len(names.dimensions) == 0 {
		return failure(40000, "dimensions is a list of names")
	}
	if found, err := o.decode(c, "metrics", &names.metrics); err != nil || !found || len(names.metrics) == 0 {
		return failure(40000, "metrics is a list of names")
	}
	for _, name := range names.dimensions {
		i := slices.IndexFunc(dimensions, func(d oceanDimension) bool { return d.name == name })
		if i < 0 {
			return failure(40000, "dimension %q", name)
		}
		d := &dimensions[i]
		d.group(&q.by)
		q.dimensions = append(q.dimensions, d)
	}
	for _, name := range names.metrics {
		m := oceanMetricOf(c, name)
		if m == nil {
			return failure(40000, "metric %q", name)
		}
		q.metrics = append(q.metrics, m)
	}
	q.scope.hourly = q.by.hour
	if err = o.reportTimes(c, q); err != nil {
		return err
	}
	if err = o.reportFilters(c, q, dimensions); err != nil {
		return err
	}
	// What is told apart by, or has conditions on it, must be apart before it is added up.
	fine := q.by
	for i := range q.filters {
		if d := q.filters[i].dimension; d != nil {
			d.group(&fine)
		}
	}
	switch {
	case q.topic == oceanMaterialData:
		q.scope.level = levelCreative
	case fine.ad || fine.project:
		q.scope.level = levelAd
		q.by.object = q.by.ad
	}
	if err = o.reportOrder(c, q); err != nil {
		return err
	}
	if q.page, err = o.integer(c, "page", 1, 99_999); err != nil {
		return err
	}
	q.size, err = o.integer(c, "page_size", 10, 100)
	return err
}

func (o *oceanEngine) reportTimes(c *call, q *oceanQuery) *apiError {
	from, err := oceanReportTime(c.query.Get("start_time"), false)
	if err != nil {
		return err
	}
	to, err := oceanReportTime(c.query.Get("end_time"), true)
	if err != nil {
		return err
	}
	q.scope.from, q.scope.to = dayOf(from.Unix()), dayOf(to.Unix())
	q.firstHour, q.lastHour = from.Hour(), to.Hour()
	switch {
	case to.Before(from):
		return failure(40000, "end_time is before start_time")
	case q.scope.to-q.scope.from >= oceanSpanMax:
		return failure(40000, "a report is of at most %d days", oceanSpanMax)
	}
	return nil
}

func oceanReportTime(text string, end bool) (time.Time, *apiError) {
	if t, err := time.ParseInLocation(oceanTime, text, zone); err == nil {
		return t, nil
	}
	t, err := time.ParseInLocation(dayLayout, text, zone)
	if err != nil {
		return t, failure(40000, "start_time and end_time are like 2026-11-15 00:00:00, not %q", text)
	}
	if end {
		t = t.Add(24*time.Hour - time.Second)
	}
	return t, nil
}

func (o *oceanEngine) reportOrder(c *call, q *oceanQuery) *apiError {
	var list []struct {
		Field string `json:"field"`
		Type  string `json:"type"`
	}
	found, err := o.decode(c, "order_by", &list)
	if err != nil {
		return err
	}
	if !found || len(list) == 0 {
		return failure(40000, "order_by is missing")
	}
	for _, x := range list {
		if x.Type != "ASC" && x.Type != "DESC" {
			return failure(40000, "order_by: type %q", x.Type)
		}
		by := order{desc: x.Type == "DESC"}
		for _, d := range q.dimensions {
			if d.name == x.Field && !d.isSortable {
				return failure(40000, "order_by: %q is not sort_able", x.Field)
			}
			if d.name == x.Field {
				by.compare = d.compare
			}
		}
		for _, m := range q.metrics {
			if m.name == x.Field {
				by.compare = byRatio(func(f *figures) float64 { return float64(m.value(f)) })
			}
		}
		if by.compare == nil {
			return failure(40000, "order_by: %q is not among the dimensions and metrics", x.Field)
		}
		q.orders = append(q.orders, by)
	}
	return nil
}

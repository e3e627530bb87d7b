package oceanengine

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// oceanMetric is a metric of custom reports. All values are strings: money in yuan and rates in percent, both with
// two decimal places, and counts.
type oceanMetric struct {
	name  string
	about string
	kind  byte // 'n' count, 'y' yuan or percent in hundredths
	value func(f *world.Figures) int64
	of    *world.Metric // nil for metrics computed from several
}

func oceanCount(name, about string, m world.Metric) oceanMetric {
	kind := byte('n')
	if m.IsMoney() {
		kind = 'y'
	}
	return oceanMetric{name, about, kind, func(f *world.Figures) int64 { return f[m] }, &m}
}

// oceanCost returns the metric for the cost of one of a metric.
func oceanCost(name, about string, of world.Metric, times int64) oceanMetric {
	return oceanMetric{name, about, 'y', func(f *world.Figures) int64 { return platform.Each(f[world.Cost]*times, f[of]) },
		nil}
}

// oceanShare returns the metric for a ratio of two metrics: as a rate in percent, or as a return in times.
func oceanShare(name, about string, a, b world.Metric, times int64) oceanMetric {
	return oceanMetric{name, about, 'y', func(f *world.Figures) int64 { return platform.Each(f[a]*times, f[b]) }, nil}
}

func oceanNothing(name, about string) oceanMetric {
	return oceanMetric{name, about, 'n', func(*world.Figures) int64 { return 0 }, nil}
}

const (
	inPercent = 10_000
	inTimes   = 100
)

var oceanMetrics = []oceanMetric{
	oceanCount("stat_cost", "消耗", world.Cost), oceanCount("show_cnt", "展示数", world.Impressions),
	oceanCount("click_cnt", "点击数", world.Clicks),
	oceanShare("ctr", "点击率", world.Clicks, world.Impressions, inPercent),
	oceanCost("cpm_platform", "平均千次展现费用", world.Impressions, 1000),
	oceanCost("cpc_platform", "平均点击单价", world.Clicks, 1),
	oceanCount("convert_cnt", "转化数", world.Conversions), oceanCost("conversion_cost", "平均转化成本", world.Conversions, 1),
	oceanShare("conversion_rate", "转化率", world.Conversions, world.Clicks, inPercent),
	oceanCount("attribution_convert_cnt", "转化数(计费时间)", world.Conversions),
	oceanCost("attribution_convert_cost", "转化成本(计费时间)", world.Conversions, 1),
	oceanShare("attribution_conversion_rate", "转化率(计费时间)", world.Conversions, world.Clicks, inPercent),
	oceanCount("deep_convert_cnt", "深度转化数", world.DeepConversions),
	oceanCost("deep_convert_cost", "深度转化成本", world.DeepConversions, 1),
	oceanShare("deep_convert_rate", "深度转化率", world.DeepConversions, world.Conversions, inPercent),
	oceanCount("click_start_cnt", "下载开始数", world.DownloadStarts),
	oceanCount("download_finish_cnt", "下载完成数", world.Downloads),
	oceanCount("install_finish_cnt", "安装完成数", world.Installs),
	oceanCount("active", "激活数", world.Activations), oceanCost("active_cost", "激活成本", world.Activations, 1),
	oceanShare("active_rate", "激活率", world.Activations, world.Clicks, inPercent),
	oceanCount("active_register", "注册数", world.Registrations),
	oceanCost("active_register_cost", "注册成本", world.Registrations, 1),
	oceanShare("active_register_rate", "注册率", world.Registrations, world.Activations, inPercent),
	oceanCount("game_addiction", "关键行为数", world.KeyActions),
	oceanCost("game_addiction_cost", "关键行为成本", world.KeyActions, 1),
	oceanCount("attribution_next_day_open_cnt", "次留数", world.NextDayRetained),
	oceanShare("attribution_next_day_open_rate", "次留率", world.NextDayRetained, world.Activations, inPercent),
	oceanCount("next_day_open", "次留数(回传时间)", world.NextDayRetained),
	oceanCount("active_pay", "首次付费数", world.FirstPays), oceanCost("active_pay_cost", "首次付费成本", world.FirstPays, 1),
	oceanCount("game_pay_count", "付费次数", world.Pays), oceanCost("game_pay_cost", "付费成本", world.Pays, 1),
	oceanCount("attribution_game_pay_7d_count", "7日付费次数", world.Pays),
	oceanCount("active_pay_intra_day_count", "激活当日首次付费数", world.FirstPays),
	oceanCount("attribution_day_active_pay_count", "计费当日首次付费数", world.FirstPays),
	oceanCount("attribution_game_in_app_ltv_1day", "当日付费金额", world.PayAmountD1),
	oceanCount("attribution_game_in_app_ltv_2days", "激活后一日付费金额", world.PayAmountD1),
	oceanCount("attribution_game_in_app_ltv_3days", "激活后二日付费金额", world.PayAmountD3),
	oceanCount("attribution_game_in_app_ltv_4days", "激活后三日付费金额", world.PayAmountD3),
	oceanCount("attribution_game_in_app_ltv_5days", "激活后四日付费金额", world.PayAmountD3),
	oceanCount("attribution_game_in_app_ltv_6days", "激活后五日付费金额", world.PayAmountD3),
	oceanCount("attribution_game_in_app_ltv_7days", "激活后六日付费金额", world.PayAmountD7),
	oceanCount("attribution_game_in_app_ltv_8days", "激活后七日付费金额", world.PayAmountD7),
	oceanShare("attribution_game_in_app_roi_1day", "当日付费ROI", world.PayAmountD1, world.Cost, inTimes),
	oceanShare("attribution_game_in_app_roi_3days", "激活后二日付费ROI", world.PayAmountD3, world.Cost, inTimes),
	oceanShare("attribution_game_in_app_roi_7days", "激活后六日付费ROI", world.PayAmountD7, world.Cost, inTimes),
	oceanCount("in_app_order", "APP内下单数", world.Orders), oceanCount("in_app_order_gmv", "APP内下单金额", world.OrderAmount),
	oceanShare("in_app_order_roi", "APP内下单ROI", world.OrderAmount, world.Cost, inTimes),
	oceanCost("click_start_cost", "下载开始成本", world.DownloadStarts, 1),
	oceanShare("click_start_rate", "下载开始率", world.DownloadStarts, world.Clicks, inPercent),
	oceanCost("download_finish_cost", "下载完成成本", world.Downloads, 1),
	oceanShare("download_finish_rate", "下载完成率", world.Downloads, world.DownloadStarts, inPercent),
	oceanCost("install_finish_cost", "安装完成成本", world.Installs, 1),
	oceanShare("install_finish_rate", "安装完成率", world.Installs, world.Downloads, inPercent),
	oceanShare("game_addiction_rate", "关键行为率", world.KeyActions, world.Activations, inPercent),
	oceanCost("attribution_next_day_open_cost", "次留成本", world.NextDayRetained, 1),
	oceanShare("active_pay_rate", "首次付费率", world.FirstPays, world.Activations, inPercent),
	oceanCost("attribution_game_pay_7d_cost", "7日付费成本", world.Pays, 1),
	oceanShare("attribution_active_pay_7d_per_count", "7日人均付费次数", world.Pays, world.FirstPays, inTimes),
	oceanCost("attribution_day_active_pay_cost", "计费当日首次付费成本", world.FirstPays, 1),
	oceanShare("attribution_day_active_pay_rate", "计费当日首次付费率", world.FirstPays, world.Activations, inPercent),
	oceanCost("active_pay_intra_day_cost", "激活当日首次付费成本", world.FirstPays, 1),
	oceanShare("active_pay_intra_day_rate", "激活当日首次付费率", world.FirstPays, world.Activations, inPercent),
	oceanShare("attribution_game_in_app_roi_2days", "激活后一日付费ROI", world.PayAmountD1, world.Cost, inTimes),
	oceanShare("attribution_game_in_app_roi_4days", "激活后三日付费ROI", world.PayAmountD3, world.Cost, inTimes),
	oceanShare("attribution_game_in_app_roi_5days", "激活后四日付费ROI", world.PayAmountD3, world.Cost, inTimes),
	oceanShare("attribution_game_in_app_roi_6days", "激活后五日付费ROI", world.PayAmountD3, world.Cost, inTimes),
	oceanShare("attribution_game_in_app_roi_8days", "激活后七日付费ROI", world.PayAmountD7, world.Cost, inTimes),
	oceanNothing("in_app_uv", "APP内访问数"), oceanNothing("in_app_detail_uv", "APP内访问详情页数"),
	oceanNothing("in_app_cart", "APP内加入购物车数"), oceanNothing("in_app_pay", "APP内付费数"),
}

var oceanMetricByName = func() map[string]*oceanMetric {
	all := map[string]*oceanMetric{}
	for i := range oceanMetrics {
		all[oceanMetrics[i].name] = &oceanMetrics[i]
	}
	return all
}()

func (m *oceanMetric) append(b []byte, f *world.Figures) []byte {
	if m.kind == 'y' {
		return platform.AppendFixed2(b, m.value(f))
	}
	return strconv.AppendInt(b, m.value(f), 10)
}

// oceanDimension is a dimension, part of the key of rows.
type oceanDimension struct {
	name, about string
	group       func(g *platform.Grouping)
	compare     func(a, b *world.Row) int
	value       func(q *oceanQuery, r *world.Row) string
	// isSortable means that rows can be sorted by it. The documents do not list these dimensions: sort_able marks them.
	isSortable bool
}

// oceanAlike returns a dimension with the same value in all rows of this world.
func oceanAlike(name, about, value string) oceanDimension {
	return oceanDimension{name, about, func(*platform.Grouping) {}, func(*world.Row, *world.Row) int { return 0 },
		func(*oceanQuery, *world.Row) string { return value }, false}
}

var oceanDimensions = []oceanDimension{
	{"stat_time_day", "时间-天", func(g *platform.Grouping) { g.Day = true }, platform.ByDay,
		func(_ *oceanQuery, r *world.Row) string { return world.FormatDay(r.Day) }, true},
	{"stat_time_hour", "时间-小时", func(g *platform.Grouping) { g.Day, g.Hour = true, true }, func(a, b *world.Row) int {
		if c := platform.ByDay(a, b); c != 0 {
			return c
		}
		return platform.ByHour(a, b)
	}, func(_ *oceanQuery, r *world.Row) string {
		if r.Hour == world.NoHour {
			return world.FormatDay(r.Day) // the platform keeps hours only for the last days
		}
		return fmt.Sprintf("%s %02d:00 - %02d:59", world.FormatDay(r.Day), r.Hour, r.Hour)
	}, true},
	{"cdp_project_id", "项目ID", func(g *platform.Grouping) { g.Project = true }, byProject,
		func(_ *oceanQuery, r *world.Row) string { return world.ObjectText(r.Ad.Project) }, true},
	{"cdp_project_name", "项目名称", func(g *platform.Grouping) { g.Project = true }, byProject,
		func(q *oceanQuery, r *world.Row) string { return q.projectName(r.Ad.Project) }, false},
	{"cdp_promotion_id", "单元ID", func(g *platform.Grouping) { g.Ad = true }, platform.ByAd,
		func(_ *oceanQuery, r *world.Row) string { return world.ObjectText(r.AdID()) }, true},
	{"cdp_promotion_name", "单元名称", func(g *platform.Grouping) { g.Ad = true }, platform.ByAd,
		func(q *oceanQuery, r *world.Row) string { o := r.Ad.At(q.now); return o.Name }, false},
	oceanAlike("landing_type", "推广目的", "APP"), oceanAlike("external_action", "优化目标", "AD_CONVERT_TYPE_ACTIVE"),
	oceanAlike("deep_external_action", "深度优化目标", "AD_CONVERT_TYPE_PAY"), oceanAlike("pricing", "出价方式", "PRICING_OCPM"),
	oceanAlike("delivery_mode", "投放模式", "MANUAL"), oceanAlike("platform", "平台", "ANDROID"),
	oceanAlike("app_code", "首选媒体", oceanOther), oceanAlike("package_name", "应用包名", oceanOther),
	oceanAlike("gender", "性别", oceanOther),
	oceanAlike("age", "年龄", oceanOther), oceanAlike("ac", "网络", oceanOther), oceanAlike("province_name", "省份", oceanOther),
	oceanAlike("city_name", "城市", oceanOther),
}

// oceanOther is the platform's name for viewers of an unknown kind.
const oceanOther = "其他"

// oceanMaterialDimensions are the dimensions of MATERIAL_DATA only.
var oceanMaterialDimensions = []oceanDimension{
	{"material_id", "素材ID", func(g *platform.Grouping) { g.Material = true }, byMaterial,
		func(_ *oceanQuery, r *world.Row) string { return world.ObjectText(r.Creative.Material) }, false},
	{"image_mode", "素材类型", func(g *platform.Grouping) { g.Mode = true },
		func(a, b *world.Row) int { return cmp.Compare(a.Creative.Mode, b.Creative.Mode) },
		func(_ *oceanQuery, r *world.Row) string { return r.Creative.Mode }, false},
}

// MATERIAL_DATA has each material of a promotion, including its title: a report without a condition on image_mode
// counts figures once for each kind.
const (
	oceanBasicData    = "BASIC_DATA"
	oceanMaterialData = "MATERIAL_DATA"
)

// oceanTopics are the platform's topics (documents 1741387668314126 and 1755261744248832). This world has figures for
// the first two.
var oceanTopics = []string{
	oceanBasicData, oceanMaterialData, "QUERY_DATA", "BIDWORD_DATA", "PRODUCT_DATA", "ONE_KEY_BOOST_DATA", "DMP_DATA",
	"VIDEO_DUARATION_DATA",
	"MATERIAL_BOOST_DATA", "STD_BASIC_DATA", "STD_MATERIAL_DATA", "STD_QUERY_DATA", "STD_BIDWORD_DATA", "STD_DMP_DATA",
	"STD_PRODUCT_DATA",
}

func oceanDimensionsOf(topic string) []oceanDimension {
	if topic == oceanMaterialData {
		return slices.Concat(oceanDimensions, oceanMaterialDimensions)
	}
	return oceanDimensions
}

func byMaterial(a, b *world.Row) int { return cmp.Compare(a.Creative.Material, b.Creative.Material) }

func byProject(a, b *world.Row) int {
	return cmp.Compare(a.Ad.Project, b.Ad.Project)
}

// oceanSpanMax is how many days one report may span.
const oceanSpanMax = 30

// oceanQuery is a report's parameters.
type oceanQuery struct {
	now        int64
	topic      string
	account    world.Account
	projects   []world.Project
	scope      world.Scope
	firstHour  int // hour of the first day; lastHour is of the last day
	lastHour   int
	by         platform.Grouping
	dimensions []*oceanDimension
	metrics    []*oceanMetric
	filters    []oceanFilter
	orders     []platform.Order
	page, size int
	silence    world.Silence
}

func (q *oceanQuery) projectName(id int64) string {
	if q.projects == nil {
		q.projects = q.account.Projects(q.now)
	}
	for i := range q.projects {
		if q.projects[i].ID == id {
			return q.projects[i].Name
		}
	}
	return ""
}

func (o *oceanEngine) report(c *platform.Call, l *world.Login) *platform.Failure {
	q := &oceanQuery{now: c.Now}
	if err := o.reportQuery(c, l, q); err != nil {
		return err
	}
	var rows []world.Row
	if q.topic == oceanBasicData || q.topic == oceanMaterialData {
		rows = c.Rows(&q.account, q.scope)
	}
	if q.scope.Hourly && (q.firstHour > 0 || q.lastHour < 23) {
		rows = slices.DeleteFunc(rows, func(r world.Row) bool {
			return (r.Day == q.scope.From && r.Hour < q.firstHour) || (r.Day == q.scope.To && r.Hour > q.lastHour)
		})
	}
	if kept := int(c.Sim.HoursKept.Load()); q.scope.Hourly && kept > 0 {
		rows = withoutOldHours(rows, world.DayOf(c.Now)-kept)
	}
	if q.scope.Level == world.LevelCreative {
		rows = append(rows, oceanTitles(rows)...)
	}
	// A condition on a dimension applies to the rows before they are added up, even if the dimension is not requested. A
	// condition on a metric applies to the sums.
	rows = q.filtered(rows, func(f *oceanFilter) bool { return f.dimension != nil })
	rows = q.filtered(q.by.Apply(rows, q.scope.Level), func(f *oceanFilter) bool { return f.metric != nil })
	list := platform.Sorted(rows, q.orders)
	from, to, count := c.PageOf(q.page, q.size, len(list))
	w := o.begin(c)
	w.Open('{')
	w.OpenArray("rows")
	for _, r := range list[from:to] {
		w.Open('{')
		w.OpenObject("dimensions")
		for _, d := range q.dimensions {
			w.TextField(d.name, d.value(q, r))
		}
		w.Close('}')
		writeMetrics(&w, "metrics", q, &r.Figures)
		c.CountTraits(&w, &q.account, nil)
		w.Close('}')
	}
	w.Close(']')
	total := platform.Sum(rows)
	writeMetrics(&w, "total_metrics", q, &total)
	w.PageInfo(q.page, q.size, count)
	w.Close('}')
	o.end(c, &w)
	c.CountSilence(&q.silence)
	return nil
}

// withoutOldHours replaces the hours up to a day by whole days.
func withoutOldHours(rows []world.Row, last int) []world.Row {
	if !slices.ContainsFunc(rows, func(r world.Row) bool { return r.Day <= last }) {
		return rows
	}
	for i := range rows {
		if rows[i].Day <= last {
			rows[i].Hour = world.NoHour
		}
	}
	return platform.Grouping{Day: true, Hour: true, Ad: true, Material: true}.Apply(rows, world.LevelCreative)
}

// filtered removes the rows that do not fit the query's conditions of a kind.
func (q *oceanQuery) filtered(rows []world.Row, isOfKind func(*oceanFilter) bool) []world.Row {
	for i := range q.filters {
		if f := &q.filters[i]; isOfKind(f) {
			rows = slices.DeleteFunc(rows, func(r world.Row) bool { return !f.fits(q, &r) })
		}
	}
	return rows
}

func writeMetrics(w *platform.Writer, name string, q *oceanQuery, f *world.Figures) {
	w.OpenObject(name)
	for _, m := range q.metrics {
		if m.of != nil && platform.LeavesOut(&q.silence, w, m.name, *m.of, f) {
			continue
		}
		w.Key(m.name)
		w.Sep()
		w.Bytes = append(w.Bytes, '"')
		w.Bytes = append(m.append(w.Bytes, f), '"')
	}
	w.Close('}')
}

func (o *oceanEngine) reportQuery(c *platform.Call, l *world.Login, q *oceanQuery) (err *platform.Failure) {
	if q.account, err = o.advertiser(c, l); err != nil {
		return err
	}
	q.silence = q.account.Silence()
	q.topic = cmp.Or(c.Query.Get("data_topic"), oceanBasicData)
	if !slices.Contains(oceanTopics, q.topic) {
		return platform.Failf(40000, "data_topic %q", q.topic)
	}
	dimensions := oceanDimensionsOf(q.topic)
	var names struct{ dimensions, metrics []string }
	if found, err := decode(c, "dimensions", &names.dimensions); err != nil || !found || len(names.dimensions) == 0 {
		return platform.Failf(40000, "dimensions is a list of names")
	}
	if found, err := decode(c, "metrics", &names.metrics); err != nil || !found || len(names.metrics) == 0 {
		return platform.Failf(40000, "metrics is a list of names")
	}
	for _, name := range names.dimensions {
		i := slices.IndexFunc(dimensions, func(d oceanDimension) bool { return d.name == name })
		if i < 0 {
			return platform.Failf(40000, "dimension %q", name)
		}
		d := &dimensions[i]
		d.group(&q.by)
		q.dimensions = append(q.dimensions, d)
	}
	for _, name := range names.metrics {
		m := oceanMetricOf(c, name)
		if m == nil {
			return platform.Failf(40000, "metric %q", name)
		}
		q.metrics = append(q.metrics, m)
	}
	q.scope.Hourly = q.by.Hour
	if err = reportTimes(c, q); err != nil {
		return err
	}
	if err = reportFilters(c, q, dimensions); err != nil {
		return err
	}
	// Rows are kept apart by requested dimensions and by those with conditions until they are added up.
	fine := q.by
	for i := range q.filters {
		if d := q.filters[i].dimension; d != nil {
			d.group(&fine)
		}
	}
	switch {
	case q.topic == oceanMaterialData:
		q.scope.Level = world.LevelCreative
	case fine.Ad || fine.Project:
		q.scope.Level = world.LevelAd
		q.by.Object = q.by.Ad
	}
	if err = reportOrder(c, q); err != nil {
		return err
	}
	if q.page, err = integer(c, "page", 1, 99_999); err != nil {
		return err
	}
	q.size, err = integer(c, "page_size", 10, 100)
	return err
}

func reportTimes(c *platform.Call, q *oceanQuery) *platform.Failure {
	from, err := oceanReportTime(c.Query.Get("start_time"), false)
	if err != nil {
		return err
	}
	to, err := oceanReportTime(c.Query.Get("end_time"), true)
	if err != nil {
		return err
	}
	q.scope.From, q.scope.To = world.DayOf(from.Unix()), world.DayOf(to.Unix())
	q.firstHour, q.lastHour = from.Hour(), to.Hour()
	switch {
	case to.Before(from):
		return platform.Failf(40000, "end_time is before start_time")
	case q.scope.To-q.scope.From >= oceanSpanMax:
		return platform.Failf(40000, "a report has at most %d days", oceanSpanMax)
	}
	return nil
}

func oceanReportTime(text string, end bool) (time.Time, *platform.Failure) {
	if t, err := time.ParseInLocation(oceanTime, text, world.Zone); err == nil {
		return t, nil
	}
	t, err := time.ParseInLocation(world.DayLayout, text, world.Zone)
	if err != nil {
		return t, platform.Failf(40000, "start_time and end_time are like 2026-11-15 00:00:00, not %q", text)
	}
	if end {
		t = t.Add(24*time.Hour - time.Second)
	}
	return t, nil
}

func reportOrder(c *platform.Call, q *oceanQuery) *platform.Failure {
	var list []struct {
		Field string `json:"field"`
		Type  string `json:"type"`
	}
	found, err := decode(c, "order_by", &list)
	if err != nil {
		return err
	}
	if !found || len(list) == 0 {
		return platform.Failf(40000, "order_by is missing")
	}
	for _, x := range list {
		if x.Type != "ASC" && x.Type != "DESC" {
			return platform.Failf(40000, "order_by: type %q", x.Type)
		}
		by := platform.Order{Desc: x.Type == "DESC"}
		for _, d := range q.dimensions {
			if d.name == x.Field && !d.isSortable {
				return platform.Failf(40000, "order_by: %q is not sort_able", x.Field)
			}
			if d.name == x.Field {
				by.Compare = d.compare
			}
		}
		for _, m := range q.metrics {
			if m.name == x.Field {
				by.Compare = platform.ByRatio(func(f *world.Figures) float64 { return float64(m.value(f)) })
			}
		}
		if by.Compare == nil {
			return platform.Failf(40000, "order_by: %q is not among the dimensions and metrics", x.Field)
		}
		q.orders = append(q.orders, by)
	}
	return nil
}

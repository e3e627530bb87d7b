package baidu

import (
	"slices"
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// level is a level of objects and reports.
type level int

const (
	levelAccount level = iota
	levelCampaign
	levelAdgroup
	levelCreative
)

// deletedMark follows the names of deleted objects in reports (page 103889).
const deletedMark = "[已删除]"

// column is a column of reports: an attribute of a row's object, or a figure.
type column struct {
	name  string
	least level // the first level that has it
	write func(w *platform.Writer, q *query, r *row)
	// of is the metric of a figure; nil for a figure that is computed, and for an attribute.
	of       *world.Metric
	isFigure bool
}

func attribute(name string, least level, write func(w *platform.Writer, q *query, r *row)) column {
	return column{name: name, least: least, write: write}
}

// attributes are the columns that are no figures. Those with Status in their names mark deleted objects.
var attributes = []column{
	attribute("date", levelAccount, func(w *platform.Writer, q *query, r *row) { w.Text(q.date(r.Row)) }),
	attribute("userId", levelAccount, func(w *platform.Writer, _ *query, r *row) { w.Number(r.on.account.ID) }),
	attribute("userName", levelAccount, func(w *platform.Writer, _ *query, r *row) { w.Text(r.on.account.Name()) }),
	attribute("campaignId", levelCampaign, func(w *platform.Writer, _ *query, r *row) { w.Number(r.Ad.Project) }),
	attribute("campaignName", levelCampaign, campaignName), attribute("campaignNameStatus", levelCampaign, campaignName),
	attribute("campaignStatus", levelCampaign, func(w *platform.Writer, _ *query, _ *row) { w.Number(0) }),
	attribute("adGroupId", levelAdgroup, func(w *platform.Writer, _ *query, r *row) { w.Number(r.AdID()) }),
	attribute("adGroupName", levelAdgroup, func(w *platform.Writer, q *query, r *row) {
		x := r.Ad.At(q.c.Now)
		w.AdName(q.name(x.Name, x.Status, q.c.Assumed(nameMarked) == 1))
	}),
	attribute("adGroupNameStatus", levelAdgroup, func(w *platform.Writer, q *query, r *row) {
		x := r.Ad.At(q.c.Now)
		w.AdName(q.name(x.Name, x.Status, true))
	}),
	attribute("adgroupStatus", levelAdgroup, func(w *platform.Writer, q *query, r *row) {
		w.Number(deletedNumber(r.Ad.At(q.c.Now).Status))
	}),
	attribute("ideaId", levelCreative, func(w *platform.Writer, _ *query, r *row) { w.Number(r.Object) }),
	attribute("ideaInfo", levelCreative, writeIdea),
}

func campaignName(w *platform.Writer, _ *query, r *row) { w.Text(r.on.campaign(r.Ad.Project).Name) }

func deletedNumber(s world.Status) int64 {
	if s == world.StatusDeleted {
		return 1
	}
	return 0
}

// name returns the name of an object, marked if the object is deleted.
func (q *query) name(name string, s world.Status, marked bool) string {
	if marked && s == world.StatusDeleted {
		return name + deletedMark
	}
	return name
}

// writeIdea writes the column that has others in it, with the id as a text.
func writeIdea(w *platform.Writer, q *query, r *row) {
	x := r.Creative.At(q.c.Now)
	w.Open('{')
	w.TextField("ideaId", strconv.FormatInt(r.Object, 10))
	w.TextField("ideaTitle", q.name(x.Name, x.Status, q.c.Assumed(nameMarked) == 1))
	w.TextField("ideaTitleStatus", q.name(x.Name, x.Status, true))
	w.Close('}')
}

func figure(name string, write func(w *platform.Writer, f *world.Figures)) column {
	return column{name: name, isFigure: true,
		write: func(w *platform.Writer, _ *query, r *row) { write(w, &r.Figures) }}
}

func count(name string, m world.Metric) column {
	x := figure(name, func(w *platform.Writer, f *world.Figures) {
		if m.IsMoney() {
			w.Hundredths(f[m])
		} else {
			w.Number(f[m])
		}
	})
	x.of = &m
	return x
}

// ratio returns the column of a ratio of two metrics: 0.0242 is 2.42 %.
func ratio(name string, a, b world.Metric) column {
	return figure(name, func(w *platform.Writer, f *world.Figures) { w.Float(platform.Ratio(f[a], f[b])) })
}

// cost returns the column of the cost of one of a metric, or of so many, in yuan.
func cost(name string, of world.Metric, times int64) column {
	return figure(name, func(w *platform.Writer, f *world.Figures) {
		w.Float(platform.Ratio(f[world.Cost]*times, f[of]) / 100)
	})
}

// conversion returns the columns of a conversion, with its cost and its rate.
func conversion(name string, m world.Metric) []column {
	return []column{count(name, m), cost(name+"Cost", m, 1), ratio(name+"CVR", m, world.Clicks)}
}

// payment returns the columns of an amount, with its ratio to the cost.
func payment(name string, m world.Metric) []column {
	return []column{count(name, m), ratio(name+"ROI", m, world.Cost)}
}

// nothing returns columns whose figures this world does not have.
func nothing(names ...string) (list []column) {
	for _, name := range names {
		list = append(list, figure(name, func(w *platform.Writer, _ *world.Figures) { w.Number(0) }))
	}
	return list
}

// The figures of all reports, of search and of feed. Those by the time of the conversion equal those by the time of the
// click. Two names are misspelt in the documents.
var (
	commonFigures = []column{
		count("impression", world.Impressions), count("click", world.Clicks), count("cost", world.Cost),
		ratio("ctr", world.Clicks, world.Impressions), cost("cpc", world.Clicks, 1), cost("cpm", world.Impressions, 1000),
	}
	searchFigures = slices.Concat(commonFigures,
		[]column{count("conversion", world.Conversions), count("ocpcConversions", world.Conversions),
			count("deepOCPCConversions", world.DeepConversions)},
		conversion("ocpcConversionsDetail4", world.Activations), conversion("ocpcConversionsDetail25", world.Registrations),
		conversion("ocpcConversionsDetail26", world.FirstPays), conversion("ocpcConversionsDetail28", world.NextDayRetained),
		payment("ocpcConversionsDetail26One", world.PayAmountD1), payment("ocpcConversionsDetail26Three", world.PayAmountD3),
		payment("ocpcConversionsDetail26Seven", world.PayAmountD7),
		[]column{count("ctOCPCConvertsionsDetai4", world.Activations),
			count("ctOCPCConversionsDetail25", world.Registrations), count("ctOCPCConversionsDetail26", world.FirstPays),
			count("ctOCPCConversionsDetail28", world.NextDayRetained)},
		[]column{count("ocpcConvertsionsDetail3", world.Forms)},
		nothing("ocpcConversionsDetail10", "ocpcConversionsDetail14", "ocpcConversionsDetail18",
			"ocpcConversionsDetail79"),
	)
	feedFigures = slices.Concat(commonFigures,
		[]column{count("ocpcTargetTrans", world.Conversions), cost("ocpcTargetTransCPC", world.Conversions, 1),
			ratio("ocpcTargetTransRatio", world.Conversions, world.Clicks), count("ocpcDeepTargetTrans", world.DeepConversions),
			count("convertTimeOCPCTargetTrans", world.Conversions)},
		conversion("activeConversions", world.Activations), conversion("registerUv", world.Registrations),
		conversion("consumeUv", world.FirstPays), conversion("consume", world.Pays),
		conversion("retentions", world.NextDayRetained),
		payment("oneDayConsumeAfterActive", world.PayAmountD1), payment("threeDaysConsumeAfterActive", world.PayAmountD3),
		payment("sevenDaysConsumeAfterActive", world.PayAmountD7),
		[]column{count("ctActiveConversions", world.Activations), count("ctRegisterUv", world.Registrations),
			count("ctConsumeUv", world.FirstPays), count("ctConsume", world.Pays),
			count("ctRetentions", world.NextDayRetained)},
		[]column{count("aggrFormSubmitSuccess", world.Forms)},
		nothing("advisoryClueCount", "weixinFollowSuccessConversions"),
	)
)

// columnNamed returns a column of a report; nil if it has none with the name, or a fault has retired it.
func (t *reportType) columnNamed(c *platform.Call, name string) *column {
	figures := searchFigures
	if t.isFeed {
		figures = feedFigures
	}
	switch c.Sim.Faults.Field(c, name) {
	case platform.FieldRetired:
		return nil
	case platform.FieldAdded:
		x := count(name, world.Clicks)
		return &x
	}
	is := func(x column) bool { return x.name == name && x.least <= t.level }
	if at := slices.IndexFunc(attributes, is); at >= 0 {
		return &attributes[at]
	}
	if at := slices.IndexFunc(figures, is); at >= 0 {
		return &figures[at]
	}
	return nil
}

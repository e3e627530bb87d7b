package tiktok

import (
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// noValue is the text of a figure without a value.
const noValue = "-"

// metric is a figure or an attribute of reports. All values are texts: money in the account's currency with as many
// digits after the point as that has, and counts.
type metric struct {
	name string
	text func(x *line) string
	of   *world.Metric // nil for a figure that is computed from several, and for an attribute
	// isAttribute means that it is no figure. The levels up to above do not have it.
	isAttribute bool
	above       int
	byDay       bool // only daily reports of accounts have it
}

func count(name string, m world.Metric) metric {
	return metric{name: name, of: &m, text: func(x *line) string {
		if m.IsMoney() {
			return x.money(x.Figures[m])
		}
		return strconv.FormatInt(x.Figures[m], 10)
	}}
}

// cost returns the metric of the cost of one of a metric, or of so many.
func cost(name string, of world.Metric, times int64) metric {
	return metric{name: name, text: func(x *line) string {
		if x.Figures[of] == 0 {
			return noValue
		}
		return x.money(platform.Each(x.Figures[world.Cost]*times, x.Figures[of]))
	}}
}

// rate returns the metric of the ratio of two metrics.
func rate(name string, a, b world.Metric) metric {
	return metric{name: name, text: func(x *line) string {
		switch {
		case x.Figures[b] == 0:
			return noValue
		case x.q.c.Assumed(ratesInPercent) == 1:
			return string(platform.AppendFixed2(nil, platform.Each(x.Figures[a]*10_000, x.Figures[b])))
		}
		return string(platform.AppendRounded(nil, platform.Ratio(x.Figures[a], x.Figures[b])))
	}}
}

// nothing returns a metric whose figure this world does not have.
func nothing(name string) metric { return metric{name: name, text: func(*line) string { return "0" }} }

func attribute(name string, above int, text func(x *line) string) metric {
	return metric{name: name, isAttribute: true, above: above, text: func(x *line) string {
		if x.isTotal {
			return noValue
		}
		return text(x)
	}}
}

// reached is how many users a row reached.
func reached(x *line) int64 { return x.Figures[world.Impressions] - x.Figures[world.Impressions]/4 }

// cash returns the metric of a kind of money that a day has cost.
func cash(name string, of func(f world.Funds) int64) metric {
	return metric{name: name, byDay: true, text: func(x *line) string {
		if x.isTotal || x.account.Calendar.Start(x.Day+1)+x.q.c.Assumed(cashDelay) > x.q.c.Now {
			return noValue
		}
		var paid int64
		for _, d := range x.q.c.View.FundDays(x.account, x.Day, x.Day) {
			paid = of(d.Paid)
		}
		return x.money(paid)
	}}
}

var metrics = []metric{
	count("spend", world.Cost),
	{name: "billed_cost", text: func(x *line) string {
		if x.end()+x.q.c.Assumed(billedDelay) > x.q.c.Now {
			return noValue
		}
		return x.money(x.Figures[world.Cost])
	}},
	cash("cash_spend", func(f world.Funds) int64 { return f.Cash + f.Bank }),
	cash("voucher_spend", func(f world.Funds) int64 { return f.Grant }),
	count("impressions", world.Impressions), count("gross_impressions", world.Impressions),
	count("clicks", world.Clicks), rate("ctr", world.Clicks, world.Impressions), cost("cpc", world.Clicks, 1),
	cost("cpm", world.Impressions, 1000),
	{name: "reach", text: func(x *line) string { return strconv.FormatInt(reached(x), 10) }},
	{name: "frequency", text: func(x *line) string {
		if reached(x) == 0 {
			return noValue
		}
		return string(platform.AppendFixed2(nil, platform.Each(x.Figures[world.Impressions]*100, reached(x))))
	}},
	count("conversion", world.Conversions), cost("cost_per_conversion", world.Conversions, 1),
	rate("conversion_rate_v2", world.Conversions, world.Clicks),
	count("real_time_conversion", world.Conversions), count("real_time_app_install", world.Activations),
	count("app_install", world.Activations), cost("cost_per_app_install", world.Activations, 1),
	count("registration", world.Registrations), count("total_registration", world.Registrations),
	count("purchase", world.FirstPays), count("total_purchase", world.Pays),
	count("total_purchase_value", world.PayAmount), nothing("complete_payment"), nothing("skan_conversion"),
	count("result", world.Conversions),
	attribute("advertiser_id", 0, func(x *line) string { return strconv.FormatInt(x.account.ID, 10) }),
	attribute("currency", 0, func(x *line) string { return x.account.Calendar.CurrencyCode() }),
	attribute("timezone", 0, func(x *line) string { return x.account.Calendar.ZoneName() }),
	attribute("campaign_id", 1, func(x *line) string { return strconv.FormatInt(x.Ad.Project, 10) }),
	attribute("campaign_name", 1, func(x *line) string { return x.q.project(x.account, x.Ad.Project).Name }),
	attribute("objective_type", 1, func(*line) string { return objectiveType }),
	attribute("campaign_budget", 1, func(x *line) string {
		return x.money(x.q.project(x.account, x.Ad.Project).Budget)
	}),
	attribute("adgroup_id", 2, func(x *line) string { return strconv.FormatInt(x.AdID(), 10) }),
	attribute("adgroup_name", 2, func(x *line) string { o := x.Ad.At(x.q.c.Now); return o.Name }),
	attribute("billing_event", 2, func(*line) string { return "OCPM" }),
	attribute("ad_name", 3, func(x *line) string { return x.Creative.At(x.q.c.Now).Name }),
}

// metricsByName are the metrics by their names.
var metricsByName = func() map[string]metric {
	all := map[string]metric{}
	for _, m := range metrics {
		all[m.name] = m
	}
	return all
}()

// money returns an amount as text. Amounts of several accounts have no decimals.
func (x *line) money(n int64) string {
	if x.q.isSeveral && x.q.c.Assumed(manyDecimals) == 0 {
		unit := 1_000_000 / x.account.Calendar.Smallest()
		return strconv.FormatInt((n+unit/2)/unit, 10)
	}
	return amount(x.account, n)
}

// end is the moment at which a row's hour or day ends.
func (x *line) end() int64 {
	switch {
	case x.isTotal || !x.q.by.Day:
		return x.q.c.Now
	case x.Hour == world.NoHour:
		return x.account.Calendar.Start(x.Day + 1)
	}
	return x.account.Calendar.Start(x.Day) + int64(x.Hour+1)*world.HourLength
}

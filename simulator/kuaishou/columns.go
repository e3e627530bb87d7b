package kuaishou

import (
	"strconv"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// column is a figure of reports. Amounts and costs are in yuan, as numbers with as few digits as possible.
type column struct {
	name    string
	append  func(b []byte, f *world.Figures) []byte
	of      *world.Metric // nil for a figure that is computed from several, and for one that this world does not have
	isDaily bool          // hourly reports do not have it
}

func count(name string, m world.Metric) column {
	if m.IsMoney() {
		return column{name: name, append: func(b []byte, f *world.Figures) []byte { return appendYuan(b, f[m]) }, of: &m}
	}
	return column{name: name, append: func(b []byte, f *world.Figures) []byte { return strconv.AppendInt(b, f[m], 10) },
		of: &m}
}

func daily(x column) column { x.isDaily = true; return x }

// ratio returns the column of a ratio of two metrics.
func ratio(name string, a, b world.Metric) column {
	return column{name: name, append: func(text []byte, f *world.Figures) []byte {
		return platform.AppendRounded(text, platform.Ratio(f[a], f[b]))
	}}
}

// cost returns the column of the cost of one of a metric, or of so many, in yuan.
func cost(name string, of world.Metric, times int64) column {
	return column{name: name, append: func(b []byte, f *world.Figures) []byte {
		return platform.AppendRounded(b, platform.Ratio(f[world.Cost]*times, f[of])/100)
	}}
}

// played returns the column of the impressions of material, from which actions follow. They are fewer than those of
// covers, so that a client that confuses the two is found.
func played(name string) column {
	return column{name: name, append: func(b []byte, f *world.Figures) []byte {
		return strconv.AppendInt(b, shown(f), 10)
	}}
}

func shown(f *world.Figures) int64 { return f[world.Impressions] - f[world.Clicks] }

// nothing returns a column whose figure this world does not have.
func nothing(name string) column {
	return column{name: name, append: func(b []byte, _ *world.Figures) []byte { return append(b, '0') }}
}

func appendYuan(b []byte, fen int64) []byte {
	w := platform.Writer{Bytes: b}
	w.Hundredths(fen)
	return w.Bytes
}

// columns are the figures of all real-time reports: there is no selection of fields.
var columns = []column{
	count("charge", world.Cost), count("show", world.Impressions), played("aclick"), count("bclick", world.Clicks),
	played("photo_click"),
	{name: "photo_click_ratio", append: func(b []byte, f *world.Figures) []byte {
		return platform.AppendRounded(b, platform.Ratio(shown(f), f[world.Impressions]))
	}},
	{name: "photo_click_cost", append: func(b []byte, f *world.Figures) []byte {
		return platform.AppendRounded(b, platform.Ratio(f[world.Cost], shown(f))/100)
	}},
	count("ad_show", world.Impressions), ratio("action_ratio", world.Clicks, world.Impressions),
	cost("action_cost", world.Clicks, 1), cost("impression_1k_cost", world.Impressions, 1000),
	{name: "click_1k_cost", append: func(b []byte, f *world.Figures) []byte {
		return platform.AppendRounded(b, platform.Ratio(f[world.Cost]*1000, shown(f))/100)
	}},
	played("played_three_seconds"), nothing("played_five_seconds"), nothing("played_end"),
	count("download_started", world.DownloadStarts), count("download_completed", world.Downloads),
	count("download_installed", world.Installs),
	count("activation", world.Activations), cost("conversion_cost", world.Activations, 1),
	ratio("click_conversion_ratio", world.Activations, world.Clicks),
	count("conversion_num", world.Conversions), cost("conversion_num_cost", world.Conversions, 1),
	count("conversion_num_by_impression_7d", world.Conversions),
	count("event_register", world.Registrations), cost("event_register_cost", world.Registrations, 1),
	ratio("event_register_ratio", world.Registrations, world.Activations),
	count("event_pay", world.Pays), count("event_pay_purchase_amount", world.PayAmount),
	ratio("event_pay_roi", world.PayAmount, world.Cost),
	count("event_pay_first_day", world.PaysD1), count("event_pay_purchase_amount_first_day", world.PayAmountD1),
	ratio("event_pay_first_day_roi", world.PayAmountD1, world.Cost),
	count("event_pay_purchase_amount_one_day", world.PayAmountD1),
	ratio("event_pay_purchase_amount_one_day_roi", world.PayAmountD1, world.Cost),
	count("event_pay_purchase_amount_one_day_by_conversion", world.PayAmountD1),
	ratio("event_pay_purchase_amount_one_day_by_conversion_roi", world.PayAmountD1, world.Cost),
	count("event_pay_purchase_amount_three_day_by_conversion", world.PayAmountD3),
	ratio("event_pay_purchase_amount_three_day_by_conversion_roi", world.PayAmountD3, world.Cost),
	count("event_pay_purchase_amount_week_by_conversion", world.PayAmountD7),
	ratio("event_pay_purchase_amount_week_by_conversion_roi", world.PayAmountD7, world.Cost),
	count("event_pay_purchase_amount_15_day_by_conversion", world.PayAmountD7),
	ratio("event_pay_purchase_amount_15_day_by_conversion_roi", world.PayAmountD7, world.Cost),
	count("event_new_user_pay", world.FirstPays), cost("event_new_user_pay_cost", world.FirstPays, 1),
	daily(count("event_next_day_stay", world.NextDayRetained)),
	daily(cost("event_next_day_stay_cost", world.NextDayRetained, 1)),
	daily(ratio("event_next_day_stay_ratio", world.NextDayRetained, world.Activations)),
	count("key_action", world.KeyActions), cost("key_action_cost", world.KeyActions, 1),
	nothing("minigame_iaa_purchase_amount"),
	nothing("minigame_iaa_purchase_roi"), nothing("minigame_iaa_purchase_amount_first_day"),
	nothing("minigame_iaa_purchase_amount_first_day_roi"), count("form_count", world.Forms),
	cost("form_cost", world.Forms, 1), nothing("event_valid_clues"), count("event_order_paid", world.Orders),
	count("event_order_paid_purchase_amount", world.OrderAmount),
	ratio("event_order_amount_roi", world.OrderAmount, world.Cost), nothing("union_event_pay_purchase_amount_7d"),
}

// columnsOf returns the columns of the reports of a call: a fault may remove one, or add one.
func columnsOf(c *platform.Call) []column {
	list := make([]column, 0, len(columns))
	for _, x := range columns {
		switch c.Sim.Faults.Field(c, x.name) {
		case platform.FieldRetired, platform.FieldAdded:
		default:
			list = append(list, x)
		}
	}
	if name := c.Sim.Faults.Added(c); name != "" {
		list = append(list, count(name, world.Clicks))
	}
	return list
}

package bilibili

import (
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// costField is the spend. Its unit is a thousandth of a fen: 100,000 are a yuan (READER, GUIDE).
const costField = "charged_cost_milli"

// column is a figure of reports.
type column struct {
	name string
	of   *world.Metric // nil for a figure that this world does not have, which is 0
}

func count(name string, m world.Metric) column { return column{name, &m} }

// columns are the figures of reports. READER has the first three and those of engagement. The guides name the others
// without their fields: those are chosen, and amounts have the unit of the spend.
var columns = []column{
	count("show_count", world.Impressions), count("click_count", world.Clicks), count(costField, world.Cost),
	count("app_download_count", world.Downloads), count("app_install_count", world.Installs),
	count("app_activate_count", world.Activations), count("register_count", world.Registrations),
	count("conversion_count", world.Conversions), count("first_pay_count", world.FirstPays),
	count("pay_count", world.Pays), count("pay_amount_milli", world.PayAmount),
	count("first_day_pay_amount_milli", world.PayAmountD1), count("seven_day_pay_amount_milli", world.PayAmountD7),
	count("retention_count", world.NextDayRetained),
	{name: "app_wake_count"}, {name: "order_submit_count"}, {name: "comment_click_count"}, {name: "video_play_count"},
	{name: "video_like_count"}, {name: "video_fav_count"}, {name: "video_coin_count"}, {name: "video_interact_count"},
}

// columnsOf returns the columns that a call requests. A fault may remove or add one.
func columnsOf(p *platform.Params) (list []column, _ *platform.Failure) {
	named := map[string]column{}
	for _, x := range columns {
		named[x.name] = x
	}
	requested := p.Texts("metrics", len(columns)+1)
	if len(requested) == 0 {
		return nil, wrong(p.Call, "metrics is missing")
	}
	for _, name := range requested {
		x, known := named[name]
		switch p.Call.Sim.Faults.Field(p.Call, name) {
		case platform.FieldRetired:
			known = false
		case platform.FieldAdded:
			x, known = count(name, world.Clicks), true
		}
		if !known {
			return nil, wrong(p.Call, "metrics has %q, which is unknown", name)
		}
		list = append(list, x)
	}
	return list, nil
}

// value returns a figure of a row.
func (x *column) value(f *world.Figures) int64 {
	switch {
	case x.of == nil:
		return 0
	case x.of.IsMoney():
		return f[*x.of] * 1000
	}
	return f[*x.of]
}

package kuaishou

import (
	"slices"
	"strings"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

const trapNumbers = trap.NumbersAsText

var unitLister = lister{
	id: "unit_id", ids: "unit_ids", idsMax: 100, name: "unit_name", parents: []string{"campaign_id"}, reviewed: true,
	// A status of 40 selects by deleted creatives, which are not deleted units: this world's list has none of them.
	statuses: map[int64][]world.Status{-2: all, 10: deleted, 40: {}},
}

// The types of a unit's creatives (unit_type).
const (
	unitCustom = 4
	unitSmart  = 10
)

type unit struct {
	c *platform.Call
	*world.Object
}

func unitType(x *world.Ad) int64 {
	if x.Packed {
		return unitSmart
	}
	return unitCustom
}

// genders are the platform's numbers of genders (document 2572).
var genders = map[string]int64{"": 0, "FEMALE": 1, "MALE": 2}

var unitFields = []platform.Field[unit]{
	field("unit_id", func(w *platform.Writer, x unit) { w.Number(x.ID) }),
	field("unit_name", func(w *platform.Writer, x unit) { w.AdName(x.Name) }),
	field("campaign_id", func(w *platform.Writer, x unit) { w.Number(x.Project) }),
	field("unit_type", func(w *platform.Writer, x unit) { w.Number(unitType(&x.Ad)) }),
	fixed[unit]("bid_type", "10"), fixed[unit]("bid", "0"),
	field("cpa_bid", func(w *platform.Writer, x unit) { w.Number(li(x.Bid)) }),
	fixed[unit]("roi_ratio", "0"), fixed[unit]("ocpx_action_type", "180"), fixed[unit]("deep_conversion_type", "3"),
	fixed[unit]("deep_conversion_bid", "0"),
	field("day_budget", func(w *platform.Writer, x unit) { w.Number(li(x.Budget)) }),
	fixed[unit]("day_budget_schedule", "[]"),
	field("begin_time", func(w *platform.Writer, x unit) { w.Text(x.c.Moment(x.Created)[:len(world.DayLayout)]) }),
	fixed[unit]("end_time", "null"), fixed[unit]("schedule_time", `"`+strings.Repeat("1", 168)+`"`),
	field("scene_id", func(w *platform.Writer, x unit) {
		w.Open('[')
		if x.InUnion() {
			w.Number(24)
		} else {
			w.Number(1)
		}
		w.Close(']')
	}),
	field("put_status", func(w *platform.Writer, x unit) { w.Number(putStatus(x.Status)) }),
	field("status", func(w *platform.Writer, x unit) {
		if x.Status == world.StatusActive && x.Falls(trap.UnknownWord) {
			w.Number(98)
			return
		}
		w.Number([...]int64{20, 15, 10}[x.Status])
	}),
	fixed[unit]("study_status", "2"), fixed[unit]("compensate_status", "0"), fixed[unit]("app_id", "20210"),
	fixed[unit]("app_download_type", "0"),
	field("target", func(w *platform.Writer, x unit) { writeTarget(w, x.Aim.Audience()) }),
	field("create_time", func(w *platform.Writer, x unit) { w.Text(x.c.Moment(x.Created)) }),
	field("update_time", func(w *platform.Writer, x unit) { w.Text(x.c.Moment(x.Modified)) }),
}

// writeTarget writes an audience, by the fields of document 2572.
func writeTarget(w *platform.Writer, to world.Audience) {
	w.Open('{')
	w.OpenObject("age_v2")
	w.NumberField("min", to.From)
	w.NumberField("max", to.To)
	w.Close('}')
	w.NumberField("gender", genders[to.Gender])
	w.OpenArray("region")
	for _, region := range to.Regions {
		w.Number(region / 10_000)
	}
	w.Close(']')
	w.NumberField("platform_os", 1)
	w.Close('}')
}

func (k *kuaishou) units(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	fits, at := listOf(p, unitLister)
	list := slices.DeleteFunc(c.View.Objects(a), func(x world.Object) bool {
		return !fits(&listed{id: x.ID, campaign: x.Project, unit: x.ID, name: x.Name, status: x.Status, created: x.Created,
			modified: x.Modified})
	})
	asText := c.Sim.Traps.Holds(c, trapNumbers)
	writePage(k, c, at, list, func(w *platform.Writer, x *world.Object) {
		platform.WriteFields(c, w, unitFields, unit{c, x}, asText)
		c.CountTraits(w, a, x.Traits)
	})
	return nil
}

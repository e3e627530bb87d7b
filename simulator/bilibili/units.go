package bilibili

import (
	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

type unit struct {
	c *platform.Call
	*world.Object
}

// strangeType is a type of budget that no source names.
const strangeType = 98

// genders are chosen numbers of genders.
var genders = map[string]int64{"": 0, "MALE": 1, "FEMALE": 2}

// unitFields has the fields of STACK's calls that save a unit (budget, budget_limit_type, bid). The others are chosen.
var unitFields = []platform.Field[unit]{
	platform.NewField("unit_id", func(w *platform.Writer, x unit) { w.Number(x.ID) }),
	platform.NewField("unit_name", func(w *platform.Writer, x unit) { w.AdName(x.Name) }),
	platform.NewField("campaign_id", func(w *platform.Writer, x unit) { w.Number(x.Project) }),
	platform.NewField("status", func(w *platform.Writer, x unit) { w.Number(statusOf(x.c, x.Status)) }),
	platform.NewField("budget_limit_type", func(w *platform.Writer, x unit) {
		if x.Status == world.StatusActive && x.Falls(trap.UnknownWord) {
			w.Number(strangeType)
			return
		}
		w.Number(budgetType(x.Budget))
	}),
	platform.NewField("budget", func(w *platform.Writer, x unit) { writeBudget(w, x.Budget) }),
	platform.NewField("bid", func(w *platform.Writer, x unit) { w.Hundredths(x.Bid) }),
	platform.NewField("target", func(w *platform.Writer, x unit) { writeTarget(w, x.Aim.Audience()) }),
	platform.NewField("ctime", func(w *platform.Writer, x unit) { w.Text(x.c.Moment(x.Created)) }),
	platform.NewField("mtime", func(w *platform.Writer, x unit) { w.Text(x.c.Moment(x.Modified)) }),
}

func writeTarget(w *platform.Writer, to world.Audience) {
	w.Open('{')
	w.NumberField("age_min", to.From)
	w.NumberField("age_max", to.To)
	w.NumberField("gender", genders[to.Gender])
	w.OpenArray("area")
	for _, region := range to.Regions {
		w.Number(region)
	}
	w.Close(']')
	w.Close('}')
}

func units(c *platform.Call, a *world.Account) (list []object) {
	for _, x := range c.View.Objects(a) {
		o := newObject(c, x.ID, x.Status, unitFields, unit{c, &x})
		write := o.write
		o.write = func(w *platform.Writer, asText bool) {
			write(w, asText)
			c.CountTraits(w, a, x.Traits)
		}
		list = append(list, o)
	}
	return list
}

package bilibili

import (
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

type campaign struct {
	c *platform.Call
	*world.Project
}

// campaignFields has the fields of STACK (campaign_id, campaign_name, status). The others are chosen.
var campaignFields = []platform.Field[campaign]{
	platform.NewField("campaign_id", func(w *platform.Writer, x campaign) { w.Number(x.ID) }),
	platform.NewField("campaign_name", func(w *platform.Writer, x campaign) { w.Text(x.Name) }),
	platform.NewField("status", func(w *platform.Writer, x campaign) { w.Number(statusOf(x.c, x.Status)) }),
	platform.NewField("budget_limit_type", func(w *platform.Writer, x campaign) { w.Number(budgetType(x.Budget)) }),
	platform.NewField("budget", func(w *platform.Writer, x campaign) { writeBudget(w, x.Budget) }),
	platform.Constant[campaign]("support_auto", "1"),
	platform.NewField("ctime", func(w *platform.Writer, x campaign) { w.Text(x.c.Moment(x.Created)) }),
	platform.NewField("mtime", func(w *platform.Writer, x campaign) { w.Text(x.c.Moment(x.Modified)) }),
}

func campaigns(c *platform.Call, a *world.Account) (list []object) {
	for _, x := range a.Projects(c.Now) {
		list = append(list, newObject(c, x.ID, x.Status, campaignFields, campaign{c, &x}))
	}
	return list
}

package kuaishou

import (
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// campaignType is the type of all campaigns of this world: the installation of an app.
const campaignType = 2

var campaignLister = lister{
	id: "campaign_id", ids: "campaign_ids", idsMax: 200, name: "campaign_name",
	statuses: map[int64][]world.Status{
		-2: all, 1: {world.StatusPaused}, 4: {world.StatusActive}, 5: deleted,
	},
}

type campaign struct {
	c *platform.Call
	*world.Project
}

var campaignFields = []platform.Field[campaign]{
	field("campaign_id", func(w *platform.Writer, x campaign) { w.Number(x.ID) }),
	field("campaign_name", func(w *platform.Writer, x campaign) { w.Text(x.Name) }),
	fixed[campaign]("campaign_type", "2"), fixed[campaign]("campaign_sub_type", "0"), fixed[campaign]("ad_type", "0"),
	field("put_status", func(w *platform.Writer, x campaign) { w.Number(putStatus(x.Status)) }),
	field("status", func(w *platform.Writer, x campaign) { w.Number([...]int64{4, 1, 5}[x.Status]) }),
	field("day_budget", func(w *platform.Writer, x campaign) { w.Number(li(x.Budget)) }),
	fixed[campaign]("day_budget_schedule", "[]"), fixed[campaign]("bid_type", "0"),
	fixed[campaign]("constraint_cpa", "0"), fixed[campaign]("cap_bid", "0"), fixed[campaign]("cap_roi_ratio", "0"),
	fixed[campaign]("auto_manage", "0"), fixed[campaign]("periodic_delivery_type", "0"),
	field("create_time", func(w *platform.Writer, x campaign) { w.Text(x.c.Moment(x.Created)) }),
	field("update_time", func(w *platform.Writer, x campaign) { w.Text(x.c.Moment(x.Modified)) }),
}

func (k *kuaishou) campaigns(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	fits, at := listOf(p, campaignLister)
	list := slices.DeleteFunc(a.Projects(c.Now), func(x world.Project) bool {
		return !fits(&listed{id: x.ID, campaign: x.ID, name: x.Name, status: x.Status, created: x.Created,
			modified: x.Modified})
	})
	asText := c.Sim.Traps.Holds(c, trapNumbers)
	writePage(k, c, at, list, func(w *platform.Writer, x *world.Project) {
		platform.WriteFields(c, w, campaignFields, campaign{c, x}, asText)
	})
	return nil
}

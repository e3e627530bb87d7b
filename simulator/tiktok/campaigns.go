package tiktok

import (
	"slices"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// isSmart reports whether a campaign is a Smart+ campaign.
func isSmart(campaign int64) bool { return world.Key(campaign).Sub(90).Chance(25) }

type campaign struct {
	account *world.Account
	*world.Project
}

var campaignFields = []platform.Field[campaign]{
	field("campaign_id", func(w *platform.Writer, x campaign) { writeID(w, x.ID) }),
	field("campaign_name", func(w *platform.Writer, x campaign) { w.Text(x.Name) }),
	field("advertiser_id", func(w *platform.Writer, x campaign) { writeID(w, x.account.ID) }),
	fixed[campaign]("objective_type", `"`+objectiveType+`"`), fixed[campaign]("app_promotion_type", `"APP_INSTALL"`),
	field("budget", func(w *platform.Writer, x campaign) { writeMoney(w, x.account, x.Budget) }),
	field("budget_mode", func(w *platform.Writer, x campaign) { writeBudgetMode(w, x.Budget) }),
	field("operation_status", func(w *platform.Writer, x campaign) { w.Text(operationStatus(x.Status)) }),
	field("secondary_status", func(w *platform.Writer, x campaign) { w.Text(campaignKind.secondary(x.Status)) }),
	field("is_smart_performance_campaign", func(w *platform.Writer, x campaign) { w.Flag(isSmart(x.ID)) }),
	field("create_time", func(w *platform.Writer, x campaign) { writeTime(w, x.Created) }),
	field("modify_time", func(w *platform.Writer, x campaign) { writeTime(w, x.Modified) }),
}

func (t *tiktok) campaigns(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	fits, fields := conditions(p, campaignKind), chosen(p, campaignFields)
	list := slices.DeleteFunc(a.Projects(c.Now), func(x world.Project) bool {
		return !fits(&listed{campaign: x.ID, name: x.Name, status: x.Status, created: x.Created})
	})
	asText := c.Sim.Traps.Holds(c, trap.NumbersAsText)
	writePage(t, p, pageUsual, list, func(w *platform.Writer, x *world.Project) {
		platform.WriteFields(c, w, fields, campaign{a, x}, asText)
	})
	return nil
}

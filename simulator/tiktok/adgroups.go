package tiktok

import (
	"slices"
	"strconv"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

type adGroup struct {
	account *world.Account
	*world.Object
}

// genders and ages are the platform's words for an audience.
var (
	genders = map[string]string{"": "GENDER_UNLIMITED", "FEMALE": "GENDER_FEMALE", "MALE": "GENDER_MALE"}
	ages    = map[int64]string{18: "AGE_18_24", 24: "AGE_25_34", 31: "AGE_35_44", 41: "AGE_45_54"}
)

var adGroupFields = []platform.Field[adGroup]{
	field("adgroup_id", func(w *platform.Writer, x adGroup) { writeID(w, x.ID) }),
	field("adgroup_name", func(w *platform.Writer, x adGroup) { w.AdName(x.Name) }),
	field("campaign_id", func(w *platform.Writer, x adGroup) { writeID(w, x.Project) }),
	field("advertiser_id", func(w *platform.Writer, x adGroup) { writeID(w, x.account.ID) }),
	field("budget", func(w *platform.Writer, x adGroup) { writeMoney(w, x.account, x.Budget) }),
	field("budget_mode", func(w *platform.Writer, x adGroup) { writeBudgetMode(w, x.Budget) }),
	fixed[adGroup]("bid_type", `"BID_TYPE_CUSTOM"`), fixed[adGroup]("bid_price", "0.0"),
	field("conversion_bid_price", func(w *platform.Writer, x adGroup) { writeMoney(w, x.account, x.Bid) }),
	fixed[adGroup]("optimization_goal", `"INSTALL"`), fixed[adGroup]("billing_event", `"OCPM"`),
	field("app_id", func(w *platform.Writer, x adGroup) {
		w.Text(strconv.FormatInt(7_500_000_000_000_000_000+int64(x.account.Index), 10))
	}),
	field("placements", func(w *platform.Writer, x adGroup) {
		if x.InUnion() {
			w.Raw(`["PLACEMENT_PANGLE"]`)
			return
		}
		w.Raw(`["PLACEMENT_TIKTOK"]`)
	}),
	fixed[adGroup]("click_attribution_window", `"SEVEN_DAYS"`), fixed[adGroup]("view_attribution_window", `"ONE_DAY"`),
	field("gender", func(w *platform.Writer, x adGroup) { w.Text(genders[x.Aim.Audience().Gender]) }),
	field("age_groups", func(w *platform.Writer, x adGroup) {
		w.Open('[')
		w.Text(ages[x.Aim.Audience().From])
		w.Close(']')
	}),
	field("schedule_start_time", func(w *platform.Writer, x adGroup) { writeTime(w, x.Created) }),
	field("schedule_end_time", func(w *platform.Writer, x adGroup) { writeTime(w, world.LastMoment.Unix()) }),
	field("operation_status", func(w *platform.Writer, x adGroup) { w.Text(operationStatus(x.Status)) }),
	field("secondary_status", func(w *platform.Writer, x adGroup) {
		if x.Status == world.StatusActive && x.Falls(trap.UnknownWord) {
			w.Text("ADGROUP_STATUS_TRIAL_RUN")
			return
		}
		w.Text(adGroupKind.secondary(x.Status))
	}),
	field("create_time", func(w *platform.Writer, x adGroup) { writeTime(w, x.Created) }),
	field("modify_time", func(w *platform.Writer, x adGroup) { writeTime(w, x.Modified) }),
}

func (t *tiktok) adGroups(c *platform.Call, a *world.Account, p *platform.Params) *platform.Failure {
	fits, fields := conditions(p, adGroupKind), chosen(p, adGroupFields)
	list := slices.DeleteFunc(c.View.Objects(a), func(x world.Object) bool {
		return !fits(&listed{campaign: x.Project, adGroup: x.ID, status: x.Status, created: x.Created})
	})
	asText := c.Sim.Traps.Holds(c, trap.NumbersAsText)
	writePage(t, p, pageUsual, list, func(w *platform.Writer, x *world.Object) {
		platform.WriteFields(c, w, fields, adGroup{a, x}, asText)
		c.CountTraits(w, a, x.Traits)
	})
	return nil
}

package baidu

import (
	"cmp"
	"slices"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The lists of feed advertising, with the limits of ids and the statuses of pages 100441 and 102474.
var (
	feedCampaigns = lister{
		level: levelCampaign, choice: "campaignFeedFields", ids: "campaignFeedIds",
		kinds: map[int64]kind{0: {100, levelCampaign}}, conditions: ofPlan,
		fields: []platform.Field[object]{
			idField("campaignFeedId", levelCampaign),
			text("campaignFeedName", func(x *object) string { return x.campaign.Name }), fixed("subject", "3"),
			yuan("budget", func(x *object) int64 { return x.campaign.Budget }), fixed("starttime", "null"),
			fixed("endtime", "null"), fixed("schedule", "[]"), own, status(0, 2, 2), fixed("bstype", "1"),
			made("addtime", createdCampaign),
		},
	}
	feedAdgroups = lister{
		level: levelAdgroup, choice: "adgroupFeedFields", ids: "ids",
		kinds: map[int64]kind{1: {100, levelCampaign}, 2: {100, levelAdgroup}}, conditions: unconditional,
		fields: []platform.Field[object]{
			idField("adgroupFeedId", levelAdgroup), idField("campaignFeedId", levelCampaign),
			adgroupName("adgroupFeedName"), own, status(0, 1, 2),
			yuan("bid", func(x *object) int64 { return x.adgroup.Bid }), fixed("bidtype", "3"),
			platform.NewField("audience", writeAudience), platform.NewField("ocpc", writeOcpc),
			made("addtime", createdAdgroup), made("modtime", func(x *object) int64 { return x.adgroup.Modified }),
		},
	}
	feedCreatives = lister{
		level: levelCreative, choice: "creativeFeedFields", ids: "ids",
		kinds:      map[int64]kind{1: {100, levelCampaign}, 2: {100, levelAdgroup}, 3: {100, levelCreative}},
		conditions: ofStatus,
		fields: []platform.Field[object]{
			idField("creativeFeedId", levelCreative), idField("adgroupFeedId", levelAdgroup),
			fixed("materialstyle", "109"), // a large video with a download
			text("creativeFeedName", func(x *object) string { return x.creative.Name }), own, creativeStatus,
			text("material", material), fixed("refusereason", `""`), fixed("ideaType", "0"),
			made("addtime", createdCreative),
		},
	}
	creativeStatus = status(0, 1, 0)
)

// ofPlan is the condition on the type of a campaign: all of this world are ordinary ones.
func ofPlan(p *platform.Params) func(*object) bool {
	types := filter(p, "campaignFeedFilter", "bstype", 1, 3, 7)
	return func(*object) bool { return len(types) == 0 || slices.Contains(types, 1) }
}

// ofStatus is the condition on the status of creatives.
func ofStatus(p *platform.Params) func(*object) bool {
	statuses := filter(p, "creativeFeedFilter", "status", 0, 1, 2, 3, 4, 6)
	return func(x *object) bool {
		is := map[bool]int64{true: 0, false: 1}[x.ownStatus() == world.StatusActive]
		return len(statuses) == 0 || slices.Contains(statuses, is)
	}
}

// filter reads a condition on numbers, which is in an object.
func filter(p *platform.Params, name, field string, allowed ...int64) []int64 {
	fields, _ := p.Object(name)
	inside := platform.Params{Call: &platform.Call{Query: fields}, Code: p.Code}
	list := inside.NumbersOf(field, allowed...)
	p.Failure = cmp.Or(p.Failure, inside.Failure)
	return list
}

func unconditional(*platform.Params) func(*object) bool { return always }

func writeAudience(w *platform.Writer, x object) {
	to := x.adgroup.Aim.Audience()
	w.Open('{')
	w.TextField("age", map[int64]string{18: "18-24", 24: "25-34", 31: "35-44", 41: "45-54"}[to.From])
	w.TextField("sex", map[string]string{"": "0", "MALE": "1", "FEMALE": "2"}[to.Gender])
	w.Close('}')
}

// writeOcpc writes the goal of an adgroup: activations, for its bid.
func writeOcpc(w *platform.Writer, x object) {
	w.Open('{')
	w.NumberField("transType", 4)
	w.Key("ocpcBid")
	w.Hundredths(x.adgroup.Bid)
	w.Close('}')
}

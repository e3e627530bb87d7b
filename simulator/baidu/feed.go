package baidu

import "adsync/simulator/platform"

// The lists of feed advertising, with the limits of ids and the statuses of pages 100441 and 102474.
var (
	feedCampaigns = lister{
		level: levelCampaign, choice: "campaignFeedFields", ids: "campaignFeedIds",
		kinds: map[int64]kind{0: {100, levelCampaign}},
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
		kinds: map[int64]kind{1: {100, levelCampaign}, 2: {100, levelAdgroup}},
		fields: []platform.Field[object]{
			idField("adgroupFeedId", levelAdgroup), idField("campaignFeedId", levelCampaign),
			adgroupName("adgroupFeedName"), own, status(0, 1, 2),
			yuan("bid", func(x *object) int64 { return x.adgroup.Bid }), fixed("bidtype", "3"),
			platform.NewField("ocpc", writeOcpc),
			made("addtime", createdAdgroup), made("modtime", func(x *object) int64 { return x.adgroup.Modified }),
		},
	}
	feedCreatives = lister{
		level: levelCreative, choice: "creativeFeedFields", ids: "ids",
		kinds: map[int64]kind{1: {100, levelCampaign}, 2: {100, levelAdgroup}, 3: {100, levelCreative}},
		fields: []platform.Field[object]{
			idField("creativeFeedId", levelCreative), idField("adgroupFeedId", levelAdgroup),
			fixed("materialstyle", "109"), // a large video with a download
			text("creativeFeedName", func(x *object) string { return x.creative.Name }), own, status(0, 1, 0),
			text("material", material), fixed("refusereason", `""`), fixed("ideaType", "0"),
			made("addtime", createdCreative),
		},
	}
)

// writeOcpc writes the goal of an adgroup: activations, for its bid.
func writeOcpc(w *platform.Writer, x object) {
	w.Open('{')
	w.NumberField("transType", 4)
	w.Key("ocpcBid")
	w.Hundredths(x.adgroup.Bid)
	w.Close('}')
}

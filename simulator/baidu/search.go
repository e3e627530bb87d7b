package baidu

import "adsync/simulator/platform"

// The lists of search advertising, with the limits of ids and the statuses of pages 102631 and 103892.
var (
	searchCampaigns = lister{
		level: levelCampaign, isSearch: true, choice: "campaignFields", ids: "campaignIds",
		kinds: map[int64]kind{0: {100, levelCampaign}},
		fields: []platform.Field[object]{
			idField("campaignId", levelCampaign),
			text("campaignName", func(x *object) string { return x.campaign.Name }),
			yuan("budget", func(x *object) int64 { return x.campaign.Budget }), own, status(21, 23, 23),
			fixed("adType", "0"), fixed("marketingTargetId", "1"), fixed("campaignOcpcBid", "0"),
			fixed("campaignTransTypes", "[4]"), made("createTime", createdCampaign),
		},
	}
	searchAdgroups = lister{
		level: levelAdgroup, isSearch: true, choice: "adgroupFields", ids: "ids",
		kinds: map[int64]kind{3: {100, levelCampaign}, 5: {5000, levelAdgroup}},
		fields: []platform.Field[object]{
			idField("adgroupId", levelAdgroup), idField("campaignId", levelCampaign), adgroupName("adgroupName"),
			yuan("maxPrice", func(x *object) int64 { return x.adgroup.Bid }), own, status(31, 32, 33),
			fixed("adType", "0"), made("createTime", createdAdgroup),
		},
	}
	searchCreatives = lister{
		level: levelCreative, isSearch: true, choice: "creativeFields", ids: "ids",
		kinds: map[int64]kind{5: {1000, levelAdgroup}, 7: {3000, levelCreative}},
		fields: []platform.Field[object]{
			idField("creativeId", levelCreative), idField("adgroupId", levelAdgroup), idField("campaignId", levelCampaign),
			text("title", func(x *object) string { return x.creative.Name }),
			fixed("description1", `"下载即领新手礼包"`), fixed("description2", `""`), own, status(51, 52, 51),
			made("createTime", createdCreative),
		},
	}
)

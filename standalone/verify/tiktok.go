package verify

import "strconv"

// This file defines what the tables of TikTok must hold, from the platform's documents.

// tiktok is what is compared of TikTok. It counts conversions at the time of the click or the view, and separately at
// the time of the event. It has no list of the cash flow.
var tiktok = world{
	media: "tiktok", accounts: "tiktok_account", nameColumn: "name", daily: "tiktok_report_daily",
	hourly: "tiktok_report_hourly",
	objects: []objects{
		{table: "tiktok_campaign", kind: "project", columns: tiktokCampaign, level: "campaign"},
		{table: "tiktok_adgroup", kind: "adgroup", columns: tiktokAdGroup, level: "adgroup", above: "campaign"},
		{table: "tiktok_ad", kind: "creative", columns: tiktokAd, level: creativeLevel, above: "adgroup"},
		{table: "tiktok_image", kind: "image", columns: tiktokFile},
		{table: "tiktok_video", kind: "video", columns: tiktokFile},
	},
	levels: []level{{"account", "account"}, {"campaign", "project"}, {"adgroup", "ad"}, {creativeLevel, "creative"}},
	report: tiktokReport,
	public: with(same("cost", "impressions", "clicks", "activations", "registrations", "conversions", "first_pays",
		"pays", "pay_amount"), "conversions_event", "conversions"),
	money: moneySpec{balance: moneyTable{
		raw: "tiktok_fund", rows: []moneyRow{{columns: []moneyColumn{inMicros("balance_micros", all, balance)}}},
		publicTable: "account_balance", publicNames: balanceNames,
		public: []moneyRow{{key: "total", columns: []moneyColumn{balanceColumn(all)}}},
	}},
}

// micros returns the column of an amount in the account's currency, with any number of decimals on the wire.
func micros(field, metric string) rawColumn { return figure(field+"_micros", metric, 1) }

var tiktokReport = []rawColumn{
	micros("spend", "cost"),
	counted("impressions", "impressions"),
	counted("clicks", "clicks"),
	counted("app_install", "activations"),
	counted("registration", "registrations"),
	counted("conversion", "conversions"),
	counted("real_time_conversion", "conversions"),
	counted("purchase", "first_pays"),
	counted("total_purchase", "pays"),
	micros("total_purchase_value", "pay_amount"),
}

// tiktokStatus is an object's state as set by the advertiser: a deleted object is disabled.
var tiktokStatus = rawColumn{name: "operation_status", want: pick(map[string]string{"active": "ENABLE",
	"paused": "DISABLE", "deleted": "DISABLE"})}

var tiktokTimes = []rawColumn{
	{name: "create_time", want: unix(created), instant: true}, {name: "modify_time", want: unix(modified), instant: true},
}

var tiktokCampaign = append([]rawColumn{
	{name: "campaign_name", want: func(r truthRow) string { return r.Name }}, tiktokStatus,
	{name: "secondary_status", want: pick(map[string]string{"active": "CAMPAIGN_STATUS_ENABLE",
		"paused": "CAMPAIGN_STATUS_DISABLE", "deleted": "CAMPAIGN_STATUS_DELETE"})},
	{name: "budget_micros", want: func(r truthRow) string { return strconv.FormatInt(r.DailyBudget, 10) }},
}, tiktokTimes...)

var tiktokAdGroup = append([]rawColumn{
	{name: "adgroup_name", want: func(r truthRow) string { return r.Name }}, tiktokStatus,
	{name: "campaign_id", want: func(r truthRow) string { return r.Parent }},
	{name: "budget_micros", want: func(r truthRow) string { return strconv.FormatInt(r.DailyBudget, 10) }},
	{name: "conversion_bid_price_micros", want: func(r truthRow) string { return strconv.FormatInt(r.Bid, 10) }},
}, tiktokTimes...)

// Ads of Smart+ campaigns have no time of their last change.
var tiktokAd = []rawColumn{
	{name: "ad_name", want: func(r truthRow) string { return r.Name }}, tiktokStatus,
	{name: "adgroup_id", want: func(r truthRow) string { return r.Parent }},
	{name: "secondary_status", want: pick(map[string]string{"active": "AD_STATUS_DELIVERY_OK",
		"paused": "AD_STATUS_DISABLE", "deleted": "AD_STATUS_DELETE"})},
	tiktokTimes[0],
}

var tiktokFile = append(assetColumns("file_name", "size", "create_time"),
	rawColumn{name: "material_id", want: func(r truthRow) string { return r.Material }})

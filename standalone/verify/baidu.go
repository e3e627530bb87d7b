package verify

import "strconv"

// This file defines what the tables of Baidu must hold, from the platform's documents (pages 100140 to 100142, 100441,
// 102474, 102631 and 103889 of its developer site).

// baidu is what is compared of Baidu. Its lists have no deleted objects, and only ad groups of feed advertising have a
// time of modification.
var baidu = world{
	media: "baidu", accounts: "baidu_account", nameColumn: "username", daily: "baidu_report_daily",
	hourly: "baidu_report_hourly",
	objects: []objects{
		{table: "baidu_campaign", kind: "project", columns: baiduCampaign, level: "campaign"},
		{table: "baidu_adgroup", kind: "adgroup", columns: baiduAdgroup, level: "adgroup", above: "campaign"},
		{table: "baidu_creative", kind: "creative", columns: baiduCreative, level: creativeLevel, above: "adgroup"},
		{table: "baidu_image", kind: "image", columns: baiduFile},
		{table: "baidu_video", kind: "video", columns: baiduFile},
	},
	levels: []level{{"account", "account"}, {"campaign", "project"}, {"adgroup", "ad"}, {creativeLevel, "creative"}},
	report: baiduReport, money: baiduMoney,
	public: same("cost", "impressions", "clicks", "activations", "registrations", "conversions", "deep_conversions",
		"first_pays", "pay_amount_d1", "pay_amount_d3", "pay_amount_d7", "next_day_retained", "forms"),
}

// The columns have the names of search reports, also for rows of feed reports.
var baiduReport = []rawColumn{
	fens("cost", "cost"),
	counted("impression", "impressions"),
	counted("click", "clicks"),
	counted("ocpcConversions", "conversions"),
	counted("deepOCPCConversions", "deep_conversions"),
	counted("ocpcConversionsDetail4", "activations"),
	counted("ocpcConversionsDetail25", "registrations"),
	counted("ocpcConversionsDetail26", "first_pays"),
	fens("ocpcConversionsDetail26One", "pay_amount_d1"),
	fens("ocpcConversionsDetail26Three", "pay_amount_d3"),
	fens("ocpcConversionsDetail26Seven", "pay_amount_d7"),
	counted("ocpcConversionsDetail28", "next_day_retained"),
	counted("ocpcConvertsionsDetail3", "forms"),
}

var baiduPause = rawColumn{name: "pause", want: pick(map[string]string{"active": "false", "paused": "true"})}

var baiduCampaign = []rawColumn{
	{name: "name", want: func(r truthRow) string { return r.Name }},
	baiduPause,
	{name: "budget_fen", want: func(r truthRow) string { return strconv.FormatInt(r.DailyBudget/microsPerFen, 10) }},
	{name: "create_time", want: unix(created), instant: true},
}

var baiduAdgroup = []rawColumn{
	{name: "name", want: func(r truthRow) string { return r.Name }},
	{name: "campaign_id", want: func(r truthRow) string { return r.Parent }},
	baiduPause,
	{name: "bid_fen", want: func(r truthRow) string { return strconv.FormatInt(r.Bid/microsPerFen, 10) }},
	{name: "create_time", want: unix(created), instant: true},
}

var baiduCreative = []rawColumn{
	{name: "name", want: func(r truthRow) string { return r.Name }},
	{name: "adgroup_id", want: func(r truthRow) string { return r.Parent }},
	baiduPause,
	{name: "create_time", want: unix(created), instant: true},
}

var baiduFile = assetColumns("name", "size", "create_time")

// The balance is in yuan. The platform reports no money of past days.
var baiduMoney = moneySpec{
	balance: moneyTable{
		raw: "baidu_fund", rows: []moneyRow{{columns: []moneyColumn{
			inFen("balance_fen", all, balance), inFen("cash_fen", cash, balance), inFen("bonus_fen", grant, balance),
		}}},
		publicTable: "account_balance", publicNames: balanceNames,
		public: []moneyRow{
			{key: "cash", columns: []moneyColumn{balanceColumn(cash)}},
			{key: "grant", columns: []moneyColumn{balanceColumn(grant)}},
			{key: "total", columns: []moneyColumn{balanceColumn(all)}},
		},
	},
}

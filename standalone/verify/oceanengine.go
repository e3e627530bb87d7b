package verify

import (
	"strconv"
	"strings"
	"time"
)

// This file defines what the tables of Ocean Engine must hold, from the platform's documents.

// oceanEngine is what is compared of Ocean Engine.
var oceanEngine = world{
	media: "oceanengine", accounts: "oceanengine_account", nameColumn: "advertiser_name", company: "company",
	daily: "oceanengine_report_daily", hourly: "oceanengine_report_hourly",
	objects: []objects{
		{table: "oceanengine_project", kind: "project", columns: oceanProject, level: "campaign",
			modified: "project_modify_time", status: "status_first"},
		{table: "oceanengine_promotion", kind: "promotion", columns: oceanObject, level: "adgroup", above: "campaign",
			modified: "promotion_modify_time", status: "status_first"},
		{table: "oceanengine_promotion_material", kind: "creative", columns: oceanMaterial, level: creativeLevel,
			above: "adgroup", nameless: true, idNamesParent: true},
		{table: "oceanengine_image", kind: "image", columns: oceanAsset},
		{table: "oceanengine_video", kind: "video", columns: oceanAsset},
	},
	levels: []level{{"account", "account"}, {"campaign", "project"}, {"adgroup", "ad"}, {creativeLevel, "creative"}},
	report: oceanReport, money: oceanMoney,
	// This platform counts conversions at the time of the event.
	public: with(same("cost", "impressions", "clicks", "downloads", "installs", "activations", "registrations",
		"deep_conversions",
		"first_pays", "pays", "pay_amount_d1", "pay_amount_d3", "pay_amount_d7", "next_day_retained", "download_starts",
		"key_actions", "orders", "order_amount"), "conversions_event",
		"conversions"),
}

var oceanReport = []rawColumn{
	fens("stat_cost", "cost"),
	counted("show_cnt", "impressions"),
	counted("click_cnt", "clicks"),
	counted("download_finish_cnt", "downloads"),
	counted("install_finish_cnt", "installs"),
	counted("active", "activations"),
	counted("active_register", "registrations"),
	counted("convert_cnt", "conversions"),
	counted("deep_convert_cnt", "deep_conversions"),
	counted("active_pay", "first_pays"),
	counted("game_pay_count", "pays"),
	fens("attribution_game_in_app_ltv_1day", "pay_amount_d1"),
	fens("attribution_game_in_app_ltv_3days", "pay_amount_d3"),
	fens("attribution_game_in_app_ltv_7days", "pay_amount_d7"),
	counted("attribution_next_day_open_cnt", "next_day_retained"),
	counted("click_start_cnt", "download_starts"),
	counted("game_addiction", "key_actions"),
	counted("in_app_order", "orders"),
	fens("in_app_order_gmv", "order_amount"),
}

var oceanProject = []rawColumn{
	{name: "name", want: func(r truthRow) string { return r.Name }},
	{name: "status_first", want: pick(map[string]string{"active": "PROJECT_STATUS_ENABLE",
		"paused": "PROJECT_STATUS_DISABLE", "deleted": "PROJECT_STATUS_DELETE"})},
	{name: "budget_fen", want: func(r truthRow) string { return strconv.FormatInt(r.DailyBudget/microsPerFen, 10) }},
	{name: "project_create_time", want: unix(created), instant: true},
	{name: "project_modify_time", want: unix(modified), instant: true},
}

// A creative of Ocean Engine is a material in a promotion: "<promotion>:<material>".
var oceanMaterial = []rawColumn{
	{name: "promotion_id", want: func(r truthRow) string { return r.Parent }},
	{name: "material_id", want: func(r truthRow) string { return strings.TrimPrefix(r.Object, r.Parent+":") }},
	{name: "material_kind", want: func(r truthRow) string { return r.Kind }},
	{name: "material_status", want: pick(map[string]string{"active": "MATERIAL_STATUS_OK",
		"paused": "MATERIAL_STATUS_DISABLE", "deleted": "MATERIAL_STATUS_DELETE"})},
}

var oceanAsset = append(assetColumns("filename", "size", "create_time"),
	rawColumn{name: "material_id", want: func(r truthRow) string { return r.Material }})

var oceanObject = []rawColumn{
	{name: "promotion_name", want: func(r truthRow) string { return r.Name }},
	{name: "project_id", want: func(r truthRow) string { return r.Parent }},
	{name: "status_first", want: pick(map[string]string{"active": "PROMOTION_STATUS_ENABLE",
		"paused": "PROMOTION_STATUS_DISABLE", "deleted": "PROMOTION_STATUS_DELETED"})},
	{name: "budget_fen", want: func(r truthRow) string { return strconv.FormatInt(r.DailyBudget/microsPerFen, 10) }},
	{name: "cpa_bid_fen", want: func(r truthRow) string { return strconv.FormatInt(r.Bid/microsPerFen, 10) }},
	{name: "promotion_create_time", want: unix(created), instant: true},
	{name: "promotion_modify_time", want: unix(modified), instant: true},
}

var oceanMoney = moneySpec{
	balance: moneyTable{
		raw: "oceanengine_fund", rows: []moneyRow{{columns: []moneyColumn{
			inFen("balance_fen", all, balance), inFen("valid_balance_fen", all, valid), inFen("cash_fen", cash, balance),
			inFen("valid_cash_fen", cash, valid),
			inFen("grant_fen", grant, balance), inFen("valid_grant_fen", grant, valid),
		}}},
		publicTable: "account_balance", publicNames: balanceNames,
		public: []moneyRow{
			{key: "cash", columns: []moneyColumn{balanceColumn(cash), validColumn(cash)}},
			{key: "grant", columns: []moneyColumn{balanceColumn(grant), validColumn(grant)}},
			{key: "total", columns: []moneyColumn{balanceColumn(all), validColumn(all)}},
		},
	},
	daily: moneyTable{
		raw: "oceanengine_fund_daily", rows: []moneyRow{{columns: []moneyColumn{
			inFen("income_fen", all, deposit), inFen("cost_fen", all, paid), inFen("transfer_in_fen", all, transferIn),
			inFen("transfer_out_fen", all, transferOut),
			inFen("balance_fen", all, balance), inFen("cash_cost_fen", cash, paid), inFen("reward_cost_fen", grant, paid),
			inFen("frozen_fen", all, nothing),
			inFen("grant_balance_fen", grant, balance), inFen("non_grant_balance_fen", cash, balance),
		}}},
		publicTable: "fund_daily", publicNames: flowNames,
		// For the kinds of money this platform returns only the spend and the rest.
		public: []moneyRow{
			{key: "cash", columns: []moneyColumn{paidColumn(cash), balanceColumn(cash)}},
			{key: "grant", columns: []moneyColumn{paidColumn(grant), balanceColumn(grant)}},
			{key: "total", columns: flowColumns(all)},
		},
	},
	toldAfter: 8 * time.Hour,
}

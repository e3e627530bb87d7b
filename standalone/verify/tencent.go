package verify

import (
	"strconv"
	"time"
)

// This file defines what the tables of Tencent Ads must hold, from the platform's documents.

// tencent is what is compared of Tencent Ads.
var tencent = world{
	media: "tencent", accounts: "tencent_account", nameColumn: "corporation_name", daily: "tencent_report_daily",
	hourly: "tencent_report_hourly",
	objects: []objects{
		{table: "tencent_adgroup", kind: "adgroup", columns: tencentObject, level: "adgroup", modified: "last_modified_time",
			status: "configured_status"},
		{table: "tencent_dynamic_creative", kind: "creative", columns: tencentCreative, level: creativeLevel,
			above: "adgroup", modified: "last_modified_time", status: "configured_status"},
		{table: "tencent_image", kind: "image", columns: tencentAsset},
		{table: "tencent_video", kind: "video", columns: tencentAsset},
	},
	levels: []level{{"account", "account"}, {"adgroup", "ad"}, {creativeLevel, "creative"}},
	report: tencentReport, money: tencentMoney,
	public: same("cost", "impressions", "clicks", "downloads", "installs", "activations", "registrations", "conversions",
		"deep_conversions",
		"first_pays", "pays", "pay_amount", "pay_amount_d1", "pay_amount_d3", "pay_amount_d7", "next_day_retained",
		"pays_d1", "orders", "order_amount"),
}

var tencentReport = []rawColumn{
	fens("cost", "cost"),
	counted("view_count", "impressions"),
	counted("valid_click_count", "clicks"),
	counted("download_count", "downloads"),
	counted("install_count", "installs"),
	counted("activated_count", "activations"),
	counted("reg_pv", "registrations"),
	counted("conversions_count", "conversions"),
	counted("deep_conversions_count", "deep_conversions"),
	counted("first_pay_count", "first_pays"),
	counted("purchase_pv", "pays"),
	fens("purchase_amount", "pay_amount"),
	fens("first_day_pay_amount", "pay_amount_d1"),
	fens("payment_amount_activated_d3", "pay_amount_d3"),
	fens("payment_amount_activated_d7", "pay_amount_d7"),
	counted("retention_count", "next_day_retained"),
	counted("first_day_pay_count", "pays_d1"),
	counted("order_pv", "orders"),
	fens("order_amount", "order_amount"),
}

var tencentObject = []rawColumn{
	{name: "adgroup_name", want: func(r truthRow) string { return r.Name }},
	{name: "configured_status", want: pick(map[string]string{"active": "AD_STATUS_NORMAL", "paused": "AD_STATUS_SUSPEND",
		"deleted": "AD_STATUS_SUSPEND"})},
	{name: "daily_budget_fen", want: func(r truthRow) string { return strconv.FormatInt(r.DailyBudget/microsPerFen, 10) }},
	{name: "bid_amount_fen", want: func(r truthRow) string { return strconv.FormatInt(r.Bid/microsPerFen, 10) }},
	{name: "created_time", want: unix(created), instant: true},
	{name: "last_modified_time", want: unix(modified), instant: true},
}

var tencentAsset = assetColumns("description", "file_size", "created_time")

var tencentCreative = []rawColumn{
	{name: "dynamic_creative_name", want: func(r truthRow) string { return r.Name }},
	{name: "adgroup_id", want: func(r truthRow) string { return r.Parent }},
	{name: "configured_status", want: pick(map[string]string{"active": "AD_STATUS_NORMAL", "paused": "AD_STATUS_SUSPEND",
		"deleted": "AD_STATUS_SUSPEND"})},
	{name: "created_time", want: unix(created), instant: true},
	{name: "last_modified_time", want: unix(modified), instant: true},
}

func tencentBalance(p part) []moneyColumn {
	status := func(t moneyTruth) string {
		if p(t, balance) == 0 {
			return "FUND_STATUS_NOT_ENOUGH"
		}
		return "FUND_STATUS_NORMAL"
	}
	return []moneyColumn{inFen("balance_fen", p, balance), inFen("bill_deposit_amount_fen", p, locked),
		inFen("realtime_cost_fen", p, paidToday), {"fund_status", status}}
}

func tencentFlow(p part) []moneyColumn {
	return []moneyColumn{
		inFen("deposit_fen", p, deposit), inFen("paid_fen", p, paid), inFen("trans_in_fen", p, transferIn),
		inFen("trans_out_fen", p, transferOut),
		inFen("balance_fen", p, balance), inFen("credit_modify_fen", p, nothing),
	}
}

// tencentRows are the rows of its fund types, which the platform documents at developers.e.qq.com/docs/accounts/fund.
func tencentRows(columns func(part) []moneyColumn) []moneyRow {
	return []moneyRow{
		{key: "FUND_TYPE_CASH", columns: columns(cash)}, {key: "FUND_TYPE_GIFT", columns: columns(grant)},
		{key: "FUND_TYPE_SHARED", columns: columns(none)}, {key: "FUND_TYPE_BANK", columns: columns(bank), ofBank: true},
	}
}

// tencentPublic are its rows of a public table: a bank transfer is cash, and shared income is of another kind.
func tencentPublic(columns func(part) []moneyColumn) []moneyRow {
	return []moneyRow{
		{key: "cash", columns: columns(paidIn)}, {key: "grant", columns: columns(grant)},
		{key: "other", columns: columns(none)},
		{key: "total", columns: columns(all)},
	}
}

var tencentMoney = moneySpec{
	balance: moneyTable{
		raw: "tencent_fund", rows: tencentRows(tencentBalance), publicTable: "account_balance", publicNames: balanceNames,
		// This platform does not report the spendable amount.
		public: tencentPublic(func(p part) []moneyColumn { return []moneyColumn{balanceColumn(p)} }),
	},
	daily: moneyTable{
		raw: "tencent_fund_daily", rows: tencentRows(tencentFlow), publicTable: "fund_daily", publicNames: flowNames,
		public: tencentPublic(flowColumns),
	},
	toldAfter: 8 * time.Hour,
}

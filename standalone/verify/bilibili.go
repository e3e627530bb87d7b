package verify

import (
	"strconv"
	"time"
)

// This file defines what the tables of Bilibili must hold, from public clients and guides of its Marketing API.

// bilibili is what is compared of Bilibili. Its lists select no changes.
var bilibili = world{
	media: "bilibili", accounts: "bilibili_account", nameColumn: "account_name",
	daily: "bilibili_report_daily", hourly: "bilibili_report_hourly",
	objects: []objects{
		{table: "bilibili_campaign", kind: "project", columns: biliCampaign, level: "campaign"},
		{table: "bilibili_unit", kind: "unit", columns: biliUnit, level: "adgroup", above: "campaign"},
		{table: "bilibili_creative", kind: "creative", columns: biliCreative, level: creativeLevel, above: "adgroup"},
		{table: "bilibili_image", kind: "image", columns: biliAsset},
		{table: "bilibili_video", kind: "video", columns: biliAsset},
	},
	levels: []level{{"account", "account"}, {"campaign", "project"}, {"adgroup", "ad"}, {creativeLevel, "creative"}},
	report: biliReport, money: biliMoney,
	public: same("cost", "impressions", "clicks", "downloads", "installs", "activations", "registrations", "conversions",
		"first_pays", "pays", "pay_amount", "pay_amount_d1", "pay_amount_d7", "next_day_retained"),
}

// milliFen is an amount whose field has thousandths of a fen: 100,000 of them are a yuan.
func milliFen(field, metric string) rawColumn {
	return figure(field+"_millifen", metric, microsPerFen/1000)
}

var biliReport = []rawColumn{
	milliFen("charged_cost_milli", "cost"),
	counted("show_count", "impressions"),
	counted("click_count", "clicks"),
	counted("app_download_count", "downloads"),
	counted("app_install_count", "installs"),
	counted("app_activate_count", "activations"),
	counted("register_count", "registrations"),
	counted("conversion_count", "conversions"),
	counted("first_pay_count", "first_pays"),
	counted("pay_count", "pays"),
	milliFen("pay_amount_milli", "pay_amount"),
	milliFen("first_day_pay_amount_milli", "pay_amount_d1"),
	milliFen("seven_day_pay_amount_milli", "pay_amount_d7"),
	counted("retention_count", "next_day_retained"),
}

// biliStatus are the numbers 1 有效, 2 已暂停 and 4 已删除.
var biliStatus = rawColumn{name: "status", want: pick(map[string]string{"active": "1", "paused": "2", "deleted": "4"})}

// biliObject are the columns that all objects have, before those of their level.
func biliObject(named string, more ...rawColumn) []rawColumn {
	return append([]rawColumn{
		{name: named, want: func(r truthRow) string { return r.Name }},
		biliStatus,
		{name: "ctime", want: unix(created), instant: true},
		{name: "mtime", want: unix(modified), instant: true},
	}, more...)
}

// Budgets and bids are in yuan on the wire.
var (
	biliBudget = rawColumn{name: "budget_fen", want: func(r truthRow) string {
		return strconv.FormatInt(r.DailyBudget/microsPerFen, 10)
	}}
	biliCampaign = biliObject("campaign_name", biliBudget)
	biliUnit     = biliObject("unit_name", biliBudget,
		rawColumn{name: "campaign_id", want: func(r truthRow) string { return r.Parent }},
		rawColumn{name: "bid_fen", want: func(r truthRow) string { return strconv.FormatInt(r.Bid/microsPerFen, 10) }})
	biliCreative = biliObject("creative_name",
		rawColumn{name: "unit_id", want: func(r truthRow) string { return r.Parent }})
	biliAsset = assetColumns("name", "size", "ctime")
)

// biliFlow are the columns of a kind of money in the cash flow: cash and what was paid through a bank, or grants.
func biliFlow(kind string, p part) []moneyColumn {
	return []moneyColumn{
		inFen("recharge_"+kind+"_fen", p, deposit), inFen("cost_"+kind+"_fen", p, paid),
		inFen("transfer_in_"+kind+"_fen", p, transferIn), inFen("transfer_out_"+kind+"_fen", p, transferOut),
		inFen("balance_"+kind+"_fen", p, balance),
	}
}

var biliMoney = moneySpec{
	balance: moneyTable{
		raw: "bilibili_fund", rows: []moneyRow{{columns: []moneyColumn{
			inFen("cash_fen", paidIn, balance), inFen("red_packet_fen", grant, balance),
		}}},
		publicTable: "account_balance", publicNames: balanceNames,
		// This platform does not report the spendable amount.
		public: []moneyRow{
			{key: "cash", columns: []moneyColumn{balanceColumn(paidIn)}},
			{key: "grant", columns: []moneyColumn{balanceColumn(grant)}},
			{key: "total", columns: []moneyColumn{balanceColumn(all)}},
		},
	},
	daily: moneyTable{
		raw:         "bilibili_fund_daily",
		rows:        []moneyRow{{columns: append(biliFlow("cash", paidIn), biliFlow("red_packet", grant)...)}},
		publicTable: "fund_daily", publicNames: flowNames,
		public: []moneyRow{
			{key: "cash", columns: flowColumns(paidIn)}, {key: "grant", columns: flowColumns(grant)},
			{key: "total", columns: flowColumns(all)},
		},
	},
	toldAfter: 8 * time.Hour,
}

package verify

import (
	"slices"
	"strconv"
	"time"
)

// This file defines what the tables of Kuaishou must hold, from the platform's documents.

// kuaishou is what is compared of Kuaishou. It counts conversions by the impression, and separately when they happen.
var kuaishou = world{
	media: "kuaishou", accounts: "kuaishou_account", nameColumn: "user_name", daily: "kuaishou_report_daily",
	hourly: "kuaishou_report_hourly",
	objects: []objects{
		{table: "kuaishou_campaign", kind: "project", columns: kuaiCampaign, level: "campaign", modified: "update_time",
			status: "put_status"},
		{table: "kuaishou_unit", kind: "unit", columns: kuaiUnit, level: "adgroup", above: "campaign",
			modified: "update_time", status: "put_status"},
		{table: "kuaishou_creative", kind: "creative", columns: kuaiCreative, level: creativeLevel, above: "adgroup",
			modified: "update_time", status: "put_status"},
		{table: "kuaishou_image", kind: "image", columns: kuaiImage, nameless: true},
		{table: "kuaishou_video", kind: "video", columns: kuaiVideo},
	},
	levels: []level{{"account", "account"}, {"campaign", "project"}, {"adgroup", "ad"}, {creativeLevel, "creative"}},
	report: kuaiReport, money: kuaiMoney,
	public: with(same("cost", "impressions", "clicks", "downloads", "installs", "activations", "registrations",
		"conversions", "first_pays", "pays", "pay_amount", "pay_amount_d1", "pay_amount_d3", "pay_amount_d7",
		"next_day_retained", "download_starts", "key_actions", "pays_d1", "orders", "order_amount", "forms"),
		"conversions_event", "conversions"),
	daysOnly: []string{"next_day_retained"},
}

// Reports are in yuan, bids and budgets in li: thousandths of a yuan.
var kuaiReport = []rawColumn{
	fens("charge", "cost"),
	counted("ad_show", "impressions"),
	counted("bclick", "clicks"),
	counted("download_completed", "downloads"),
	counted("download_installed", "installs"),
	counted("activation", "activations"),
	counted("event_register", "registrations"),
	counted("conversion_num_by_impression_7d", "conversions"),
	counted("conversion_num", "conversions"),
	counted("event_new_user_pay", "first_pays"),
	counted("event_pay", "pays"),
	fens("event_pay_purchase_amount", "pay_amount"),
	fens("event_pay_purchase_amount_first_day", "pay_amount_d1"),
	fens("event_pay_purchase_amount_three_day_by_conversion", "pay_amount_d3"),
	fens("event_pay_purchase_amount_week_by_conversion", "pay_amount_d7"),
	counted("event_next_day_stay", "next_day_retained"),
	counted("download_started", "download_starts"),
	counted("key_action", "key_actions"),
	counted("event_pay_first_day", "pays_d1"),
	counted("event_order_paid", "orders"),
	fens("event_order_paid_purchase_amount", "order_amount"),
	counted("form_count", "forms"),
}

func inLi(micros int64) string { return strconv.FormatInt(micros/1_000, 10) }

// kuaiObject are the columns of all levels, before those of the level. put_status is 1 投放中, 2 暂停 or 3 删除.
func kuaiObject(named string, more ...rawColumn) []rawColumn {
	return append([]rawColumn{
		{name: named, want: func(r truthRow) string { return r.Name }},
		{name: "put_status", want: pick(map[string]string{"active": "1", "paused": "2", "deleted": "3"})},
		{name: "create_time", want: unix(created), instant: true},
		{name: "update_time", want: unix(modified), instant: true},
	}, more...)
}

var (
	kuaiBudget   = rawColumn{name: "day_budget_li", want: func(r truthRow) string { return inLi(r.DailyBudget) }}
	kuaiCampaign = kuaiObject("campaign_name", kuaiBudget)
	kuaiUnit     = kuaiObject("unit_name", kuaiBudget,
		rawColumn{name: "campaign_id", want: func(r truthRow) string { return r.Parent }},
		rawColumn{name: "cpa_bid_li", want: func(r truthRow) string { return inLi(r.Bid) }})
	kuaiCreative = kuaiObject("creative_name",
		rawColumn{name: "unit_id", want: func(r truthRow) string { return r.Parent }},
		rawColumn{name: "photo_id", want: shows("video")}, rawColumn{name: "image_token", want: shows("image")})
	// Images have no name, and the list of videos has no size.
	kuaiImage = slices.DeleteFunc(assetColumns("", "size", "create_time"),
		func(c rawColumn) bool { return c.name == "" })
	kuaiVideo = slices.DeleteFunc(assetColumns("photo_name", "", "upload_time"),
		func(c rawColumn) bool { return c.name == "" })
)

// shows returns the id of the file of a kind that a creative shows. A program creative has none: its package does not
// say which files it shows.
func shows(kind string) func(truthRow) string {
	return func(r truthRow) string {
		for _, use := range r.Assets {
			if use.Kind == kind {
				return use.ID
			}
		}
		return "NULL"
	}
}

// transferredIn is what came into an account, paid in or transferred: the platform has one amount for both.
func transferredIn(r truthRow) int64 { return r.Deposit + r.TransferIn }

// kuaiMoney is in yuan. Rebates are grants: contract_rebate (框返) and direct_rebate (激励), which this world lacks.
var kuaiMoney = moneySpec{
	balance: moneyTable{
		raw: "kuaishou_fund", rows: []moneyRow{{columns: []moneyColumn{
			inFen("balance_fen", all, balance), inFen("recharge_balance_fen", cash, balance),
			inFen("contract_rebate_fen", grant, balance), inFen("direct_rebate_fen", none, balance),
		}}},
		publicTable: "account_balance", publicNames: balanceNames,
		// This platform does not report the spendable amount.
		public: []moneyRow{
			{key: "cash", columns: []moneyColumn{balanceColumn(cash)}},
			{key: "grant", columns: []moneyColumn{balanceColumn(grant)}},
			{key: "total", columns: []moneyColumn{balanceColumn(all)}},
		},
	},
	daily: moneyTable{
		raw: "kuaishou_fund_daily", rows: []moneyRow{{columns: []moneyColumn{
			inFen("daily_charge_fen", all, paid), inFen("real_charged_fen", cash, paid),
			inFen("contract_rebate_real_charged_fen", grant, paid), inFen("direct_rebate_real_charged_fen", none, paid),
			inFen("daily_transfer_in_fen", all, transferredIn), inFen("daily_transfer_out_fen", all, transferOut),
			inFen("balance_fen", all, balance),
		}}},
		publicTable: "fund_daily", publicNames: flowNames,
		public: []moneyRow{
			{key: "cash", columns: []moneyColumn{paidColumn(cash)}},
			{key: "grant", columns: []moneyColumn{paidColumn(grant)}},
			{key: "total", columns: []moneyColumn{
				paidColumn(all), inMicros("transfer_in", all, transferredIn), inMicros("transfer_out", all, transferOut),
				balanceColumn(all),
			}},
		},
	},
	toldAfter: 9 * time.Hour, // the time is not documented
}

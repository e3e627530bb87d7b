package verify

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
)

// What the tables must hold, written down from the platforms' documents and not from the adapters: a mistake about a
// unit in an adapter must show as a difference here.

// rawColumn is what a raw column must hold for a row of the truth, as text.
type rawColumn struct {
	name string
	want func(truthRow) string
	// metric is the truth's, of a column that holds a figure of a report.
	metric string
	// asText also reads instants as seconds since 1970 and everything else as it stands.
	instant bool
}

const microsPerFen = 10_000

// counted is the column of a field that counts, fens that of an amount. A metric that the truth does not have is NULL.
func counted(field, metric string) rawColumn { return figure(field, metric, 1) }

func fens(field, metric string) rawColumn { return figure(field+amountSuffix, metric, microsPerFen) }

const amountSuffix = "_fen"

func figure(name, metric string, unit int64) rawColumn {
	return rawColumn{name: name, metric: metric, want: func(r truthRow) string {
		value, ok := r.Metrics[metric]
		return number(sql.NullInt64{Int64: value / unit, Valid: ok})
	}}
}

func unix(get func(truthRow) int64) func(truthRow) string {
	return func(r truthRow) string { return dated(get(r)) }
}

// dated is a moment as it is compared. None, and that of 1970, are alike: some platforms write the one for the other.
func dated(unix int64) string {
	if unix <= 0 {
		return ""
	}
	return strconv.FormatInt(unix, 10)
}

func created(r truthRow) int64  { return r.Created }
func modified(r truthRow) int64 { return r.Modified }

func pick(words map[string]string) func(truthRow) string {
	return func(r truthRow) string { return words[r.Status] }
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
}

var tencentObject = []rawColumn{
	{name: "adgroup_name", want: func(r truthRow) string { return r.Name }},
	{name: "configured_status", want: pick(map[string]string{"active": "AD_STATUS_NORMAL", "paused": "AD_STATUS_SUSPEND", "deleted": "AD_STATUS_SUSPEND"})},
	{name: "daily_budget_fen", want: func(r truthRow) string { return strconv.FormatInt(r.DailyBudget/microsPerFen, 10) }},
	{name: "bid_amount_fen", want: func(r truthRow) string { return strconv.FormatInt(r.Bid/microsPerFen, 10) }},
	{name: "created_time", want: unix(created), instant: true},
	{name: "last_modified_time", want: unix(modified), instant: true},
}

// assetColumns are the columns of an image or a video: name, width, height, size, signature and time of upload.
func assetColumns(name, size, created string) []rawColumn {
	return []rawColumn{
		{name: name, want: func(r truthRow) string { return r.Name }},
		{name: "width", want: func(r truthRow) string { return strconv.FormatInt(r.Width, 10) }},
		{name: "height", want: func(r truthRow) string { return strconv.FormatInt(r.Height, 10) }},
		{name: size, want: func(r truthRow) string { return strconv.FormatInt(r.Size, 10) }},
		{name: "signature", want: func(r truthRow) string { return r.Signature }},
		{name: created, want: unix(func(r truthRow) int64 { return r.Created }), instant: true},
	}
}

var (
	tencentAsset = assetColumns("description", "file_size", "created_time")
	oceanAsset   = append(assetColumns("filename", "size", "create_time"), rawColumn{name: "material_id", want: func(r truthRow) string { return r.Material }})
)

var tencentCreative = []rawColumn{
	{name: "dynamic_creative_name", want: func(r truthRow) string { return r.Name }},
	{name: "adgroup_id", want: func(r truthRow) string { return r.Parent }},
	{name: "configured_status", want: pick(map[string]string{"active": "AD_STATUS_NORMAL", "paused": "AD_STATUS_SUSPEND", "deleted": "AD_STATUS_SUSPEND"})},
	{name: "created_time", want: unix(created), instant: true},
	{name: "last_modified_time", want: unix(modified), instant: true},
}

var oceanProject = []rawColumn{
	{name: "name", want: func(r truthRow) string { return r.Name }},
	{name: "status_first", want: pick(map[string]string{"active": "PROJECT_STATUS_ENABLE", "paused": "PROJECT_STATUS_DISABLE", "deleted": "PROJECT_STATUS_DELETE"})},
	{name: "budget_fen", want: func(r truthRow) string { return strconv.FormatInt(r.DailyBudget/microsPerFen, 10) }},
	{name: "project_create_time", want: unix(created), instant: true},
	{name: "project_modify_time", want: unix(modified), instant: true},
}

// A creative of Ocean Engine is a material in a promotion: "<promotion>:<material>".
var oceanMaterial = []rawColumn{
	{name: "promotion_id", want: func(r truthRow) string { return r.Parent }},
	{name: "material_id", want: func(r truthRow) string { return strings.TrimPrefix(r.Object, r.Parent+":") }},
	{name: "material_kind", want: func(r truthRow) string { return r.Kind }},
	{name: "material_status", want: pick(map[string]string{"active": "MATERIAL_STATUS_OK", "paused": "MATERIAL_STATUS_DISABLE", "deleted": "MATERIAL_STATUS_DELETE"})},
}

var oceanObject = []rawColumn{
	{name: "promotion_name", want: func(r truthRow) string { return r.Name }},
	{name: "project_id", want: func(r truthRow) string { return r.Parent }},
	{name: "status_first", want: pick(map[string]string{"active": "PROMOTION_STATUS_ENABLE", "paused": "PROMOTION_STATUS_DISABLE", "deleted": "PROMOTION_STATUS_DELETED"})},
	{name: "budget_fen", want: func(r truthRow) string { return strconv.FormatInt(r.DailyBudget/microsPerFen, 10) }},
	{name: "cpa_bid_fen", want: func(r truthRow) string { return strconv.FormatInt(r.Bid/microsPerFen, 10) }},
	{name: "promotion_create_time", want: unix(created), instant: true},
	{name: "promotion_modify_time", want: unix(modified), instant: true},
}

// objects is a configuration level: its raw table, and its kind in the truth.
type objects struct {
	table, kind string
	columns     []rawColumn
	// level is the one that wide_daily calls it, above that of the objects' parents; "" where there is none.
	level, above string
	// nameless says that the platform's objects have no names.
	nameless bool
	// modified is the column with the time by which changes are pulled, status one that may change without it; "" where changes are not
	// pulled so.
	modified, status string
}

// deep tells whether the objects are below the ad group.
func (o objects) deep() bool { return slices.Contains([]string{"creative", "image", "video"}, o.kind) }

const creativeLevel = "creative"

// level is a level of the reports, and what the truth calls it.
type level struct{ name, truth string }

// world is what is compared of one platform.
type world struct {
	media      string
	accounts   string // raw table of accounts, and its column that holds their name
	nameColumn string
	company    string // the column of the accounts' details that a login may be forbidden, "" where there is none
	objects    []objects
	levels     []level
	daily      string // raw tables
	hourly     string
	report     []rawColumn
	// public maps a column of the public tables to the truth's metric; columns that are not named must be NULL.
	public map[string]string
	money  moneySpec
	// assetless says that no list of the platform is pulled that tells what creatives show.
	assetless bool
}

var worlds = []world{
	{
		media: "tencent", accounts: "tencent_account", nameColumn: "corporation_name", daily: "tencent_report_daily", hourly: "tencent_report_hourly",
		objects: []objects{
			{table: "tencent_adgroup", kind: "adgroup", columns: tencentObject, level: "adgroup", modified: "last_modified_time", status: "configured_status"},
			{table: "tencent_dynamic_creative", kind: "creative", columns: tencentCreative, level: creativeLevel, above: "adgroup", modified: "last_modified_time", status: "configured_status"},
			{table: "tencent_image", kind: "image", columns: tencentAsset},
			{table: "tencent_video", kind: "video", columns: tencentAsset},
		},
		levels: []level{{"account", "account"}, {"adgroup", "ad"}, {creativeLevel, "creative"}},
		report: tencentReport, money: tencentMoney,
		public: same("cost", "impressions", "clicks", "downloads", "installs", "activations", "registrations", "conversions", "deep_conversions",
			"first_pays", "pays", "pay_amount", "pay_amount_d1", "pay_amount_d3", "pay_amount_d7", "next_day_retained"),
	},
	{
		media: "oceanengine", accounts: "oceanengine_account", nameColumn: "advertiser_name", company: "company", daily: "oceanengine_report_daily", hourly: "oceanengine_report_hourly",
		objects: []objects{
			{table: "oceanengine_project", kind: "project", columns: oceanProject, level: "campaign", modified: "project_modify_time", status: "status_first"},
			{table: "oceanengine_promotion", kind: "promotion", columns: oceanObject, level: "adgroup", above: "campaign", modified: "promotion_modify_time", status: "status_first"},
			{table: "oceanengine_promotion_material", kind: "creative", columns: oceanMaterial, level: creativeLevel, above: "adgroup", nameless: true},
			{table: "oceanengine_image", kind: "image", columns: oceanAsset},
			{table: "oceanengine_video", kind: "video", columns: oceanAsset},
		},
		levels: []level{{"account", "account"}, {"campaign", "project"}, {"adgroup", "ad"}, {creativeLevel, "creative"}},
		report: oceanReport, money: oceanMoney,
		// This platform counts conversions at the time of the event.
		public: with(same("cost", "impressions", "clicks", "downloads", "installs", "activations", "registrations", "deep_conversions",
			"first_pays", "pays", "pay_amount_d1", "pay_amount_d3", "pay_amount_d7", "next_day_retained"), "conversions_event", "conversions"),
	},
}

// Platforms are the platforms whose rows are compared.
func Platforms() []string {
	names := make([]string, len(worlds))
	for i, w := range worlds {
		names[i] = w.media
	}
	return names
}

func same(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[n] = n
	}
	return m
}

func with(m map[string]string, column, metric string) map[string]string {
	m[column] = metric
	return m
}

// Days that the seeded tasks pull, today included.
const (
	dailyDays  = 7
	hourlyDays = 2
)

// accountLevel is the level that summaries are built from.
const accountLevel = "account"

// rawTable is the raw table of a platform's reports.
func (w world) rawTable(hourly bool) string {
	if hourly {
		return w.hourly
	}
	return w.daily
}

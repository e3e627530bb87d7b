package tencent_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

// Tests of Tencent's answers by the platform's documents and its own SDK (TencentAd/marketing-api-go-sdk).

func TestTencentDocuments_FilesUseTheEnumsOfTheSDK(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for path, want := range map[string]string{"images/get": "IMAGE_TYPE_JPG", "videos/get": "MEDIA_TYPE_MP4"} {
		for _, row := range simtest.Data(t, s.call(a, path))["list"].([]any) {
			require.Equal(t, want, row.(fields)["type"])
			require.Equal(t, "ADSTATUS_NORMAL", row.(fields)["status"])
		}
	}
}

func TestTencentDocuments_CreativesAreFoundByTheirComponents(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	creatives := a.Creatives(s.Now())
	i := slices.IndexFunc(creatives, func(x world.ListedCreative) bool {
		return !x.IsVideo() && x.Swaps > 0 &&
			len(x.Assets(a)) == 1
	})
	image := creatives[i]
	require.Equal(t, []string{simtest.Text(image.ID)}, s.ids(a, "dynamic_creatives/get", "dynamic_creative_id",
		condition("component_id", "EQUALS", simtest.Text(image.ID*10+1)), "is_deleted",
		simtest.JSON(image.Status == world.StatusDeleted)))
}

// tencentWords holds values of the page of enums (枚举值), and of the enums ImageType, MediaType, AdStatus,
// MediaSystemStatus, MediaStatusType, ImageSourceType, FundStatus, AccountTypeMap, CustomerSystemStatus,
// DeliveryMode, DynamicCreativeType and CreativeSetApprovalStatus of the SDK.
var tencentWords = strings.Fields(
	`AD_STATUS_NORMAL AD_STATUS_SUSPEND ADGROUP_STATUS_ACTIVE ADGROUP_STATUS_SUSPEND ADGROUP_STATUS_DELETED
	MARKETING_GOAL_USER_GROWTH MARKETING_CARRIER_TYPE_APP_ANDROID MARKETING_TARGET_TYPE_APP_ANDROID BID_MODE_OCPM ` +
		`OPTIMIZATIONGOAL_APP_ACTIVATE
	SITE_SET_MOMENTS SITE_SET_WECHAT SITE_SET_CHANNELS SITE_SET_MOBILE_UNION MALE FEMALE LIVE_IN ` +
		`DELIVERY_MODE_COMPONENT ` +
		`DYNAMIC_CREATIVE_TYPE_PROGRAM
	CREATIVE_SET_APPROVAL_STATUS_NORMAL IMAGE_TYPE_JPG MEDIA_TYPE_MP4 MEDIA_STATUS_VALID ADSTATUS_NORMAL ` +
		`SOURCE_TYPE_LOCAL FUND_TYPE_CASH FUND_TYPE_GIFT FUND_TYPE_SHARED FUND_TYPE_BANK FUND_STATUS_NORMAL ` +
		`FUND_STATUS_NOT_ENOUGH CUSTOMER_STATUS_NORMAL`)

// words yields the values of an answer that look like values of an enum: only capitals. Texts that people write are
// skipped.
func words(value any, yield func(string)) {
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			words(v, yield)
		}
	case fields:
		for name, v := range value {
			if !strings.HasSuffix(name, "_name") && name != "content" && name != "description" {
				words(v, yield)
			}
		}
	case string:
		const digits = "0123456789"
		if strings.Trim(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"+digits) == "" && strings.Trim(value, digits) != "" {
			yield(value)
		}
	}
}

func TestTencentDocuments_EveryEnumValueIsDocumented(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	met := map[string]bool{}
	for index := range 40 {
		a := s.Account(index)
		page := []string{"page_size", "100"}
		for _, call := range [][]string{
			append([]string{"adgroups/get"}, page...), append([]string{"adgroups/get", "is_deleted", "true"}, page...),
			append([]string{"dynamic_creatives/get"}, page...), append([]string{"images/get"}, page...),
			append([]string{"videos/get"}, page...),
			{"funds/get"}, {"daily_balance_report/get", "date_range", `{"start_date":"2026-11-10","end_date":"2026-11-12"}`},
			{"advertiser/get", "fields", `["system_status"]`, "pagination_mode", "PAGINATION_MODE_CURSOR", "page_size", "9"},
			{
				"daily_reports/get", "level", "REPORT_LEVEL_ADGROUP", "group_by", `["date","site_set"]`, "fields", `["site_set"]`,
				"date_range", `{"start_date":"2026-11-10","end_date":"2026-11-12"}`,
			},
		} {
			words(simtest.Data(t, s.call(a, call[0], call[1:]...)), func(word string) { met[word] = true })
		}
	}
	for word := range met {
		require.Contains(t, tencentWords, word)
	}
	for _, word := range tencentWords {
		require.True(t, met[word], "%s is served", word)
	}
}

func condition(field, operator string, values ...string) string {
	return simtest.JSON([]fields{{"field": field, "operator": operator, "values": values}})
}

// ids returns the ids of a list with a condition.
func (s *sim) ids(a *world.Account, path, id, filtering string, more ...string) []string {
	s.t.Helper()
	list := []string{}
	q := append([]string{"filtering", filtering, "page_size", "100"}, more...)
	for _, row := range simtest.Data(s.t, s.call(a, path, q...))["list"].([]any) {
		switch v := row.(fields)[id].(type) {
		case json.Number:
			list = append(list, v.String())
		case string:
			list = append(list, v)
		}
	}
	return list
}

func TestTencentDocuments_ListsTakeTheConditionsOfTheirPages(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	refused := func(path, field, operator string, values ...string) {
		require.Equal(t, 18009, simtest.Code(t, s.call(a, path, "filtering", condition(field, operator, values...))),
			"%s %s %s", path, field, operator)
	}
	none := func(path, field, operator string, values ...string) {
		require.Empty(t, s.ids(a, path, "", condition(field, operator, values...)), "%s %s %s", path, field, operator)
	}
	none("adgroups/get", "material_package_id", "GREATER", "1")
	none("adgroups/get", "joint_budget_rule_id", "IN", "1", "2")
	none("adgroups/get", "smart_delivery_platform", "LESS", "1")
	none("dynamic_creatives/get", "adgroup.campaign_type", "EQUALS", "1")
	none("dynamic_creatives/get", "source", "IN", "A", "B")
	refused("dynamic_creatives/get", "dynamic_creative_name", "CONTAINS", "a")
	refused("adgroups/get", "system_status", "EQUALS", "ADGROUP_STATUS_ACTIVE")

	var images, videos []world.Asset
	for _, x := range a.Assets(world.AssetImage, s.Now()) {
		if x.Created >= s.Now()-183*world.DayLength {
			images = append(images, x)
		}
	}
	for _, x := range a.Assets(world.AssetVideo, s.Now()) {
		if x.Created >= s.Now()-183*world.DayLength {
			videos = append(videos, x)
		}
	}
	x, y := images[0], videos[0]
	require.Equal(t, []string{x.ID}, s.ids(a, "images/get", "image_id",
		condition("image_signature", "EQUALS", x.Signature)))
	require.Equal(t, []string{x.ID}, s.ids(a, "images/get", "image_id",
		condition("image_signature", "CONTAINS", x.Signature[3:20])))
	require.Equal(t, []string{x.ID}, s.ids(a, "images/get", "image_id", condition("image_id", "IN", x.ID, "5")))
	require.Equal(t, []string{x.ID}, s.ids(a, "images/get", "image_id", condition("image_id", "CONTAINS", x.ID)))
	require.Contains(t, s.ids(a, "images/get", "image_id", condition("image_width", "EQUALS", simtest.Text(x.Width))),
		x.ID)
	require.Contains(t, s.ids(a, "images/get", "image_id", condition("height", "LESS_EQUALS", simtest.Text(x.Height))),
		x.ID)
	require.NotContains(t, s.ids(a, "images/get", "image_id",
		condition("height", "GREATER_EQUALS", simtest.Text(x.Height+1))),
		x.ID)
	require.NotContains(t, s.ids(a, "images/get", "image_id",
		condition("file_size", "LESS_EQUALS", simtest.Text(x.Size-1))),
		x.ID)
	require.Len(t, s.ids(a, "images/get", "image_id", condition("status", "EQUALS", "ADSTATUS_NORMAL")), len(images))
	none("images/get", "status", "EQUALS", "ADSTATUS_DELETED")
	none("images/get", "owner_account_id", "CONTAINS", "1")
	require.Equal(t, []string{y.ID}, s.ids(a, "videos/get", "video_id", condition("media_id", "IN", y.ID, "5")))
	require.Equal(t, []string{y.ID}, s.ids(a, "videos/get", "video_id", condition("video_id", "CONTAINS", y.ID)))
	require.Contains(t, s.ids(a, "videos/get", "video_id",
		condition("video_duration_millisecond", "GREATER_EQUALS", simtest.Text(y.Milliseconds))), y.ID)
	require.Equal(t, []string{y.ID}, s.ids(a, "videos/get", "video_id", condition("media_description", "EQUALS", y.Name)))
	refused("videos/get", "video_id", "IN", y.ID)
	refused("videos/get", "image_width", "EQUALS", "1")
	require.Equal(t, 18002, simtest.Code(t, s.call(a, "images/get", "filtering",
		condition("created_time", "GREATER", "1"))))
	require.Equal(t, 18002, simtest.Code(t, s.call(a, "images/get", "filtering",
		condition("image_width", "EQUALS", "wide"))))
}

func TestTencentDocuments_ReportsTakeTheirLevelsGroupsAndConditions(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	ask := func(pairs ...string) url.Values {
		q := simtest.Query("fields", `["cost","adgroup_id"]`, "date_range",
			`{"start_date":"2026-11-14","end_date":"2026-11-14"}`,
			"page_size", "2000")
		for i := 0; i < len(pairs); i += 2 {
			q.Set(pairs[i], pairs[i+1])
		}
		q.Set("account_id", simtest.Text(a.ID))
		return q
	}
	rows := func(path string, pairs ...string) []any {
		return simtest.Data(t, s.Do(s.request(s.Token(a), path, ask(pairs...))))["list"].([]any)
	}
	for level, groups := range map[string]map[bool][]string{
		"REPORT_LEVEL_ADVERTISER": {false: {"date"}, true: {"hour"}},
		"REPORT_LEVEL_ADGROUP":    {false: {"date", "adgroup_id", "site_set"}, true: {"hour", "adgroup_id"}},
		"REPORT_LEVEL_DYNAMIC_CREATIVE": {
			false: {"date", "adgroup_id", "dynamic_creative_id", "site_set"},
			true:  {"hour", "adgroup_id", "dynamic_creative_id"},
		},
		"REPORT_LEVEL_CHANNEL": {false: {"date", "channel_id", "site_set"},
			true: {"hour", "adgroup_id", "channel_id"}},
		"REPORT_LEVEL_BIDWORD": {false: {"date", "bidword_id", "adgroup_id", "site_set"},
			true: {"hour", "adgroup_id", "bidword_id"}},
		"REPORT_LEVEL_QUERYWORD":       {false: {"date", "bidword_id", "queryword", "site_set"}},
		"REPORT_LEVEL_MARKETING_ASSET": {false: {"date", "marketing_target_type", "marketing_asset_id", "site_set"}},
		"REPORT_LEVEL_PRODUCT_CATALOG": {
			false: {"date", "product_catalog_id", "product_series_id", "product_outer_id", "adgroup_id", "site_set"},
		},
		"REPORT_LEVEL_PROJECT": {false: {"date", "adgroup_id", "site_set"}, true: {"hour", "adgroup_id"}},
		"REPORT_LEVEL_PROJECT_CREATIVE": {
			false: {"date", "adgroup_id", "dynamic_creative_id", "site_set"},
			true:  {"hour", "adgroup_id", "dynamic_creative_id"},
		},
		"REPORT_LEVEL_PRODUCT_CREATIVE_TEMPLATE": {false: {"date", "creative_template_group_id", "adgroup_id", "site_set"}},
		"REPORT_LEVEL_VIDEO_HIGHLIGHT":           {false: {"date", "adgroup_id"}, true: {"hour", "adgroup_id"}},
		"REPORT_LEVEL_WECHAT_SHOP_PRODUCT":       {false: {"date", "adgroup_id"}},
		"REPORT_LEVEL_PLAYLET":                   {false: {"date", "adgroup_id"}},
	} {
		for hourly, fields := range groups {
			path := map[bool]string{false: "daily_reports/get", true: "hourly_reports/get"}[hourly]
			got := rows(path, "level", level, "group_by", simtest.JSON(fields))
			has := level == "REPORT_LEVEL_ADVERTISER" || level == "REPORT_LEVEL_ADGROUP" ||
				level == "REPORT_LEVEL_DYNAMIC_CREATIVE"
			require.Equal(t, has, len(got) > 0, "%s %s", path, level)
		}
	}
	cost := func(list []any) (sum int64) {
		for _, row := range list {
			n, err := row.(fields)["cost"].(json.Number).Int64()
			require.NoError(t, err)
			sum += n
		}
		return sum
	}
	daily := []string{"level", "REPORT_LEVEL_ADGROUP", "group_by", `["date","adgroup_id"]`}
	all := rows("daily_reports/get", daily...)
	one := all[0].(fields)
	id := one["adgroup_id"].(json.Number).String()
	account := rows("daily_reports/get", "level", "REPORT_LEVEL_ADVERTISER", "group_by", `["date"]`, "filtering",
		condition("adgroup_id", "IN", id))
	require.Len(t, account, 1)
	require.Equal(t, one["cost"], account[0].(fields)["cost"], "a condition selects the rows that are added up")
	hours := rows("hourly_reports/get", "level", "REPORT_LEVEL_ADVERTISER", "group_by", `["hour"]`, "filtering",
		condition("adgroup_id", "IN", id))
	require.Equal(t, cost(all[:1]), cost(hours))

	creatives := rows("daily_reports/get", "level", "REPORT_LEVEL_DYNAMIC_CREATIVE", "group_by",
		`["date","dynamic_creative_id"]`, "fields", `["cost","adgroup_id","dynamic_creative_id"]`)
	creative := creatives[0].(fields)
	ofOne := rows("daily_reports/get", append(slices.Clone(daily), "filtering",
		condition("dynamic_creative_id", "EQUALS", creative["dynamic_creative_id"].(json.Number).String()))...)
	require.Equal(t, []any{fields{"cost": creative["cost"], "adgroup_id": creative["adgroup_id"]}}, ofOne)

	require.Len(t, rows("daily_reports/get", append(slices.Clone(daily), "filtering",
		condition("marketing_target_type", "EQUALS", "MARKETING_TARGET_TYPE_APP_ANDROID"))...), len(all))
	require.Len(t, rows("daily_reports/get", append(slices.Clone(daily), "filtering",
		condition("smart_delivery_platform", "NOT_EQUALS", "1"))...), len(all))
	require.Empty(t, rows("daily_reports/get", append(slices.Clone(daily), "filtering",
		condition("component_id", "IN", "1", "2"))...))
	hourly := ask("level", "REPORT_LEVEL_ADGROUP", "group_by", `["hour"]`, "filtering",
		condition("marketing_target_type", "EQUALS", "MARKETING_TARGET_TYPE_APP_ANDROID"))
	require.Equal(t, 18009, simtest.Code(t, s.Do(s.request(s.Token(a), "hourly_reports/get", hourly))))
	for _, level := range []string{"REPORT_LEVEL_QUERYWORD", "REPORT_LEVEL_MATERIAL_VIDEO"} {
		q := ask("level", level, "group_by", `["hour"]`)
		require.Equal(t, 18009, simtest.Code(t, s.Do(s.request(s.Token(a), "hourly_reports/get", q))), level)
	}
}

func TestTencentDocuments_AccountsAreFoundByAPartOfTheirCompany(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(3)
	base := []string{"pagination_mode", "PAGINATION_MODE_NORMAL", "page_size", "100", "page", "1", "fields",
		`["account_id"]`}
	list := func(pairs ...string) int {
		return len(simtest.Data(t, s.Do(s.request(s.Token(a), "advertiser/get",
			simtest.Query(append(slices.Clone(base), pairs...)...))))["list"].([]any))
	}
	name := []rune(a.Company())
	require.Positive(t, list("filtering", condition("corporation_name", "CONTAINS", string(name[1:]))))
	require.Zero(t, list("filtering", condition("corporation_name", "EQUALS", string(name[1:]))))
	q := simtest.Query(base...)
	q.Del("page")
	require.Equal(t, 18001, simtest.Code(t, s.Do(s.request(s.Token(a), "advertiser/get", q))),
		"numbered pages need their number")
	q = simtest.Query("pagination_mode", "PAGINATION_MODE_NORMAL", "account_id", simtest.Text(a.ID))
	require.Len(t, simtest.Data(t, s.Do(s.request(s.Token(a), "organization_account_relation/get", q)))["list"], 1)
	q = simtest.Query("pagination_mode", "PAGINATION_MODE_NORMAL", "page", "101", "page_size", "1")
	require.Equal(t, 18003, simtest.Code(t, s.Do(s.request(s.Token(a), "organization_account_relation/get", q))))
}

func TestTencent_AcceptsTheRealTimeForAnyWorldTime(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	now := time.Now().Unix()
	require.Greater(t, max(now-s.Now(), s.Now()-now), int64(300),
		"the world has another time")
	for stamp, want := range map[int64]int{now: 0, now - 250: 0, now - 400: 12101, s.Now(): 0} {
		require.Equal(t, want, simtest.Code(t, s.call(a, "adgroups/get", "timestamp", simtest.Text(stamp))), stamp-now)
	}
	require.Equal(t, 0, simtest.Code(t, s.call(a, "adgroups/get", "timestamp", simtest.Text(now), "nonce", "real-1")))
	require.Equal(t, 12100, simtest.Code(t, s.call(a, "adgroups/get", "timestamp", simtest.Text(now), "nonce", "real-1")),
		"a nonce must be new for both clocks")
}

func TestTencentLogins_ListAccountsByTheirRole(t *testing.T) {
	t.Parallel()
	s := newSim(t, 401)
	ask := func(login int, path string, pairs ...string) fields {
		q := simtest.Query(append([]string{"pagination_mode", "PAGINATION_MODE_NORMAL", "page", "1", "page_size", "100"},
			pairs...)...)
		return simtest.Decoded(t, s.Do(s.request(s.Token(s.Account(login*100)), path, q)))
	}
	count := func(answer fields) int {
		require.Equal(t, json.Number("0"), answer["code"], "%v", answer)
		return len(answer["data"].(fields)["list"].([]any))
	}
	refused := func(code string, answer fields) { t.Helper(); require.Equal(t, json.Number(code), answer["code"]) }
	const relations, advertisers, agencies = "organization_account_relation/get", "advertiser/get", "agency/get"
	id := []string{"fields", `["account_id"]`}
	with := func(name, value string) []string { return append(slices.Clone(id), name, value) }

	require.Equal(t, 100, count(ask(0, relations)), "an organisation")
	refused("12201", ask(0, agencies, id...))

	refused("12203", ask(2, relations))
	require.Equal(t, 100, count(ask(2, advertisers, id...)), "an agency's customers")
	user := "6000002"
	refused("18001", ask(2, agencies, id...))
	require.Equal(t, 1, count(ask(2, agencies, with("account_id", user)...)))

	refused("12203", ask(3, relations))
	refused("18001", ask(3, advertisers, id...))
	seen := 0
	for _, row := range ask(3, agencies, id...)["data"].(fields)["list"].([]any) {
		agency := row.(fields)["account_id"].(json.Number).String()
		seen += count(ask(3, advertisers, with("agency_id", agency)...))
		require.Equal(t, 1, count(ask(3, agencies, with("account_id", agency)...)))
	}
	require.Equal(t, 100, seen, "the customers of a company's agencies")
	refused("12201", ask(3, advertisers, with("agency_id", "1")...))
	refused("18002", ask(3, advertisers, with("agency_id", "x")...))

	refused("12203", ask(4, relations))
	refused("18001", ask(4, advertisers, id...))
	require.Equal(t, 1, count(ask(4, advertisers, with("account_id", simtest.Text(s.Account(400).ID))...)),
		"an advertiser itself")
}

package oceanengine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/oceanengine"
	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

func TestOceanEngine_ChecksTheToken(t *testing.T) {
	t.Parallel()
	s := newSim(t, 200)
	a, stranger := s.Account(0), s.Account(150)
	list := "v3.0/promotion/list/"
	own := simtest.Query("advertiser_id", simtest.Text(a.ID))
	require.Equal(t, 0, simtest.Code(t, s.Do(s.request(s.Token(a), list, own))))
	require.Equal(t, 40104, simtest.Code(t, s.Do(s.request("", list, own))))
	require.Equal(t, 40104, simtest.Code(t, s.Do(s.request("no", list, own))))
	require.Equal(t, 40002,
		simtest.Code(t, s.Do(s.request(s.Token(a), list, simtest.Query("advertiser_id", simtest.Text(stranger.ID))))))
	require.Equal(t, 40000, simtest.Code(t, s.Do(s.request(s.Token(a), list, simtest.Query("advertiser_id", "")))))
	inQuery := simtest.Query("advertiser_id", simtest.Text(a.ID), "access_token", s.Token(a))
	require.Equal(t, 40104, simtest.Code(t, s.Do(s.request("", list, inQuery))), "the token belongs in the header")
	require.Equal(t, 40104, simtest.Code(t, s.Do(s.request(s.Token(a), "oauth2/advertiser/get/", nil))),
		"here it belongs in the query")
	w := s.Do(s.request("", "oauth2/advertiser/get/", simtest.Query("access_token", s.Token(a))))
	require.Len(t, simtest.Data(t, w)["list"], 100)
}

func TestOceanEngine_RefusesBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	report := simtest.Query("dimensions", `["stat_time_day"]`, "metrics", `["stat_cost"]`, "filters", "[]",
		"order_by", `[{"field":"stat_time_day","type":"ASC"}]`, "start_time", "2026-11-01 00:00:00", "end_time",
		"2026-11-07 23:59:59")
	for _, c := range []struct {
		path string
		base url.Values
		set  []string // a name and its value; "-" omits it
		want int
	}{
		{"v3.0/promotion/list/", nil, []string{"page_size", "21"}, 40000},
		{"v3.0/promotion/list/", nil, []string{"page_size", "20"}, 0},
		{"v3.0/promotion/list/", nil, []string{"count", "21", "cursor", "0"}, 40000},
		{"v3.0/promotion/list/", nil, []string{"page", "501", "page_size", "20"}, 40000},
		{"v3.0/promotion/list/", nil, []string{"cursor", "0", "count", "20", "filtering", `{"ids":[1]}`}, 40000},
		{"v3.0/promotion/list/", nil, []string{"filtering", `{"ids":["1"]}`}, 40000},
		{"v3.0/promotion/list/", nil, []string{"filtering", `{"idz":[1]}`}, 40000},
		{"v3.0/promotion/list/", nil, []string{"filtering", `{"status_first":"X"}`}, 40000},
		{"v3.0/promotion/list/", nil, []string{"filtering", `{"promotion_modify_start_time":"2026-11-01 00:00:00"}`}, 40000},
		{"v3.0/promotion/list/", nil, []string{"filtering",
			`{"promotion_modify_start_time":"2026-10-01 00:00:00","promotion_modify_end_time":"2026-11-01 00:00:00"}`}, 40000},
		{"v3.0/promotion/list/", nil, []string{"fields", `["promotion_id","x"]`}, 40000},
		{"v3.0/project/list/", nil, []string{"page_size", "101"}, 40000},
		{"v3.0/project/list/", nil, []string{"page_size", "100"}, 0},
		{"v3.0/project/list/", nil, []string{"filtering", `{"project_id":1}`}, 40000},
		{"v3.0/report/custom/get/", report, nil, 0},
		{"v3.0/report/custom/get/", report, []string{"filters", "-"}, 40000},
		{"v3.0/report/custom/get/", report, []string{"order_by", "-"}, 40000},
		{"v3.0/report/custom/get/", report, []string{"order_by", `[{"field":"show_cnt","type":"ASC"}]`}, 40000},
		{"v3.0/report/custom/get/", report, []string{"order_by", `[{"field":"stat_cost","type":"DOWN"}]`}, 40000},
		{"v3.0/report/custom/get/", report, []string{"dimensions", "[]"}, 40000},
		{"v3.0/report/custom/get/", report, []string{"dimensions", `["gender_of_moon"]`}, 40000},
		{"v3.0/report/custom/get/", report, []string{"metrics", "-"}, 40000},
		{"v3.0/report/custom/get/", report, []string{"metrics", `["pay_amount"]`}, 40000},
		{"v3.0/report/custom/get/", report, []string{"page_size", "101"}, 40000},
		{"v3.0/report/custom/get/", report, []string{"start_time", "2026/11/01"}, 40000},
		{"v3.0/report/custom/get/", report, []string{"start_time", "2026-11-01", "end_time", "2026-11-07"}, 0},
		{"v3.0/report/custom/get/", report, []string{"start_time", "2026-10-01 00:00:00"}, 40000},
		{"v3.0/report/custom/get/", report, []string{"start_time", "2026-11-08 00:00:00"}, 40000},
		{"v3.0/report/custom/get/", report, []string{"filters",
			`[{"field":"stat_cost","type":3,"operator":7,"values":["1"]}]`}, 40000},
		{"v3.0/report/custom/get/", report, []string{"filters", `[{"field":"stat_cost","type":3,"operator":4,"values":[1]}]`},
			40000},
		{"v3.0/report/custom/config/get/", nil, []string{"data_topics", `["BASIC_DATA"]`}, 0},
		{"v3.0/report/custom/config/get/", nil, []string{"data_topics", `["BASIC_DATA","MATERIAL_DATA","STD_PRODUCT_DATA"]`},
			0},
		{"v3.0/report/custom/config/get/", nil, []string{"data_topics", `["MOON_DATA"]`}, 40000},
		{"v3.0/report/custom/config/get/", nil, nil, 40000},
		{"v3.0/report/custom/get/", report, []string{"data_topic", "QUERY_DATA"}, 0},
		{"v3.0/report/custom/get/", report, []string{"data_topic", "MOON_DATA"}, 40000},
		{"v3.0/report/custom/get/", report, []string{"dimensions", `["gender","province_name","stat_time_day"]`, "metrics",
			`["stat_cost","active_pay_rate"]`}, 0},
		{"v3.0/report/custom/get/", report, []string{"dimensions", `["cdp_promotion_name"]`, "order_by",
			`[{"field":"cdp_promotion_name","type":"ASC"}]`}, 40000},
		{"v3.0/report/custom/get/", report, []string{"filters",
			`[{"field":"landing_type","type":1,"operator":1,"values":["APP"]}]`}, 0},
		{"v3.0/promotion/list/", nil, []string{"filtering",
			`{"has_carry_material":"FALSE","star_delivery_type":"NOT_STAR_DELIVERY","status_second":"DISABLED"}`}, 0},
		{"v3.0/promotion/list/", nil, []string{"fields", `["promotion_id","brand_info","union_bid"]`}, 0},
		{"v3.0/project/list/", nil, []string{"fields", `["project_id","optimize_goal","delivery_range"]`}, 0},
		{"v3.0/project/list/", nil, []string{"filtering",
			`{"pricing":"PRICING_OCPM","platform":"ANDROID","status_second":"PROJECT_STATUS_STOP"}`}, 0},
		{"2/file/video/get/", nil, []string{"filtering", `{"width":1280,"height":720,"ratio":[1.78],"source":["AD_SITE"]}`},
			0},
		{"2/file/video/get/", nil, []string{"page", "101", "page_size", "100"}, 40000},
		{"2/advertiser/fund/daily_stat/", nil, nil, 0},
		{"2/advertiser/fund/daily_stat/", nil, []string{"page", "101", "page_size", "100"}, 40000},
		{"2/report/ad/get/", nil, nil, 40105},
	} {
		q := url.Values{}
		maps.Copy(q, c.base)
		for i := 0; i < len(c.set); i += 2 {
			if q.Set(c.set[i], c.set[i+1]); c.set[i+1] == "-" {
				q.Del(c.set[i])
			}
		}
		q.Set("advertiser_id", simtest.Text(a.ID))
		w := s.Do(s.request(s.Token(a), c.path, q))
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, c.want, simtest.Code(t, w), "%s %v: %s", c.path, c.set, w.Body)
	}
	require.Equal(t, http.StatusNotFound, s.call(a, "v3.0/promotion/list").Code, "paths end with a slash")
	r := s.request(s.Token(a), "v3.0/promotion/list/", nil)
	r.Method = http.MethodDelete
	require.Equal(t, http.StatusMethodNotAllowed, s.Do(r).Code)
}

func TestOceanEngine_PromotionsByPageAndFilter(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	objects := s.Objects(a)
	ids := func(filtering fields) (list []string) {
		rows := simtest.Pages(t, 20, func(page int) ([]any, fields) {
			d := simtest.Data(t, s.call(a, "v3.0/promotion/list/", "page", simtest.Text(int64(page)), "page_size", "20",
				"filtering",
				simtest.JSON(filtering),
				"fields", `["promotion_id"]`))
			require.NotContains(t, d, "cursor_info")
			return d["list"].([]any), d["page_info"].(fields)
		})
		for _, r := range rows {
			require.Len(t, r, 1)
			list = append(list, r.(fields)["promotion_id"].(json.Number).String())
		}
		return list
	}
	want := func(fits func(o world.Object) bool) (list []string) {
		for _, o := range objects {
			if fits(o) {
				list = append(list, simtest.Text(o.ID))
			}
		}
		return list
	}
	live := func(o world.Object) bool { return o.Status != world.StatusDeleted }
	require.Greater(t, len(want(live)), 40)
	require.Equal(t, want(live), ids(fields{}), "deleted ones are hidden")
	require.Equal(t, want(func(o world.Object) bool { return !live(o) }),
		ids(fields{"status_first": "PROMOTION_STATUS_DELETED"}))
	require.Equal(t, want(func(world.Object) bool { return true }), ids(fields{"status_first": "PROMOTION_STATUS_ALL"}))
	start, end := simtest.Noon.Add(-40*time.Hour).Unix(), simtest.Noon.Unix()
	require.Equal(t, want(func(o world.Object) bool { return live(o) && start <= o.Modified && o.Modified <= end }),
		ids(fields{
			"promotion_modify_start_time": chinaText(start), "promotion_modify_end_time": chinaText(end)}))
	today := world.DayOf(simtest.Noon.Unix())
	require.Equal(t, want(func(o world.Object) bool { return live(o) && world.DayOf(o.Modified) == today }),
		ids(fields{"promotion_modify_time": world.FormatDay(today)}))
	require.Equal(t, want(func(o world.Object) bool { return live(o) && o.Project == objects[0].Project }),
		ids(fields{"project_id": objects[0].Project}))
	require.Equal(t, want(live)[:2],
		ids(fields{"ids": []json.Number{json.Number(want(live)[0]), json.Number(want(live)[1])}}))
	require.Empty(t, ids(fields{"status_first": "PROMOTION_STATUS_FROZEN"}))
	both := simtest.Data(t, s.call(a, "v3.0/promotion/list/", "page", "1", "page_size", "20", "cursor", "0", "count", "3"))
	require.NotContains(t, both, "page_info", "the cursor takes precedence")
	require.Len(t, both["list"], 3)
}

func TestOceanEngine_ProjectsHoldThePromotions(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	known := map[int64]bool{}
	for _, r := range simtest.Data(t, s.call(a, "v3.0/project/list/", "page_size", "100"))["list"].([]any) {
		id, err := r.(fields)["project_id"].(json.Number).Int64()
		require.NoError(t, err)
		require.Len(t, simtest.Text(id), 19)
		known[id] = true
	}
	for _, o := range s.Objects(a) {
		require.True(t, known[o.Project])
	}
	require.Len(t, simtest.Data(t, s.call(a, "v3.0/project/list/", "filtering",
		`{"project_modify_start_time":"2026-11-01 00:00:00","project_modify_end_time":"2026-11-02 00:00:00"}`))["page_info"],
		4)
	require.Empty(t, simtest.Data(t, s.call(a, "v3.0/project/list/", "filtering",
		`{"status_first":"PROJECT_STATUS_DELETE"}`))["list"])
}

// The lists contain no values that are missing in the platform's documents.
func TestOceanEngine_WordsAreThePlatformsOwn(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	words := map[string][]string{
		"gender": {"NONE", "GENDER_MALE", "GENDER_FEMALE"}, "district": {"CITY"},
		"age":          {"AGE_BETWEEN_18_23", "AGE_BETWEEN_24_30", "AGE_BETWEEN_31_40", "AGE_BETWEEN_41_49"},
		"landing_type": {"APP"}, "app_promotion_type": {"DOWNLOAD"}, "marketing_goal": {"VIDEO_AND_IMAGE"},
		"ad_type": {"ALL"}, "delivery_mode": {"MANUAL"},
		"delivery_type": {"NORMAL"}, "opt_status": {"ENABLE", "DISABLE"},
		"budget_mode": {"BUDGET_MODE_DAY", "BUDGET_MODE_INFINITE"},
		"status_first": {"PROJECT_STATUS_ENABLE", "PROJECT_STATUS_DISABLE", "PROJECT_STATUS_DELETE",
			"PROMOTION_STATUS_ENABLE", "PROMOTION_STATUS_DISABLE",
			"PROMOTION_STATUS_DELETED"},
		"status_second": {"PROJECT_STATUS_STOP", "DISABLED"}, "learning_phase": {"DEFAULT"},
		"material_opt_status": {"ENABLE", "DISABLE"},
		"material_status":     {"MATERIAL_STATUS_OK", "MATERIAL_STATUS_DISABLE", "MATERIAL_STATUS_DELETE"},
		"image_mode": {"CREATIVE_IMAGE_MODE_VIDEO", "CREATIVE_IMAGE_MODE_VIDEO_VERTICAL", "CREATIVE_IMAGE_MODE_SMALL",
			"CREATIVE_IMAGE_MODE_LARGE",
			"CREATIVE_IMAGE_MODE_LARGE_VERTICAL"},
		"account_role": {"ADVERTISER"}, "account_type": {"ADVERTISER"}, "role": {"ROLE_ADVERTISER"},
		"status": {"STATUS_ENABLE"},
		"format": {"jpeg", "mp4"}, "source": {"AD_SITE", ""},
	}
	free := []string{"name", "promotion_name", "title", "filename", "url", "poster_url", "id", "video_id", "image_id",
		"video_cover_id", "signature", "create_time",
		"promotion_create_time", "promotion_modify_time", "project_create_time", "project_modify_time", "schedule_time",
		"advertiser_name", "account_name",
		"account_string_id", "company", "first_industry_name", "second_industry_name", "reason"}
	met := map[string]bool{}
	var check func(at string, v any)
	check = func(at string, v any) {
		switch v := v.(type) {
		case fields:
			for k, x := range v {
				check(k, x)
			}
		case []any:
			for _, x := range v {
				check(at, x)
			}
		case string:
			if !slices.Contains(free, at) {
				require.Contains(t, words[at], v, at)
				met[at] = true
			}
		}
	}
	for i := range 6 {
		a := s.Account(i)
		for _, path := range []string{"v3.0/project/list/", "v3.0/promotion/list/", "2/file/image/get/",
			"2/file/video/get/"} {
			check(path, simtest.Data(t, s.call(a, path, "page_size", "20"))["list"])
		}
		check("",
			simtest.Decoded(t, s.Do(s.request(s.Token(a), "2/advertiser/info/",
				simtest.Query("advertiser_ids", "["+simtest.Text(a.ID)+"]"))))["data"])
	}
	check("",
		simtest.Data(t, s.Do(s.request("", "oauth2/advertiser/get/",
			simtest.Query("access_token", s.Token(s.Account(0))))))["list"])
	for _, word := range []string{"gender", "image_mode", "status_second", "material_opt_status", "source",
		"account_type"} {
		require.True(t, met[word], word)
	}
}

func TestOceanEngine_LoginsAuthoriseContainersOfTheirAccounts(t *testing.T) {
	t.Parallel()
	s := newSim(t, 500)
	list := func(login int) []any {
		a := s.Account(login * 100)
		return simtest.Data(t, s.Do(s.request("", "oauth2/advertiser/get/",
			simtest.Query("access_token", s.Token(a)))))["list"].([]any)
	}
	kinds := make([]string, 5)
	for i := range kinds {
		first := list(i)[0].(fields)
		kinds[i] = fmt.Sprintf("%d %s", len(list(i)), first["account_type"])
		require.Equal(t, first["account_type"], first["account_role"])
	}
	require.Equal(t, []string{"100 ADVERTISER", "1 PLATFORM_ROLE_ENTERPRISE_BP_ADMIN", "1 AGENT", "1 CUSTOMER_ADMIN",
		"101 ADVERTISER"}, kinds)

	// Each expands to its hundred accounts, and to none for another login.
	in := func(login, n int) string { return simtest.Text(1_690_000_000_000_000 + int64(login)*1000 + int64(n)) }
	count := func(login int, path, rows string, pairs ...string) int {
		return len(simtest.Data(t, s.Do(s.request(s.Token(s.Account(login*100)), path,
			simtest.Query(append(pairs, "page_size", "100")...))))[rows].([]any))
	}
	require.Equal(t, 100, count(3, "2/customer_center/advertiser/list/", "list", "cc_account_id", in(3, 0),
		"account_source", "AD"))
	require.Equal(t, 1, count(3, "2/customer_center/advertiser/list/", "list", "cc_account_id", in(3, 0), "account_source",
		"LOCAL"))
	teams := simtest.Data(t, s.Do(s.request(s.Token(s.Account(100)), "2/ebp/level/get/",
		simtest.Query("enterprise_organization_id", in(1, 0)))))["sub_team"].([]any)[0].(fields)
	below := teams["sub_team"].([]any)[0].(fields)
	require.Equal(t, []any{json.Number(in(1, 1)), json.Number(in(1, 2))}, []any{teams["team_id"], below["team_id"]})
	sum := 0
	for n := range 3 {
		sum += count(1, "2/ebp/advertiser/list/", "account_list", "enterprise_organization_id", in(1, n), "account_source",
			"AD")
	}
	require.Equal(t, 100, sum)
	require.Equal(t, 50, count(2, "2/agent/advertiser/select/", "list", "advertiser_id", in(2, 0)))
	require.Equal(t, 1, count(2, "2/agent/child_agent/select/", "child_agent_ids", "advertiser_id", in(2, 0)))
	d := simtest.Data(t, s.Do(s.request(s.Token(s.Account(200)), "2/agent/advertiser/select/",
		simtest.Query("advertiser_id", in(2, 1), "count", "30", "cursor", "30"))))
	require.Len(t, d["list"], 20)
	require.Equal(t, false, d["cursor_page_info"].(fields)["has_more"])
	require.Equal(t, 40002,
		simtest.Code(t, s.Do(s.request(s.Token(s.Account(0)), "2/agent/advertiser/select/",
			simtest.Query("advertiser_id", in(2, 0))))))
}

func TestOceanEngine_ARevokedAccountIsNoLongerValid(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(1)
	s.Order("accounts", fields{"media": "oceanengine", "account": simtest.Text(a.ID), "state": world.LifeRevoked})
	for _, x := range simtest.Data(t, s.Do(s.request("", "oauth2/advertiser/get/",
		simtest.Query("access_token", s.Token(a)))))["list"].([]any) {
		require.Equal(t, x.(fields)["account_id"] != json.Number(simtest.Text(a.ID)), x.(fields)["is_valid"])
	}
}

func TestOceanEngine_OldHoursMayBeServedAsDays(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Find(world.ClassMedium)
	ask := func() (hours map[string]int, total any) {
		d := simtest.Data(t, s.call(a, "v3.0/report/custom/get/", "data_topic", "MATERIAL_DATA", "dimensions",
			`["stat_time_hour"]`, "metrics", `["stat_cost"]`, "filters", "[]",
			"order_by", `[{"field":"stat_time_hour","type":"ASC"}]`, "start_time", "2026-11-07 00:00:00", "end_time",
			"2026-11-08 23:59:59", "page_size", "100"))
		hours = map[string]int{}
		for _, r := range d["rows"].([]any) {
			hours[r.(fields)["dimensions"].(fields)["stat_time_hour"].(string)]++
		}
		return hours, d["total_metrics"]
	}
	whole, total := ask()
	require.NotContains(t, whole, "2026-11-07")
	s.Order("limits", fields{"hours_kept_days": 8})
	some, again := ask()
	require.Equal(t, total, again)
	require.Equal(t, 1, some["2026-11-07"])
	require.NotContains(t, some, "2026-11-08")
	require.Less(t, len(some), len(whole))
}

func TestOceanEngine_AdvertiserInfoIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newSim(t, 200)
	a, b, stranger := s.Account(0), s.Account(99), s.Account(100)
	ask := func(ids ...int64) map[string]any {
		return simtest.Decoded(t, s.Do(s.request(s.Token(a), "2/advertiser/info/",
			simtest.Query("advertiser_ids", simtest.JSON(ids), "fields", `["id","name"]`))))
	}
	require.Equal(t, []any{
		fields{"id": json.Number(simtest.Text(a.ID)), "name": a.Name()},
		fields{"id": json.Number(simtest.Text(b.ID)), "name": b.Name()},
	}, ask(a.ID, b.ID)["data"], "the data is an array")
	require.Equal(t, json.Number("40002"), ask(a.ID, stranger.ID)["code"])
	require.Equal(t, json.Number("40000"), ask()["code"])
	require.Equal(t, json.Number("40000"), ask(make([]int64, 101)...)["code"])
}

func TestOceanEngine_ReportsGroupFilterAndTotal(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	ask := func(dimensions string, more ...string) fields {
		pairs := []string{"dimensions", dimensions, "metrics", `["stat_cost","show_cnt","ctr"]`, "filters", "[]", "page_size",
			"100",
			"order_by", `[{"field":"stat_cost","type":"DESC"}]`, "start_time", "2026-11-05 00:00:00", "end_time",
			"2026-11-14 23:59:59"}
		return simtest.Data(t, s.call(a, "v3.0/report/custom/get/", append(pairs, more...)...))
	}
	total := ask(`["stat_time_day"]`)["total_metrics"]
	for _, d := range []string{`["cdp_project_id","cdp_project_name"]`, `["cdp_promotion_id","cdp_promotion_name"]`,
		`["stat_time_hour"]`, `["stat_time_day","cdp_project_id"]`} {
		require.Equal(t, total, ask(d)["total_metrics"], d)
	}
	byCost := ask(`["cdp_promotion_id"]`)["rows"].([]any)
	require.True(t, slices.IsSortedFunc(byCost, func(x, y any) int {
		cost := func(v any) float64 {
			yuan, err := strconv.ParseFloat(v.(fields)["metrics"].(fields)["stat_cost"].(string), 64)
			require.NoError(t, err)
			return yuan
		}
		return cmp.Compare(cost(y), cost(x))
	}))
	top := byCost[0].(fields)["dimensions"].(fields)["cdp_promotion_id"].(string)
	one := ask(`["cdp_promotion_id"]`, "filters", `[{"field":"cdp_promotion_id","type":2,"operator":10,"values":["`+top+
		`"]}]`)
	require.Equal(t, byCost[:1], one["rows"])
	require.Equal(t, one["total_metrics"], byCost[0].(fields)["metrics"])
	least := byCost[len(byCost)/2].(fields)["metrics"].(fields)["stat_cost"].(string)
	some := ask(`["cdp_promotion_id"]`, "filters", `[{"field":"stat_cost","type":3,"operator":5,"values":["`+least+
		`"]}]`)["rows"].([]any)
	require.Equal(t, byCost[:len(some)], some)
	require.Less(t, len(some), len(byCost))
	hours := ask(`["stat_time_hour"]`, "start_time", "2026-11-14 09:00:00", "end_time",
		"2026-11-14 11:59:59")["rows"].([]any)
	require.Len(t, hours, 3)
}

func TestOceanEngine_ConfigNamesWhatReportsTake(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	topic := simtest.Data(t, s.call(a, "v3.0/report/custom/config/get/", "data_topics",
		`["BASIC_DATA"]`))["list"].([]any)[0].(fields)
	names := func(k string) (list []string) {
		for _, x := range topic[k].([]any) {
			list = append(list, x.(fields)["field"].(string))
		}
		return list
	}
	w := s.call(a, "v3.0/report/custom/get/", "dimensions", simtest.JSON(names("dimensions")), "metrics",
		simtest.JSON(names("metrics")),
		"filters", "[]", "order_by", `[{"field":"cdp_promotion_id","type":"ASC"}]`, "start_time", "2026-11-14", "end_time",
		"2026-11-14")
	rows := simtest.Data(t, w)["rows"].([]any)
	require.NotEmpty(t, rows)
	for _, v := range rows[0].(fields)["metrics"].(fields) {
		require.Regexp(t, `^\d+(\.\d\d)?$`, v, "every value is a string")
	}
	require.Subset(t, names("metrics"), []string{"stat_cost", "show_cnt", "click_cnt", "convert_cnt", "active_pay"})
}

func TestOceanEngine_IsServedUnderItsHostsToo(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for _, host := range []string{"api.oceanengine.com", "ad.oceanengine.com"} {
		r := httptest.NewRequest(http.MethodGet, "https://"+host+"/open_api/v3.0/promotion/list/?advertiser_id="+
			simtest.Text(a.ID),
			nil)
		r.Header.Set("Access-Token", s.Token(a))
		require.Equal(t, 0, simtest.Code(t, s.Do(r)))
	}
	spec := oceanengine.New().Spec()
	require.True(t, strings.HasPrefix(spec.BasePath, spec.Prefix))
}

func TestOceanEngine_ErrorsHaveTheEnvelope(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	w := s.Do(s.request("x", "v3.0/promotion/list/", simtest.Query("advertiser_id", "1")))
	require.Equal(t, http.StatusOK, w.Code)
	v := simtest.Decoded(t, w)
	require.Contains(t, v, "request_id")
	require.NotContains(t, v, "data")
	require.Equal(t, 40104, simtest.Code(t, w))
}

func chinaText(moment int64) string {
	return time.Unix(moment, 0).In(world.Zone).Format("2006-01-02 15:04:05")
}

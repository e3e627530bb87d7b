package simulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/control"
	"adsync/simulator/world"
)

// rowsAt returns an account's true rows at a level, added up by ad, day and hour.
func rowsAt(v *world.View, a *world.Account, s world.Scope) map[string]world.Figures {
	sums := map[string]world.Figures{}
	for _, r := range v.TrueRows(a, s) {
		k := fmt.Sprint(r.AdID(), " ", r.Day, " ", r.Hour)
		f := sums[k]
		f.Add(&r.Figures)
		sums[k] = f
	}
	return sums
}

func TestCreative_FiguresAddUpToTheirAdAndHoursToTheirDay(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	v := s.truth()
	today := world.DayOf(v.Now)
	for _, media := range s.sim.World.Names() {
		for _, class := range []world.Class{world.ClassLarge, world.ClassMedium, world.ClassSmall} {
			a := s.find(media, class)
			for _, hourly := range []bool{false, true} {
				of := world.Scope{Hourly: hourly, From: today - 3, To: today, Level: world.LevelAd}
				ads := rowsAt(v, a, of)
				of.Level = world.LevelCreative
				require.NotEmpty(t, ads)
				require.Equal(t, ads, rowsAt(v, a, of), "%s, hourly %t", media, hourly)
			}
			days := map[string]world.Figures{}
			for _, r := range v.TrueRows(a, world.Scope{Hourly: true, From: today - 3, To: today, Level: world.LevelCreative}) {
				k := fmt.Sprint(r.Object, " ", r.Day)
				f := days[k]
				f.Add(&r.Figures)
				days[k] = f
			}
			for _, r := range v.TrueRows(a, world.Scope{From: today - 3, To: today, Level: world.LevelCreative}) {
				require.Equal(t, days[fmt.Sprint(r.Object, " ", r.Day)], r.Figures)
			}
		}
	}
}

func TestCreative_RowsHaveImpressionsAndNothingIsNegative(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	v := s.truth()
	today := world.DayOf(v.Now)
	several := 0
	for i := range s.sim.World.Count(s.spec("tencent")) {
		a := s.account("tencent", i)
		perAd := map[string]int{}
		for _, r := range v.TrueRows(a, world.Scope{Hourly: true, From: today - 1, To: today, Level: world.LevelCreative}) {
			require.Positive(t, r.Figures[world.Impressions])
			require.GreaterOrEqual(t, slices.Min(r.Figures[:]), int64(0))
			perAd[fmt.Sprint(r.Day, r.Hour, r.Ad.ID)]++
		}
		for _, n := range perAd {
			if n > 1 {
				several++
			}
		}
	}
	require.Greater(t, several, 1000, "figures are split")
}

func TestCreative_ExistsWithinItsAdAndShowsItsAccountsLibrary(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	now := s.sim.Clock.Now().Unix()
	met := map[string]int{}
	for _, media := range s.sim.World.Names() {
		a := s.find(media, world.ClassLarge)
		perAd := map[int64]map[string]bool{}
		last := int64(0)
		for _, c := range a.Creatives(now) {
			require.Greater(t, c.ID, last, "ids rise")
			last = c.ID
			require.GreaterOrEqual(t, c.Created, c.Ad.Created)
			require.LessOrEqual(t, c.Deleted, c.Ad.Deleted)
			require.LessOrEqual(t, c.Modified, now)
			if c.N == 0 {
				require.Equal(t, c.Ad.Deleted, c.Deleted)
			}
			met[c.Status.String()]++
			if c.IsUnlisted() {
				met["unlisted"]++
			}
			assets := c.Assets(a)
			met[fmt.Sprint(assets[0].Kind, " ", len(assets))]++
			for _, x := range assets {
				require.LessOrEqual(t, x.Created, c.Ad.Created, "the asset is older than the ad")
				require.Len(t, x.Signature, 32)
			}
			if perAd[c.Ad.ID] == nil {
				perAd[c.Ad.ID] = map[string]bool{}
			}
			object := s.spec(media).CreativeObject(&c.Creative)
			require.False(t, perAd[c.Ad.ID][object], "%s twice in an ad", object)
			perAd[c.Ad.ID][object] = true
		}
	}
	kinds := []string{"active", "paused", "deleted", "unlisted", "video 2", "image 1"}
	if slices.ContainsFunc(s.sim.World.Specs, func(p *world.Spec) bool { return !p.CreativesAreParts }) {
		kinds = append(kinds, "image 2", "image 3")
	}
	for _, what := range kinds {
		require.Positive(t, met[what], "%s: %v", what, met)
	}
}

// truthOfCreatives returns the truth of an account's creatives, without unlisted ones.
func (s *sim) truthOfCreatives(media string, a *world.Account) map[string]string {
	all := map[string]string{}
	for _, line := range s.truthLines("media", media, "kind", "creative", "account", idText(a.ID)) {
		var c control.TruthCreative
		require.NoError(s.t, json.Unmarshal([]byte(line), &c))
		if c.Unlisted {
			continue
		}
		var assets []string
		for _, use := range c.Assets {
			assets = append(assets, use.Kind+" "+use.ID)
		}
		slices.Sort(assets)
		all[c.Object] = fmt.Sprint(c.Parent, " ", c.Status, " ", assets)
	}
	return all
}

func TestWire_TencentCreativesAreTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	for _, class := range []world.Class{world.ClassLarge, world.ClassSmall} {
		a := s.find("tencent", class)
		got := map[string]string{}
		for _, deleted := range []bool{false, true} {
			for cursor := ""; ; {
				d := data(t, s.tencentCall(a, "dynamic_creatives/get", "is_deleted", fmt.Sprint(deleted), "page_size", "100",
					"pagination_mode", "PAGINATION_MODE_CURSOR", "cursor", cursor))
				for _, x := range d["list"].([]any) {
					r := x.(fields)
					status := map[any]string{"AD_STATUS_NORMAL": "active", "AD_STATUS_SUSPEND": "paused"}[r["configured_status"]]
					if deleted {
						status = "deleted"
					}
					got[fmt.Sprint(r["dynamic_creative_id"])] = fmt.Sprint(r["adgroup_id"], " ", status, " ",
						tencentAssets(r["creative_components"].(fields)))
				}
				if cursor = d["cursor_page_info"].(fields)["next_cursor"].(string); cursor == "" {
					break
				}
				require.LessOrEqual(t, len(cursor), 10)
			}
		}
		want := s.truthOfCreatives("tencent", a)
		require.NotEmpty(t, want)
		require.Equal(t, want, got)
	}
}

// tencentAssets returns the assets in a creative's components.
func tencentAssets(components fields) (list []string) {
	value := func(of any) fields { return of.([]any)[0].(fields)["value"].(fields) }
	if of, ok := components["video"]; ok {
		list = append(list, fmt.Sprint("video ", value(of)["video_id"]), fmt.Sprint("image ", value(of)["cover_id"]))
	}
	if of, ok := components["image"]; ok {
		list = append(list, fmt.Sprint("image ", value(of)["image_id"]))
	}
	if of, ok := components["image_list"]; ok {
		for _, x := range value(of)["list"].([]any) {
			list = append(list, fmt.Sprint("image ", x.(fields)["image_id"]))
		}
	}
	slices.Sort(list)
	return list
}

func TestWire_OceanEngineMaterialsAreTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.find("oceanengine", world.ClassLarge)
	got, most := map[string]string{}, 0
	for page := 1; ; page++ {
		d := data(t, s.oceanCall(a, "v3.0/promotion/list/", "filtering", `{"status_first":"PROMOTION_STATUS_ALL"}`,
			"fields", `["promotion_id","promotion_materials"]`, "page", fmt.Sprint(page), "page_size", "20"))
		for _, x := range d["list"].([]any) {
			r := x.(fields)
			materials := r["promotion_materials"].(fields)
			add := func(m fields, assets ...string) {
				slices.Sort(assets)
				require.Equal(t, map[bool]string{true: "ENABLE", false: "DISABLE"}[m["material_status"] == "MATERIAL_STATUS_OK"],
					m["material_opt_status"])
				status := map[any]string{"MATERIAL_STATUS_OK": "active", "MATERIAL_STATUS_DISABLE": "paused",
					"MATERIAL_STATUS_DELETE": "deleted"}[m["material_status"]]
				got[fmt.Sprint(r["promotion_id"], ":", m["material_id"])] = fmt.Sprint(r["promotion_id"], " ", status, " ", assets)
			}
			for _, m := range materials["video_material_list"].([]any) {
				m := m.(fields)
				add(m, fmt.Sprint("video ", m["video_id"]), fmt.Sprint("image ", m["video_cover_id"]))
			}
			for _, m := range materials["image_material_list"].([]any) {
				require.ElementsMatch(t, []string{"image_mode", "images"}, slices.Collect(maps.Keys(m.(fields))),
					"the other fields are in each image")
				images := m.(fields)["images"].([]any)
				most = max(most, len(images))
				for _, x := range images {
					add(x.(fields), fmt.Sprint("image ", x.(fields)["image_id"]))
				}
			}
			for _, m := range materials["title_material_list"].([]any) {
				require.NotZero(t, m.(fields)["material_id"])
			}
		}
		if len(d["list"].([]any)) < 20 {
			break
		}
	}
	require.Equal(t, s.truthOfCreatives("oceanengine", a), got)
	shared := map[string]int{}
	for object := range got {
		shared[object[len(object)-19:]]++
	}
	require.Less(t, len(shared), len(got), "promotions share materials")
	require.Greater(t, most, 1, "an item has several images")
}

func TestWire_ReportsOfProjectsAndMaterialsAreTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.find("oceanengine", world.ClassMedium)
	shown := `[{"field":"image_mode","type":1,"operator":10,"values":["CREATIVE_IMAGE_MODE_VIDEO",` +
		`"CREATIVE_IMAGE_MODE_VIDEO_VERTICAL",` +
		`"CREATIVE_IMAGE_MODE_SMALL","CREATIVE_IMAGE_MODE_LARGE","CREATIVE_IMAGE_MODE_LARGE_VERTICAL"]}]`
	for level, dimensions := range map[string][]string{"project": {"cdp_project_id"},
		"creative": {"cdp_promotion_id", "material_id"}} {
		for _, hourly := range []bool{false, true} {
			topic, kind, moment, filters := "BASIC_DATA", "report_daily", "stat_time_day", "[]"
			if level == "creative" {
				topic, filters = "MATERIAL_DATA", shown
			}
			if hourly {
				kind, moment = "report_hourly", "stat_time_hour"
			}
			got := table{}
			list := pages(t, 100, func(page int) ([]any, fields) {
				d := data(t, s.oceanCall(a, "v3.0/report/custom/get/", "data_topic", topic, "dimensions",
					jsonText(append([]string{moment}, dimensions...)),
					"metrics", jsonText(wireNames("oceanengine")), "filters", filters, "order_by", `[{"field":"`+moment+
						`","type":"ASC"}]`,
					"start_time", "2026-11-14 00:00:00", "end_time", "2026-11-15 23:59:59", "page", fmt.Sprint(page), "page_size",
					"100"))
				return d["rows"].([]any), d["page_info"].(fields)
			})
			for _, x := range list {
				dims := x.(fields)["dimensions"].(fields)
				object := dims[dimensions[0]].(string)
				if len(dimensions) > 1 {
					object += ":" + dims[dimensions[1]].(string)
				}
				at, hour := dims[moment].(string), -1
				if hourly {
					_, err := fmt.Sscanf(at[11:13], "%d", &hour)
					require.NoError(t, err)
				}
				got.add(t, fmt.Sprintf("%d/%s/%d/%s", a.ID, at[:10], hour, object),
					metricsText(t, "oceanengine", x.(fields)["metrics"].(fields)))
			}
			want := s.truthTable(kind, "media", "oceanengine", "level", level, "from", "2026-11-14", "to", "2026-11-15",
				"account", idText(a.ID))
			require.NotEmpty(t, want)
			require.Equal(t, want, got, "%s %s", kind, level)
		}
	}
	w := s.oceanCall(a, "v3.0/report/custom/get/", "dimensions", `["stat_time_day","material_id"]`, "metrics",
		`["stat_cost"]`, "filters", "[]",
		"order_by", `[{"field":"stat_time_day","type":"ASC"}]`, "start_time", "2026-11-14", "end_time", "2026-11-14")
	require.Equal(t, 40000, code(t, w), "BASIC_DATA has no dimension for materials")
	for dimension, want := range map[string]int{"stat_time_day": 0, "stat_time_week": 40000, "stat_time_month": 40000} {
		w := s.oceanCall(a, "v3.0/report/custom/get/", "dimensions", `["`+dimension+`"]`, "metrics", `["stat_cost"]`,
			"filters", "[]",
			"order_by", `[{"field":"stat_cost","type":"ASC"}]`, "start_time", "2026-11-10", "end_time", "2026-11-10")
		require.Equal(t, want, code(t, w), dimension)
	}
}

func TestWire_MaterialReportsCountAPromotionForEachKindOfMaterial(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.find("oceanengine", world.ClassMedium)
	ask := func(topic, dimensions, filters string) fields {
		return data(t, s.oceanCall(a, "v3.0/report/custom/get/", "data_topic", topic, "dimensions", dimensions, "metrics",
			`["show_cnt"]`,
			"filters", filters, "order_by", `[{"field":"show_cnt","type":"ASC"}]`, "start_time", "2026-11-14", "end_time",
			"2026-11-14", "page_size", "100"))
	}
	total := func(d fields) int64 {
		n, err := strconv.ParseInt(d["total_metrics"].(fields)["show_cnt"].(string), 10, 64)
		require.NoError(t, err)
		return n
	}
	basic := total(ask("BASIC_DATA", `["stat_time_day"]`, "[]"))
	require.Positive(t, basic)
	is := func(operator int) string {
		return fmt.Sprintf(`[{"field":"image_mode","type":1,"operator":%d,"values":["MATERIAL_IMAGE_MODE_TITLE"]}]`, operator)
	}
	require.Equal(t, 2*basic, total(ask("MATERIAL_DATA", `["stat_time_day"]`, "[]")), "titles repeat the figures")
	require.Equal(t, basic, total(ask("MATERIAL_DATA", `["stat_time_day"]`, is(1))), "each impression shows one title")
	require.Equal(t, basic, total(ask("MATERIAL_DATA", `["cdp_promotion_id"]`, is(6))), "and one video or image")
	modes := map[string]bool{}
	for _, r := range ask("MATERIAL_DATA", `["image_mode"]`, "[]")["rows"].([]any) {
		modes[r.(fields)["dimensions"].(fields)["image_mode"].(string)] = true
	}
	require.True(t, modes["MATERIAL_IMAGE_MODE_TITLE"])
	require.Greater(t, len(modes), 3)
}

func TestWire_TencentReportsOfCreativesAreTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	a := s.find("tencent", world.ClassMedium)
	for path, group := range map[string]string{"daily_reports/get": "date", "hourly_reports/get": "hour"} {
		kind := map[string]string{"date": "report_daily", "hour": "report_hourly"}[group]
		got := table{}
		list := pages(t, 150, func(page int) ([]any, fields) {
			d := data(t, s.tencentCall(a, path, "level", "REPORT_LEVEL_DYNAMIC_CREATIVE", "group_by",
				jsonText([]string{group, "dynamic_creative_id"}),
				"fields", jsonText(append(wireNames("tencent"), "date", "hour", "adgroup_id", "dynamic_creative_id")),
				"date_range", `{"start_date":"2026-11-14","end_date":"2026-11-14"}`, "page", fmt.Sprint(page), "page_size", "150"))
			return d["list"].([]any), d["page_info"].(fields)
		})
		for _, x := range list {
			r := x.(fields)
			hour := "-1"
			if group == "hour" {
				hour = fmt.Sprint(r["hour"])
			}
			got.add(t, fmt.Sprintf("%d/%s/%s/%s", a.ID, r["date"], hour, r["dynamic_creative_id"]), metricsText(t, "tencent", r))
		}
		want := s.truthTable(kind, "media", "tencent", "level", "creative", "from", "2026-11-14", "to", "2026-11-14",
			"account", idText(a.ID))
		require.NotEmpty(t, want)
		require.Equal(t, want, got)

		one := list[0].(fields)["adgroup_id"]
		some := data(t, s.tencentCall(a, path, "level", "REPORT_LEVEL_DYNAMIC_CREATIVE", "group_by",
			jsonText([]string{group, "dynamic_creative_id"}),
			"fields", `["adgroup_id","dynamic_creative_id"]`, "date_range",
			`{"start_date":"2026-11-14","end_date":"2026-11-14"}`, "page_size", "2000",
			"filtering", fmt.Sprintf(`[{"field":"adgroup_id","operator":"IN","values":["%s"]}]`, one)))["list"].([]any)
		require.NotEmpty(t, some)
		require.Less(t, len(some), len(list))
		for _, x := range some {
			require.Equal(t, one, x.(fields)["adgroup_id"])
		}
	}
}

func TestWire_AssetsAreTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{}).unlimited()
	for _, kind := range []string{"image", "video"} {
		a := s.find("tencent", world.ClassMedium)
		want := len(s.truthLines("media", "tencent", "kind", kind, "account", idText(a.ID)))
		count := func(pairs ...string) int {
			return len(pages(t, 50, func(page int) ([]any, fields) {
				d := data(t, s.tencentCall(a, kind+"s/get", append(pairs, "page", fmt.Sprint(page), "page_size", "50")...))
				return d["list"].([]any), d["page_info"].(fields)
			}))
		}
		require.Equal(t, want,
			count("filtering", `[{"field":"created_time","operator":"GREATER_EQUALS","values":["1000000000"]}]`))
		require.Less(t, count(), want, "without a condition it is the last half year")
		require.Positive(t, count())

		o := s.find("oceanengine", world.ClassMedium)
		lines := s.truthLines("media", "oceanengine", "kind", kind, "account", idText(o.ID))
		list := pages(t, 50, func(page int) ([]any, fields) {
			d := data(t, s.oceanCall(o, "2/file/"+kind+"/get/", "page", fmt.Sprint(page), "page_size", "50"))
			return d["list"].([]any), d["page_info"].(fields)
		})
		require.Len(t, list, len(lines))
		for i, line := range lines {
			var want control.TruthAsset
			require.NoError(t, json.Unmarshal([]byte(line), &want))
			r := list[i].(fields)
			require.Equal(t, []any{want.Object, want.Signature, want.Material},
				[]any{r["id"], r["signature"], fmt.Sprint(r["material_id"])})
			require.Equal(t, want.Created, chinaTime(t, r["create_time"]))
		}
	}
}

func TestGiant_HasMoreRowsADayThanTencentReturns(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{Accounts: 4, Giant: 12_500}).unlimited()
	a := s.account("tencent", 0)
	ask := func(page string) fields {
		return decoded(t, s.tencentCall(a, "daily_reports/get", "level", "REPORT_LEVEL_DYNAMIC_CREATIVE", "group_by",
			`["date","dynamic_creative_id"]`,
			"fields", `["date","dynamic_creative_id","cost"]`, "date_range",
			`{"start_date":"2026-11-14","end_date":"2026-11-14"}`, "page", page, "page_size", "2000"))
	}
	s.set("rows_over_cap")
	s.set("beyond_pages")
	info := ask("5")["data"].(fields)["page_info"].(fields)
	total, err := info["total_number"].(json.Number).Int64()
	require.NoError(t, err)
	require.Greater(t, total, int64(10_000))
	require.Equal(t, json.Number("18003"), ask("6")["code"])
	require.Zero(t, s.trap("rows_over_cap").Met, "a query meets it once")
	ask("1")
	require.EqualValues(t, 1, s.trap("rows_over_cap").Met)
	data(t, s.tencentCall(a, "dynamic_creatives/get", "page_size", "100"))
	require.Zero(t, s.trap("beyond_pages").Met)
	data(t, s.tencentCall(a, "dynamic_creatives/get", "page_size", "100", "pagination_mode", "PAGINATION_MODE_CURSOR"))
	require.EqualValues(t, 1, s.trap("beyond_pages").Met)
	_, err = New(Config{Accounts: 4, Seed: 1, Giant: world.GiantMax + 1})
	require.ErrorContains(t, err, "a giant has up to")
}

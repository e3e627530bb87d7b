package tiktok_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

// all requests deleted objects too.
var all = fields{"filtering": fields{"primary_status": "STATUS_ALL"}}

func TestLists_HaveTheWholeConfiguration(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	var groups, liveGroups, campaigns, ads, liveAds []string
	for _, o := range s.Objects(a) {
		groups = append(groups, simtest.Text(o.ID))
		if o.Status != world.StatusDeleted {
			liveGroups = append(liveGroups, simtest.Text(o.ID))
		}
	}
	for _, x := range a.Projects(s.Now()) {
		campaigns = append(campaigns, simtest.Text(x.ID))
	}
	for _, x := range a.Creatives(s.Now()) {
		ads = append(ads, simtest.Text(x.ID))
		if x.Status != world.StatusDeleted {
			liveAds = append(liveAds, simtest.Text(x.ID))
		}
	}
	require.Greater(t, len(groups), len(liveGroups))
	require.Greater(t, len(ads), len(liveAds))
	require.Equal(t, groups, simtest.Texts(s.rows(a, "adgroup/get", all), "adgroup_id"))
	require.Equal(t, liveGroups, simtest.Texts(s.rows(a, "adgroup/get", nil), "adgroup_id"), "deleted ones are left out")
	require.Equal(t, campaigns, simtest.Texts(s.rows(a, "campaign/get", all), "campaign_id"))
	require.Equal(t, ads, simtest.Texts(s.rows(a, "ad/get", all), "ad_id"))
	require.Equal(t, liveAds, simtest.Texts(s.rows(a, "ad/get", nil), "ad_id"))
	d := simtest.Data(t, s.call(a, "ad/get", nil))
	require.Len(t, d["list"], 10, "the default size of a page")
}

func TestLists_Conditions(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	one := s.Objects(a)[3]
	want := func(fits func(o *world.Object) bool) (ids []string) {
		for _, o := range s.Objects(a) {
			if fits(&o) {
				ids = append(ids, simtest.Text(o.ID))
			}
		}
		require.NotEmpty(t, ids)
		return ids
	}
	list := func(filter fields) []string {
		return simtest.Texts(s.rows(a, "adgroup/get", fields{"filtering": filter}), "adgroup_id")
	}
	require.Equal(t, want(func(o *world.Object) bool { return o.ID == one.ID }),
		list(fields{"adgroup_ids": []string{simtest.Text(one.ID)}, "primary_status": "STATUS_ALL"}))
	require.Equal(t, want(func(o *world.Object) bool { return o.Project == one.Project }),
		list(fields{"campaign_ids": []string{simtest.Text(one.Project)}, "primary_status": "STATUS_ALL"}))
	for word, s := range map[string][]world.Status{
		"STATUS_DELIVERY_OK": {world.StatusActive}, "STATUS_DISABLE": {world.StatusPaused},
		"STATUS_DELETE": {world.StatusDeleted}, "STATUS_NOT_DELETE": {world.StatusActive, world.StatusPaused},
	} {
		ids := want(func(o *world.Object) bool { return slices.Contains(s, o.Status) })
		require.Equal(t, ids, list(fields{"primary_status": word}))
		require.Equal(t, ids, list(fields{"secondary_status": "ADGROUP_" + word}), "the older style")
	}
	require.Equal(t, list(fields{"primary_status": "STATUS_ALL"}), list(fields{"secondary_status": "ADGROUP_STATUS_ALL"}))
	require.Empty(t, list(fields{"primary_status": "STATUS_DELETE", "secondary_status": "ADGROUP_STATUS_DISABLE"}))
	require.Empty(t, list(fields{"primary_status": "STATUS_TIME_DONE"}))
	require.Empty(t, list(fields{"objective_type": "REACH"}))
	require.NotEmpty(t, list(fields{"objective_type": "APP_PROMOTION"}))
	since := "2026-06-01 00:00:00"
	made := s.rows(a, "adgroup/get", fields{"filtering": fields{"primary_status": "STATUS_ALL",
		"creation_filter_start_time": since, "creation_filter_end_time": "2026-10-01 00:00:00"}})
	require.NotEmpty(t, made)
	for _, x := range made {
		require.True(t, x["create_time"].(string) >= since && x["create_time"].(string) <= "2026-10-01 00:00:00")
	}
	campaign := s.rows(a, "campaign/get", nil)[1]
	require.Equal(t, []fields{campaign}, s.rows(a, "campaign/get", fields{"filtering": fields{
		"campaign_name": campaign["campaign_name"], "campaign_ids": []any{campaign["campaign_id"]}}}))
	require.Empty(t, s.rows(a, "campaign/get", fields{"filtering": fields{"buying_types": []string{"RESERVATION_RF"}}}))
	require.NotEmpty(t, s.rows(a, "campaign/get", fields{"filtering": fields{"buying_types": []string{"AUCTION"}}}))
	ad := s.rows(a, "ad/get", nil)[2]
	require.Equal(t, []fields{ad}, s.rows(a, "ad/get", fields{"filtering": fields{"ad_ids": []any{ad["ad_id"]},
		"adgroup_ids": []any{ad["adgroup_id"]}, "campaign_ids": []any{ad["campaign_id"]}}}))
	require.Equal(t, fields{"ad_id": ad["ad_id"], "ad_name": ad["ad_name"]},
		s.rows(a, "ad/get", fields{"fields": []string{"ad_name", "ad_id"}})[2])
}

func TestLists_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	filter := func(pairs ...any) fields { return fields{"filtering": with(nil, pairs...)} }
	for _, path := range []string{"campaign/get", "adgroup/get", "ad/get"} {
		for name, q := range map[string]fields{
			"1001 rows a page": {"page_size": 1001}, "no row a page": {"page_size": 0}, "the page 0": {"page": 0},
			"a page of text": {"page": "x"}, "another field": {"fields": []string{"x"}}, "a field": {"fields": "x"},
			"a list": {"filtering": []string{}}, "no JSON": {"filtering": "x"}, "another filter": filter("x", 1),
			"101 ids": filter("campaign_ids", make([]int64, 101)), "ids of text": filter("campaign_ids", "x"),
			"another status":   filter("primary_status", "x"),
			"another word":     filter("secondary_status", "STATUS_ALL"),
			"a day for a time": filter("creation_filter_start_time", "2026-11-01"),
			"a bad end":        filter("creation_filter_end_time", "x"),
		} {
			require.Equal(t, 40002, simtest.Code(t, s.call(a, path, q)), "%s: %s", path, name)
		}
		require.Equal(t, 0, simtest.Code(t, s.call(a, path, with(filter("campaign_ids", make([]int64, 100)), "page_size",
			1000))), path)
	}
	require.Equal(t, 40002, simtest.Code(t, s.call(a, "campaign/get", filter("ad_ids", []int64{1}))))
	require.Equal(t, 40002, simtest.Code(t, s.call(a, "adgroup/get", filter("adgroup_ids", make([]int64, 101)))))
	require.Equal(t, 40002, simtest.Code(t, s.call(a, "ad/get", filter("ad_ids", make([]int64, 101)))))
	for path, ids := range map[string]string{"file/video/ad/search": "video_ids", "file/image/ad/search": "image_ids"} {
		for name, q := range map[string]fields{
			"1001 files a page": {"page_size": 1001}, "a list": {"filtering": []string{}},
			"101 ids":        filter(ids, make([]string, 101)),
			"1001 materials": filter("material_ids", make([]string, 1001)), "a width of text": filter("width", "x"),
		} {
			require.Equal(t, 40002, simtest.Code(t, s.call(a, path, q)), "%s: %s", path, name)
		}
	}
	require.Equal(t, 40002, simtest.Code(t, s.call(a, "file/video/ad/search", filter("material_ids",
		make([]string, 21)))))
}

func TestLists_SmartAdsMayHaveNoTimeOfModification(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	smart := map[any]bool{}
	timed := func() map[bool]int {
		n := map[bool]int{}
		for i := range 20 {
			a := s.Account(i)
			for _, x := range s.rows(a, "campaign/get", nil) {
				smart[x["campaign_id"]] = x["is_smart_performance_campaign"].(bool)
			}
			for _, x := range s.rows(a, "ad/get", nil) {
				_, isTimed := x["modify_time"].(string)
				n[isTimed]++
				require.True(t, isTimed || smart[x["campaign_id"]])
			}
		}
		return n
	}
	n := timed()
	require.NotZero(t, n[false])
	require.NotZero(t, n[true])
	s.Assume("smart_ads_timed", 1)
	require.Zero(t, timed()[false])
}

func TestLists_MeetTraps(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	ask := func(name, path string) string {
		s.Order("traps", fields{"name": name, "on": true})
		defer s.Order("traps", fields{"name": name, "on": false})
		return s.call(a, path, fields{"page_size": 1000}).Body.String()
	}
	require.Contains(t, ask("unknown_word", "adgroup/get"), "ADGROUP_STATUS_TRIAL_RUN")
	require.Regexp(t, `"conversion_bid_price":"[0-9.]+"`, ask("numbers_as_text", "adgroup/get"))
	require.Contains(t, ask("key_empty", "ad/get"), `"ad_id":""`)
	require.Contains(t, ask("extra_field", "adgroup/get"), "trial_run_spec")
	require.Contains(t, ask("undated_file", "file/video/ad/search"), `"create_time":""`)
}

func TestFiles_AreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for kind, x := range map[world.AssetKind][2]string{world.AssetVideo: {"file/video/ad/search", "video_id"},
		world.AssetImage: {"file/image/ad/search", "image_id"}} {
		var want []string
		for _, file := range a.Assets(kind, s.Now()) {
			want = append(want, file.ID)
		}
		slices.Reverse(want)
		rows := s.rows(a, x[0], nil)
		require.Equal(t, want, simtest.Texts(rows, x[1]), "the newest is first")
		one := rows[3]
		for _, filter := range []fields{
			{x[1] + "s": []any{one[x[1]]}}, {"material_ids": []any{one["material_id"]}},
		} {
			require.Equal(t, []fields{one}, s.rows(a, x[0], fields{"filtering": filter}))
		}
		for _, file := range s.rows(a, x[0], fields{"filtering": fields{"width": one["width"], "height": one["height"]}}) {
			require.Equal(t, one["width"], file["width"])
		}
	}
	require.NotEmpty(t, s.rows(a, "file/video/ad/search", fields{"filtering": fields{"video_name": "video_1"}}))
	require.Empty(t, s.rows(a, "file/video/ad/search", fields{"filtering": fields{"video_name": "none"}}))
	videos, images := simtest.Texts(s.rows(a, "file/video/ad/search", nil), "video_id"),
		simtest.Texts(s.rows(a, "file/image/ad/search", nil), "image_id")
	for _, x := range s.rows(a, "ad/get", all) {
		if id, isVideo := x["video_id"].(string); isVideo {
			require.Contains(t, videos, id)
		}
		for _, id := range x["image_ids"].([]any) {
			require.Contains(t, images, id)
		}
	}
	require.IsType(t, json.Number(""), s.rows(a, "file/video/ad/search", nil)[0]["duration"])
}

package tencent

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

func findList(t *testing.T, name string) media.List {
	t.Helper()
	for _, l := range New().Lists() {
		if l.Name == name {
			return l
		}
	}
	require.Fail(t, "no such list")
	return media.List{}
}

func TestCreatives_ReadTheWireFormat(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(
		`{"list":[{"dynamic_creative_id":5000000000001,"dynamic_creative_name":"创意","adgroup_id":41000000001,
		"configured_status":"AD_STATUS_SUSPEND","creative_set_approval_status":"CREATIVE_SET_APPROVAL_STATUS_PENDING",` +
			`"created_time":1795000000,
		"last_modified_time":1795150000,"is_deleted":false,"creative_components":{"title":[{"value":{"content":"t"}}]}}],
		"cursor_page_info":{"page_size":100,"total_number":1,"next_cursor":"","previous_cursor":""}}`)}
	list := findList(t, "dynamic_creative")
	require.Equal(t, "creative", list.Level)
	page, err := list.Page(t.Context(), s, media.ListQuery{Variant: deleted, Since: time.Unix(1795140000, 0)}, "")
	require.NoError(t, err)
	require.Equal(t, "true", s.queries[0].Get("is_deleted"))
	require.Equal(t, "PAGINATION_MODE_CURSOR", s.queries[0].Get("pagination_mode"))
	require.Contains(t, s.queries[0].Get("fields"), `"creative_components"`)
	require.Contains(t, s.queries[0].Get("filtering"), `"1795140000"`)
	row := page.Rows[0]
	require.Equal(t, "5000000000001", row.Object)
	require.Equal(t, "创意", row.Name)
	require.True(t, row.Deleted)
	require.Equal(t, []any{
		"创意", "41000000001", "AD_STATUS_SUSPEND", "CREATIVE_SET_APPROVAL_STATUS_PENDING",
		sqldb.At(time.Unix(1795000000, 0)), sqldb.At(time.Unix(1795150000, 0)),
	}, row.Raw)
	require.Len(t, row.Raw, len(list.Table.Columns))
}

func TestReport_OfCreativesKeepsTheirAdGroup(t *testing.T) {
	t.Parallel()
	s := &server{answer: reportAnswer(1,
		`{"date":"2026-11-01","hour":3,"adgroup_id":41000001,"dynamic_creative_id":5000000000001,"cost":1}`)}
	q := media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}
	for name, moment := range map[string]string{"report_daily": "date", "report_hourly": "hour"} {
		page, err := findReport(t, name, "creative").Page(t.Context(), s, q, "")
		require.NoError(t, err)
		sent := s.queries[len(s.queries)-1]
		require.Equal(t, "REPORT_LEVEL_DYNAMIC_CREATIVE", sent.Get("level"))
		require.Equal(t, `["`+moment+`","adgroup_id","dynamic_creative_id"]`, sent.Get("group_by"))
		require.Equal(t, `[{"sort_field":"`+moment+
			`","sort_type":"ASCENDING"},{"sort_field":"dynamic_creative_id","sort_type":"ASCENDING"}]`, sent.Get("order_by"),
			"at most two fields, and the object is one of them")
		require.Equal(t, "5000000000001", page.Rows[0].Object)
	}
	page, err := findReport(t, "report_daily", "creative").Page(t.Context(),
		&server{answer: reportAnswer(1, `{"date":"2026-11-01","adgroup_id":41000001}`)}, q, "")
	requireLost(t, page, err)
}

func TestReport_IsNarrowedToAdGroups(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"adgroup", "creative"} {
		report := findReport(t, "report_hourly", level)
		s := &server{answer: reportAnswer(0, "")}
		_, err := report.Page(t.Context(), s, media.ReportQuery{From: "2026-11-01", To: "2026-11-01",
			Within: []string{"41", "42"}}, "")
		require.NoError(t, err)
		require.JSONEq(t, `[{"field":"adgroup_id","operator":"IN","values":["41","42"]}]`, s.queries[0].Get("filtering"))
		require.Equal(t, 100, report.Split.Most)
		s = &server{answer: reportAnswer(1, `{"date":"2026-11-01","adgroup_id":41}`)}
		page, err := report.Split.Page(t.Context(), s, media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
		require.NoError(t, err)
		require.Equal(t, "REPORT_LEVEL_ADGROUP", s.queries[0].Get("level"))
		require.Equal(t, "41", page.Rows[0].Object)
	}
	require.Nil(t, findReport(t, "report_daily", "adgroup").Split)
}

func TestCreatives_NameTheAssetsTheyShow(t *testing.T) {
	t.Parallel()
	for components, want := range map[string][]rawtable.AssetUse{
		`{"video":[{"component_id":5,"value":{"video_id":9007199254740993,"cover_id":"77"}}],` +
			`"title":[{"value":{"content":"image_id"}}]}`: {{Kind: "image", ID: "77"}, {Kind: "video", ID: "9007199254740993"}},
		`{"image_list":[{"value":{"list":[{"image_id":"2"},{"image_id":"1"},` +
			`{"image_id":"2"}]}}]}`: {{Kind: "image", ID: "1"}, {Kind: "image", ID: "2"}},
		`{"image":[{"value":{"image_id":""}}],"video":[{"value":{"video_id":0,` +
			`"cover_id":null}}]}`: {},
		// A removed component stays in the list.
		`{"image":[{"value":{"image_id":"1"},"is_deleted":false},{"value":{"image_id":"2"},` +
			`"is_deleted":true}]}`: {{Kind: "image", ID: "1"}},
		`{"short_video":[{"value":{"short_video1":"5",` +
			`"short_video2":"6"}}]}`: {{Kind: "video", ID: "5"}, {Kind: "video", ID: "6"}},
		`{"app_promotion_video":[{"value":{"video":"7","video2":"8",` +
			`"video3":""}}]}`: {{Kind: "video", ID: "7"}, {Kind: "video", ID: "8"}},
		`{"element_story":[{"value":{"list":[{"image":"3",` +
			`"image2":"4"}]}}]}`: {{Kind: "image", ID: "3"}, {Kind: "image", ID: "4"}},
		`{"video_showcase":[{"value":{"video":{"video_id":"9","cover_id":"10"}}}],` +
			`"image_showcase":[{"value":{"image":{"image_id":"11","original_image_id":"12"}}}]}`: {
			{Kind: "image", ID: "10"}, {Kind: "image", ID: "11"}, {Kind: "video", ID: "9"},
		},
		`{"brand":[{"value":{"brand_image_id":"13"}}],` +
			`"floating_zone":[{"value":{"floating_zone_image_id":"14"}}]}`: {},
		`{"image":[{"value":{"image_id":"1"},"is_deleted":1},{"value":{"image_id":"2"},"is_deleted":"true"},` +
			`{"value":{"image_id":"3"},"is_deleted":"0"}]}`: {{Kind: "image", ID: "3"}},
		`{"image":[{"value":{"image_id":"-"}}]}`: {},
		`{}`:                                     {},
		`[]`:                                     {},
		`null`:                                   nil,
		`"-"`:                                    nil,
		`""`:                                     nil,
	} {
		row := media.OpenRow([]byte(`{"dynamic_creative_id":5,"creative_components":`+components+`}`), readCreative)
		require.Empty(t, row.Faults)
		require.Equal(t, want, row.Assets, components)
		require.False(t, row.MoreAssets, components)
	}
}

// Unreadable components do not show what a creative shows: no asset is treated as removed.
func TestCreatives_WithUnusableComponentsRemoveNothing(t *testing.T) {
	t.Parallel()
	for components, want := range map[string][]rawtable.AssetUse{
		`"x"`: nil, `7`: nil, `true`: nil, `1e999`: nil,
		`{"image":[{"value":{"image_id":{}}},{"value":{"image_id":"2"}}]}`:     {{Kind: "image", ID: "2"}},
		`{"image":[{"value":{"image_id":["1"]}},{"value":{"image_id":"2"}}]}`:  {{Kind: "image", ID: "2"}},
		`{"image":[{"value":{"image_id":true}},{"value":{"image_id":"2"}}]}`:   {{Kind: "image", ID: "2"}},
		`{"image":[{"value":{"image_id":"a b"}}]}`:                             {},
		`{"video":[{"value":{"video_id":"视频","cover_id":"77"}}]}`:              {{Kind: "image", ID: "77"}},
		`{"video":[{"value":{"video_id":"` + strings.Repeat("9", 65) + `"}}]}`: {},
	} {
		row := media.OpenRow([]byte(`{"dynamic_creative_id":5,"creative_components":`+components+`}`), readCreative)
		require.False(t, row.Lost, components)
		require.Len(t, row.Faults, 1, components)
		require.Equal(t, wire.AttributeFault, row.Faults[0].Kind, components)
		require.Contains(t, row.Faults[0].Field, "creative_components", components)
		require.Equal(t, want, row.Assets, components)
		require.Equal(t, want != nil, row.MoreAssets, components)
	}
}

func TestAssets_ReadTheWireFormatOfAllTimes(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(
		`{"list":[{"image_id":"60000000001","video_id":80000000001,"width":720,"height":1280,"file_size":1048576,
		"signature":"9f86d081884c7d659a2feaa0c55ad015","description":"图","created_time":1795000000,` +
			`"last_modified_time":1795150000,
		"status":"ADSTATUS_NORMAL","system_status":"MEDIA_STATUS_VALID","image_duration_millisecond":12340}],` +
			`"page_info":{"total_number":101}}`)}
	for name, id := range map[string]string{"image": "60000000001", "video": "80000000001"} {
		list := findList(t, name)
		page, err := list.Page(t.Context(), s, media.ListQuery{}, "")
		require.NoError(t, err)
		require.JSONEq(t, `[{"field":"created_time","operator":"GREATER_EQUALS","values":["1000000000"]}]`,
			s.queries[len(s.queries)-1].Get("filtering"),
			"otherwise the platform lists the last half year")
		require.Equal(t, "2", page.Next)
		require.Equal(t, id, page.Rows[0].Object)
		require.Equal(t, "图", page.Rows[0].Name)
		require.Equal(t, []any{
			"图", int64(720), int64(1280), int64(1048576), "9f86d081884c7d659a2feaa0c55ad015",
			sqldb.At(time.Unix(1795000000, 0)), sqldb.At(time.Unix(1795150000, 0)),
		}, page.Rows[0].Raw[:7])
		require.Len(t, page.Rows[0].Raw, len(list.Table.Columns))
		_, err = list.Page(t.Context(), s, media.ListQuery{Since: time.Unix(1795140000, 0)}, "2")
		require.NoError(t, err)
		require.Contains(t, s.queries[len(s.queries)-1].Get("filtering"),
			`{"field":"last_modified_time","operator":"GREATER_EQUALS","values":["1795140000"]}`)
	}
}

func TestLists_AWordForNoValueIsAnEmptyList(t *testing.T) {
	t.Parallel()
	for _, word := range []string{`""`, `"-"`, `"--"`, `null`, `[]`} {
		s := &server{answer: data(`{"list":` + word +
			`,"page_info":{"total_number":"0"},"cursor_page_info":{"total_number":"0"}}`)}
		for _, list := range New().Lists() {
			page, err := list.Page(t.Context(), s, media.ListQuery{}, "")
			require.NoError(t, err, word)
			require.Empty(t, page.Rows, word)
		}
		require.NoError(t, New().Accounts(t.Context(), s, "7",
			func(found []media.FoundAccount) error { require.Empty(t, found); return nil }), word)
	}
}

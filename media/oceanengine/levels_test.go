package oceanengine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
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

const projectRow = `{"project_id":7200000000000000001,"advertiser_id":1700000000000001,"name":"项目",` +
	`"landing_type":"APP","status_first":"PROJECT_STATUS_ENABLE",
	"opt_status":"ENABLE","delivery_setting":{"budget_mode":"BUDGET_MODE_DAY","budget":300.5},
	"project_create_time":"2026-11-19 23:00:00","project_modify_time":"2026-11-20 10:00:00"}`

func TestProjects_ReadTheWireFormatLiveAndDeleted(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(`{"list":[` + projectRow +
		`],"page_info":{"page":1,"page_size":100,"total_number":101,"total_page":2}}`)}
	list := findList(t, "project")
	require.Equal(t, "campaign", list.Level)
	now := time.Date(2026, 11, 20, 15, 59, 59, 0, time.UTC)
	page, err := list.Page(t.Context(), s, media.ListQuery{Variant: list.Variants[0], Since: now.Add(-time.Hour),
		Until: now}, "")
	require.NoError(t, err)
	require.JSONEq(t,
		`{"project_modify_end_time":"2026-11-20 23:59:59","project_modify_start_time":"2026-11-20 22:59:59"}`,
		s.queries[0].Get("filtering"))
	require.Equal(t, "2", page.Next)
	row := page.Rows[0]
	require.Equal(t, "7200000000000000001", row.Object)
	require.Equal(t, "项目", row.Name)
	require.False(t, row.Deleted)
	require.Equal(t, []any{
		"项目", "APP", "PROJECT_STATUS_ENABLE", "ENABLE", int64(30050), "BUDGET_MODE_DAY",
		sqldb.At(time.Date(2026, 11, 19, 15, 0, 0, 0, time.UTC)), sqldb.At(time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)),
	}, row.Raw)
	require.Len(t, row.Raw, len(list.Table.Columns))

	_, err = list.Page(t.Context(), s, media.ListQuery{Variant: list.Variants[1]}, page.Next)
	require.NoError(t, err)
	require.JSONEq(t, `{"status_first":"PROJECT_STATUS_DELETE"}`, s.queries[1].Get("filtering"))
	require.Equal(t, "2", s.queries[1].Get("page"))
	_, err = list.Page(t.Context(), s, media.ListQuery{}, "two")
	requireClass(t, media.Bug, err)
}

func TestMaterials_ArePartsOfTheirPromotions(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(`{"list":[
		{"promotion_id":7300000000000000001,"status_first":"PROMOTION_STATUS_ENABLE","promotion_modify_time":"2026-11-20 ` +
		`10:00:00","promotion_materials":{
			"video_material_list":[{"image_mode":"V","video_id":"v1","video_cover_id":"c/1","material_id":7020000000000000001,` +
		`"material_status":"MATERIAL_STATUS_OK"},
				{"video_id":"v1","material_id":7020000000000000001}],
			"image_material_list":[{"image_mode":"S","images":[{"image_id":"i1","material_id":"7400000000000000002",` +
		`"material_opt_status":"ENABLE","material_status":"MATERIAL_STATUS_AUDIT"},
				{"image_id":"i2","material_id":7400000000000000003,"material_opt_status":"DISABLE",` +
		`"material_status":"MATERIAL_STATUS_DISABLE"}]}],
			"title_material_list":[{"title":"t","material_id":1}]}},
		{"promotion_id":7300000000000000002,"status_first":"PROMOTION_STATUS_DELETED",` +
		`"promotion_materials":{"video_material_list":[{"video_id":"v1","material_id":7020000000000000001}]}},
		{"promotion_id":7300000000000000003,"status_first":"PROMOTION_STATUS_ENABLE"}],
		"page_info":{"page":1,"page_size":20,"total_number":3,"total_page":1}}`)}
	list := findList(t, "promotion_material")
	require.Equal(t, "creative", list.Level)
	page, err := list.Page(t.Context(), s, media.ListQuery{}, "")
	require.NoError(t, err)
	require.Equal(t, `["promotion_id","status_first","promotion_modify_time","promotion_materials"]`,
		s.queries[0].Get("fields"))
	require.Equal(t, 3, page.Total)
	require.Equal(t, []string{"7300000000000000001", "7300000000000000002", "7300000000000000003"}, page.Counted,
		"the total counts promotions")
	var ids []string
	for _, row := range page.Rows {
		ids = append(ids, row.Object)
		require.Empty(t, row.Name)
		require.Len(t, row.Raw, len(list.Table.Columns))
	}
	require.Equal(t, []string{
		"7300000000000000001:7020000000000000001", "7300000000000000001:7400000000000000002",
		"7300000000000000001:7400000000000000003",
		"7300000000000000002:7020000000000000001",
	}, ids, "titles are left out, and a repeated material is listed once")
	first, last := page.Rows[0], page.Rows[3]
	require.Equal(t, []rawtable.AssetUse{{Kind: "video", ID: "v1"}, {Kind: "image", ID: "c/1"}}, first.Assets)
	require.Equal(t, []rawtable.AssetUse{{Kind: "image", ID: "i1"}}, page.Rows[1].Assets)
	require.Equal(t, []rawtable.AssetUse{{Kind: "image", ID: "i2"}}, page.Rows[2].Assets)
	require.Equal(t, []any{"7300000000000000001", "7400000000000000003", "image", "MATERIAL_STATUS_DISABLE"},
		page.Rows[2].Raw)
	require.JSONEq(t,
		`{"promotion_id":"7300000000000000001","material_kind":"image","image_mode":"S","image_id":"i2",`+
			`"material_id":7400000000000000003,
		"material_opt_status":"DISABLE","material_status":"MATERIAL_STATUS_DISABLE"}`, string(page.Rows[2].JSON))
	require.Equal(t, []any{"7300000000000000001", "7020000000000000001", "video", "MATERIAL_STATUS_OK"}, first.Raw)
	require.Equal(t, time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC), first.Modified)
	require.JSONEq(t,
		`{"promotion_id":"7300000000000000001","material_kind":"video","image_mode":"V","video_id":"v1",`+
			`"video_cover_id":"c/1",
		"material_id":7020000000000000001,"material_status":"MATERIAL_STATUS_OK"}`, string(first.JSON))
	require.Contains(t, string(first.JSON), "7020000000000000001", "with all digits")
	require.False(t, first.Deleted)
	require.True(t, last.Deleted, "its promotion is deleted")
}

// A video's material_id may be absent or 0: then the library finds it by the video's own id.
func TestMaterials_WithoutAnIDAreFoundInTheLibrary(t *testing.T) {
	t.Parallel()
	asked := map[string]string{}
	s := &server{answer: func(endpoint string, query url.Values) string {
		switch endpoint {
		case videosEndpoint:
			asked[endpoint] = query.Get("filtering")
			return data(
				`{"list":[{"id":"v1","material_id":7020000000000000001},{"id":"v2","material_id":"7020000000000000002"}],`+
					`"page_info":{"total_number":2}}`)("", nil)
		case imagesEndpoint:
			asked[endpoint] = query.Get("filtering")
			return data(`{"list":[{"id":"web/i1","material_id":7010000000000000001}],"page_info":{"total_number":1}}`)("", nil)
		}
		return data(`{"list":[{"promotion_id":7300000000000000001,"promotion_materials":{
			"video_material_list":[{"video_id":"v2","material_id":0},{"video_id":"v1"},{"video_id":"v1",`+
			`"material_id":7020000000000000001}],
			"image_material_list":[{"images":[{"image_id":"web/i1"}]}]}}],"page_info":{"total_number":1}}`)("", nil)
	}}
	page, err := findList(t, "promotion_material").Page(t.Context(), s, media.ListQuery{}, "")
	require.NoError(t, err)
	require.Equal(t, map[string]string{videosEndpoint: `{"video_ids":["v1","v2"]}`,
		imagesEndpoint: `{"image_ids":["web/i1"]}`}, asked)
	var ids []string
	for _, row := range page.Rows {
		ids = append(ids, row.Object+" "+row.Raw[materialID].(string))
	}
	require.Equal(t, []string{
		"7300000000000000001:7020000000000000002 7020000000000000002",
		"7300000000000000001:7020000000000000001 7020000000000000001",
		"7300000000000000001:7010000000000000001 7010000000000000001",
	}, ids)
}

// Titles are materials of MATERIAL_DATA too, and repeat the figures of the same impressions.
func TestReport_SelectsTheMaterialsThatAreShown(t *testing.T) {
	t.Parallel()
	const answered = `{"code":0,"data":{"list":[
		{"data_topic":"BASIC_DATA","dimensions":[{"field":"stat_time_day","sort_able":true},{"field":"cdp_promotion_id",` +
		`"sort_able":false}]},
		{"data_topic":"MATERIAL_DATA","dimensions":[{"field":"stat_time_day","sort_able":true},{"field":"cdp_promotion_id",` +
		`"sort_able":true},{"field":"material_id","sort_able":false},
			{"field":"image_mode","filter_able":true,"filter_config":{"type":1,"operator":7,"range_value":[
				{"label":"横版视频","value":"5"},{"label":"标题","value":"9"},{"label":"大图横图","value":"3"},{"label":"落地页",` +
		`"value":"8"}]}}]}]}}`
	for name, c := range map[string]struct{ topics, level, filters, order string }{
		"no answer about topics": {"", "creative", asJSON([]condition{documented().shown}),
			`[{"field":"stat_cost","type":"DESC"}]`},
		"materials by the platform's own words": {answered, "creative",
			`[{"field":"image_mode","type":1,"operator":7,"values":["5","3"]}]`,
			`[{"field":"stat_time_day","type":"ASC"},{"field":"cdp_promotion_id","type":"ASC"}]`},
		"promotions without a condition": {answered, "adgroup", `[]`, `[{"field":"stat_time_day","type":"ASC"}]`},
	} {
		s := &server{answer: data(`{"rows":[],"total_metrics":{},"page_info":{"total_number":0}}`), topics: c.topics}
		_, err := findReport(t, "report_daily", c.level).Page(t.Context(), s,
			media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
		require.NoError(t, err, name)
		require.JSONEq(t, c.filters, s.queries[0].Get("filters"), name)
		require.JSONEq(t, c.order, s.queries[0].Get("order_by"), name)
	}
	require.NotContains(t, documented().shown.Values, "MATERIAL_IMAGE_MODE_TITLE")
	require.Equal(t, []order{{Field: "stat_cost", Type: "DESC"}},
		topic{sortable: map[string]bool{}}.sorting([]string{"material_id"}, []string{"stat_cost"}))
}

// The topics are requested again after a passing failure, but not after an answer.
func TestTopics_AreRequestedOnce(t *testing.T) {
	t.Parallel()
	calls, answer := 0, `{"code":50000}`
	api := &countingTopics{server: server{}, calls: &calls, answer: &answer}
	p := newTopics()
	_, err := p.about(t.Context(), api, topicBasic)
	requireClass(t, media.Transient, err)
	answer = `{"code":0,"data":{"list":[{"data_topic":"BASIC_DATA","dimensions":[{"field":"stat_time_day",` +
		`"sort_able":true}]}]}}`
	for range 3 {
		known, err := p.about(t.Context(), api, topicBasic)
		require.NoError(t, err)
		require.Equal(t, map[string]bool{"stat_time_day": true}, known.sortable)
	}
	require.Equal(t, 2, calls)
}

// A refusal that concerns one account proves nothing about the topics. A refusal that concerns the topics does not
// change what an earlier answer said.
func TestTopics_KeepTheLastAnswerAfterARefusal(t *testing.T) {
	t.Parallel()
	calls, answer := 0, `{"code":40002,"message":"no permission"}`
	api := &countingTopics{server: server{}, calls: &calls, answer: &answer}
	p := newTopics()
	_, err := p.about(t.Context(), api, topicBasic)
	requireClass(t, media.Invalid, err)

	answer = `{"code":0,"data":{"list":[{"data_topic":"BASIC_DATA","dimensions":[{"field":"stat_time_day",` +
		`"sort_able":true}]}]}}`
	_, err = p.about(t.Context(), api, topicBasic)
	require.NoError(t, err)
	p.asked = p.asked.Add(-topicsKept)
	answer = `{"code":40118}`
	for range 2 {
		known, err := p.about(t.Context(), api, topicBasic)
		require.NoError(t, err)
		require.Equal(t, map[string]bool{"stat_time_day": true}, known.sortable)
	}
	require.Equal(t, 3, calls, "no request for a while after a refusal")
}

// One odd value must not fail the reports of all accounts: it loses at most its dimension.
func TestTopics_AnUnusableValueLosesAtMostItsDimension(t *testing.T) {
	t.Parallel()
	const day, mode = `{"field":"stat_time_day","sort_able":true}`,
		`{"field":"image_mode","filter_config":{"type":2,"operator":7,"range_value":[{"label":"视频","value":"5"}]}}`
	topics := func(of ...string) string {
		return `{"list":[{"data_topic":"BASIC_DATA","dimensions":[` + strings.Join(of, ",") +
			`]},{"data_topic":"MATERIAL_DATA","dimensions":[` + strings.Join(of, ",") + `]}]}`
	}
	filter := func(text string) string { return topics(day, `{"field":"image_mode","filter_config":`+text+`}`) }
	shown := condition{Field: dimensionMode, Type: 2, Operator: 7, Values: []string{"5"}}
	typed := func(of int64, values ...string) condition {
		return condition{Field: dimensionMode, Type: of, Operator: 7, Values: values}
	}
	sorted := map[string]bool{"stat_time_day": true, "image_mode": false}
	for answer, want := range map[string]topic{
		topics(day, mode): {sorted, shown},
		topics(`{"field":"stat_time_day","sort_able":"true"}`, mode): {sorted, shown},
		topics(`{"field":"stat_time_day","sort_able":1}`, mode):      {sorted, shown},
		topics(`{"field":"stat_time_day","sort_able":[]}`,
			mode): {map[string]bool{"stat_time_day": false, "image_mode": false}, shown},
		topics(day, mode, `{"field":5,"sort_able":true}`, `7`, `"x"`, `null`, `[]`): {sorted, shown},
		filter(`""`):                 {sorted, documented().shown},
		filter(`[]`):                 {sorted, documented().shown},
		filter(`"-"`):                {sorted, documented().shown},
		filter(`{"range_value":{}}`): {sorted, documented().shown},
		filter(
			`{"type":"x","operator":7,"range_value":[{"label":"视频","value":"5"}]}`): {sorted, typed(fixedValues, "5")},
		filter(
			`{"type":"2","operator":"7","range_value":[{"label":"视频","value":5},{"label":"图","value":{}},{"label":{},` +
				`"value":"VIDEO"},"x",5]}`): {sorted, typed(2, "5", "VIDEO")},
		filter(
			`{"type":2,"operator":7,"range_value":[{"label":3,"value":"IMAGE"},{"label":"视频","value":"-"}]}`): {sorted,
			typed(2, "IMAGE")},
	} {
		s := &server{topics: `{"code":0,"data":` + answer + `}`}
		for _, name := range []string{topicBasic, topicMaterial} {
			known, err := newTopics().about(t.Context(), s, name)
			require.NoError(t, err, answer)
			require.Equal(t, want, known, answer)
		}
	}
}

// An unreadable answer has the effect of a refusal: the last answer applies, or otherwise the documented values.
func TestTopics_AnUnreadableAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		`null`, `[]`, `"-"`, `5`, `{}`, `{"list":"x"}`, `{"list":{}}`, `{"list":[]}`, `{"list":[7]}`,
		`{"list":[{"data_topic":5,"dimensions":[]}]}`,
		`{"list":[{"data_topic":"BASIC_DATA","dimensions":"-"}]}`,
		`{"list":[{"data_topic":"BASIC_DATA","dimensions":[{"field":{}}]}]}`,
	} {
		calls, body := 0, `{"code":0,"data":`+answer+`}`
		api := &countingTopics{server: server{}, calls: &calls, answer: &body}
		p := newTopics()
		for range 3 {
			known, err := p.about(t.Context(), api, topicBasic)
			require.NoError(t, err, answer)
			require.Equal(t, documented(), known, answer)
		}
		require.Equal(t, 1, calls, "%s: it rests", answer)
		p.last[topicBasic] = topic{sortable: map[string]bool{"stat_time_day": true}}
		p.asked = p.asked.Add(-topicsRest)
		known, err := p.about(t.Context(), api, topicBasic)
		require.NoError(t, err, answer)
		require.Equal(t, map[string]bool{"stat_time_day": true}, known.sortable, answer)
		require.Equal(t, 2, calls, answer)
	}
}

type countingTopics struct {
	server
	calls  *int
	answer *string
}

func (c *countingTopics) Get(ctx context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	*c.calls++
	c.topics = *c.answer
	return c.server.Get(ctx, endpoint, query)
}

func TestReport_NamesMaterialsByTheirPromotion(t *testing.T) {
	t.Parallel()
	answer := data(
		`{"rows":[{"dimensions":{"stat_time_day":"2026-11-01","cdp_project_id":"7200","cdp_promotion_id":"7300",` +
			`"material_id":"7020"},
		"metrics":{"stat_cost":"1.00"}}],"page_info":{"total_number":1}}`)
	for level, want := range map[string]struct{ topic, dimensions, object string }{
		"campaign": {"BASIC_DATA", `["stat_time_day","cdp_project_id"]`, "7200"},
		"adgroup":  {"BASIC_DATA", `["stat_time_day","cdp_promotion_id"]`, "7300"},
		"creative": {"MATERIAL_DATA", `["stat_time_day","cdp_promotion_id","material_id"]`, "7300:7020"},
	} {
		s := &server{answer: answer}
		page, err := findReport(t, "report_daily", level).Page(t.Context(), s,
			media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
		require.NoError(t, err)
		require.Equal(t, url.Values{"topic": {want.topic}, "dimensions": {want.dimensions}}, url.Values{
			"topic": {s.queries[0].Get("data_topic")}, "dimensions": {s.queries[0].Get("dimensions")},
		})
		require.Equal(t, want.object, page.Rows[0].Object)
		require.Equal(t, day.Day("2026-11-01"), page.Rows[0].Day)
	}
	page, err := findReport(t, "report_daily", "creative").Page(t.Context(), &server{answer: data(
		`{"rows":[{"dimensions":{"stat_time_day":"2026-11-01","cdp_promotion_id":"7300"},"metrics":{}}],` +
			`"page_info":{"total_number":1}}`)},
		media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
	requireLost(t, page, err)
}

func TestFiles_ReadTheWireFormat(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(
		`{"list":[{"id":"v0203","material_id":7020000000000000001,"size":1048576,"width":720,"height":1280,"url":"某句话",` +
			`"format":"mp4",
		"signature":"9f86d081884c7d659a2feaa0c55ad015","duration":12.34,"create_time":"2026-11-19 23:00:00",` +
			`"filename":"视频.mp4"}],
		"page_info":{"page":1,"page_size":100,"total_number":101,"total_page":2}}`)}
	list := findList(t, "video")
	require.Equal(t, rawtable.AssetVideo, list.Level)
	since := time.Date(2026, 11, 19, 17, 0, 0, 0, time.UTC) // the 20th in China
	page, err := list.Page(t.Context(), s, media.ListQuery{Since: since, Until: since.Add(24 * time.Hour)}, "")
	require.NoError(t, err)
	require.JSONEq(t, `{"start_time":"2026-11-20","end_time":"2026-11-21"}`, s.queries[0].Get("filtering"))
	require.Equal(t, "2", page.Next)
	row := page.Rows[0]
	created := time.Date(2026, 11, 19, 15, 0, 0, 0, time.UTC)
	require.Equal(t, created, row.Modified)
	require.Equal(t, []any{
		"7020000000000000001", "视频.mp4", int64(720), int64(1280), int64(1048576), "9f86d081884c7d659a2feaa0c55ad015",
		sqldb.At(created), int64(12340),
	}, row.Raw)
	require.Len(t, row.Raw, len(list.Table.Columns))
	require.Len(t, findList(t, "image").Table.Columns, len(row.Raw)-1)
	_, err = list.Page(t.Context(), s, media.ListQuery{}, "2")
	require.NoError(t, err)
	require.JSONEq(t, `{}`, s.queries[1].Get("filtering"))
}

// Files beyond the 10,000th have no pages: they are read by day of upload.
func TestFiles_BeyondTheLastPageAreReadByTheirDays(t *testing.T) {
	t.Parallel()
	uploads := map[day.Day]int{"1970-01-01": 1, "2100-01-01": 1, "2014-05-01": 1, "2026-11-01": 9_950, "2026-11-02": 150,
		"2026-11-20": 2}
	total := 0
	for _, n := range uploads {
		total += n
	}
	s := &server{answer: func(_ string, query url.Values) string {
		var filter struct{ Start, End day.Day }
		require.NoError(t,
			json.Unmarshal([]byte(strings.NewReplacer("start_time", "Start", "end_time", "End").Replace(query.Get("filtering"))),
				&filter))
		var ids []string
		for _, d := range slices.Sorted(maps.Keys(uploads)) {
			if filter.Start == "" || filter.Start <= d && d <= filter.End {
				for n := range uploads[d] {
					ids = append(ids, fmt.Sprintf(`{"id":"%s/%d"}`, d, n))
				}
			}
		}
		page, err := strconv.Atoi(query.Get("page"))
		require.NoError(t, err)
		require.LessOrEqual(t, page*filesPage, filesReach, "this page does not exist")
		first, last := min((page-1)*filesPage, len(ids)), min(page*filesPage, len(ids))
		return data(fmt.Sprintf(`{"list":[%s],"page_info":{"total_number":%d}}`, strings.Join(ids[first:last], ","),
			len(ids)))("", nil)
	}}
	list := findList(t, "image")
	q := media.ListQuery{Until: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
	seen := map[string]bool{}
	for token := ""; ; {
		page, err := list.Page(t.Context(), s, q, token)
		require.NoError(t, err)
		require.Equal(t, total, page.Total, "each page has the total")
		require.Empty(t, page.Moved)
		for _, row := range page.Rows {
			require.False(t, seen[row.Object], row.Object)
			seen[row.Object] = true
		}
		if token = page.Next; token == "" {
			break
		}
	}
	require.Len(t, seen, total)
	require.Less(t, len(s.queries), 150)
	for _, broken := range []string{"days:", "days:1:2:3:4", "days:1:2026-11-01:0:", "days:x:2026-11-01:1:"} {
		_, err := list.Page(t.Context(), s, q, broken)
		requireClass(t, media.Bug, err)
	}
}

// Hours of old days may be returned as whole days: these must not be taken for hour 0, and must not fail as an
// unreadable answer.
func TestReport_RefusesWholeDaysForHours(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(
		`{"rows":[{"dimensions":{"stat_time_hour":"2026-11-01","cdp_promotion_id":"7300","material_id":"7020"},
		"metrics":{"stat_cost":"1.00"}}],"total_metrics":{},"page_info":{"total_number":1}}`)}
	_, err := findReport(t, "report_hourly", "creative").Page(t.Context(), s,
		media.ReportQuery{From: "2026-11-01", To: "2026-11-02"}, "")
	requireClass(t, media.Invalid, err)
	require.ErrorIs(t, err, media.ErrNoHours)
}

// A single row without its hour is a row without a usable key.
func TestReport_AWholeDayAmongHoursLosesOnlyItsRow(t *testing.T) {
	t.Parallel()
	row := func(hour string) string {
		return `{"dimensions":{"stat_time_hour":"` + hour + `"},"metrics":{"stat_cost":"1.00"}}`
	}
	s := &server{answer: data(`{"rows":[` + row("2026-11-01 14:00 - 14:59") + `,` + row("2026-11-01") + `,` +
		row("2026-11-01 15:00 - 15:59") + `],
		"total_metrics":{},"page_info":{"total_number":3}}`)}
	page, err := findReport(t, "report_hourly", "account").Page(t.Context(), s,
		media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, false}, []bool{page.Rows[0].Lost, page.Rows[1].Lost, page.Rows[2].Lost})
	require.Equal(t, "dimensions.stat_time_hour", page.Rows[1].Faults[0].Field)
	require.Equal(t, 15, page.Rows[2].Hour)
}

// An odd attribute of a promotion, an item or a material loses only the attribute; a value from which no material can
// be read loses them all.
func TestMaterials_AnUnusableAttributeLosesNoMaterial(t *testing.T) {
	t.Parallel()
	const image = `{"image_id":"i1","material_id":5}`
	for _, c := range []struct {
		materials string
		rows      int
		lost      bool
	}{
		{`{"image_material_list":[{"image_mode":15,"images":[` + image + `]}]}`, 1, false},
		{`{"image_material_list":[{"image_mode":"a\u0000b\u007f","images":[` + image + `]}]}`, 1, false},
		{`{"image_material_list":[{"image_mode":{},"images":[` + image + `]},{"images":"-"},{"images":null},{}]}`, 1, false},
		{`{"video_material_list":[{"video_id":{},"material_id":6,"material_status":7}],"image_material_list":"-"}`, 1, false},
		{`"-"`, 0, false}, {`""`, 0, false}, {`null`, 0, false},
		{`{"video_material_list":"","image_material_list":"--"}`, 0, false},
		{`"x"`, 0, true}, {`[]`, 0, true}, {`{"video_material_list":{}}`, 0, true}, {`{"image_material_list":[7]}`, 0, true},
		{`{"image_material_list":[{"images":{}}],"video_material_list":[{"material_id":6}]}`, 0, true},
	} {
		s := &server{answer: data(`{"list":[{"promotion_id":7,"status_first":5,"promotion_materials":` + c.materials +
			`}],"page_info":{"total_number":1}}`)}
		page, err := findList(t, "promotion_material").Page(t.Context(), s, media.ListQuery{}, "")
		require.NoError(t, err, c.materials)
		require.Len(t, page.Rows, c.rows, c.materials)
		for _, row := range page.Rows {
			require.False(t, row.Lost, c.materials)
			require.True(t, json.Valid(row.JSON), c.materials)
			require.Contains(t, string(row.JSON), `"promotion_id":"7"`, c.materials)
		}
		for _, row := range page.Rows {
			require.Equal(t, strings.Contains(c.materials, `"video_id":{}`), row.MoreAssets,
				"%s: an unusable id removes nothing", c.materials)
		}
		lost := slices.ContainsFunc(page.Faults, func(f wire.Fault) bool { return f.Kind == wire.KeyFault })
		require.Equal(t, c.lost, lost, c.materials)
	}
}

// Flags, cursors and page numbers may have other JSON types.
func TestPromotions_ByCursorTakeFlagsAndCursorsOfAnyType(t *testing.T) {
	t.Parallel()
	for info, next := range map[string]string{
		`{"has_more":true,"cursor":20}`: "20", `{"has_more":1,"cursor":"20"}`: "20",
		`{"has_more":"true","cursor":"aB3"}`: "aB3", `{"has_more":"1","cursor":20}`: "20",
		`{"has_more":{},"cursor":20}`: "20", `{"has_more":0,"cursor":20}`: "", `{"has_more":"false","cursor":20}`: "",
		`{"has_more":"-","cursor":20}`:   "",
		`{"has_more":true,"cursor":"-"}`: "", `{"has_more":true,"cursor":{}}`: "", `"-"`: "", `7`: "", `[]`: "", `null`: "",
	} {
		page, got, err := promotions.read([]byte(`{"list":[{"promotion_id":1}],"cursor_info":` + info + `}`))
		require.NoError(t, err, info)
		require.Len(t, page.Rows, 1, info)
		require.Equal(t, next, got, info)
	}
}

func TestLists_AWordForNoValueIsAnEmptyList(t *testing.T) {
	t.Parallel()
	for _, word := range []string{`""`, `"-"`, `"--"`, `null`, `[]`} {
		s := &server{answer: data(`{"list":` + word + `,"page_info":{"total_number":"0"}}`)}
		for _, list := range New().Lists() {
			page, err := list.Page(t.Context(), s, media.ListQuery{}, "")
			require.NoError(t, err, word)
			require.Empty(t, page.Rows, word)
			require.Empty(t, page.Moved, word)
		}
		require.NoError(t, New().Accounts(t.Context(), s, "",
			func(found []media.FoundAccount) error { require.Empty(t, found); return nil }), word)
	}
}

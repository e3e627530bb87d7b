package kuaishou_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/media"
	"adsync/media/kuaishou"
)

func listOf(t *testing.T, name string) media.List {
	t.Helper()
	for _, l := range kuaishou.New().Lists() {
		if l.Name == name {
			return l
		}
	}
	require.Fail(t, "no list", name)
	return media.List{}
}

// at is a time in UTC from the platform's text, which is in China's time.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.ParseInLocation("2006-01-02 15:04:05", text, time.FixedZone("UTC+8", 8*60*60))
	require.NoError(t, err)
	return parsed.UTC()
}

// The row of document 2568.
const campaignRow = `{"status":6,"campaign_id":227785633,"campaign_name":"提高应用活跃_20211105_19:12","put_status":1,` +
	`"create_channel":0,"day_budget":1000500,"day_budget_schedule":[],"campaign_type":7,"campaign_sub_type":0,` +
	`"ad_type":0,"create_time":"2021-11-05 19:12:11","update_time":"2021-11-06 00:30:00","cap_roi_ratio":98.0,` +
	`"constraint_cpa":10001,"cap_bid":0}`

// The row of document 2572.
const unitRow = `{"site_type":0,"ad_type":1,"bid_type":10,"put_status":1,"smart_cover":false,"schema_id":"",` +
	`"campaign_id":609161,"day_budget":500000,"ocpx_action_type":2,"create_time":"2023-01-29 11:55:32",` +
	`"unit_name":"新建广告组_20220822_20:016","day_budget_schedule":[],"status":11,"unit_type":4,"study_status":0,` +
	`"update_time":"2023-01-29 11:55:32","unit_id":2165304,"review_detail":"广告组审核中","end_time":null,"scene_id":null,` +
	`"begin_time":"2023-01-29","target":{"gender":null,"media":[],"android_osv":0},"cpa_bid":1000,` +
	`"playable_orientation":-1,"bid":0}`

// The fields are those of document 2582, which has no sample.
const creativeRow = `{"creative_id":81804206,"creative_name":"自定义创意_1","unit_id":3811268,"campaign_id":25128075,` +
	`"creative_material_type":0,"photo_id":"5238249354922787996",` +
	`"image_token":"market8a364f5e50f24657a63dba9dc8e7d93d.jpg","put_status":3,"status":40,"review_detail":"作品异常",` +
	`"create_time":"2019-06-11 15:17:25",` +
	`"update_time":"2019-06-12 15:17:25"}`

// The row of document 2583.
const packageRow = `{"captions":["无参数1133"],"creatives":[{"unit_id":3048974,"creative_id":80626044},` +
	`{"unit_id":3048974,"creative_id":80626045}],"unit_id":3048974,"horizontal_photo_ids":null,` +
	`"vertical_photo_ids":["5238249354922787996"],"cover_image_tokens":["market8a364f5e50f24657a63dba9dc8e7d93d.jpg"],` +
	`"create_time":"2020-12-17 19:02:18","update_time":"2020-12-17 19:02:19","package_name":"测试程序化创意过滤创建",` +
	`"put_status":1,"view_status":41,"view_status_reason":"审核中"}`

// The row of document 2639.
const videoRow = `{"cover_url":"http://ali2.a.kwimgs.com/1.jpg?tag=1","photo_id":"5208131608549181870",` +
	`"photo_name":"图文视频_5208131608549181870","create_time":"2023-09-27 17:04:37",` +
	`"signature":"52154adsagaxg498489a99249535","photo_tag_identify_items":null,"new_status":1,"source":0,"url":"",` +
	`"duration":1000,"upload_time":"2023-09-27 17:04:38","photo_tag":["这是一个长标签"],"width":1080,"height":1920,"status":0}`

// Lists select changes by the day, in China's time. Deleted objects are in them.
func TestLists_SelectChangesByTheDay(t *testing.T) {
	t.Parallel()
	since, until := time.Date(2026, 11, 19, 16, 0, 0, 0, time.UTC), time.Date(2026, 11, 21, 15, 59, 59, 0, time.UTC)
	for name, want := range map[string]string{
		"campaign": `gw/dsp/campaign/list {"advertiser_id":20000681,"end_date":"2026-11-21","page":3,"page_size":200,` +
			`"start_date":"2026-11-20","status":-2}`,
		"unit": `gw/dsp/unit/list {"advertiser_id":20000681,"end_date":"2026-11-21","page":3,"page_size":200,` +
			`"start_date":"2026-11-20","status":-2}`,
		"creative": `gw/dsp/creative/list {"advertiser_id":20000681,"end_date":"2026-11-21","page":3,"page_size":200,` +
			`"start_date":"2026-11-20","status":-2}`,
		"video": `v1/file/ad/video/list {"advertiser_id":20000681,"page":3,"page_size":200,"update_end_date":"2026-11-21",` +
			`"update_start_date":"2026-11-20"}`,
	} {
		l := listOf(t, name)
		require.False(t, l.NoSince, name)
		require.Equal(t, 8*60*60, offset(l.SinceZone), name)
		s := answering(t, rowsOf(401, `{}`))
		q := media.ListQuery{Since: since, Until: until}
		if len(l.Variants) > 0 {
			q.Variant = "custom"
		}
		page, err := l.Page(t.Context(), s, q, "3")
		require.NoError(t, err)
		require.Equal(t, []string{want}, s.asked)
		require.Empty(t, page.Moved)
		require.Empty(t, page.Next, "the last page: 401 objects have three")
		require.True(t, page.Rows[0].Lost, "a row without an id")
	}
}

func offset(zone *time.Location) int {
	_, seconds := time.Date(2026, 7, 1, 0, 0, 0, 0, zone).Zone()
	return seconds
}

func TestLists_MarkDeletedObjects(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"campaign": "campaign_id", "unit": "unit_id", "creative": "creative_id"} {
		l := listOf(t, name)
		for status, deleted := range map[string]bool{"1": false, "2": false, "3": true, `"3"`: true, "null": false,
			`"-"`: false, "[3]": false} {
			q := media.ListQuery{}
			if len(l.Variants) > 0 {
				q.Variant = "custom"
			}
			page, err := l.Page(t.Context(), answering(t, rows(`{"`+key+`":7,"put_status":`+status+`}`)), q, "")
			require.NoError(t, err)
			require.Equal(t, deleted, page.Rows[0].Deleted, "%s %s", name, status)
		}
	}
}

func TestLists_OfBrokenAnswers(t *testing.T) {
	t.Parallel()
	for _, l := range kuaishou.New().Lists() {
		for _, variant := range append(l.Variants, "")[:max(len(l.Variants), 1)] {
			q := media.ListQuery{Variant: variant}
			for _, answer := range []string{envelope(`null`), envelope(`[]`), envelope(`5`), envelope(`{}`),
				envelope(`{"details":[]}`), envelope(`{"total_count":null,"details":[]}`),
				envelope(`{"total_count":"many","details":[]}`), envelope(`{"total_count":1,"details":5}`), `busy`,
				refusal(410000, "busy")} {
				_, err := l.Page(t.Context(), answering(t, answer), q, "")
				requireClass(t, media.Transient, err)
			}
			for _, answer := range []string{rows(), envelope(`{"total_count":0,"details":null}`),
				envelope(`{"total_count":0}`)} {
				page, err := l.Page(t.Context(), answering(t, answer), q, "")
				require.NoError(t, err, answer)
				require.Empty(t, page.Moved, answer)
				require.Empty(t, page.Rows, answer)
			}
			page, err := l.Page(t.Context(), answering(t, envelope(`{"total_count":1,"details":null}`)), q, "")
			require.NoError(t, err)
			require.NotEmpty(t, page.Moved, "%s: a row is missing", l.Name)
			for _, token := range []string{"x", "0", "-1"} {
				_, err = l.Page(t.Context(), answering(t), q, token)
				requireClass(t, media.Bug, err)
			}
		}
	}
}

// Times have three forms, and text that is none is a fault of its field alone.
func TestLists_ReadTheFormsOfTimes(t *testing.T) {
	t.Parallel()
	l := listOf(t, "campaign")
	for text, want := range map[string]time.Time{
		"2021-11-06 00:30:00": at(t, "2021-11-06 00:30:00"), "2021-11-06 00:30": at(t, "2021-11-06 00:30:00"),
		"2021-11-06": at(t, "2021-11-06 00:00:00"), "": {}, "-": {},
	} {
		page, err := l.Page(t.Context(), answering(t, rows(`{"campaign_id":7,"update_time":"`+text+`"}`)),
			media.ListQuery{}, "")
		require.NoError(t, err)
		require.Equal(t, want, page.Rows[0].Modified, text)
		require.Empty(t, page.Rows[0].Faults, text)
	}
	for _, broken := range []string{`"2021-11-06T00:30:00Z"`, `"2021-13-06 00:30:00"`, `"0001-01-01 00:00:00"`,
		`1636129800`, `{}`} {
		page, err := l.Page(t.Context(), answering(t, rows(`{"campaign_id":7,"update_time":`+broken+`}`)),
			media.ListQuery{}, "")
		require.NoError(t, err)
		require.False(t, page.Rows[0].Lost)
		require.True(t, page.Rows[0].Modified.IsZero(), broken)
		require.NotEmpty(t, page.Rows[0].Faults, broken)
	}
}

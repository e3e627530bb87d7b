package kuaishou_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/kuaishou"
	"adsync/media/wire"
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

// column returns a row's value in a column.
func column(t *testing.T, l media.List, row media.Row, name string) any {
	t.Helper()
	require.Len(t, row.Raw, len(l.Table.Columns))
	for i, c := range l.Table.Columns {
		if c.Name == name {
			return row.Raw[i]
		}
	}
	require.Fail(t, "no column", name)
	return nil
}

func requireColumns(t *testing.T, l media.List, row media.Row, want map[string]any) {
	t.Helper()
	require.Len(t, l.Table.Columns, len(want))
	for name, value := range want {
		require.Equal(t, value, column(t, l, row, name), name)
	}
}

// The row of document 2568.
const campaignRow = `{"status":6,"campaign_id":227785633,"campaign_name":"提高应用活跃_20211105_19:12","put_status":1,` +
	`"create_channel":0,"day_budget":1000500,"day_budget_schedule":[],"campaign_type":7,"campaign_sub_type":0,` +
	`"ad_type":0,"create_time":"2021-11-05 19:12:11","update_time":"2021-11-06 00:30:00","cap_roi_ratio":98.0,` +
	`"constraint_cpa":10001,"cap_bid":0}`

func TestCampaigns_ReadTheSample(t *testing.T) {
	t.Parallel()
	l := listOf(t, "campaign")
	s := answering(t, rows(campaignRow))
	page, err := l.Page(t.Context(), s, media.ListQuery{}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`gw/dsp/campaign/list {"advertiser_id":20000681,"page":1,"page_size":200,"status":-2}`},
		s.asked)
	require.Equal(t, 1, page.Total)
	require.Empty(t, page.Moved)
	require.Empty(t, page.Next)
	row := page.Rows[0]
	require.Equal(t, "227785633", row.Object)
	require.Equal(t, "提高应用活跃_20211105_19:12", row.Name)
	require.Equal(t, at(t, "2021-11-06 00:30:00"), row.Modified)
	require.False(t, row.Deleted)
	require.Empty(t, row.Faults)
	require.JSONEq(t, campaignRow, string(row.JSON))
	requireColumns(t, l, row, map[string]any{
		"campaign_name": row.Name, "campaign_type": "7", "campaign_sub_type": "0", "ad_type": "0", "put_status": "1",
		"status": "6", "day_budget_li": int64(1_000_500), "bid_type": nil, "constraint_cpa_li": int64(10_001),
		"cap_bid_li": int64(0), "create_time": sqldb.At(at(t, "2021-11-05 19:12:11")),
		"update_time": sqldb.At(row.Modified),
	})
}

// The row of document 2572.
const unitRow = `{"site_type":0,"ad_type":1,"bid_type":10,"put_status":1,"smart_cover":false,"schema_id":"",` +
	`"campaign_id":609161,"day_budget":500000,"ocpx_action_type":2,"create_time":"2023-01-29 11:55:32",` +
	`"unit_name":"新建广告组_20220822_20:016","day_budget_schedule":[],"status":11,"unit_type":4,"study_status":0,` +
	`"update_time":"2023-01-29 11:55:32","unit_id":2165304,"review_detail":"广告组审核中","end_time":null,"scene_id":null,` +
	`"begin_time":"2023-01-29","target":{"gender":null,"media":[],"android_osv":0},"cpa_bid":1000,` +
	`"playable_orientation":-1,"bid":0}`

func TestUnits_ReadTheSample(t *testing.T) {
	t.Parallel()
	l := listOf(t, "unit")
	require.Equal(t, "adgroup", l.Level)
	require.Equal(t, "campaign_id", l.Parent)
	require.Equal(t, rawtable.Shown{Column: "status", Value: "20"}, l.Shown)
	s := answering(t, rows(unitRow))
	page, err := l.Page(t.Context(), s, media.ListQuery{}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`gw/dsp/unit/list {"advertiser_id":20000681,"page":1,"page_size":200,"status":-2}`}, s.asked)
	row := page.Rows[0]
	require.Equal(t, "2165304", row.Object)
	require.Empty(t, row.Faults)
	moment := sqldb.At(at(t, "2023-01-29 11:55:32"))
	requireColumns(t, l, row, map[string]any{
		"unit_name": "新建广告组_20220822_20:016", "campaign_id": "609161", "unit_type": "4", "bid_type": "10",
		"bid_li": int64(0), "cpa_bid_li": int64(1000), "ocpx_action_type": "2", "deep_conversion_type": nil,
		"deep_conversion_bid_li": nil, "day_budget_li": int64(500_000), "put_status": "1", "status": "11",
		"study_status": "0", "create_time": moment, "update_time": moment,
	})
}

// The fields are those of document 2582, which has no sample.
const creativeRow = `{"creative_id":81804206,"creative_name":"自定义创意_1","unit_id":3811268,"campaign_id":25128075,` +
	`"creative_material_type":0,"photo_id":"5238249354922787996",` +
	`"image_token":"market8a364f5e50f24657a63dba9dc8e7d93d.jpg","put_status":3,"status":40,"review_detail":"作品异常",` +
	`"create_time":"2019-06-11 15:17:25",` +
	`"update_time":"2019-06-12 15:17:25"}`

func TestCreatives_ReadTheFields(t *testing.T) {
	t.Parallel()
	l := listOf(t, "creative")
	require.Equal(t, "unit_id", l.Parent)
	require.True(t, l.MapsAssets)
	require.Equal(t, []string{"custom", "program"}, l.Variants)
	s := answering(t, rows(creativeRow))
	page, err := l.Page(t.Context(), s, media.ListQuery{Variant: "custom"}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`gw/dsp/creative/list {"advertiser_id":20000681,"page":1,"page_size":200,"status":-2}`},
		s.asked)
	row := page.Rows[0]
	require.Equal(t, "81804206", row.Object)
	require.True(t, row.Deleted)
	require.Equal(t, []rawtable.AssetUse{{Kind: rawtable.AssetVideo, ID: "5238249354922787996"},
		{Kind: rawtable.AssetImage, ID: "market8a364f5e50f24657a63dba9dc8e7d93d.jpg"}}, row.Assets)
	require.False(t, row.MoreAssets)
	requireColumns(t, l, row, map[string]any{
		"creative_name": "自定义创意_1", "unit_id": "3811268", "campaign_id": "25128075", "creative_material_type": "0",
		"photo_id": "5238249354922787996", "image_token": "market8a364f5e50f24657a63dba9dc8e7d93d.jpg", "put_status": "3",
		"status": "40", "review_detail": "作品异常", "create_time": sqldb.At(at(t, "2019-06-11 15:17:25")),
		"update_time": sqldb.At(at(t, "2019-06-12 15:17:25")),
	})
}

func TestCreatives_ShowTheirFiles(t *testing.T) {
	t.Parallel()
	video := rawtable.AssetUse{Kind: rawtable.AssetVideo, ID: "5238249354922787996"}
	image := rawtable.AssetUse{Kind: rawtable.AssetImage, ID: "market8a.jpg"}
	for fields, want := range map[string]struct {
		uses []rawtable.AssetUse
		more bool // the others are not known
	}{
		`"photo_id":"5238249354922787996","image_token":"market8a.jpg"`: {[]rawtable.AssetUse{video, image}, false},
		`"photo_id":5238249354922787996,"image_token":""`:               {[]rawtable.AssetUse{video}, false},
		`"photo_id":null,"image_token":"market8a.jpg"`:                  {[]rawtable.AssetUse{image}, false},
		`"photo_id":0`: {nil, false},
		``:             {nil, false},
		`"photo_id":{},"image_token":"market8a.jpg"`:                {[]rawtable.AssetUse{image}, true},
		`"photo_id":"5238249354922787996","image_token":[1]`:        {[]rawtable.AssetUse{video}, true},
		`"photo_id":"5238249354922787996","image_token":"a\u0000b"`: {[]rawtable.AssetUse{video}, true},
	} {
		s := answering(t, rows(strings.TrimSuffix(`{"creative_id":1,`+fields, ",")+`}`))
		page, err := listOf(t, "creative").Page(t.Context(), s, media.ListQuery{Variant: "custom"}, "")
		require.NoError(t, err)
		require.Equal(t, want.uses, page.Rows[0].Assets, fields)
		require.Equal(t, want.more, page.Rows[0].MoreAssets, fields)
	}
}

// The row of document 2583.
const packageRow = `{"captions":["无参数1133"],"creatives":[{"unit_id":3048974,"creative_id":80626044},` +
	`{"unit_id":3048974,"creative_id":80626045}],"unit_id":3048974,"horizontal_photo_ids":null,` +
	`"vertical_photo_ids":["5238249354922787996"],"cover_image_tokens":["market8a364f5e50f24657a63dba9dc8e7d93d.jpg"],` +
	`"create_time":"2020-12-17 19:02:18","update_time":"2020-12-17 19:02:19","package_name":"测试程序化创意过滤创建",` +
	`"put_status":1,"view_status":41,"view_status_reason":"审核中"}`

func TestCreatives_OfPackages(t *testing.T) {
	t.Parallel()
	l := listOf(t, "creative")
	s := answering(t, rowsOf(201, packageRow), rows(strings.Replace(packageRow, `"put_status":1`, `"put_status":3`, 1),
		`{"unit_id":3048975,"creatives":[]}`))
	page, err := l.Page(t.Context(), s, media.ListQuery{Variant: "program"}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`gw/dsp/advanced_creative/list {"advertiser_id":20000681,"page":1,"page_size":200,` +
		`"status":-2}`}, s.asked)
	require.Equal(t, 201, page.Total)
	require.Equal(t, []string{"3048974"}, page.Counted, "the total counts packages")
	require.Contains(t, page.Moved, "1 rows, and 200 are due")
	require.Equal(t, "2", page.Next)
	require.Len(t, page.Rows, 2)
	for i, id := range []string{"80626044", "80626045"} {
		row := page.Rows[i]
		require.Equal(t, id, row.Object)
		require.Equal(t, "测试程序化创意过滤创建", row.Name)
		require.Equal(t, at(t, "2020-12-17 19:02:19"), row.Modified)
		require.False(t, row.Deleted)
		require.Empty(t, row.Faults)
		require.Nil(t, row.Assets, "which files it shows is not documented")
		require.Contains(t, string(row.JSON), `"creative_id":`+id)
		require.NotContains(t, string(row.JSON), `"creatives"`)
		requireColumns(t, l, row, map[string]any{
			"creative_name": row.Name, "unit_id": "3048974", "campaign_id": nil, "creative_material_type": nil,
			"photo_id": nil, "image_token": nil, "put_status": "1", "status": "41", "review_detail": nil,
			"create_time": sqldb.At(at(t, "2020-12-17 19:02:18")), "update_time": sqldb.At(row.Modified),
		})
	}
	now := time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC) // the 21st in China
	page, err = l.Page(t.Context(), s, media.ListQuery{Variant: "program", Since: now.Add(-time.Second), Until: now}, "")
	require.NoError(t, err)
	require.Contains(t, s.asked[1], `"end_date":"2026-11-21"`)
	require.Contains(t, s.asked[1], `"start_date":"2026-11-20"`)
	require.Equal(t, []string{"3048974", "3048975"}, page.Counted, "a package may have no creatives yet")
	require.Len(t, page.Rows, 2)
	require.True(t, page.Rows[0].Deleted)
}

// A creative that is not listed counts as deleted: a package that cannot be read keeps the list from being whole.
func TestCreatives_OfABrokenPackage(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{`null`, `5`, `{}`, `{"unit_id":1}`, `{"unit_id":1,"creatives":null}`,
		`{"unit_id":1,"creatives":5}`, `{"creatives":[]}`, `{"unit_id":"x","creatives":[{"creative_id":7}]}`} {
		page, err := listOf(t, "creative").Page(t.Context(), answering(t, rows(packageRow, broken)),
			media.ListQuery{Variant: "program"}, "")
		require.NoError(t, err, broken)
		require.Len(t, page.Counted, 2, broken)
		lost := false
		for _, fault := range page.Faults {
			lost = lost || fault.Kind == wire.KeyFault
		}
		require.True(t, lost, broken)
		require.Len(t, page.Rows, 2, "%s: the other package is whole", broken)
	}
	for _, broken := range []string{`null`, `{}`, `{"creative_id":"x"}`} {
		page, err := listOf(t, "creative").Page(t.Context(),
			answering(t, rows(`{"unit_id":1,"creatives":[{"creative_id":7},`+broken+`]}`)),
			media.ListQuery{Variant: "program"}, "")
		require.NoError(t, err, broken)
		require.Len(t, page.Rows, 2, broken)
		require.False(t, page.Rows[0].Lost)
		require.True(t, page.Rows[1].Lost, broken)
	}
}

// The row of document 2639.
const videoRow = `{"cover_url":"http://ali2.a.kwimgs.com/1.jpg?tag=1","photo_id":"5208131608549181870",` +
	`"photo_name":"图文视频_5208131608549181870","create_time":"2023-09-27 17:04:37",` +
	`"signature":"52154adsagaxg498489a99249535","photo_tag_identify_items":null,"new_status":1,"source":0,"url":"",` +
	`"duration":1000,"upload_time":"2023-09-27 17:04:38","photo_tag":["这是一个长标签"],"width":1080,"height":1920,"status":0}`

func TestVideos_ReadTheSample(t *testing.T) {
	t.Parallel()
	l := listOf(t, "video")
	s := answering(t, rows(videoRow))
	page, err := l.Page(t.Context(), s, media.ListQuery{}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`v1/file/ad/video/list {"advertiser_id":20000681,"page":1,"page_size":200}`}, s.asked)
	row := page.Rows[0]
	require.Equal(t, "5208131608549181870", row.Object)
	require.False(t, row.Deleted)
	requireColumns(t, l, row, map[string]any{
		"photo_name": "图文视频_5208131608549181870", "signature": "52154adsagaxg498489a99249535", "duration": int64(1000),
		"width": int64(1080), "height": int64(1920), "new_status": "1", "source": "0",
		"create_time": sqldb.At(at(t, "2023-09-27 17:04:37")), "upload_time": sqldb.At(at(t, "2023-09-27 17:04:38")),
	})
	for status, deleted := range map[string]bool{"0": true, "14": true, "1": false, "2": false, "3": false, "11": false,
		"12": false, "13": false, `"14"`: true, `null`: false, `{}`: false} {
		s := answering(t, rows(`{"photo_id":"a","new_status":`+status+`}`))
		page, err := l.Page(t.Context(), s, media.ListQuery{}, "")
		require.NoError(t, err)
		require.Equal(t, deleted, page.Rows[0].Deleted, status)
	}
	page, err = l.Page(t.Context(), answering(t, rows(`{"photo_id":"a","new_status":0}`)), media.ListQuery{}, "")
	require.NoError(t, err)
	require.Equal(t, "0", column(t, l, page.Rows[0], "new_status"), "a code of 0 is a value")
}

// The rows of document 2629: tokens of either form, and the times of files in milliseconds.
func TestImages_ReadTheSample(t *testing.T) {
	t.Parallel()
	l := listOf(t, "image")
	require.True(t, l.NoSince)
	long := "aW1hZ2UtcGtnOmFkX2RzcF9pbWFnZV91cGxvYWQ6MTM0NTU3MjczNjpNRVJDSEFOVDpbQkA1ZjkzOTA5ZToxMDQ4OTIwMjM5NzM2.png"
	s := answering(t, rows(`{"url":"https://static.yximgs.com/1.png","width":1686,"height":948,"size":43804,`+
		`"format":"mjpeg","signature":"c5d1a2cb79017b4f75d8af6e3357f9ee","name":"image (3).png","pic_type":6,`+
		`"image_token":"`+long+`","pic_id":"5255700773077995990","pic_tag":["磁力引擎"],"create_time":1699858653896}`,
		`{"image_token":"marketd0f142fd769748b19d1967423cab2493.jpg","pic_id":"hfdsa1h23hl6d7","pic_type":0}`))
	page, err := l.Page(t.Context(), s, media.ListQuery{Since: time.Now(), Until: time.Now()}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`v1/file/ad/image/list {"advertiser_id":20000681,"page":1,"page_size":500}`}, s.asked,
		"start_date and end_date select by the day of creation")
	first, second := page.Rows[0], page.Rows[1]
	require.False(t, first.Lost, "%v", first.Faults)
	require.Empty(t, first.Faults)
	require.Equal(t, "5255700773077995990", column(t, l, first, "pic_id"))
	require.Equal(t, int64(43_804), column(t, l, first, "size"))
	require.Equal(t, "mjpeg", column(t, l, first, "format"))
	require.Equal(t, sqldb.At(time.UnixMilli(1_699_858_653_896)), column(t, l, first, "create_time"))
	require.Equal(t, "marketd0f142fd769748b19d1967423cab2493.jpg", second.Object)
	require.Equal(t, "0", column(t, l, second, "pic_type"), "a code of 0 is a value")
	require.Equal(t, sqldb.Time{}, column(t, l, second, "create_time"))

	// A creative whose cover is that image names the same object.
	s = answering(t, rows(`{"creative_id":1,"image_token":"`+long+`"}`))
	page, err = listOf(t, "creative").Page(t.Context(), s, media.ListQuery{Variant: "custom"}, "")
	require.NoError(t, err)
	require.Equal(t, []rawtable.AssetUse{{Kind: rawtable.AssetImage, ID: first.Object}}, page.Rows[0].Assets)
	require.Equal(t, long, column(t, listOf(t, "creative"), page.Rows[0], "image_token"))

	// A time that no database holds is not written.
	for _, broken := range []string{"1699858653896000", "-1", "1e300", `"x"`} {
		page, err := l.Page(t.Context(), answering(t, rows(`{"image_token":"a","create_time":`+broken+`}`)),
			media.ListQuery{}, "")
		require.NoError(t, err)
		require.Equal(t, sqldb.Time{}, column(t, l, page.Rows[0], "create_time"), broken)
		require.Len(t, page.Rows[0].Faults, 1, broken)
	}
}

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

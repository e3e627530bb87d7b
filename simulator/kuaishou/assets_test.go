package kuaishou_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

const (
	videoList  = "v1/file/ad/video/list"
	videoGet   = "v1/file/ad/video/get"
	byCursor   = "gw/dsp/video/listByCursor"
	imageList  = "v1/file/ad/image/list"
	imageGet   = "v1/file/ad/image/get"
	fundGet    = "v1/advertiser/fund/get"
	dailyFlows = "v1/advertiser/fund/daily_flows"
	budgetGet  = "v1/advertiser/budget/get"
	operations = "v1/tool/operation_record/list"
)

func TestAssets_AreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	var videos, images []string
	for _, x := range a.Assets(world.AssetVideo, s.Now()) {
		videos = append(videos, x.ID)
	}
	for _, x := range a.Assets(world.AssetImage, s.Now()) {
		images = append(images, x.ID)
	}
	listed := s.rows(a, videoList, nil)
	require.Equal(t, videos, simtest.Texts(listed, "photo_id"))
	require.IsType(t, "", listed[0]["photo_id"], "the id is a text")
	pictures := s.rows(a, imageList, nil)
	require.Equal(t, images, simtest.Texts(pictures, "image_token"))
	require.IsType(t, "", pictures[0]["pic_id"])
	require.Len(t, simtest.Text(simtest.Number(t, pictures[0], "create_time")), 13,
		"the time of an image is in milliseconds")

	w := s.call(a, videoGet, fields{"photo_ids": []string{videos[2], videos[5]}})
	data := simtest.Decoded(t, w)["data"].([]any)
	require.Len(t, data, 2, "data is an array")
	require.Equal(t, listed[2], data[0])
	photo := s.rows(a, "gw/dsp/creative/list", nil)[0]["photo_id"]
	require.Len(t, s.rows(a, videoList, fields{"photo_ids": []any{photo}}), 1, "creatives name the same ids")
}

func TestAssets_ByCursor(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	var ids []string
	cursor := json.Number("0")
	for {
		page := simtest.Data(t, s.call(a, byCursor, fields{"cursor": cursor, "limit": 90}))["details"].([]any)
		if len(page) == 0 {
			break
		}
		for _, x := range page {
			ids = append(ids, x.(fields)["photo_id"].(string))
			cursor = x.(fields)["cursor"].(json.Number)
		}
	}
	require.Equal(t, simtest.Texts(s.rows(a, videoList, nil), "photo_id"), ids)
	require.Greater(t, len(ids), 90)
}

func TestAssets_Conditions(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	video := s.rows(a, videoList, nil)[4]
	image := s.rows(a, imageList, nil)[4]
	for _, body := range []fields{
		{"photo_ids": []any{video["photo_id"]}}, {"photo_ids": []any{json.Number(video["photo_id"].(string))}},
		{"signature": video["signature"]}, {"photo_name": video["photo_name"]},
	} {
		require.Equal(t, []fields{video}, s.rows(a, videoList, body), "%v", body)
	}
	require.Empty(t, s.rows(a, videoList, fields{"outer_loop_native": 1}))
	require.Empty(t, s.rows(a, videoList, fields{"photo_user_id": 7}))
	for _, body := range []fields{
		{"image_tokens": []any{image["image_token"]}}, {"image_token": image["image_token"]},
		{"signature": image["signature"]},
	} {
		require.Equal(t, []fields{image}, s.rows(a, imageList, body), "%v", body)
	}
	for _, x := range s.rows(a, imageList, fields{"pic_types": []int{5}}) {
		require.Equal(t, json.Number("5"), x["pic_type"])
	}
	recent := s.rows(a, videoList, fields{"start_date": "2026-10-01", "end_date": "2026-11-15"})
	require.NotEmpty(t, recent)
	require.Equal(t, recent,
		s.rows(a, videoList, fields{"update_start_date": "2026-10-01", "update_end_date": "2026-11-15"}))
	for _, x := range recent {
		require.GreaterOrEqual(t, x["create_time"], "2026-10-01")
	}
}

// get makes a call by GET, with a body or a query.
func (s *sim) get(a *world.Account, path string, q url.Values, body string) *httptest.ResponseRecorder {
	target := base + path
	if q != nil {
		target += "?" + q.Encode()
	}
	r := httptest.NewRequest(http.MethodGet, target, strings.NewReader(body))
	r.Header.Set("Access-Token", s.Token(a))
	return s.Do(r)
}

func TestFunds_TakeThreeForms(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	image := s.rows(a, imageList, nil)[0]["image_token"].(string)
	id := simtest.Text(a.ID)
	for path, q := range map[string]url.Values{
		fundGet: simtest.Query("advertiser_id", id),
		dailyFlows: simtest.Query("advertiser_id", id, "start_date", "2026-11-10", "end_date", "2026-11-13", "page_size",
			"2"),
		imageGet: simtest.Query("advertiser_id", id, "image_token", image),
	} {
		body := fields{}
		for name := range q {
			body[name] = q.Get(name)
		}
		want := simtest.Data(t, s.call(a, path, body))
		require.Equal(t, want, simtest.Data(t, s.get(a, path, q, "")), "%s by query", path)
		require.Equal(t, want, simtest.Data(t, s.get(a, path, nil, simtest.JSON(body))), "%s with a body", path)
	}
}

func TestFunds_AreTheMoneyOfTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	v := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	d := simtest.Data(t, s.call(a, fundGet, nil))
	now := v.FundNow(a).Balance
	require.Equal(t, [3]int64{now.Total(), now.Cash, now.Grant},
		[3]int64{fen(t, d, "balance"), fen(t, d, "recharge_balance"), fen(t, d, "contract_rebate")})

	from, _ := world.ParseDay("2026-11-02")
	days := v.FundDays(a, from, from+12)
	rows := s.rows(a, dailyFlows, fields{"start_date": "2026-11-02", "end_date": "2026-11-14"})
	require.Len(t, rows, len(days))
	for i, x := range rows {
		require.Equal(t, world.FormatDay(days[i].Day), x["date"])
		require.Equal(t, days[i].Paid.Total(), fen(t, x, "daily_charge"))
		require.Equal(t, days[i].Paid.Total(), fen(t, x, "real_charged")+fen(t, x, "contract_rebate_real_charged"))
		if i > 0 {
			require.Equal(t, fen(t, rows[i-1], "balance"), fen(t, x, "balance")-fen(t, x, "daily_transfer_in")+
				fen(t, x, "daily_transfer_out")+fen(t, x, "daily_charge"))
		}
	}
	require.Empty(t, s.rows(a, dailyFlows, nil), "without days it is today, which is not published")
}

func TestFunds_BudgetIsInLi(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	kinds := map[string]bool{}
	for i := range 40 {
		d := simtest.Data(t, s.call(s.Account(i), budgetGet, nil))
		week := d["day_budget_schedule"].([]any)
		switch day := simtest.Number(t, d, "day_budget"); {
		case len(week) == 7:
			kinds["by day of the week"] = true
		case day == 0:
			kinds["no limit"] = true
		default:
			require.GreaterOrEqual(t, day, int64(500_000), "500 yuan are the minimum")
			kinds["by day"] = true
		}
	}
	require.Len(t, kinds, 3)
}

func TestAssetsAndFunds_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for _, c := range []struct {
		path string
		body fields
	}{
		{videoList, fields{"page_size": 201}}, {videoList, fields{"photo_ids": make([]string, 101)}},
		{videoList, fields{"photo_ids": "x"}}, {videoList, fields{"start_date": "2026-11-01"}},
		{videoList, fields{"update_end_date": "2026-11-01"}}, {videoList, fields{"outer_loop_native": 2}},
		{videoGet, nil}, {videoGet, fields{"photo_ids": []string{}}},
		{byCursor, nil}, {byCursor, fields{"cursor": "x"}}, {byCursor, fields{"cursor": 0, "limit": 1001}},
		{imageList, nil}, {imageList, fields{"page": 1}}, {imageList, fields{"page": 1, "page_size": 501}},
		{imageList, fields{"page": 1, "page_size": 10, "pic_types": []int{1}}},
		{imageList, fields{"page": 1, "page_size": 10, "image_tokens": make([]string, 101)}},
		{imageGet, nil}, {imageGet, fields{"image_token": "x"}},
		{dailyFlows, fields{"page_size": 501}}, {dailyFlows, fields{"start_date": "x"}},
		{dailyFlows, fields{"start_date": "2026-11-12", "end_date": "2026-11-11"}},
		{operations, fields{"page_size": 501}}, {operations, fields{"start_date": "2026-05-14", "end_date": "2026-06-01"}},
		{operations, fields{"operation_type": 3}}, {operations, fields{"operation_target": "x"}},
		{operations, fields{"role_type": "x"}}, {operations, fields{"start_date": "2026-11-01"}},
	} {
		require.Equal(t, 401000, simtest.Code(t, s.call(a, c.path, c.body)), "%s %v", c.path, c.body)
	}
	require.Equal(t, 0, simtest.Code(t, s.call(a, imageList, fields{"page": 1, "page_size": 500})))
	require.Equal(t, 0, simtest.Code(t, s.call(a, operations, fields{"start_date": "2026-05-15", "end_date": "2026-06-01",
		"page_size": 500})))
	for _, path := range []string{videoList, videoGet, byCursor, imageList, imageGet, fundGet, dailyFlows, budgetGet,
		operations} {
		require.Equal(t, 400004, simtest.Code(t, s.call(a, path, fields{"advertiser_id": 1})), path)
	}
}

func TestAssets_SomeHaveNoTimeOrLength(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	s.Order("traps", fields{"name": "undated_file", "on": true})
	require.Contains(t, simtest.Texts(s.rows(a, videoList, nil), "create_time"), "1970-01-01 08:00:00")
	s.Order("traps", fields{"name": "null_value", "on": true})
	without := 0
	for _, x := range s.rows(a, videoList, nil) {
		if _, isNumber := x["duration"].(json.Number); !isNumber {
			without++
		}
	}
	require.NotZero(t, without)
}

func TestOperations_AreTheChangesOfObjects(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	records := s.rows(a, operations, fields{"start_date": "2026-11-08", "end_date": "2026-11-15"})
	require.NotEmpty(t, records)
	seen := map[string]bool{}
	for _, x := range records {
		require.GreaterOrEqual(t, x["operation_time"], "2026-11-08")
		seen["type "+x["operation_type"].(json.Number).String()] = true
		seen["target "+x["operation_target"].(json.Number).String()] = true
		require.Equal(t, x["operation_type"] == json.Number("2"), len(x["content_log"].([]any)) > 0, "%v", x)
		for _, change := range x["content_log"].([]any) {
			c := change.(fields)
			require.NotEqual(t, c["original_data"], c["update_data"])
			seen[c["field_name"].(string)] = true
			if c["update_data"] == "删除" {
				seen["deleted"] = true
			}
		}
	}
	for _, what := range []string{"type 1", "type 2", "target 2", "target 3", "target 4", "target 9", "name", "day_budget",
		"cpa_bid", "put_status", "deleted"} {
		require.Contains(t, seen, what)
	}
	times := simtest.Texts(records, "operation_time")
	for i := range times[1:] {
		require.GreaterOrEqual(t, times[i], times[i+1], "the newest is first")
	}
	for name, value := range map[string]string{"operation_target": "3", "role_type": "5", "operation_type": "1"} {
		require.Equal(t, filter(records, name, value), s.rows(a, operations, fields{name: json.Number(value),
			"start_date": "2026-11-08", "end_date": "2026-11-15"}))
	}

	// A unit's latest record is of its update, or of an earlier one if that changed none of these fields.
	latest := map[string]string{}
	for _, x := range s.rows(a, operations, fields{"operation_target": 3}) {
		if id := x["object_id"].(string); latest[id] == "" {
			latest[id] = x["operation_time"].(string)
		}
	}
	for _, x := range s.rows(a, "gw/dsp/unit/list", fields{"status": -2}) {
		if at := latest[x["unit_id"].(json.Number).String()]; at != "" {
			require.LessOrEqual(t, at, x["update_time"])
		}
	}
}

// filter returns the rows whose field has a number.
func filter(rows []fields, name, value string) (list []fields) {
	for _, x := range rows {
		if x[name] == json.Number(value) {
			list = append(list, x)
		}
	}
	return list
}

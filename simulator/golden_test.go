package simulator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The samples here are written out as the platforms' documents show them. They pin each unit: fen as integers, yuan as
// numbers and as strings, ids of 19 digits as numbers and as strings, times as seconds and as China's wall time.

// sameWire compares digit by digit: read as JSON, numbers of 19 digits would be rounded before they are compared.
func sameWire(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, want, got)
}

func sampleFigures() (f figures) {
	f[cost], f[impressions], f[clicks], f[activations] = 29_866, 5809, 66, 6 // 298.66 yuan
	return f
}

func TestGolden_TencentReportRowIsInFen(t *testing.T) {
	t.Parallel()
	day, err := parseDay("2026-11-01")
	require.NoError(t, err)
	fields := []string{"date", "adgroup_id", "cost", "view_count", "valid_click_count", "activated_count", "ctr", "cpc", "thousand_display_price"}
	q := &tencentQuery{fields: fields}
	for _, f := range fields {
		q.columns = append(q.columns, tencentFields[f])
	}
	w := &jsonWriter{}
	newTencent().writeRow(&call{}, w, q, &row{day: day, hour: noHour, object: 41_000_001, figures: sampleFigures()})
	sameWire(t, `{"date":"2026-11-01","adgroup_id":41000001,"cost":29866,"view_count":5809,"valid_click_count":66,"activated_count":6,`+
		`"ctr":0.0114,"cpc":453,"thousand_display_price":5141}`, string(w.b))
}

func TestGolden_OceanEngineReportIsInYuanAsStrings(t *testing.T) {
	t.Parallel()
	f := figures{}
	f[cost], f[impressions], f[clicks], f[payAmountD1] = 1234, 1000, 7, 5
	q := &oceanQuery{}
	for _, name := range []string{"stat_cost", "show_cnt", "ctr", "cpc_platform", "active_pay", "attribution_game_in_app_ltv_1day"} {
		q.metrics = append(q.metrics, oceanMetricByName[name])
	}
	w := &jsonWriter{}
	newOceanEngine().writeMetrics(w, "metrics", q, &f)
	require.Equal(t, `"metrics":{"stat_cost":"12.34","show_cnt":"1000","ctr":"0.70","cpc_platform":"1.76","active_pay":"0",`+
		`"attribution_game_in_app_ltv_1day":"0.05"}`, string(w.b))
	r := &row{day: dayOf(time.Date(2022, 8, 2, 5, 0, 0, 0, zone).Unix()), hour: 14, object: 7_300_000_000_000_000_001, ad: &ad{project: 7200}}
	values := map[string]string{}
	for _, d := range oceanDimensions {
		if d.name != "cdp_promotion_name" && d.name != "cdp_project_name" && d.compare(r, &row{ad: &ad{}}) != 0 { // all rows are alike in the others
			values[d.name] = d.value(q, r)
		}
	}
	require.Equal(t, map[string]string{
		"stat_time_day": "2022-08-02", "stat_time_hour": "2022-08-02 14:00 - 14:59", "cdp_project_id": "7200",
		"cdp_promotion_id": "7300000000000000001",
	}, values)
}

func TestGolden_PromotionIsInYuanAsNumbers(t *testing.T) {
	t.Parallel()
	modified := time.Date(2026, 11, 20, 10, 0, 0, 0, zone).Unix()
	x := promotion{&account{id: 1_700_000_000_000_001}, modified, &object{
		ad: ad{id: 7_300_000_000_000_000_001, project: 7_200_000_000_000_000_001}, name: "p1", budget: 30_050, bid: 3005, modified: modified,
	}}
	w := &jsonWriter{}
	w.open('{')
	for _, f := range []string{
		"promotion_id", "promotion_name", "project_id", "advertiser_id", "status_first", "opt_status", "budget", "budget_mode",
		"promotion_modify_time", "cpa_bid",
	} {
		w.key(f)
		promotionFields[f](w, x)
	}
	w.close('}')
	sameWire(t, `{"promotion_id":7300000000000000001,"promotion_name":"p1","project_id":7200000000000000001,`+
		`"advertiser_id":1700000000000001,"status_first":"PROMOTION_STATUS_ENABLE","opt_status":"ENABLE","budget":300.5,`+
		`"budget_mode":"BUDGET_MODE_DAY","promotion_modify_time":"2026-11-20 10:00:00","cpa_bid":30.05}`, string(w.b))
}

// Document 1741028841006095: what is told of a material stands with the video, or with each image of an item.
func TestGolden_MaterialsHaveTheirIDsAndStates(t *testing.T) {
	t.Parallel()
	w := &jsonWriter{}
	w.open('{')
	w.textField("image_id", "web/i1")
	(&listedCreative{creative: creative{material: 7_010_000_000_000_000_001}, status: statusPaused}).writeMaterial(w)
	w.close('}')
	sameWire(t, `{"image_id":"web/i1","material_id":7010000000000000001,"material_opt_status":"DISABLE","material_status":"MATERIAL_STATUS_DISABLE"}`, string(w.b))
}

func TestGolden_AdgroupIsInFenAndSeconds(t *testing.T) {
	t.Parallel()
	x := adgroup{&object{ad: ad{id: 41_000_001}, name: `g"1`, budget: 30_050, bid: 3005, modified: 1_795_150_000}}
	w := &jsonWriter{}
	w.open('{')
	for _, f := range []string{"adgroup_id", "adgroup_name", "configured_status", "last_modified_time", "daily_budget", "bid_amount", "is_deleted"} {
		w.key(f)
		adgroupFields[f](w, x)
	}
	w.close('}')
	sameWire(t, `{"adgroup_id":41000001,"adgroup_name":"g\"1","configured_status":"AD_STATUS_NORMAL",`+
		`"last_modified_time":1795150000,"daily_budget":30050,"bid_amount":3005,"is_deleted":false}`, string(w.b))
}

func TestGolden_TruthIsInMicros(t *testing.T) {
	t.Parallel()
	p := newTencent().spec()
	day, err := parseDay("2026-11-15")
	require.NoError(t, err)
	q := &truthQuery{p: p}
	line := q.rowLine(nil, &account{p: p, id: 20_000_001}, &row{day: day, hour: 13, object: 41_000_001, figures: sampleFigures()}, &silence{})
	sameWire(t, `{"account":"20000001","day":"2026-11-15","hour":13,"object":"41000001","metrics":{"cost":298660000,"impressions":5809,`+
		`"clicks":66,"downloads":0,"installs":0,"activations":6,"registrations":0,"conversions":0,"deep_conversions":0,"first_pays":0,"pays":0,`+
		`"pay_amount":0,"pay_amount_d1":0,"pay_amount_d3":0,"pay_amount_d7":0,"next_day_retained":0}}`, string(line))
	sameWire(t, `{"account":"5","object":"6","name":"a","parent":"","status":"paused","daily_budget":300500000,"bid":30050000,"created":1,"modified":2,"deleted":false}`,
		string(objectLine(nil, &account{id: 5}, &object{ad: ad{id: 6, created: 1}, name: "a", status: statusPaused, budget: 30_050, bid: 3005, modified: 2})))
}

func TestGolden_ErrorEnvelopes(t *testing.T) {
	t.Parallel()
	s := newSim(t, Config{})
	w := s.do(s.tencentRequest("00000000000000000000000000000000", "adgroups/get", query("account_id", "1")))
	require.Equal(t, 200, w.Code)
	v := decoded(t, w)
	require.Equal(t, w.Header().Get("X-TSA-Trace-Id"), v["trace_id"])
	require.Regexp(t, `^[0-9a-f]{32}$`, v["trace_id"])
	require.Equal(t, "BusinessException", v["code_type"])
	require.NotContains(t, v, "data")
	require.Equal(t, "application/json;charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, "Sun, 15 Nov 2026 04:34:56 GMT", w.Header().Get("Date"), "the world's time")

	w = s.do(oceanRequest("x", "v3.0/promotion/list/", query("advertiser_id", "1")))
	require.Equal(t, 200, w.Code)
	v = decoded(t, w)
	require.Contains(t, v, "request_id")
	require.NotContains(t, v, "data")
	require.Equal(t, 40104, code(t, w))
}

package oceanengine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The samples here are copied from the documents. They check each unit.

func oceanSampleFund() (*world.Account, world.FundNow, world.FundDay) {
	a := &world.Account{Platform: &world.Spec{Name: "sample"}, ID: 25_610, Index: 3}
	n := world.FundNow{Balance: world.Funds{Cash: 120_005, Grant: 3050}, PaidToday: world.Funds{Cash: 98, Grant: 2},
		Locked: 100}
	d := world.FundDay{
		Day:     world.DayOf(time.Date(2026, 11, 15, 12, 34, 56, 0, world.Zone).Unix()),
		Deposit: world.Funds{Cash: 100_000, Grant: 5}, Paid: world.Funds{Cash: 50_000, Grant: 70},
		TransferIn: world.Funds{Cash: 1_100_000}, TransferOut: world.Funds{Cash: 55_050},
		Balance: world.Funds{Cash: 300_000, Grant: 1},
	}
	return a, n, d
}

func TestGolden_OceanEngineReportIsInYuanAsStrings(t *testing.T) {
	t.Parallel()
	f := world.Figures{}
	f[world.Cost], f[world.Impressions], f[world.Clicks], f[world.PayAmountD1] = 1234, 1000, 7, 5
	q := &oceanQuery{}
	for _, name := range []string{"stat_cost", "show_cnt", "ctr", "cpc_platform", "active_pay",
		"attribution_game_in_app_ltv_1day"} {
		q.metrics = append(q.metrics, oceanMetricByName[name])
	}
	w := &platform.Writer{}
	writeMetrics(w, "metrics", q, &f)
	sameWire(t, `"metrics":{"stat_cost":"12.34","show_cnt":"1000","ctr":"0.70","cpc_platform":"1.76","active_pay":"0",`+
		`"attribution_game_in_app_ltv_1day":"0.05"}`, string(w.Bytes))
	r := &world.Row{Day: world.DayOf(time.Date(2022, 8, 2, 5, 0, 0, 0, world.Zone).Unix()), Hour: 14,
		Object: 7_300_000_000_000_000_001, Ad: &world.Ad{Project: 7200}}
	values := map[string]string{}
	for _, d := range oceanDimensions {
		// all rows are equal in the others
		if d.name != "cdp_promotion_name" && d.name != "cdp_project_name" && d.compare(r, &world.Row{Ad: &world.Ad{}}) != 0 {
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
	modified := time.Date(2026, 11, 20, 10, 0, 0, 0, world.Zone).Unix()
	x := promotion{&world.Account{ID: 1_700_000_000_000_001}, modified, &world.Object{
		Ad: world.Ad{ID: 7_300_000_000_000_000_001, Project: 7_200_000_000_000_000_001}, Name: "p1", Budget: 30_050,
		Bid: 3005, Modified: modified,
	}}
	w := &platform.Writer{}
	w.Open('{')
	for _, f := range []string{
		"promotion_id", "promotion_name", "project_id", "advertiser_id", "status_first", "opt_status", "budget",
		"budget_mode",
		"promotion_modify_time", "cpa_bid",
	} {
		w.Key(f)
		promotionFields[f](w, x)
	}
	w.Close('}')
	sameWire(t, `{"promotion_id":7300000000000000001,"promotion_name":"p1","project_id":7200000000000000001,`+
		`"advertiser_id":1700000000000001,"status_first":"PROMOTION_STATUS_ENABLE","opt_status":"ENABLE","budget":300.5,`+
		`"budget_mode":"BUDGET_MODE_DAY","promotion_modify_time":"2026-11-20 10:00:00","cpa_bid":30.05}`, string(w.Bytes))
}

// Document 1741028841006095: the fields of a material are in the video, or in each image of an item.
func TestGolden_MaterialsHaveTheirIDsAndStates(t *testing.T) {
	t.Parallel()
	w := &platform.Writer{}
	w.Open('{')
	w.TextField("image_id", "web/i1")
	writeMaterial(w, &world.ListedCreative{Creative: world.Creative{Material: 7_010_000_000_000_000_001},
		Status: world.StatusPaused})
	w.Close('}')
	sameWire(t,
		`{"image_id":"web/i1","material_id":7010000000000000001,"material_opt_status":"DISABLE",`+
			`"material_status":"MATERIAL_STATUS_DISABLE"}`, string(w.Bytes))
}

func TestGolden_OceanEngineFundsAreInYuanAsNumbers(t *testing.T) {
	t.Parallel()
	a, n, d := oceanSampleFund()
	w := &platform.Writer{}
	writeOceanFund(w, a, n, false)
	sameWire(t, `{"advertiser_id":25610,"name":"`+a.Name()+
		`","email":"","balance":1230.55,"valid_balance":1229.55,"cash":1200.05,"valid_cash":1199.05,`+
		`"grant":30.5,"valid_grant":30.5}`, string(w.Bytes))
	w = &platform.Writer{}
	writeOceanFundDay(w, a, d)
	sameWire(t,
		`{"advertiser_id":25610,"date":"2026-11-15","balance":3000.01,"grant_balance":0.01,"non_grant_balance":3000,`+
			`"cash_cost":500,"cost":500.7,`+
			`"frozen":0,"income":1000.05,"reward_cost":0.7,"shared_wallet_cost":0,"company_wallet_cost":0,"transfer_in":11000,`+
			`"transfer_out":550.5,`+
			`"realtime_coupon_cost":0,"deduction_cost":0,"compensation_reward_cost":0,"return_goods_reward_cost":0}`,
		string(w.Bytes))
}

// sameWire compares all digits: a JSON decoder would round numbers of 19 digits before the comparison.
func sameWire(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, want, got)
}

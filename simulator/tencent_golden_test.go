package simulator

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The samples here are written out as the documents show them. They pin each unit.

func tencentSampleFigures() (f figures) {
	f[cost], f[impressions], f[clicks], f[activations] = 29_866, 5809, 66, 6 // 298.66 yuan
	return f
}

func tencentSampleFund() (*account, fundNow, fundDay) {
	a := &account{p: &spec{name: "sample"}, id: 25_610, index: 3}
	n := fundNow{balance: funds{cash: 120_005, grant: 3050}, paidToday: funds{cash: 98, grant: 2}, locked: 100}
	d := fundDay{
		day: dayOf(time.Date(2026, 11, 15, 12, 34, 56, 0, zone).Unix()), deposit: funds{cash: 100_000, grant: 5}, paid: funds{cash: 50_000, grant: 70},
		transferIn: funds{cash: 1_100_000}, transferOut: funds{cash: 55_050}, balance: funds{cash: 300_000, grant: 1},
	}
	return a, n, d
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
	(&tencent{}).writeRow(&call{}, w, q, &row{day: day, hour: noHour, object: 41_000_001, figures: tencentSampleFigures()})
	require.Equal(t, `{"date":"2026-11-01","adgroup_id":41000001,"cost":29866,"view_count":5809,"valid_click_count":66,"activated_count":6,`+
		`"ctr":0.0114,"cpc":453,"thousand_display_price":5141}`, string(w.b))
}

func TestGolden_AdgroupIsInFenAndSeconds(t *testing.T) {
	t.Parallel()
	x := adgroup{object: &object{ad: ad{id: 41_000_001}, name: `g"1`, budget: 30_050, bid: 3005, modified: 1_795_150_000}}
	w := &jsonWriter{}
	w.open('{')
	for _, f := range []string{"adgroup_id", "adgroup_name", "configured_status", "last_modified_time", "daily_budget", "bid_amount", "is_deleted"} {
		w.key(f)
		adgroupFields[f](w, x)
	}
	w.close('}')
	require.Equal(t, `{"adgroup_id":41000001,"adgroup_name":"g\"1","configured_status":"AD_STATUS_NORMAL",`+
		`"last_modified_time":1795150000,"daily_budget":30050,"bid_amount":3005,"is_deleted":false}`, string(w.b))
}

func TestGolden_TencentFundsAreInFen(t *testing.T) {
	t.Parallel()
	_, n, d := tencentSampleFund()
	w := &jsonWriter{}
	writeTencentFund(w, "FUND_TYPE_CASH", n.balance.cash, n.locked, n.paidToday.cash)
	require.Equal(t, `{"fund_type":"FUND_TYPE_CASH","balance":120005,"bill_deposit_amount":100,"fund_status":"FUND_STATUS_NORMAL","realtime_cost":98}`, string(w.b))
	w = &jsonWriter{}
	writeTencentFlow(w, tencentFlow{account: 25_610, kind: "FUND_TYPE_CASH", of: func(f funds) int64 { return f.cash }, fundDay: d})
	require.Equal(t, `{"account_id":25610,"fund_type":"FUND_TYPE_CASH","time":1794672000,"deposit":100000,"paid":50000,"trans_in":1100000,"trans_out":55050,`+
		`"credit_modify":0,"balance":300000,"preauth_balance":0,"preauth_out_pay":0,"preauth_in_refund":0,"acct_out_pay":50000,`+
		`"acct_out_pay_share":50000,"share_out_pay":0}`, string(w.b))
}

func TestTencentDocuments_CreativeSaysWhatItShowsInTexts(t *testing.T) {
	t.Parallel()
	w := &world{seed: 7, accounts: 40, specs: []*spec{newTencent().spec()}}
	sample := w.account(w.specs[0], 0)
	a, now := &sample, time.Date(2026, 11, 15, 12, 34, 56, 0, zone).Unix()
	idText := func(id int64) string { return strconv.FormatInt(id, 10) }
	wire := func(fits func(x *listedCreative) bool) (*listedCreative, string) {
		for _, c := range a.creatives(now) {
			if !fits(&c) {
				continue
			}
			w := &jsonWriter{}
			dynamicCreative{a, &c}.writeComponents(w)
			return &c, string(w.b)
		}
		t.Fatal("no such creative")
		return nil, ""
	}
	video, got := wire(func(x *listedCreative) bool { return x.isVideo() && x.swaps == 0 })
	shown := video.assets(a)
	require.Equal(t, `{"title":[{"component_id":`+idText(video.id*10)+`,"value":{"content":"`+video.name+`"},"is_deleted":false}],`+
		`"video":[{"component_id":`+idText(video.id*10+1)+`,"value":{"video_id":"`+shown[0].id+`","cover_id":"`+shown[1].id+`"},"is_deleted":false}]}`, got)

	image, got := wire(func(x *listedCreative) bool { return !x.isVideo() && x.swaps > 0 && len(x.assets(a)) == 1 })
	require.Equal(t, `{"title":[{"component_id":`+idText(image.id*10)+`,"value":{"content":"`+image.name+`"},"is_deleted":false}],`+
		`"image":[{"component_id":`+idText(image.id*10+1)+`,"value":{"image_id":"`+image.assets(a)[0].id+`"},"is_deleted":false},`+
		`{"component_id":`+idText(image.id*10+2)+`,"value":{"image_id":"`+image.assetsOf(a, image.swaps-1)[0].id+`"},"is_deleted":true}]}`, got)
}

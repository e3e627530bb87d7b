package tencent

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The samples here are copied from the documents. They check each unit.

func tencentSampleFigures() (f world.Figures) {
	f[world.Cost], f[world.Impressions], f[world.Clicks], f[world.Activations] = 29_866, 5809, 66, 6 // 298.66 yuan
	return f
}

func tencentSampleFund() (*world.Account, world.FundNow, world.FundDay) {
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

func TestGolden_TencentReportRowIsInFen(t *testing.T) {
	t.Parallel()
	day, err := world.ParseDay("2026-11-01")
	require.NoError(t, err)
	fields := []string{"date", "adgroup_id", "cost", "view_count", "valid_click_count", "activated_count", "ctr", "cpc",
		"thousand_display_price"}
	q := &tencentQuery{fields: fields}
	for _, f := range fields {
		q.columns = append(q.columns, tencentFields[f])
	}
	w := &platform.Writer{}
	(&tencent{}).writeRow(&platform.Call{}, w, q, &world.Row{Day: day, Hour: world.NoHour, Object: 41_000_001,
		Figures: tencentSampleFigures()})
	sameWire(t,
		`{"date":"2026-11-01","adgroup_id":41000001,"cost":29866,"view_count":5809,"valid_click_count":66,`+
			`"activated_count":6,`+
			`"ctr":0.0114,"cpc":453,"thousand_display_price":5141}`, string(w.Bytes))
}

func TestGolden_AdgroupIsInFenAndSeconds(t *testing.T) {
	t.Parallel()
	x := adgroup{Object: &world.Object{Ad: world.Ad{ID: 41_000_001}, Name: `g"1`, Budget: 30_050, Bid: 3005,
		Modified: 1_795_150_000}}
	w := &platform.Writer{}
	w.Open('{')
	for _, f := range []string{"adgroup_id", "adgroup_name", "configured_status", "last_modified_time", "daily_budget",
		"bid_amount", "is_deleted"} {
		w.Key(f)
		adgroupFields[f](w, x)
	}
	w.Close('}')
	sameWire(t, `{"adgroup_id":41000001,"adgroup_name":"g\"1","configured_status":"AD_STATUS_NORMAL",`+
		`"last_modified_time":1795150000,"daily_budget":30050,"bid_amount":3005,"is_deleted":false}`, string(w.Bytes))
}

func TestGolden_TencentFundsAreInFen(t *testing.T) {
	t.Parallel()
	_, n, d := tencentSampleFund()
	w := &platform.Writer{}
	writeTencentFund(w, "FUND_TYPE_CASH", n.Balance.Cash, n.Locked, n.PaidToday.Cash)
	sameWire(t,
		`{"fund_type":"FUND_TYPE_CASH","balance":120005,"bill_deposit_amount":100,"fund_status":"FUND_STATUS_NORMAL",`+
			`"realtime_cost":98}`, string(w.Bytes))
	w = &platform.Writer{}
	writeTencentFlow(w, tencentFlow{account: 25_610, kind: "FUND_TYPE_CASH",
		of: func(f world.Funds) int64 { return f.Cash }, FundDay: d})
	sameWire(t,
		`{"account_id":25610,"fund_type":"FUND_TYPE_CASH","time":1794672000,"deposit":100000,"paid":50000,`+
			`"trans_in":1100000,`+
			`"trans_out":55050,`+
			`"credit_modify":0,"balance":300000,"preauth_balance":0,"preauth_out_pay":0,"preauth_in_refund":0,`+
			`"acct_out_pay":50000,`+
			`"acct_out_pay_share":50000,"share_out_pay":0}`, string(w.Bytes))
}

func TestTencentDocuments_CreativeNamesItsAssetsInTexts(t *testing.T) {
	t.Parallel()
	w := &world.World{Seed: 7, Accounts: 40, Specs: []*world.Spec{New().Spec()}}
	sample := w.Account(w.Specs[0], 0)
	a, now := &sample, time.Date(2026, 11, 15, 12, 34, 56, 0, world.Zone).Unix()
	idText := func(id int64) string { return strconv.FormatInt(id, 10) }
	wire := func(fits func(x *world.ListedCreative) bool) (*world.ListedCreative, string) {
		for _, c := range a.Creatives(now) {
			if !fits(&c) {
				continue
			}
			w := &platform.Writer{}
			dynamicCreative{a, &c}.writeComponents(w)
			return &c, string(w.Bytes)
		}
		t.Fatal("no such creative")
		return nil, ""
	}
	video, got := wire(func(x *world.ListedCreative) bool { return x.IsVideo() && x.Swaps == 0 })
	shown := video.Assets(a)
	sameWire(t, `{"title":[{"component_id":`+idText(video.ID*10)+`,"value":{"content":"`+video.Name+
		`"},"is_deleted":false}],`+
		`"video":[{"component_id":`+idText(video.ID*10+1)+`,"value":{"video_id":"`+shown[0].ID+`","cover_id":"`+shown[1].ID+
		`"},"is_deleted":false}]}`, got)

	image, got := wire(func(x *world.ListedCreative) bool { return !x.IsVideo() && x.Swaps > 0 && len(x.Assets(a)) == 1 })
	sameWire(t, `{"title":[{"component_id":`+idText(image.ID*10)+`,"value":{"content":"`+image.Name+
		`"},"is_deleted":false}],`+
		`"image":[{"component_id":`+idText(image.ID*10+1)+`,"value":{"image_id":"`+image.Assets(a)[0].ID+
		`"},"is_deleted":false},`+
		`{"component_id":`+idText(image.ID*10+2)+`,"value":{"image_id":"`+image.AssetsOf(a, image.Swaps-1)[0].ID+
		`"},"is_deleted":true}]}`, got)
}

// sameWire compares all digits: a JSON decoder would round numbers of 19 digits before the comparison.
func sameWire(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, want, got)
}

package tiktok

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/fault/trap"
	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The samples here check each unit: money in the account's currency, as a number in objects and as a text in reports,
// times of objects in UTC, and ids as texts.

// sampleCall returns a call with the assumed behaviour.
func sampleCall() *platform.Call {
	c := &platform.Call{Sim: &platform.Simulation{Switches: trap.NewSwitches(false, func() bool { return true })},
		Spec: spec(), Now: 1_795_170_000}
	c.Sim.Assumed.Add(c.Spec)
	return c
}

// wire writes the fields of an object.
func wire[T any](fields []platform.Field[T], x T) string {
	w := &platform.Writer{}
	w.Open('{')
	platform.WriteFields(sampleCall(), w, fields, x, false)
	w.Close('}')
	return string(w.Bytes)
}

var sampleAccount = world.Account{Platform: spec(), ID: 7_100_000_000_000_000_001, Index: 3}

func TestGolden_Campaign(t *testing.T) {
	t.Parallel()
	x := campaign{&sampleAccount, &world.Project{ID: 1_800_000_000_000_001, Name: `SG "install"`, Budget: 5000,
		Created: 1_785_549_600, Modified: 1_787_225_405}}
	sameWire(t, `{"campaign_id":"1800000000000001","campaign_name":"SG \"install\"",`+
		`"advertiser_id":"7100000000000000001","objective_type":"APP_PROMOTION","app_promotion_type":"APP_INSTALL",`+
		`"budget":50.0,"budget_mode":"BUDGET_MODE_DAY","operation_status":"ENABLE",`+
		`"secondary_status":"CAMPAIGN_STATUS_ENABLE","is_smart_performance_campaign":false,`+
		`"create_time":"2026-08-01 02:00:00","modify_time":"2026-08-20 11:30:05"}`, wire(campaignFields, x))
}

func TestGolden_AdGroup(t *testing.T) {
	t.Parallel()
	x := adGroup{&sampleAccount, &world.Object{Ad: world.Ad{ID: 1_720_000_000_000_000_001,
		Project: 1_800_000_000_000_001, Created: 1_785_549_600, Traps: trap.NewSwitches(false, nil)}, Name: "g1",
		Status: world.StatusPaused, Bid: 1250, Modified: 1_787_225_405}}
	sameWire(t, `{"adgroup_id":"1720000000000000001","adgroup_name":"g1","campaign_id":"1800000000000001",`+
		`"advertiser_id":"7100000000000000001","budget":0.0,"budget_mode":"BUDGET_MODE_INFINITE",`+
		`"bid_type":"BID_TYPE_CUSTOM","bid_price":0.0,"conversion_bid_price":12.5,"optimization_goal":"INSTALL",`+
		`"billing_event":"OCPM","app_id":"7500000000000000003","placements":["PLACEMENT_TIKTOK"],`+
		`"click_attribution_window":"SEVEN_DAYS","view_attribution_window":"ONE_DAY","gender":"GENDER_MALE",`+
		`"age_groups":["AGE_25_34"],"schedule_start_time":"2026-08-01 02:00:00",`+
		`"schedule_end_time":"2034-12-31 16:00:00","operation_status":"DISABLE",`+
		`"secondary_status":"ADGROUP_STATUS_DISABLE","create_time":"2026-08-01 02:00:00",`+
		`"modify_time":"2026-08-20 11:30:05"}`, wire(adGroupFields, x))
}

func TestGolden_Account(t *testing.T) {
	t.Parallel()
	c := sampleCall()
	c.Sim.World = &world.World{Specs: []*world.Spec{c.Spec}, Lives: world.NewLives()}
	a := sampleAccount
	a.Calendar = world.Pacific()
	require.Contains(t, wire(advertiserFields, advertiser{c, &a}), `"role":"ROLE_ADVERTISER","status":"STATUS_ENABLE",`+
		`"currency":"USD","timezone":"America/Los_Angeles","display_timezone":"America/Los_Angeles","balance":0.0,`+
		`"create_time":17`)
}

func TestGolden_Files(t *testing.T) {
	t.Parallel()
	x := &world.Asset{Kind: world.AssetVideo, ID: "v10033g50000", Material: 7_300_000_000_000_000_001, Name: "video_1",
		Width: 720, Height: 1280, Size: 40_000, Milliseconds: 24_566, Signature: "00ff", Created: 1_785_549_600,
		Modified: 1_785_549_600}
	rest := `"material_id":"7300000000000000001","file_name":"video_1","signature":"00ff","width":720,"height":1280,` +
		`"size":40000,"displayable":true,"create_time":"2026-08-01T02:00:00Z","modify_time":"2026-08-01T02:00:00Z"}`
	sameWire(t, `{"video_id":"v10033g50000","duration":24.566,"format":"mp4","video_cover_url":"",`+rest,
		wire(videoFields, x))
	require.Equal(t, `{"image_id":"v10033g50000","format":"jpeg","image_url":"",`+rest, wire(imageFields, x))
	x.Created = 0
	require.Contains(t, wire(imageFields, x), `"create_time":"",`)
}

// sampleLine returns a row of a report with all metrics of its level.
func sampleLine(data string, day, hour int) *line {
	c := sampleCall()
	q := &query{c: c, level: levels[data], by: levels[data].by, projects: map[int64]world.Project{
		7: {ID: 7, Name: "c1", Budget: 10_050},
	}}
	q.by.Day, q.by.Hour = true, hour != world.NoHour
	for _, m := range metrics {
		if m.above <= q.level.depth && !m.byDay {
			q.metrics = append(q.metrics, m)
		}
	}
	x := &line{q: q, account: &sampleAccount, silence: &world.Silence{}}
	x.Day, x.Hour = day, hour
	x.Ad = &world.Ad{ID: 9, Project: 7}
	f := &x.Figures
	f[world.Cost], f[world.Impressions], f[world.Clicks], f[world.Conversions] = 12_345, 10_234, 310, 17
	f[world.Activations], f[world.Pays], f[world.PayAmount] = 15, 2, 605
	return x
}

func (x *line) wire() string {
	w := &platform.Writer{}
	w.Open('{')
	x.write(w)
	w.Close('}')
	return string(w.Bytes)
}

func TestGolden_Report(t *testing.T) {
	t.Parallel()
	day, err := world.ParseDay("2026-09-01")
	require.NoError(t, err)
	x := sampleLine("AUCTION_CAMPAIGN", day, world.NoHour)
	figures := `"metrics":{"spend":"123.45","billed_cost":"123.45","impressions":"10234",` +
		`"gross_impressions":"10234","clicks":"310","ctr":"3.03","cpc":"0.40","cpm":"12.06","reach":"7676",` +
		`"frequency":"1.33","conversion":"17","cost_per_conversion":"7.26","conversion_rate_v2":"5.48",` +
		`"real_time_conversion":"17","real_time_app_install":"15","app_install":"15","cost_per_app_install":"8.23",` +
		`"registration":"0","total_registration":"0","purchase":"0","total_purchase":"2",` +
		`"total_purchase_value":"6.05","complete_payment":"0","skan_conversion":"0","result":"17",` +
		`"advertiser_id":"7100000000000000001","currency":"CNY","timezone":"Asia/Shanghai"`
	sameWire(t, `{"dimensions":{"campaign_id":"7","stat_time_day":"2026-09-01 00:00:00"},`+figures+
		`,"campaign_id":"7","campaign_name":"c1","objective_type":"APP_PROMOTION","campaign_budget":"100.50"}}`, x.wire())
	x = sampleLine("AUCTION_ADVERTISER", day, 9)
	sameWire(t, `{"dimensions":{"advertiser_id":"7100000000000000001","stat_time_hour":"2026-09-01 09:00:00"},`+
		figures+`}}`, x.wire())
}

func TestGolden_AFigureWithoutAValueIsADash(t *testing.T) {
	t.Parallel()
	day, err := world.ParseDay("2026-11-20") // which has not ended
	require.NoError(t, err)
	x := sampleLine("AUCTION_ADVERTISER", day, world.NoHour)
	x.Figures = world.Figures{}
	x.q.metrics = x.q.metrics[:12]
	sameWire(t, `{"dimensions":{"advertiser_id":"7100000000000000001","stat_time_day":"2026-11-20 00:00:00"},`+
		`"metrics":{"spend":"0.00","billed_cost":"-","impressions":"0","gross_impressions":"0","clicks":"0","ctr":"-",`+
		`"cpc":"-","cpm":"-","reach":"0","frequency":"-","conversion":"0","cost_per_conversion":"-"}}`, x.wire())
}

func TestGolden_SeveralAccountsHaveNoDecimals(t *testing.T) {
	t.Parallel()
	x := sampleLine("AUCTION_ADVERTISER", 20_000, world.NoHour)
	x.q.isSeveral = true
	require.Equal(t, "123", x.money(12_349))
	require.Equal(t, "124", x.money(12_350))
	x.q.c.Sim.Assumed.Set(map[string]map[string]int64{"tiktok": {manyDecimals: 1}})
	require.Equal(t, "123.49", x.money(12_349))
}

// Yen have no cents, and Kuwaiti dinars have three decimals.
func TestGolden_AmountsHaveTheDecimalsOfTheirCurrency(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		calendar            *world.Calendar
		text, json, rounded string
	}{
		{nil, "123.50", "123.5", "124"}, {world.Pacific(), "123.50", "123.5", "124"},
		{world.Tokyo(), "12350", "12350.0", "12350"}, {world.Greenwich(), "12.350", "12.35", "12"},
	} {
		a := sampleAccount
		a.Calendar = c.calendar
		x := sampleLine("AUCTION_ADVERTISER", 20_000, world.NoHour)
		x.account = &a
		require.Equal(t, c.text, x.money(12_350))
		x.q.isSeveral = true
		require.Equal(t, c.rounded, x.money(12_350))
		w := &platform.Writer{}
		writeMoney(w, x.account, 12_350)
		require.Equal(t, c.json, string(w.Bytes))
	}
	a := sampleAccount
	a.Calendar = world.Greenwich()
	require.Equal(t, "0.007", amount(&a, 7))
}

func TestHours_ARepeatedOneHasTwoRows(t *testing.T) {
	t.Parallel()
	day, err := world.ParseDay("2026-11-01") // the clock of Los Angeles is put back at 2:00
	require.NoError(t, err)
	a := sampleAccount
	a.Calendar = world.Pacific()
	row := func(hour int, impressions int64) (r world.Row) {
		r.Day, r.Hour, r.Figures[world.Impressions], r.Figures[world.Cost] = day, hour, impressions, 7
		return r
	}
	q := &query{c: sampleCall()}
	rows := q.apart(&a, []world.Row{row(0, 9), row(1, 9), row(2, 9), row(1, 1)})
	require.Equal(t, []int{0, 1, 1, 2, 1}, []int{rows[0].Hour, rows[1].Hour, rows[2].Hour, rows[3].Hour, rows[4].Hour})
	require.Equal(t, int64(4), rows[1].Figures[world.Impressions])
	require.Equal(t, int64(5), rows[2].Figures[world.Impressions])
	require.Equal(t, int64(7), rows[1].Figures[world.Cost]+rows[2].Figures[world.Cost])
	q.c.Now = a.Calendar.Start(day) + 2*world.HourLength - 1
	require.Len(t, q.apart(&a, []world.Row{row(1, 9)}), 1, "its second hour has not begun")
}

// sameWire compares all digits.
func sameWire(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, want, got)
}

package kuaishou

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The samples here check each unit: money in li in objects, in yuan in reports and balances, times in China's.

// sampleCall returns a call with the assumed behaviour.
func sampleCall() *platform.Call {
	c := &platform.Call{Sim: &platform.Simulation{}, Spec: spec()}
	c.Sim.Assumed.Add(c.Spec)
	return c
}

// named writes some fields of an object.
func named[T any](fields []platform.Field[T], x T, names ...string) string {
	w := &platform.Writer{}
	w.Open('{')
	for _, name := range names {
		for _, f := range fields {
			if f.Name == name {
				w.Key(name)
				f.Write(w, x)
			}
		}
	}
	w.Close('}')
	return string(w.Bytes)
}

func TestGolden_UnitIsInLi(t *testing.T) {
	t.Parallel()
	x := unit{sampleCall(), &world.Object{Ad: world.Ad{ID: 2_165_304, Project: 609_161, Created: 1_793_505_332},
		Name: `u"1`, Budget: 50_000, Bid: 3500, Modified: 1_795_136_400}}
	sameWire(t, `{"unit_id":2165304,"unit_name":"u\"1","campaign_id":609161,"put_status":1,"status":20,`+
		`"bid_type":10,"cpa_bid":35000,"day_budget":500000,"ocpx_action_type":180,"begin_time":"2026-11-01",`+
		`"create_time":"2026-11-01 11:55:32","update_time":"2026-11-20 09:00:00"}`,
		named(unitFields, x, "unit_id", "unit_name", "campaign_id", "put_status", "status", "bid_type", "cpa_bid",
			"day_budget", "ocpx_action_type", "begin_time", "create_time", "update_time"))
}

func TestGolden_CampaignIsInLi(t *testing.T) {
	t.Parallel()
	x := campaign{sampleCall(), &world.Project{ID: 609_161, Name: "c1", Status: world.StatusPaused, Budget: 100_050,
		Created: 1_793_505_332, Modified: 1_795_136_400}}
	sameWire(t, `{"campaign_id":609161,"campaign_name":"c1","campaign_type":2,"put_status":2,"status":1,`+
		`"day_budget":1000500,"update_time":"2026-11-20 09:00:00"}`,
		named(campaignFields, x, "campaign_id", "campaign_name", "campaign_type", "put_status", "status", "day_budget",
			"update_time"))
}

func TestGolden_ReportIsInYuan(t *testing.T) {
	t.Parallel()
	var f world.Figures
	f[world.Cost], f[world.Impressions], f[world.Clicks] = 7600, 1000, 40
	f[world.Activations], f[world.Registrations], f[world.Pays], f[world.PayAmount] = 3, 2, 1, 605
	day, err := world.ParseDay("2026-11-20")
	require.NoError(t, err)
	w := &platform.Writer{}
	w.Open('{')
	q := &query{c: sampleCall(), level: levels["v1/report/account_report"]}
	for _, name := range []string{"charge", "show", "aclick", "bclick", "action_cost", "impression_1k_cost", "activation",
		"conversion_cost", "event_register", "event_pay", "event_pay_purchase_amount", "event_pay_roi"} {
		for _, x := range columns {
			if x.name == name {
				q.columns = append(q.columns, x)
			}
		}
	}
	q.write(w, &world.Row{Day: day, Hour: 9, Figures: f})
	w.Close('}')
	sameWire(t, `{"stat_date":"2026-11-20","stat_hour":9,"ad_scene":"全部","placement_type":"全部","charge":76,`+
		`"show":1000,"aclick":960,"bclick":40,"action_cost":1.9,"impression_1k_cost":76,"activation":3,`+
		`"conversion_cost":25.3333,"event_register":2,"event_pay":1,"event_pay_purchase_amount":6.05,`+
		`"event_pay_roi":0.0796}`, string(w.Bytes))
}

func TestGolden_MoneyIsInYuanAndBudgetInLi(t *testing.T) {
	t.Parallel()
	w := &platform.Writer{}
	writeFund(w, world.Funds{Cash: 120_005, Grant: 3050})
	sameWire(t, `{"balance":1230.55,"recharge_balance":1200.05,"contract_rebate":30.5,"direct_rebate":0,`+
		`"extended_balance":0,"total_shared_wallet_balance":0}`, string(w.Bytes))
	day, err := world.ParseDay("2026-11-15")
	require.NoError(t, err)
	w = &platform.Writer{}
	w.Open('{')
	writeFlow(w, 20_000_152, &world.FundDay{Day: day, Deposit: world.Funds{Cash: 100_000, Grant: 5},
		Paid: world.Funds{Cash: 50_000, Grant: 70}, TransferIn: world.Funds{Cash: 1_100_000},
		TransferOut: world.Funds{Cash: 55_050}, Balance: world.Funds{Cash: 300_000, Grant: 1}})
	w.Close('}')
	sameWire(t, `{"date":"2026-11-15","advertiser_id":20000152,"daily_charge":500.7,"real_charged":500,`+
		`"contract_rebate_real_charged":0.7,"direct_rebate_real_charged":0,"daily_transfer_in":12000.05,`+
		`"daily_transfer_out":550.5,"balance":3000.01,"real_recharged":12000,"contract_rebate_real_recharged":0.05,`+
		`"direct_rebate_real_recharged":0}`, string(w.Bytes))
	w = &platform.Writer{}
	writeBudget(w, 50_000, []int64{100_000})
	sameWire(t, `{"day_budget":500000,"day_budget_schedule":[1000000]}`, string(w.Bytes))
}

func TestGolden_FilesAreInMilliseconds(t *testing.T) {
	t.Parallel()
	c := sampleCall()
	x := &world.Asset{Kind: world.AssetVideo, ID: "5233464296313677649", Material: 5_233_464_296_313_677_649, Width: 720,
		Height: 1280, Milliseconds: 24_566, Created: 1_793_505_332}
	sameWire(t, `{"photo_id":"5233464296313677649","duration":24566,"width":720,"create_time":"2026-11-01 11:55:32"}`,
		named(videoFields, file{c, x}, "photo_id", "duration", "width", "create_time"))
	sameWire(t, `{"image_token":"5233464296313677649","pic_id":"5233464296313677649","create_time":1793505332000}`,
		named(imageFields, file{c, x}, "image_token", "pic_id", "create_time"))
}

// sameWire compares all digits.
func sameWire(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, want, got)
}

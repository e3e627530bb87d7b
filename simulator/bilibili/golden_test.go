package bilibili

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The samples here check each unit: budgets and bids in yuan, spend in thousandths of a fen, balances in yuan, times in
// China's.

// sampleCall returns a call with the assumed behaviour.
func sampleCall() *platform.Call {
	c := &platform.Call{Sim: &platform.Simulation{}, Spec: spec()}
	c.Sim.Assumed.Add(c.Spec)
	return c
}

// written returns an object with what write writes.
func written(write func(w *platform.Writer)) string {
	w := &platform.Writer{}
	w.Open('{')
	write(w)
	w.Close('}')
	return string(w.Bytes)
}

// sameWire compares all digits.
func sameWire(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, want, got)
}

const (
	created  = 1_793_505_332 // 2026-11-01 11:55:32 in China
	modified = 1_795_136_400 // 2026-11-20 09:00:00
)

func TestGolden_ObjectsAreInYuan(t *testing.T) {
	t.Parallel()
	c := sampleCall()
	project := campaign{c, &world.Project{ID: 501, Name: "SG", Status: world.StatusPaused, Budget: 100_050,
		Created: created, Modified: modified}}
	sameWire(t, `{"campaign_id":501,"campaign_name":"SG","status":2,"budget_limit_type":1,"budget":"1000.50",`+
		`"support_auto":1,"ctime":"2026-11-01 11:55:32","mtime":"2026-11-20 09:00:00"}`,
		written(func(w *platform.Writer) { platform.WriteFields(c, w, campaignFields, project, false) }))

	x := unit{c, &world.Object{Ad: world.Ad{ID: 601, Project: 501, Created: created}, Name: `u"1`, Bid: 3550,
		Modified: modified, Aim: 7}}
	sameWire(t, `{"unit_id":601,"unit_name":"u\"1","campaign_id":501,"status":1,"budget_limit_type":2,"budget":"0.00",`+
		`"bid":35.5,"target":{"age_min":18,"age_max":23,"gender":0,"area":[110000]},`+
		`"ctime":"2026-11-01 11:55:32","mtime":"2026-11-20 09:00:00"}`,
		written(func(w *platform.Writer) { platform.WriteFields(c, w, unitFields, x, false) }))

	sameWire(t, `{"creative_id":701,"unit_id":601,"campaign_id":501,"status":4}`,
		written(func(w *platform.Writer) {
			one := creative{c: c, ListedCreative: &world.ListedCreative{Creative: world.Creative{ID: 701, Ad: &x.Ad},
				Status: world.StatusDeleted}}
			for _, f := range creativeFields {
				switch f.Name {
				case "creative_id", "unit_id", "campaign_id", "status":
					w.Key(f.Name)
					f.Write(w, one)
				}
			}
		}))
}

func TestGolden_ReportIsInThousandthsOfAFen(t *testing.T) {
	t.Parallel()
	var f world.Figures
	f[world.Cost], f[world.Impressions], f[world.Clicks] = 12_345, 10_234, 310
	f[world.Activations], f[world.Pays], f[world.PayAmount] = 3, 1, 605
	day, err := world.ParseDay("2026-09-01")
	require.NoError(t, err)
	q := &query{c: sampleCall(), account: &world.Account{ID: 1_135_369},
		dimensions: []string{dimDay, dimAccount, dimCampaign, dimHour}}
	for _, x := range columns {
		switch x.name {
		case "show_count", "click_count", costField, "app_activate_count", "pay_count", "pay_amount_milli",
			"video_play_count":
			q.columns = append(q.columns, x)
		}
	}
	row := &world.Row{Day: day, Hour: 9, Ad: &world.Ad{Project: 501}, Figures: f}
	sameWire(t, `{"dimensions":{"date_time":"2026-09-01","account_id":1135369,"campaign_id":501,"hour":9},`+
		`"metrics":{"show_count":10234,"click_count":310,"charged_cost_milli":12345000,"app_activate_count":3,`+
		`"pay_count":1,"pay_amount_milli":605000,"video_play_count":0}}`,
		written(func(w *platform.Writer) { q.writeRow(w, row) }))
}

func TestGolden_MoneyIsInYuan(t *testing.T) {
	t.Parallel()
	w := &platform.Writer{}
	writeCash(w, world.Funds{Cash: 123_456, Grant: 3050})
	sameWire(t, `{"cash":1234.56,"red_packet":30.5}`, string(w.Bytes))
	day, err := world.ParseDay("2026-11-15")
	require.NoError(t, err)
	sameWire(t, `{"date":"2026-11-15","recharge_cash":1000,"cost_cash":500,"transfer_in_cash":11000,`+
		`"transfer_out_cash":550.5,"balance_cash":3000,"recharge_red_packet":0.05,"cost_red_packet":0.7,`+
		`"transfer_in_red_packet":0,"transfer_out_red_packet":0,"balance_red_packet":0.01}`,
		written(func(w *platform.Writer) {
			writeFlow(w, &world.FundDay{Day: day, Deposit: world.Funds{Cash: 100_000, Grant: 5},
				Paid: world.Funds{Cash: 50_000, Grant: 70}, TransferIn: world.Funds{Cash: 1_100_000},
				TransferOut: world.Funds{Cash: 55_050}, Balance: world.Funds{Cash: 300_000, Grant: 1}})
		}))
}

func TestGolden_FilesAreInMilliseconds(t *testing.T) {
	t.Parallel()
	c := sampleCall()
	sameWire(t, `{"video_id":50000000014,"name":"v1","md5":"5d41","width":720,"height":1280,"size":4000000,`+
		`"duration":24566,"ctime":"2026-11-01 11:55:32"}`,
		written(func(w *platform.Writer) {
			writeFile(c, w, &world.Asset{Kind: world.AssetVideo, ID: assetID(world.AssetVideo, 7, 0), Name: "v1",
				Signature: "5d41", Width: 720, Height: 1280, Size: 4_000_000, Milliseconds: 24_566, Created: created})
		}))
	sameWire(t, `{"image_id":40000014,"name":"i1","md5":"5d41","width":800,"height":800,"size":40000,`+
		`"ctime":"2026-11-01 11:55:32"}`,
		written(func(w *platform.Writer) {
			writeFile(c, w, &world.Asset{ID: assetID(world.AssetImage, 7, 0), Name: "i1", Signature: "5d41", Width: 800,
				Height: 800, Size: 40_000, Created: created})
		}))
}

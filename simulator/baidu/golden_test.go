package baidu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/platform"
	"adsync/simulator/world"
)

// The samples here check each unit: all money is in yuan, times are China's, and lengths are in seconds.

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

func sampleObject() object {
	return object{c: sampleCall(),
		campaign: world.Project{ID: 86_415_412, Name: "SG", Budget: 100_050, Created: 1_793_505_332},
		adgroup: world.Object{Ad: world.Ad{ID: 2_165_304, Project: 86_415_412, Created: 1_793_505_332}, Name: `u"1`,
			Bid: 3505, Status: world.StatusPaused, Modified: 1_795_136_400},
		creative: &world.ListedCreative{Creative: world.Creative{ID: 77, Created: 1_793_505_332}, Name: "c1"}}
}

func TestGolden_ObjectsAreInYuan(t *testing.T) {
	t.Parallel()
	x := sampleObject()
	campaign, adgroup := x, x
	campaign.adgroup, campaign.creative, adgroup.creative = world.Object{}, nil, nil
	sameWire(t, `{"campaignId":86415412,"campaignName":"SG","budget":1000.5,"pause":false,"status":21,"adType":0,`+
		`"createTime":"2026-11-01 11:55:32"}`, named(searchCampaigns.fields, campaign, "campaignId", "campaignName",
		"budget", "pause", "status", "adType", "createTime"))
	sameWire(t, `{"campaignFeedId":86415412,"campaignFeedName":"SG","subject":3,"budget":1000.5,"pause":false,`+
		`"status":0,"bstype":1,"addtime":"2026-11-01 11:55:32"}`, named(feedCampaigns.fields, campaign, "campaignFeedId",
		"campaignFeedName", "subject", "budget", "pause", "status", "bstype", "addtime"))
	sameWire(t, `{"adgroupId":2165304,"campaignId":86415412,"adgroupName":"u\"1","maxPrice":35.05,"pause":true,`+
		`"status":32}`, named(searchAdgroups.fields, adgroup, "adgroupId", "campaignId", "adgroupName", "maxPrice", "pause",
		"status"))
	sameWire(t, `{"adgroupFeedId":2165304,"campaignFeedId":86415412,"adgroupFeedName":"u\"1","pause":true,"status":1,`+
		`"bid":35.05,"ocpc":{"transType":4,"ocpcBid":35.05},"addtime":"2026-11-01 11:55:32","modtime":"2026-11-20 09:00:00"}`,
		named(feedAdgroups.fields, adgroup, "adgroupFeedId", "campaignFeedId", "adgroupFeedName", "pause", "status", "bid",
			"ocpc", "addtime", "modtime"))
	sameWire(t, `{"creativeId":77,"adgroupId":2165304,"title":"c1","pause":false,"status":51}`,
		named(searchCreatives.fields, x, "creativeId", "adgroupId", "title", "pause", "status"))
	sameWire(t, `{"creativeFeedId":77,"adgroupFeedId":2165304,"creativeFeedName":"c1","pause":false,"status":0}`,
		named(feedCreatives.fields, x, "creativeFeedId", "adgroupFeedId", "creativeFeedName", "pause", "status"))
	adgroup.adgroup.Status, adgroup.paused = world.StatusActive, true
	sameWire(t, `{"status":33}`, named(searchAdgroups.fields, adgroup, "status"))
	sameWire(t, `{"status":2}`, named(feedAdgroups.fields, adgroup, "status"))
}

func TestGolden_ReportsAreInYuan(t *testing.T) {
	t.Parallel()
	day, err := world.ParseDay("2026-11-20")
	require.NoError(t, err)
	var f world.Figures
	f[world.Cost], f[world.Impressions], f[world.Clicks], f[world.Conversions] = 7601, 1000, 40, 4
	f[world.Activations], f[world.FirstPays], f[world.PayAmountD1], f[world.Pays] = 3, 2, 605, 5
	write := func(kind int64, names ...string) string {
		q := &query{c: sampleCall(), kind: reportTypes[kind]}
		q.c.Sim.Faults = noFaults{}
		for _, name := range names {
			q.columns = append(q.columns, q.kind.columnNamed(q.c, name))
		}
		w := &platform.Writer{}
		w.Open('{')
		q.write(w, &row{&world.Row{Day: day, Hour: 9, Figures: f}, &subject{account: &world.Account{ID: 630_152}}})
		w.Close('}')
		return string(w.Bytes)
	}
	sameWire(t, `{"date":"2026-11-20 09:00","userId":630152,"impression":1000,"click":40,"cost":76.01,"ctr":0.04,`+
		`"cpc":1.9003,"cpm":76.01,"ocpcConversions":4,"ocpcConversionsDetail4":3,"ocpcConversionsDetail4Cost":25.3367,`+
		`"ocpcConversionsDetail26":2,"ocpcConversionsDetail26One":6.05,"ocpcConversionsDetail26OneROI":0.0796}`,
		write(2_208_157, "date", "userId", "impression", "click", "cost", "ctr", "cpc", "cpm", "ocpcConversions",
			"ocpcConversionsDetail4", "ocpcConversionsDetail4Cost", "ocpcConversionsDetail26", "ocpcConversionsDetail26One",
			"ocpcConversionsDetail26OneROI"))
	sameWire(t, `{"ocpcTargetTrans":4,"ocpcTargetTransCPC":19.0025,"ocpcTargetTransRatio":0.1,"activeConversions":3,`+
		`"activeConversionsCVR":0.075,"consumeUv":2,"consume":5,"oneDayConsumeAfterActive":6.05}`,
		write(2_149_145, "ocpcTargetTrans", "ocpcTargetTransCPC", "ocpcTargetTransRatio", "activeConversions",
			"activeConversionsCVR", "consumeUv", "consume", "oneDayConsumeAfterActive"))
}

// noFaults changes no report.
type noFaults struct{}

func (noFaults) Field(*platform.Call, string) platform.FieldChange { return platform.FieldAsEver }
func (noFaults) Added(*platform.Call) string                       { return "" }
func (noFaults) Task(*platform.Call) platform.TaskFate             { return platform.TaskServed }
func (noFaults) Takes(*platform.Call, platform.Form) bool          { return false }

func TestGolden_MoneyIsInYuan(t *testing.T) {
	t.Parallel()
	x := money{&world.Account{ID: 630_152, Key: 1}, world.Funds{Cash: 120_005, Grant: 3050}}
	sameWire(t, `{"balance":1230.55,"cash":1200.05,"bonusPure":30.5,"compen":0}`,
		named(balanceFields, x, "balance", "cash", "bonusPure", "compen"))
	sameWire(t, `{"userId":630152,"balance":1230.55,"userStat":2}`,
		named(searchAccount, x, "userId", "balance", "userStat"))
}

func TestGolden_FilesAreInSeconds(t *testing.T) {
	t.Parallel()
	x := file{sampleCall(), &world.Asset{Kind: world.AssetVideo, ID: "7000000003", Width: 720, Height: 1280, Size: 5,
		Milliseconds: 24_566, Created: 1_793_505_332, Modified: 1_793_505_333}}
	sameWire(t, `{"videoid":7000000003,"duration":25,"width":720,"addTime":"1793505332000","modTime":"1793505333000"}`,
		named(videoFields, x, "videoid", "duration", "width", "addTime", "modTime"))
	sameWire(t, `{"imageId":"7000000003","url":"https://feed-image.baidu.com/7000000003.jpg","size":5,`+
		`"date":"2026-11-01 11:55:32"}`, named(imageFields, x, "imageId", "url", "size", "date"))
}

// sameWire compares all digits.
func sameWire(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, want, got)
}

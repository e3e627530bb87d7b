package summaries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/rawtable"
	"adsync/base/store"
	"adsync/base/store/results"
	"adsync/base/store/settings"
	"adsync/base/store/storetest"
	"adsync/base/store/summaries"
)

var (
	rawAds = rawtable.Table{Name: "test_ad", Shape: rawtable.Objects,
		Columns: []rawtable.Column{{Name: "campaign_id", Kind: rawtable.Text}}}
	rawCreatives = rawtable.Table{Name: "test_creative", Shape: rawtable.Objects,
		Columns: []rawtable.Column{{Name: "ad_id", Kind: rawtable.Text}}}
	wideTables = []summaries.ObjectTable{
		{Level: "campaign", Table: "test_campaign"}, {Level: "adgroup", Table: "test_ad", Parent: "campaign_id"},
		{Level: "creative", Table: "test_creative", Parent: "ad_id", IDHasParent: true},
	}
)

// wideStore returns a store with creative c1 of ad a1 of campaign k1.
func wideStore(t *testing.T) *store.Store {
	t.Helper()
	s := storetest.NewResults(t)
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{rawAds, rawCreatives}))
	require.NoError(t,
		s.Config.Writer(t.Context()).Exec(
			"INSERT INTO media_account (id, media, external_id, name, token_id, tier, timezone, currency)"+
				" VALUES (7, 'test', '900', 'Seven', 1, 'active', 'Asia/Shanghai', 'CNY')").Error)
	putObject(t, s, rawAds, "adgroup", "a1", "Ad one", "k1")
	putObject(t, s, rawCreatives, "creative", "c1", "Creative one", "a1")
	return s
}

// putObject writes an object like a pull of changes.
func putObject(t *testing.T, s *store.Store, table rawtable.Table, level, id, name, parent string) {
	t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: table.Name, Level: level, Days: []day.Day{day.Epoch}}
	claim, _, err := s.BeginPull(t.Context(), scope, "p", 1)
	require.NoError(t, err)
	_, err = s.WriteObjects(t.Context(), results.ObjectWrite{Claim: claim, Raw: table,
		Rows: []results.ObjectRow{{Object: id, Name: name, Raw: []any{parent}, JSON: `{"name":"` + name + `"}`}}})
	require.NoError(t, err)
}

// putReport writes a level's report of a day.
func putReport(t *testing.T, s *store.Store, level string, on day.Day, costs map[string]int64) {
	t.Helper()
	scope := results.Scope{AccountID: 7, Media: "test", Report: "report_daily", Level: level, Days: []day.Day{on}}
	claim, _, err := s.BeginPull(t.Context(), scope, "p", 1)
	require.NoError(t, err)
	write := storetest.ReportOf(claim)
	write.Confirmed = true
	for object, cost := range costs {
		write.Rows = append(write.Rows, storetest.CostRow(on, object, cost, `{"cost":`+string(rune('0'+cost))+`}`))
	}
	_, err = s.WriteReport(t.Context(), write)
	require.NoError(t, err)
}

type wideLine struct {
	Day            day.Day `gorm:"column:day"`
	Level          string  `gorm:"column:level"`
	ObjectID       string  `gorm:"column:object_id"`
	ExternalID     *string `gorm:"column:external_id"`
	AccountName    *string `gorm:"column:account_name"`
	CampaignID     *string `gorm:"column:campaign_id"`
	CampaignName   *string `gorm:"column:campaign_name"`
	AdgroupID      *string `gorm:"column:adgroup_id"`
	AdgroupName    *string `gorm:"column:adgroup_name"`
	CreativeID     *string `gorm:"column:creative_id"`
	CreativeName   *string `gorm:"column:creative_name"`
	Game           string  `gorm:"column:game"`
	OS             string  `gorm:"column:os"`
	Currency       *string `gorm:"column:currency"`
	DayZone        *string `gorm:"column:day_zone"`
	Cost           *int64  `gorm:"column:cost"`
	Clicks         *int64  `gorm:"column:clicks"`
	NewUsers       *int64  `gorm:"column:partner_new_users"`
	ReturningUsers *int64  `gorm:"column:partner_returning_users"`
	Version        int64   `gorm:"column:version"`
}

// wideLines returns the rows of wide_daily by level and object.
func wideLines(t *testing.T, s *store.Store) map[string]wideLine {
	t.Helper()
	var lines []wideLine
	require.NoError(t,
		s.Data.Writer(t.Context()).Raw("SELECT * FROM wide_daily ORDER BY day, level, object_id").Scan(&lines).Error)
	byObject := map[string]wideLine{}
	for _, l := range lines {
		byObject[l.Day.String()+" "+l.Level+" "+l.ObjectID] = l
	}
	return byObject
}

// rebuild processes all marks, those of the configuration first, and returns how many rows changed.
func rebuild(t *testing.T, s *store.Store) int {
	t.Helper()
	configurations, err := s.WideConfigurations(t.Context(), "test", 1<<62, 100)
	require.NoError(t, err)
	for _, c := range configurations {
		require.NoError(t, s.MarkWideDays(t.Context(), c, today.Add(-31)))
	}
	days, err := s.WideDays(t.Context(), "test", 1<<62, 100)
	require.NoError(t, err)
	n, err := s.RebuildWide(t.Context(), wideTables, 7, days)
	require.NoError(t, err)
	return n
}

//go:fix inline

func TestRebuildWide_JoinsReportsPartnerAndConfiguration(t *testing.T) {
	t.Parallel()
	s := wideStore(t)
	putReport(t, s, "account", today, map[string]int64{"": 9})
	putReport(t, s, "adgroup", today, map[string]int64{"a1": 5, "a2": 4})
	putReport(t, s, "creative", today, map[string]int64{"a1:m7": 3})
	account := partnerRow(1, today)
	account.Level, account.Object = "account", ""
	unheard := partnerRow(2, today)
	unheard.Object = "c9"
	odd := partnerRow(3, today)
	odd.Level = "keyword"
	putPartner(t, s, account, partnerRow(4, today), partnerRow(5, today), unheard, odd)
	require.Equal(t, 7, rebuild(t, s))

	rows := wideLines(t, s)
	require.Len(t, rows, 7)
	on := today.String()
	top := rows[on+" account "]
	require.Equal(t, wideLine{
		Day: today, Level: "account", ExternalID: new("900"), AccountName: new("Seven"), Game: "unassigned", OS: "unknown",
		Currency: new("CNY"), DayZone: new("Asia/Shanghai"),
		Cost: new(int64(9)), NewUsers: new(int64(25)), Version: top.Version,
	}, top, "every row of the partner's counts for its account")
	creative := rows[on+" creative c1"]
	require.Equal(t, wideLine{
		Day: today, Level: "creative", ObjectID: "c1", ExternalID: new("900"), AccountName: new("Seven"),
		CampaignID: new("k1"), AdgroupID: new("a1"), AdgroupName: new("Ad one"),
		CreativeID: new("c1"), CreativeName: new("Creative one"), Game: "unassigned", OS: "unknown", Currency: new("CNY"),
		DayZone:  new("Asia/Shanghai"),
		NewUsers: new(int64(10)), Version: creative.Version,
	}, creative, "the platform has no figures of it, which is NULL")
	ad := rows[on+" adgroup a1"]
	require.Equal(t, []*int64{new(int64(5)), new(int64(10))}, []*int64{ad.Cost, ad.NewUsers})
	require.Nil(t, ad.CreativeID)
	require.Equal(t, "k1", *ad.CampaignID)
	require.EqualValues(t, 10, *rows[on+" campaign k1"].NewUsers)
	other := rows[on+" adgroup a2"]
	require.Nil(t, other.NewUsers, "the partner has no figures of it")
	require.Nil(t, other.CampaignID)
	require.Nil(t, other.AdgroupName, "it is not in the configuration")
	require.Equal(t, "a2", *other.AdgroupID)
	require.EqualValues(t, 5, *rows[on+" creative c9"].NewUsers)
	require.Nil(t, rows[on+" creative c9"].AdgroupID)
	part := rows[on+" creative a1:m7"]
	require.Equal(t, []*string{new("a1"), new("Ad one"), new("k1"), nil},
		[]*string{part.AdgroupID, part.AdgroupName, part.CampaignID, part.CreativeName},
		"it is in no list, but its id names its parent")
}

func TestRebuildWide_WritesChangesAndDeletesOutdatedRows(t *testing.T) {
	t.Parallel()
	s := wideStore(t)
	putReport(t, s, "account", today, map[string]int64{"": 9})
	putReport(t, s, "adgroup", today, map[string]int64{"a1": 5, "a2": 4})
	require.Equal(t, 3, rebuild(t, s))
	require.Empty(t, wideMarks(t, s))
	before := wideLines(t, s)

	putReport(t, s, "adgroup", today, map[string]int64{"a1": 6})
	require.Equal(t, []day.Day{today}, wideMarks(t, s))
	require.Equal(t, 2, rebuild(t, s))
	after := wideLines(t, s)
	require.Len(t, after, 2)
	require.Equal(t, before[today.String()+" account "], after[today.String()+" account "],
		"a row that did not change is left alone")
	require.EqualValues(t, 6, *after[today.String()+" adgroup a1"].Cost)
	require.Greater(t, after[today.String()+" adgroup a1"].Version, before[today.String()+" adgroup a1"].Version)
	require.Contains(t, storetest.Tombstones(t, s), "wide_daily 2026-11-21 - 7 adgroup a2 - - -")
	putReport(t, s, "adgroup", today, map[string]int64{"a1": 6})
	require.Empty(t, wideMarks(t, s), "a pull without changes marks nothing")
}

func TestRebuildWide_AMarkThatCameMeanwhileStays(t *testing.T) {
	t.Parallel()
	s := wideStore(t)
	putReport(t, s, "account", today, map[string]int64{"": 9})
	read, err := s.WideDays(t.Context(), "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, read, 1)
	putReport(t, s, "account", today, map[string]int64{"": 8})
	_, err = s.RebuildWide(t.Context(), wideTables, 7, read)
	require.NoError(t, err)
	again, err := s.WideDays(t.Context(), "test", 1<<62, 100)
	require.NoError(t, err)
	require.Len(t, again, 1)
	require.Greater(t, again[0].Mark, read[0].Mark)
	none, err := s.WideDays(t.Context(), "test", read[0].Mark, 100)
	require.NoError(t, err)
	require.Empty(t, none, "a mark above the limit is left to the next call")
}

func TestWide_FollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	s := wideStore(t)
	long := today.Add(-40)
	for _, on := range []day.Day{long, today.Add(-31), today} {
		putReport(t, s, "creative", on, map[string]int64{"c1": 5, "c2": 1})
	}
	rebuild(t, s)
	name := func(on day.Day, object string) *string {
		return wideLines(t, s)[on.String()+" creative "+object].CreativeName
	}
	require.Equal(t, "Creative one", *name(long, "c1"))
	require.Nil(t, name(today, "c2"))

	putObject(t, s, rawCreatives, "creative", "c1", "Creative one", "a1")
	require.Zero(t, rebuild(t, s), "an unchanged object marks nothing")
	putObject(t, s, rawCreatives, "creative", "c1", "Renamed", "a1")
	require.Equal(t, 2, rebuild(t, s), "of the last 31 days")
	require.Equal(t, "Renamed", *name(today, "c1"))
	require.Equal(t, "Renamed", *name(today.Add(-31), "c1"))
	require.Equal(t, "Creative one", *name(long, "c1"))

	putObject(t, s, rawCreatives, "creative", "c2", "", "a1")
	require.Equal(t, 2, rebuild(t, s), "a new object, without a name")
	require.Equal(t, "a1", *wideLines(t, s)[today.String()+" creative c2"].AdgroupID)

	accounts := rawtable.Table{Name: "test_account", Shape: rawtable.AccountRows}
	require.NoError(t, s.EnsureRawTables(t.Context(), []rawtable.Table{accounts}))
	require.NoError(t, s.Config.Writer(t.Context()).Exec("UPDATE media_account SET name = 'Eight' WHERE id = 7").Error)
	require.NoError(t, s.PutAccountRows(t.Context(), "test", accounts, 1,
		[]settings.AccountRow{{AccountID: 7, JSON: `{"name":"Eight"}`}}))
	require.Equal(t, 4, rebuild(t, s))
	require.Equal(t, "Eight", *wideLines(t, s)[today.String()+" creative c1"].AccountName)
	require.NoError(t, s.PutAccountRows(t.Context(), "test", accounts, 2,
		[]settings.AccountRow{{AccountID: 7, JSON: `{"name":"Eight"}`}}))
	require.Zero(t, rebuild(t, s))
}

func TestWide_FollowsBindings(t *testing.T) {
	t.Parallel()
	s := wideStore(t)
	long := today.Add(-40)
	for _, on := range []day.Day{long, today} {
		putReport(t, s, "account", on, map[string]int64{"": 5})
	}
	rebuild(t, s)
	l := storetest.Lead(t, s, "a")
	bind := func(b summaries.Binding) {
		require.NoError(t, s.ApplyBindings(t.Context(), l,
			[]summaries.BindingChange{{AccountID: 7, Bindings: []summaries.Binding{b}, Touched: []summaries.Binding{b}}}))
	}
	bind(summaries.Binding{AccountID: 7, From: long, To: long, Game: "chess", OS: "ios"})
	require.Equal(t, 1, rebuild(t, s), "however long ago the day is")
	rows := wideLines(t, s)
	require.Equal(t, "chess", rows[long.String()+" account "].Game)
	require.Equal(t, "unassigned", rows[today.String()+" account "].Game)
	bind(summaries.Binding{AccountID: 7, From: long, To: summaries.LastDay, Game: "chess", OS: "android"})
	require.Equal(t, 2, rebuild(t, s))
	require.Equal(t, "android", wideLines(t, s)[today.String()+" account "].OS)
}

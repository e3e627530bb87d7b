package simulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/simulator/fault/trap"
	"adsync/simulator/world"
)

// promotions lists all promotions of the large account, including deleted ones.
func (s *sim) promotions() (list []fields) {
	s.t.Helper()
	for page := 1; ; page++ {
		d := data(s.t, s.oceanCall(s.account("oceanengine", 0), "v3.0/promotion/list/", "page", fmt.Sprint(page), "page_size",
			"20",
			"filtering", `{"status_first":"PROMOTION_STATUS_ALL"}`))
		rows := d["list"].([]any)
		if len(rows) == 0 {
			return list
		}
		for _, row := range rows {
			list = append(list, row.(fields))
		}
	}
}

func TestTraps_OfNames(t *testing.T) {
	t.Parallel()
	s := standing(t, "emoji_name")
	isEmoji := func(x fields) bool { return strings.Contains(x["promotion_name"].(string), "🎮") }
	listed := s.promotions()
	require.True(t, slices.ContainsFunc(listed, isEmoji))
	require.Positive(t, s.trap("emoji_name").Met)
	truth := s.truthLines("media", "oceanengine", "kind", "promotion", "account", idText(s.account("oceanengine", 0).ID))
	require.True(t, slices.ContainsFunc(truth, func(line string) bool { return strings.Contains(line, "🎮") }),
		"the truth has the same names")

	s = standing(t, "name_reused")
	byName := map[string][]fields{}
	twice := 0
	for _, x := range s.promotions() {
		name := x["promotion_name"].(string)
		if byName[name] = append(byName[name], x); len(byName[name]) == 2 {
			twice++
			require.Equal(t, "PROMOTION_STATUS_DELETED", byName[name][0]["status_first"], "the earlier ad is deleted")
			require.NotEqual(t, byName[name][0]["promotion_id"], x["promotion_id"])
		}
	}
	require.Positive(t, twice)
	require.Positive(t, s.trap("name_reused").Met)

	s = standing(t, "renamed")
	s.promotions()
	require.Positive(t, s.trap("renamed").Met)
}

func TestTraps_OfWordsAndFields(t *testing.T) {
	t.Parallel()
	s := standing(t, "unknown_word")
	require.True(t, slices.ContainsFunc(s.promotions(),
		func(x fields) bool { return x["opt_status"] == "ENABLE_BY_TRIAL_RUN" }))
	w := s.tencentCall(s.account("tencent", 0), "adgroups/get", "page_size", "100")
	require.Contains(t, w.Body.String(), "ADGROUP_STATUS_TRIAL_RUN")
	require.Positive(t, s.trap("unknown_word").Met)

	s = standing(t, "extra_field")
	require.Contains(t, s.promotions()[0], "trial_run_spec")
	require.Positive(t, s.trap("extra_field").Met)
	s.costs("ADGROUP", "2026-11-10", "2026-11-12", false)

	s = standing(t, "null_value")
	body := s.oceanCall(s.account("oceanengine", 0), "2/file/video/get/", "page_size", "100").Body.String()
	require.Contains(t, body, `"duration":null`)
	require.Contains(t, body, `"duration":""`)
	require.Less(t, strings.Count(body, `"duration"`), strings.Count(body, `"signature"`), "some lack the field")
	require.Positive(t, s.trap("null_value").Met)
	zero, absent, told := 0, 0, 0
	for _, x := range s.promotions() {
		for _, m := range x["promotion_materials"].(fields)["video_material_list"].([]any) {
			switch id, there := m.(fields)["material_id"]; {
			case !there:
				absent++
			case id == json.Number("0"):
				zero++
			default:
				told++
			}
		}
	}
	require.Positive(t, min(zero, absent, told), "some videos lack the material: %d are 0, %d absent, %d served",
		zero, absent, told)
}

func TestTraps_NumbersAsTextsHaveTheSameValues(t *testing.T) {
	t.Parallel()
	s := standing(t, "numbers_as_text")
	asText, asNumbers := s.promotions(), s.promotions()
	require.Len(t, asNumbers, len(asText))
	for i, x := range asText {
		for _, field := range []string{"promotion_id", "project_id", "budget", "cpa_bid"} {
			require.IsType(t, "", x[field], field)
			require.Equal(t, json.Number(x[field].(string)), asNumbers[i][field], field)
		}
	}
	require.EqualValues(t, 1, s.trap("numbers_as_text").Met)
}

// info requests the details of accounts and returns the answer's code.
func (s *sim) info(accounts ...int) string {
	var ids []int64
	for _, i := range accounts {
		ids = append(ids, s.account("oceanengine", i).ID)
	}
	w := s.do(s.oceanRequest(s.token(s.account("oceanengine", 0)), "2/advertiser/info/",
		query("advertiser_ids", jsonText(ids))))
	return fmt.Sprint(decoded(s.t, w)["code"])
}

func TestTraps_OneForbiddenAccountFailsACallForMany(t *testing.T) {
	t.Parallel()
	s := standing(t, "forbidden_id")
	require.Equal(t, "0", s.info(1), "a single account meets no trap")
	require.Equal(t, "40002", s.info(0, 1))
	require.Equal(t, "0", s.info(0, 1))
	s.order("accounts", fields{"media": "oceanengine", "account": idText(s.account("oceanengine", 1).ID),
		"state": "revoked"})
	require.Equal(t, "40002", s.info(1))
	require.EqualValues(t, 1, s.trap("forbidden_id").Met)
	require.Equal(t, "40002", s.info(0, 1))
	require.EqualValues(t, 2, s.trap("forbidden_id").Met)
}

func TestTraps_OfModificationTimes(t *testing.T) {
	t.Parallel()
	s := standing(t, "status_unstamped")
	a := s.account("oceanengine", 0)
	now := s.sim.Clock.Now().Unix()
	unstamped := 0
	a.Ads(now, false, func(x world.Ad) {
		o := x.At(now)
		if _, changed := x.StatusAt(now); changed > o.Modified {
			unstamped++
			before := x.At(changed - 1)
			require.NotEqual(t, before.Status, o.Status)
			require.LessOrEqual(t, before.Modified, o.Modified)
		}
	})
	require.Positive(t, unstamped)
	s.promotions()
	require.Positive(t, s.trap("status_unstamped").Met)

	s = standing(t, "two_edits")
	a = s.account("oceanengine", 0)
	edits := 0
	a.Ads(now, false, func(x world.Ad) {
		_, changed := x.Edits(21, 4, 40).Version(x.Created, now)
		if !x.Falls(trap.TwoEdits) || changed == x.Created {
			return
		}
		first, second := x.At(changed), x.At(changed+1)
		if first.Bid != second.Bid && first.Modified == changed {
			edits++
			require.Equal(t, first.Modified, second.Modified, "the second change has the time of the first")
		}
	})
	require.Positive(t, edits)
	s.promotions()
	require.Positive(t, s.trap("two_edits").Met)
}

// trapsOfOne holds the traps that only one platform can have.
var trapsOfOne = map[string]string{
	"forbidden_id": "oceanengine", // Tencent has no call for many accounts.
}

// All traps can be met in any world, with any seed, by the clients of each platform: an ordered trap springs at the
// first call that it fits.
func TestTraps_CanAllBeMetInAnyWorld(t *testing.T) {
	t.Parallel()
	for seed := range int64(2) {
		for _, media := range clients {
			s := newSim(t, Config{Accounts: ofEach(20), Seed: 100 + seed,
				Start: time.Date(2026, 11, 15, 0, 2, 0, 0, world.Zone), Speed: 1e-6}).unlimited()
			s.set("")
			// A trap shuts an endpoint for 5 minutes.
			for _, step := range []time.Duration{6 * time.Minute, 6 * time.Minute, 2 * time.Hour, 2 * time.Hour, 2 * time.Hour} {
				s.useEverything(media)
				s.pass(step)
			}
			// Few ads have rare traps, and not at every hour.
			for range 8 {
				s.listEverything(media)
				if len(s.unmet(media)) == 0 {
					break
				}
				s.pass(2 * time.Hour)
			}
			require.Empty(t, s.unmet(media), "%s, seed %d", media, s.sim.World.Seed)
			for _, x := range s.trapList() {
				if of := trapsOfOne[x.Name]; of != "" && of != media {
					require.Zero(t, x.Met, "%s, seed %d: %s", media, s.sim.World.Seed, x.Name)
				}
			}
		}
	}
}

// pass makes some of the world's time pass. Its own clock is too slow to matter, so that every run meets the same.
func (s *sim) pass(d time.Duration) {
	require.NoError(s.t, s.sim.Clock.Set(s.sim.Clock.Now().Add(d)))
}

// unmet returns the traps that the clients of a platform have not met.
func (s *sim) unmet(media string) (names []string) {
	for _, x := range s.trapList() {
		if of := trapsOfOne[x.Name]; x.Met == 0 && (of == "" || of == media) {
			names = append(names, x.Name)
		}
	}
	return names
}

// useEverything pulls all lists and reports of a platform's accounts, as a client that retries after refusals.
func (s *sim) useEverything(media string) {
	day := world.FormatDay(world.DayOf(s.sim.Clock.Now().Unix()))
	before := world.FormatDay(world.DayOf(s.sim.Clock.Now().Unix()) - 1)
	longAgo := world.FormatDay(world.DayOf(s.sim.Clock.Now().Unix()) - 20)
	for i := range 8 {
		a := s.account(media, i)
		ask := func(call func(page string) bool) {
			for page := range 4 {
				for range 3 {
					s.pass(20 * time.Millisecond)
					if call(fmt.Sprint(page + 1)) {
						break
					}
					s.refresh()
				}
			}
		}
		if media == "tencent" {
			s.useTencent(a, ask, longAgo, before, day)
		} else {
			s.useOceanEngine(a, ask, longAgo, before, day)
			s.info(0, 1)
		}
	}
}

// listEverything lists the ads of all accounts of a platform: few of them have rare traps.
func (s *sim) listEverything(media string) {
	for i := range 20 {
		a := s.account(media, i)
		call := func(page string) bool {
			if media == "tencent" {
				return isGood(s.tencentCall(a, "adgroups/get", "page", page, "page_size", "100").Body.Bytes())
			}
			return isGood(s.oceanCall(a, "v3.0/promotion/list/", "page", page, "page_size", "20", "filtering",
				`{"status_first":"PROMOTION_STATUS_ALL"}`).Body.Bytes())
		}
		for page := range 10 {
			for range 3 { // The first refresh of a token is cut off.
				s.pass(20 * time.Millisecond)
				if call(fmt.Sprint(page + 1)) {
					break
				}
				s.refresh()
			}
		}
	}
}

func (s *sim) useTencent(a *world.Account, ask func(call func(page string) bool), days ...string) {
	for _, path := range []string{"adgroups/get", "dynamic_creatives/get", "images/get", "videos/get"} {
		ask(func(page string) bool {
			return isGood(s.tencentCall(a, path, "page", page, "page_size", "20").Body.Bytes())
		})
	}
	ask(func(page string) bool {
		const undated = `[{"field":"created_time","operator":"LESS","values":["1000000000"]}]`
		return isGood(s.tencentCall(a, "images/get", "filtering", undated, "page", page, "page_size", "20").Body.Bytes())
	})
	for _, path := range []string{"daily_reports/get", "hourly_reports/get"} {
		for _, level := range []string{"ADVERTISER", "ADGROUP"} {
			for _, from := range days {
				moment := map[bool]string{true: "hour", false: "date"}[path == "hourly_reports/get"]
				keys := []string{moment, "adgroup_id"}[:map[string]int{"ADVERTISER": 1, "ADGROUP": 2}[level]]
				ask(func(page string) bool {
					return isGood(s.tencentCall(a, path, "level", "REPORT_LEVEL_"+level, "group_by", jsonText(keys), "fields",
						jsonText(append(keys, wireNames("tencent")...)),
						"date_range", jsonText(map[string]string{"start_date": from, "end_date": from}), "page", page, "page_size",
						"20").Body.Bytes())
				})
			}
		}
	}
}

func (s *sim) useOceanEngine(a *world.Account, ask func(call func(page string) bool), days ...string) {
	ask(func(page string) bool {
		return isGood(s.oceanCall(a, "v3.0/promotion/list/", "page", page, "page_size", "20", "filtering",
			`{"status_first":"PROMOTION_STATUS_ALL"}`).Body.Bytes())
	})
	for _, path := range []string{"2/file/image/get/", "2/file/video/get/", "v3.0/project/list/"} {
		ask(func(page string) bool { return isGood(s.oceanCall(a, path, "page", page).Body.Bytes()) })
	}
	for _, moment := range []string{"stat_time_day", "stat_time_hour"} {
		for _, dimensions := range [][]string{{moment}, {moment, "cdp_promotion_id"}} {
			for _, d := range days {
				ask(func(page string) bool {
					return isGood(s.oceanCall(a, "v3.0/report/custom/get/", "dimensions", jsonText(dimensions), "metrics",
						jsonText(wireNames("oceanengine")), "filters", "[]",
						"order_by", `[{"field":"`+moment+`","type":"ASC"}]`, "start_time", d+" 00:00:00", "end_time", d+" 23:59:59",
						"page", page, "page_size", "20").Body.Bytes())
				})
			}
		}
	}
}

func isGood(body []byte) bool {
	var answer struct{ Code *int }
	return json.Unmarshal(body, &answer) == nil && answer.Code != nil && *answer.Code == 0
}

// refresh renews the tokens of all platforms. A refresh that is cut off panics, as a server's handler would.
func (s *sim) refresh() {
	for _, login := range s.credentials("tencent").Logins {
		func() {
			defer func() { _ = recover() }()
			s.tencentOAuth("grant_type", "refresh_token", "refresh_token", login.RefreshToken)
		}()
	}
	for _, login := range s.credentials("oceanengine").Logins {
		func() {
			defer func() { _ = recover() }()
			s.oceanOAuth("refresh_token", fields{"refresh_token": login.RefreshToken})
		}()
	}
}

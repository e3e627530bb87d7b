package bilibili_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

const (
	campaignList = "cpc/v3/campaign/list_campaigns"
	unitList     = "cpc/v3/unit/list_units"
	creativeList = "cpc/v3/creative/list_creatives"
	imageList    = "cpc/v3/material/list_images"
	videoList    = "cpc/v3/material/list_videos"
	flowList     = "cpc/v3/account/list_cash_flows"
)

// rows returns all rows of a list, page by page.
func (s *sim) rows(a *world.Account, path string, body fields) []fields {
	s.t.Helper()
	const size = 100
	return pages(s.t, size, func(page int) *httptest.ResponseRecorder {
		all := fields{"page": page, "page_size": size}
		maps.Copy(all, body)
		return s.call(a, path, all)
	})
}

var all = fields{"status": "ALL"}

func TestLists_HaveTheWholeConfiguration(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	want := map[string][]string{}
	live := map[string][]string{}
	add := func(path string, id int64, status world.Status) {
		want[path] = append(want[path], simtest.Text(id))
		if status != world.StatusDeleted {
			live[path] = append(live[path], simtest.Text(id))
		}
	}
	for _, x := range a.Projects(s.Now()) {
		add(campaignList, x.ID, x.Status)
	}
	for _, x := range s.Objects(a) {
		add(unitList, x.ID, x.Status)
	}
	for _, x := range a.Creatives(s.Now()) {
		add(creativeList, x.ID, x.Status)
	}
	for path, key := range map[string]string{campaignList: "campaign_id", unitList: "unit_id",
		creativeList: "creative_id"} {
		require.Equal(t, want[path], simtest.Texts(s.rows(a, path, all), key))
		require.Equal(t, live[path], simtest.Texts(s.rows(a, path, nil), key), "deleted objects are left out by default")
	}
	require.Less(t, len(live[unitList]), len(want[unitList]))
	s.Assume("deleted_listed", 0)
	require.Equal(t, live[unitList], simtest.Texts(s.rows(a, unitList, all), "unit_id"))
}

func TestLists_StatusesHaveAssumedNumbers(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	numbers := func(field string) []string {
		list := simtest.Texts(s.rows(a, unitList, all), field)
		slices.Sort(list)
		return slices.Compact(list)
	}
	require.Equal(t, []string{"1", "2", "4"}, numbers("status"))
	require.Equal(t, []string{"1", "2"}, numbers("budget_limit_type"))
	for i, name := range []string{"status_active", "status_paused", "status_deleted"} {
		s.Assume(name, int64(i+5))
	}
	require.Equal(t, []string{"5", "6", "7"}, numbers("status"))
	s.Order("traps", fields{"name": "unknown_word", "on": true})
	require.Contains(t, numbers("budget_limit_type"), "98", "a number that no source has")
}

func TestLists_DetailsAreThoseOfTheLists(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for path, list := range map[string]string{"campaign": campaignList, "unit": unitList, "creative": creativeList} {
		row := s.rows(a, list, all)[1]
		id := row[path+"_id"].(json.Number).String()
		require.Equal(t, row, data(t, s.about(a, "cpc/v3/"+path+"/get", path+"_id", id)))
		for _, wrong := range []string{"", "x", "7"} {
			require.Equal(t, 40000, code(t, s.about(a, "cpc/v3/"+path+"/get", path+"_id", wrong)), "%s %q", path, wrong)
		}
	}
}

func TestLists_CreativesNameTheirFiles(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	videos := simtest.Texts(s.rows(a, videoList, nil), "video_id")
	images := simtest.Texts(s.rows(a, imageList, nil), "image_id")
	kinds := map[bool]int{}
	for _, x := range s.rows(a, creativeList, all) {
		video, isVideo := x["video_id"].(json.Number)
		kinds[isVideo]++
		require.NotEmpty(t, x["image_ids"], "a video has a cover")
		if isVideo {
			require.Contains(t, videos, video.String())
		}
		for _, id := range x["image_ids"].([]any) {
			require.Contains(t, images, id.(json.Number).String())
		}
	}
	require.Len(t, kinds, 2)
	require.Len(t, videos, len(a.Assets(world.AssetVideo, s.Now())))
	require.Len(t, images, len(a.Assets(world.AssetImage, s.Now())))
}

func TestLists_TheLastPageMayBeFull(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	before := simtest.Texts(s.rows(a, unitList, all), "unit_id")
	require.NotZero(t, len(before)%100)
	s.Order("faults", fields{"kind": "full_page", "media": "bilibili", "endpoint": unitList,
		"account": simtest.Text(a.ID)})
	after := s.rows(a, unitList, all)
	require.Len(t, after, len(before)/100*100, "the last page is full, and an empty one follows")
	live := func(ids []fields) []string {
		ids = slices.DeleteFunc(ids, func(x fields) bool { return x["status"] == json.Number("4") })
		return simtest.Texts(ids, "unit_id")
	}
	require.Equal(t, simtest.Texts(s.rows(a, unitList, nil), "unit_id"), live(after), "only deleted units are left out")
	w := s.Do(httptest.NewRequest(http.MethodGet, "/_sim/faults", nil))
	met := simtest.Decoded(t, w)["faults"].([]any)[0].(fields)["met"]
	require.Equal(t, simtest.Text(int64(len(after)/100+1)), met.(json.Number).String(),
		"the list without deleted units has none to leave out")
}

func TestLists_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	days := fields{"start_date": "2026-11-01", "end_date": "2026-11-10"}
	for _, path := range []string{campaignList, unitList, creativeList, imageList, videoList, flowList} {
		for _, body := range []fields{{"page": 0}, {"page": "x"}, {"page_size": 0}, {"page_size": 101}, {"account_id": ""}} {
			require.Equal(t, 40000, code(t, s.call(a, path, with(days, body))), "%s %v", path, body)
		}
		require.Equal(t, 40301, code(t, s.call(a, path, with(days, fields{"account_id": 1}))), path)
		require.Equal(t, 40000, code(t, s.send(http.MethodPost, s.Token(a), path+"?page=1", "application/json", "{}")), path)
		require.Equal(t, 40000, code(t, s.send(http.MethodPost, s.Token(a), path, form, "account_id="+simtest.Text(a.ID))),
			path)
		require.Equal(t, http.StatusNotFound, s.about(a, path).Code, path)
	}
	for _, path := range []string{campaignList, unitList, creativeList} {
		require.Equal(t, 40000, code(t, s.call(a, path, fields{"status": "DELETED"})), path)
	}
	s.Assume("page_size", 500)
	require.Equal(t, 0, code(t, s.call(a, unitList, fields{"page_size": 500})))
}

// with returns fields with others added.
func with(x fields, others fields) fields {
	y := maps.Clone(x)
	maps.Copy(y, others)
	return y
}

func TestLists_TimesAreInAnAssumedZone(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, o := s.Account(0), s.Objects(s.Account(0))[0]
	day := func() string {
		d := data(t, s.about(a, "cpc/v3/unit/get", "unit_id", simtest.Text(o.ID))).(fields)
		return d["ctime"].(string)[:10]
	}
	at := func(zone int64) string { return world.FormatDay(int((o.Created + zone) / world.DayLength)) }
	require.Equal(t, at(28_800), day())
	s.Assume("zone_seconds", -36_000)
	require.Equal(t, at(-36_000), day())
}

// fen returns an amount in yuan in fen.
func fen(t testing.TB, x fields, name string) int64 {
	t.Helper()
	f, err := x[name].(json.Number).Float64()
	require.NoError(t, err)
	return int64(f*100 + 0.5)
}

func TestFunds_AreTheMoneyOfTheTruth(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	v := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	now := v.FundNow(a).Balance
	d := data(t, s.about(a, "report/v2/cash")).(fields)
	require.Equal(t, [2]int64{now.Cash, now.Grant}, [2]int64{fen(t, d, "cash"), fen(t, d, "red_packet")})
	require.Equal(t, 40301, code(t, s.about(a, "report/v2/cash", "account_id", "1")))

	from, _ := world.ParseDay("2026-11-02")
	want := v.FundDays(a, from, from+12)
	got := s.rows(a, flowList, fields{"start_date": "2026-11-02", "end_date": "2026-11-14"})
	require.Len(t, got, len(want))
	for i, x := range got {
		require.Equal(t, world.FormatDay(want[i].Day), x["date"])
		require.Equal(t, want[i].Paid.Total(), fen(t, x, "cost_cash")+fen(t, x, "cost_red_packet"))
		require.Equal(t, want[i].Balance.Total(), fen(t, x, "balance_cash")+fen(t, x, "balance_red_packet"))
	}
	for name, days := range map[string]fields{
		"no days": nil, "no end": {"start_date": "2026-11-02"}, "a text": {"start_date": "x", "end_date": "2026-11-02"},
		"the end before the start": {"start_date": "2026-11-03", "end_date": "2026-11-02"},
	} {
		require.Equal(t, 40000, code(t, s.call(a, flowList, days)), name)
	}
}

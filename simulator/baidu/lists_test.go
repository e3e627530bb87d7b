package baidu_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

// levels are the lists of both kinds of advertising.
var levels = map[bool][]struct {
	path, choice, id, parent string
	ids                      string
	byParent, byID           int
}{
	false: {
		{feed + "CampaignFeedService/getCampaignFeed", "campaignFeedFields", "campaignFeedId", "", "campaignFeedIds", 0, 0},
		{adgroups, "adgroupFeedFields", "adgroupFeedId", "campaignFeedId", "ids", 1, 2},
		{feed + "CreativeFeedService/getCreativeFeed", "creativeFeedFields", "creativeFeedId", "adgroupFeedId", "ids", 2, 3},
	},
	true: {
		{search + "CampaignService/getCampaign", "campaignFields", "campaignId", "", "campaignIds", 0, 0},
		{search + "AdgroupService/getAdgroup", "adgroupFields", "adgroupId", "campaignId", "ids", 3, 5},
		{search + "CreativeService/getCreative", "creativeFields", "creativeId", "adgroupId", "ids", 5, 7},
	},
}

// ask returns the body of a call for a level's ids.
func (s *sim) ask(isSearch bool, l int, idType int, list any, more ...any) (path string, body fields) {
	x := levels[isSearch][l]
	body = fields{x.choice: []string{x.id}}
	if x.parent != "" {
		body[x.choice] = []string{x.id, x.parent}
		body["idType"] = idType
	}
	body[x.ids] = list
	return x.path, with(body, more...)
}

func TestLists_HaveAllThatIsNotDeleted(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	for isSearch, index := range map[bool]int{false: 0, true: 1} {
		a := s.Account(index)
		for other := 4; a.Class < world.ClassSmall; other += 3 {
			a = s.Account(other)
		}
		path, body := s.ask(isSearch, 0, 0, []int{})
		campaigns := s.list(a, path, body)
		var want []string
		for _, x := range a.Projects(s.Now()) {
			want = append(want, simtest.Text(x.ID))
		}
		require.Equal(t, want, simtest.Texts(campaigns, levels[isSearch][0].id))

		path, body = s.ask(isSearch, 1, levels[isSearch][1].byParent, ids(campaigns, levels[isSearch][0].id))
		units := s.list(a, path, body)
		want = nil
		var parts []string
		for _, o := range s.Objects(a) {
			if o.Status == world.StatusDeleted {
				continue
			}
			want = append(want, simtest.Text(o.ID))
			o.EachCreative(a, s.Now(), func(c world.Creative) {
				if c.At(s.Now()).Status != world.StatusDeleted {
					parts = append(parts, simtest.Text(c.ID))
				}
			})
		}
		require.NotEmpty(t, want)
		require.Equal(t, want, simtest.Texts(units, levels[isSearch][1].id))
		path, body = s.ask(isSearch, 1, levels[isSearch][1].byID, []any{want[0]})
		require.Equal(t, want[:1], simtest.Texts(s.list(a, path, body), levels[isSearch][1].id))

		var got []string
		for _, x := range units {
			path, body = s.ask(isSearch, 2, levels[isSearch][2].byParent, []any{x[levels[isSearch][1].id]})
			got = append(got, simtest.Texts(s.list(a, path, body), levels[isSearch][2].id)...)
		}
		require.Equal(t, parts, got)
		path, body = s.ask(isSearch, 2, levels[isSearch][2].byID, []any{parts[0]})
		require.Equal(t, parts[:1], simtest.Texts(s.list(a, path, body), levels[isSearch][2].id))

		path, body = s.ask(!isSearch, 0, 0, []int{})
		require.Empty(t, s.list(a, path, body), "an account has one kind of campaigns")
	}
}

func TestLists_AnswerForAPartOfTheIDs(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	var live, deleted []any
	for _, o := range s.Objects(a) {
		if o.Status == world.StatusDeleted {
			deleted = append(deleted, o.ID)
		} else {
			live = append(live, o.ID)
		}
	}
	path, body := s.ask(false, 1, 2, []any{live[0], deleted[0], live[1]})
	w := s.call(a, path, body)
	state, codes := status(t, w)
	require.Equal(t, int64(1), state)
	require.Equal(t, []int64{901_001}, codes)
	require.Equal(t, []string{fmt.Sprint(live[0]), fmt.Sprint(live[1])}, simtest.Texts(rows(t, w), "adgroupFeedId"))
	failure := simtest.Decoded(t, w)["header"].(fields)["failures"].([]any)[0].(fields)
	require.Equal(t, "ids[1]", failure["position"])
	require.Equal(t, json.Number(fmt.Sprint(deleted[0])), failure["id"])
	path, body = s.ask(false, 1, 2, []any{deleted[0]})
	require.Equal(t, int64(901_001), code(t, s.call(a, path, body)))

	// A fault makes the first of several ids fail, as if the platform were in trouble.
	s.Order("faults", fields{"kind": "part_fails", "media": "baidu", "count": 1})
	path, body = s.ask(false, 1, 2, live[:1])
	require.Len(t, s.list(a, path, body), 1, "one id is no part")
	path, body = s.ask(false, 1, 2, live[:3])
	state, codes = status(t, s.call(a, path, body))
	require.Equal(t, int64(1), state)
	require.Equal(t, []int64{800}, codes)
	require.Len(t, s.list(a, path, body), 3, "the order was for one call")
}

func TestLists_Conditions(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	b := s.Account(1)
	for other := 4; b.Class < world.ClassSmall; other += 3 {
		b = s.Account(other)
	}
	length := func(a *world.Account, isSearch bool, l, idType int, list any, more ...any) int {
		path, body := s.ask(isSearch, l, idType, list, more...)
		return len(s.list(a, path, body))
	}
	require.NotZero(t, length(b, true, 0, 0, nil, "adType", 0))
	require.Zero(t, length(b, true, 0, 0, nil, "adType", 14))
	campaign := []any{b.Projects(s.Now())[0].ID}
	require.NotZero(t, length(b, true, 1, 3, campaign, "getTemp", 0))
	require.Zero(t, length(b, true, 1, 3, campaign, "getTemp", 1))
}

func TestLists_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for _, isSearch := range []bool{false, true} {
		want, most := int64(925_000), []int{0, 100, 100}
		if isSearch {
			want, most = 901_000, []int{0, 5000, 3000}
		}
		refused := func(l, idType int, list any, more ...any) {
			path, body := s.ask(isSearch, l, idType, list, more...)
			require.Equal(t, want, code(t, s.call(a, path, body)), "%s %v", path, body)
		}
		for l, x := range levels[isSearch] {
			refused(l, x.byID, []int{1}, x.choice, nil)
			refused(l, x.byID, []int{1}, x.choice, []string{})
			refused(l, x.byID, []int{1}, x.choice, []string{"x"})
			refused(l, x.byID, "x")
			refused(l, x.byID, []string{"x"})
			if l == 0 {
				refused(l, 0, make([]int, 101))
				continue
			}
			refused(l, x.byID, make([]int, most[l]+1))
			refused(l, x.byParent, make([]int, 1001))
			refused(l, x.byID, []int{})
			refused(l, 11, []int{1})
			refused(l, 0, []int{1}, "idType", nil)
		}
		if isSearch {
			refused(0, 0, nil, "adType", 1)
			refused(1, 5, []int{1}, "getTemp", 2)
		} else {
			refused(0, 0, nil, "campaignFeedFilter", fields{"bstype": []int{1}})
			refused(2, 3, []int{1}, "creativeFeedFilter", fields{"status": []int{0}})
		}
	}
}

func TestLists_KnowWordsThatNoDocumentHas(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	var own []any
	for _, x := range a.Projects(s.Now()) {
		own = append(own, x.ID)
	}
	ask := func() []fields {
		path, body := s.ask(false, 1, 1, own, "adgroupFeedFields", []string{"adgroupFeedId", "status", "bid"})
		return s.list(a, path, body)
	}
	require.NotContains(t, simtest.Texts(ask(), "status"), "98")
	s.Order("traps", fields{"name": "unknown_word", "on": true})
	require.Contains(t, simtest.Texts(ask(), "status"), "98")
	s.Order("traps", fields{"name": "unknown_word", "on": false})
	s.Order("traps", fields{"name": "numbers_as_text", "on": true})
	require.IsType(t, "", ask()[0]["bid"])
}

func TestAccounts_HaveTheirMoney(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	view := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	yuan := func(fen int64) json.Number { return json.Number(fmt.Sprint(float64(fen) / 100)) }
	has := view.FundNow(a).Balance
	feedOne := s.list(a, feed+"AccountFeedService/getAccountFeed", fields{"accountFeedFields": []string{"userId",
		"balance", "budget", "userStat", "liceName", "cid", "balancePackage", "uaStat"}})
	require.Len(t, feedOne, 1)
	require.Equal(t, yuan(has.Total()), feedOne[0]["balance"])
	require.Equal(t, json.Number(simtest.Text(a.ID)), feedOne[0]["userId"])
	require.Equal(t, json.Number("2"), feedOne[0]["userStat"])
	require.Equal(t, a.Company(), feedOne[0]["liceName"])
	searchOne := s.list(a, search+"AccountService/getAccountInfo", fields{"accountFields": []string{"balance", "pcBalance",
		"budgetType", "userLevel"}})
	require.Equal(t, yuan(has.Total()), searchOne[0]["balance"])
	balance := s.list(a, search+"BalanceService/getBalanceInfo", fields{"productIds": []int{1}})
	require.Equal(t, yuan(has.Cash), balance[0]["cash"])
	require.Equal(t, yuan(has.Grant), balance[0]["bonusPure"])
	poor := s.list(s.Find(world.ClassEmpty), feed+"AccountFeedService/getAccountFeed",
		fields{"accountFeedFields": []string{"userStat"}})
	require.Equal(t, json.Number("3"), poor[0]["userStat"])

	for _, x := range []struct {
		path string
		body fields
		code int64
	}{
		{feed + "AccountFeedService/getAccountFeed", nil, 925_000},
		{feed + "AccountFeedService/getAccountFeed", fields{"accountFeedFields": []string{"userLevel"}}, 925_000},
		{search + "AccountService/getAccountInfo", fields{"accountFields": []string{"uaStat"}}, 901_000},
		{search + "BalanceService/getBalanceInfo", nil, 901_000},
		{search + "BalanceService/getBalanceInfo", fields{"productIds": []int{400}}, 901_000},
		{search + "BalanceService/getBalanceInfo", fields{"productIds": []int{2}}, 901_000},
	} {
		require.Equal(t, x.code, code(t, s.call(a, x.path, x.body)), "%v", x)
	}
}

func TestFiles_ComeInPagesWithoutATotal(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	for path, kind := range map[string]world.AssetKind{
		feed + "VideoFeedService/getVideoFeed": world.AssetVideo, feed + "ImageService/getImage": world.AssetImage,
	} {
		id := map[world.AssetKind]string{world.AssetVideo: "videoid", world.AssetImage: "imageId"}[kind]
		var got, want []string
		for page := 1; ; page++ {
			list := s.list(a, path, fields{"page": page, "pageSize": 100})
			if len(list) == 0 {
				break
			}
			got = append(got, simtest.Texts(list, id)...)
		}
		for _, x := range a.Assets(kind, s.Now()) {
			want = append(want, x.ID)
		}
		require.Greater(t, len(want), 100)
		require.Equal(t, want, got)
		for _, body := range []fields{{"page": 1}, {"pageSize": 1}, {"page": 0, "pageSize": 1},
			{"page": 1, "pageSize": 501}} {
			require.Equal(t, int64(925_000), code(t, s.call(a, path, body)), "%v", body)
		}
	}
	one := a.Assets(world.AssetVideo, s.Now())[3]
	list := s.list(a, feed+"VideoFeedService/getVideoFeed", fields{"ids": []any{json.Number(one.ID)}, "page": 1,
		"pageSize": 9})
	require.Equal(t, []string{one.ID}, simtest.Texts(list, "videoid"))
	require.Equal(t, int64(925_000), code(t, s.call(a, feed+"VideoFeedService/getVideoFeed", fields{
		"ids": make([]int, 1001), "page": 1, "pageSize": 9})))
}

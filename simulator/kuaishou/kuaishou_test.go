package kuaishou_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator"
	"adsync/simulator/kuaishou"
	"adsync/simulator/limit"
	"adsync/simulator/platform"
	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

func TestKuaishou_ChecksTheAccount(t *testing.T) {
	t.Parallel()
	s := newSim(t, 200)
	a := s.Account(0)
	ask := func(body fields) int {
		return simtest.Code(t, s.post(s.Token(a), "v1/advertiser/info", body))
	}
	require.Equal(t, 0, ask(fields{"advertiser_id": a.ID}))
	require.Equal(t, 0, ask(fields{"advertiser_id": simtest.Text(a.ID)}), "numbers as texts are taken")
	require.Equal(t, 401000, ask(fields{}))
	require.Equal(t, 400004, ask(fields{"advertiser_id": 1}))
	require.Equal(t, 400004, ask(fields{"advertiser_id": "x"}))
	require.Equal(t, 400004, ask(fields{"advertiser_id": s.Account(150).ID}), "another login's account")
	for state, code := range map[string]int{"frozen": 402010, "revoked": 400004, "open": 0} {
		s.Order("accounts", fields{"media": "kuaishou", "account": simtest.Text(a.ID), "state": state})
		require.Equal(t, code, ask(fields{"advertiser_id": a.ID}), state)
	}
}

func TestKuaishou_HasPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	send := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, base+path, strings.NewReader(body))
		r.Header.Set("Access-Token", s.Token(s.Account(0)))
		return s.Do(r)
	}
	id := simtest.Text(s.Account(0).ID)
	require.Equal(t, 0, simtest.Code(t, send(http.MethodPost, "v1/advertiser/info", `{"advertiser_id":`+id+`}`)))
	for name, w := range map[string]*httptest.ResponseRecorder{
		"an unknown path":    send(http.MethodPost, "v1/advertiser/none", `{"advertiser_id":`+id+`}`),
		"a slash at the end": send(http.MethodPost, "v1/advertiser/info/", `{"advertiser_id":`+id+`}`),
		"a GET of a POST":    send(http.MethodGet, "v1/advertiser/info?advertiser_id="+id, ""),
	} {
		require.Equal(t, http.StatusNotFound, w.Code, name)
		require.Equal(t, 401000, simtest.Code(t, w), name)
	}
	require.Equal(t, 401000, simtest.Code(t, send(http.MethodPost, "v1/advertiser/info?advertiser_id="+id, "{}")),
		"the parameters of a POST are in its body")
	require.Equal(t, 401000, simtest.Code(t, send(http.MethodPost, "v1/advertiser/info", "advertiser_id="+id)))
}

func TestKuaishou_RefusesOverTheLimitOfTheApp(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	rule := kuaishou.New().Spec().Limits[0]
	require.Equal(t, limit.Rule{Media: "kuaishou", Endpoint: "*", Scope: "app", Seconds: 60, Limit: 3000}, rule)
	rule.Limit = 2
	s.Order("limits", fields{"rules": []limit.Rule{rule}})
	a := s.Account(0)
	require.Equal(t, 0, simtest.Code(t, s.call(a, "v1/advertiser/info", nil)))
	require.Equal(t, 0, simtest.Code(t, s.call(a, "gw/dsp/unit/list", nil)))
	w := s.call(a, "gw/dsp/campaign/list", nil)
	require.Equal(t, 400001, simtest.Code(t, w), "the limit is of all endpoints together")
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, w.Header().Get("Retry-After"))
	s.Assume("http_status_limit", 429)
	w = s.call(a, "gw/dsp/campaign/list", nil)
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.Equal(t, "60", w.Header().Get("Retry-After"))
	rule.Limit = 0
	own := limit.Rule{Media: "kuaishou", Endpoint: "gw/dsp/unit/list", Scope: "app", Seconds: 10, Limit: 1}
	s.Order("limits", fields{"rules": []limit.Rule{rule, own}})
	require.Equal(t, 0, simtest.Code(t, s.call(a, "gw/dsp/unit/list", nil)))
	require.Equal(t, 400001, simtest.Code(t, s.call(a, "gw/dsp/unit/list", nil)), "an endpoint can have its own limit")
	require.Equal(t, 0, simtest.Code(t, s.call(a, "gw/dsp/campaign/list", nil)))
}

func TestKuaishou_AnErrorHasAnAssumedStatus(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	require.Equal(t, http.StatusOK, s.post("", "v1/advertiser/info", nil).Code)
	s.Assume("http_status_error", 401)
	require.Equal(t, http.StatusUnauthorized, s.post("", "v1/advertiser/info", nil).Code)
}

func TestLists_HaveTheWholeConfiguration(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	var ids, live []string
	for _, o := range s.Objects(a) {
		ids = append(ids, simtest.Text(o.ID))
		if o.Status != world.StatusDeleted {
			live = append(live, simtest.Text(o.ID))
		}
	}
	require.NotEqual(t, len(ids), len(live))
	require.Equal(t, live, simtest.Texts(s.rows(a, "gw/dsp/unit/list", nil), "unit_id"),
		"deleted units are left out by default")
	units := s.rows(a, "gw/dsp/unit/list", fields{"status": -2})
	require.Equal(t, ids, simtest.Texts(units, "unit_id"))
	require.Empty(t, s.rows(a, "gw/dsp/unit/list", fields{"status": 40}))

	var projects []string
	for _, x := range a.Projects(s.Now()) {
		projects = append(projects, simtest.Text(x.ID))
	}
	require.Equal(t, projects, simtest.Texts(s.rows(a, "gw/dsp/campaign/list", fields{"status": -2}), "campaign_id"))
	require.Empty(t, s.rows(a, "gw/dsp/campaign/list", fields{"status": 5}))

	var creatives, packed []string
	for _, x := range a.Creatives(s.Now()) {
		require.True(t, x.IsVideo())
		if x.Ad.Packed {
			if !x.IsUnlisted() {
				packed = append(packed, simtest.Text(x.ID))
			}
			continue
		}
		creatives = append(creatives, simtest.Text(x.ID))
	}
	require.Equal(t, creatives, simtest.Texts(s.rows(a, "gw/dsp/creative/list", fields{"status": -2}), "creative_id"))
	var inPackages []string
	for _, x := range s.rows(a, "gw/dsp/advanced_creative/list", fields{"status": -2}) {
		for _, one := range x["creatives"].([]any) {
			inPackages = append(inPackages, one.(fields)["creative_id"].(json.Number).String())
			require.Equal(t, x["unit_id"], one.(fields)["unit_id"])
		}
	}
	require.Equal(t, packed, inPackages)
	for _, x := range units {
		id := fields{"unit_ids": []any{x["unit_id"]}, "status": -2}
		require.Equal(t, x["unit_type"] == json.Number("10"), len(s.rows(a, "gw/dsp/advanced_creative/list", id)) == 1)
	}
}

func TestLists_Conditions(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	list := func(body fields) []string { return simtest.Texts(s.rows(a, "gw/dsp/unit/list", body), "unit_id") }
	want := func(fits func(o *world.Object) bool) (ids []string) {
		for _, o := range s.Objects(a) {
			if fits(&o) {
				ids = append(ids, simtest.Text(o.ID))
			}
		}
		require.NotEmpty(t, ids)
		return ids
	}
	one := s.Objects(a)[3]
	require.Equal(t, want(func(o *world.Object) bool { return o.ID == one.ID }),
		list(fields{"unit_id": one.ID, "status": -2}))
	require.Equal(t, want(func(o *world.Object) bool { return o.ID == one.ID }),
		list(fields{"unit_ids": []string{simtest.Text(one.ID)}, "put_status_list": []int{1, 2, 3}}))
	require.Equal(t, want(func(o *world.Object) bool { return o.Project == one.Project }),
		list(fields{"campaign_id": one.Project, "status": -2}))
	require.Equal(t, want(func(o *world.Object) bool { return o.Name == one.Name }),
		list(fields{"unit_name": one.Name, "status": -2}))
	for n, status := range map[int]world.Status{1: world.StatusActive, 2: world.StatusPaused, 3: world.StatusDeleted} {
		require.Equal(t, want(func(o *world.Object) bool { return o.Status == status }),
			list(fields{"put_status_list": []int{n}, "status": 10}), "put_status_list overrides status")
	}
	require.Equal(t, want(func(o *world.Object) bool { return o.Status == world.StatusDeleted }),
		list(fields{"status": 10}))
	require.Empty(t, list(fields{"review_status_list": []int{3}}))
	require.NotEmpty(t, list(fields{"review_status_list": []int{2}}))

	from, to := "2026-11-01", "2026-11-15"
	during := func(at int64) bool {
		day := world.FormatDay(world.DayOf(at))
		return from <= day && day <= to
	}
	dates := fields{"status": -2, "start_date": from, "end_date": to}
	require.Equal(t, want(func(o *world.Object) bool { return during(o.Modified) }), list(dates))
	dates["time_filter_type"] = 0
	require.Equal(t, want(func(o *world.Object) bool { return during(o.Modified) }), list(dates))
	from = "2026-06-01"
	dates["start_date"], dates["time_filter_type"] = from, 1
	require.Equal(t, want(func(o *world.Object) bool { return during(o.Created) }), list(dates))
}

func TestLists_RefuseBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	for _, c := range []struct {
		path string
		body fields
	}{
		{"gw/dsp/unit/list", fields{"page_size": 201}}, {"gw/dsp/unit/list", fields{"page_size": 0}},
		{"gw/dsp/unit/list", fields{"page": 0}}, {"gw/dsp/unit/list", fields{"page": "x"}},
		{"gw/dsp/unit/list", fields{"start_date": "2026-11-01"}}, {"gw/dsp/unit/list", fields{"end_date": "2026-11-01"}},
		{"gw/dsp/unit/list", fields{"start_date": "2026-11-02", "end_date": "2026-11-01"}},
		{"gw/dsp/unit/list", fields{"start_date": "2026-11-01 00:00:00", "end_date": "2026-11-02"}},
		{"gw/dsp/unit/list", fields{"time_filter_type": 2}}, {"gw/dsp/unit/list", fields{"unit_id": "x"}},
		{"gw/dsp/unit/list", fields{"unit_ids": make([]int64, 101)}}, {"gw/dsp/unit/list", fields{"unit_ids": 7}},
		{"gw/dsp/unit/list", fields{"unit_ids": []any{1.5}}}, {"gw/dsp/unit/list", fields{"status": 5}},
		{"gw/dsp/unit/list", fields{"status": "x"}}, {"gw/dsp/unit/list", fields{"put_status_list": []int{4}}},
		{"gw/dsp/unit/list", fields{"put_status_list": []int{1, 2, 3, 1}}},
		{"gw/dsp/unit/list", fields{"review_status_list": []int{4}}},
		{"gw/dsp/unit/list", fields{"review_status_list": "x"}},
		{"gw/dsp/campaign/list", fields{"campaign_ids": make([]int64, 201)}},
		{"gw/dsp/campaign/list", fields{"status": 10}}, {"gw/dsp/campaign/list", fields{"page_size": 201}},
		{"gw/dsp/creative/list", fields{"creative_ids": make([]int64, 101)}},
		{"gw/dsp/creative/list", fields{"status": 10}}, {"gw/dsp/creative/list", fields{"campaign_id": "x"}},
		{"gw/dsp/advanced_creative/list", fields{"unit_ids": make([]int64, 101)}},
		{"gw/dsp/advanced_creative/list", fields{"status": 5}},
	} {
		require.Equal(t, 401000, simtest.Code(t, s.call(s.Account(0), c.path, c.body)), "%s %v", c.path, c.body)
	}
	require.Equal(t, 0, simtest.Code(t, s.call(s.Account(0), "gw/dsp/campaign/list",
		fields{"campaign_ids": make([]int64, 200), "page_size": 200})))
	s.Assume("list_page_size", 500)
	require.Equal(t, 0, simtest.Code(t, s.call(s.Account(0), "gw/dsp/unit/list", fields{"page_size": 500})))
}

func TestLists_AnEmptyPageHasNoRows(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	ask := func() any {
		return simtest.Data(t, s.call(s.Find(world.ClassEmpty), "gw/dsp/unit/list", nil))["details"]
	}
	require.Equal(t, []any{}, ask())
	s.Assume("null_details", 1)
	require.Nil(t, ask())
}

func TestLists_TimesAreInAnAssumedZone(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a, o := s.Account(0), s.Objects(s.Account(0))[0]
	ask := func() []string {
		return simtest.Texts(s.rows(a, "gw/dsp/unit/list", fields{"unit_id": o.ID, "status": -2}), "create_time")
	}
	at := func(zone int64) string { return world.FormatDay(int((o.Created + zone) / world.DayLength)) }
	require.Equal(t, at(28_800), ask()[0][:10])
	s.Assume("zone_seconds", -36_000)
	require.Equal(t, at(-36_000), ask()[0][:10])
}

func TestLists_KnowWordsThatNoDocumentHas(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	before := simtest.Texts(s.rows(a, "gw/dsp/unit/list", nil), "status")
	require.NotContains(t, before, "98")
	s.Order("traps", fields{"name": "unknown_word", "on": true})
	require.Contains(t, simtest.Texts(s.rows(a, "gw/dsp/unit/list", nil), "status"), "98")
	s.Order("traps", fields{"name": "unknown_word", "on": false})
	s.Order("traps", fields{"name": "numbers_as_text", "on": true})
	require.True(t, slices.ContainsFunc(s.rows(a, "gw/dsp/unit/list", nil), func(x fields) bool {
		_, isText := x["cpa_bid"].(string)
		return isText
	}))
}

func TestAssumed_IsKnownByNameAndKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := func() *simulator.Simulator {
		s, err := simulator.New(simulator.Config{Accounts: 1, DataDir: dir, Platforms: []platform.Platform{kuaishou.New()}})
		require.NoError(t, err)
		return s
	}
	s := open()
	order := func(body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/_sim/limits", strings.NewReader(body)))
		return w
	}
	require.Equal(t, http.StatusBadRequest, order(`{"assumed":{"kuaishou":{"none":1}}}`).Code)
	require.Equal(t, http.StatusBadRequest, order(`{"assumed":{"none":{"task_life":1}}}`).Code)
	require.Contains(t, order(`{"assumed":{"kuaishou":{"task_life":77}}}`).Body.String(), `"task_life":77`)
	require.NoError(t, s.Close())
	s = open()
	require.Contains(t, order(`{}`).Body.String(), `"task_life":77`)
	require.NoError(t, s.Close())
}

package tiktok_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/limit"
	"adsync/simulator/night"
	"adsync/simulator/platform"
	"adsync/simulator/simtest"
	"adsync/simulator/tiktok"
	"adsync/simulator/world"
)

func TestTikTok_ChecksTheAccount(t *testing.T) {
	t.Parallel()
	s := newSim(t, 200)
	a := s.Account(0)
	for _, path := range []string{"campaign/get", "adgroup/get", "ad/get", "file/video/ad/search",
		"file/image/ad/search", "report/integrated/get", "report/task/check", "report/task/download"} {
		ask := func(id string) int {
			return simtest.Code(t, s.get(s.Token(a), path, values(fields{"advertiser_id": id})))
		}
		require.Equal(t, 40002, ask(""), path)
		require.Equal(t, 40001, ask("1"), path)
		require.Equal(t, 40001, ask("x"), path)
		require.Equal(t, 40001, ask(simtest.Text(s.Account(150).ID)), "%s of another login's account", path)
	}
	ask := func(path string) int {
		return simtest.Code(t, s.get(s.Token(a), path, values(fields{"advertiser_id": simtest.Text(a.ID)})))
	}
	for state, code := range map[string]int{"frozen": 40001, "revoked": 40001, "open": 0} {
		s.Order("accounts", fields{"media": "tiktok", "account": simtest.Text(a.ID), "state": state})
		require.Equal(t, code, ask("ad/get"), state)
	}
	s.Assume("code_account_closed", 40300)
	s.Order("accounts", fields{"media": "tiktok", "account": simtest.Text(a.ID), "state": "frozen"})
	require.Equal(t, 40300, ask("ad/get"))
}

func TestTikTok_HasPathsAndMethods(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	id := simtest.Text(s.Account(0).ID)
	send := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, base+path, strings.NewReader(body))
		r.Header.Set("Access-Token", s.Token(s.Account(0)))
		return s.Do(r)
	}
	require.Equal(t, 0, simtest.Code(t, send(http.MethodGet, "campaign/get/?advertiser_id="+id, "")))
	for name, w := range map[string]*httptest.ResponseRecorder{
		"an unknown path":         send(http.MethodGet, "campaign/none/?advertiser_id="+id, ""),
		"no slash at the end":     send(http.MethodGet, "campaign/get?advertiser_id="+id, ""),
		"a POST of a GET":         send(http.MethodPost, "campaign/get/", `{"advertiser_id":"`+id+`"}`),
		"a GET of a POST":         send(http.MethodGet, "report/task/create/?advertiser_id="+id, ""),
		"two slashes":             send(http.MethodGet, "campaign/get//?advertiser_id="+id, ""),
		"another version":         send(http.MethodGet, "../v1.2/campaign/get/?advertiser_id="+id, ""),
		"a Smart+ list, not here": send(http.MethodGet, "smart_plus/campaign/get/?advertiser_id="+id, ""),
	} {
		require.Equal(t, http.StatusNotFound, w.Code, name)
		require.Equal(t, 40007, simtest.Code(t, w), name)
	}
	require.Equal(t, 40002, simtest.Code(t, send(http.MethodPost, "report/task/create/?advertiser_id="+id, "{}")),
		"the parameters of a POST are in its body")
	w := send(http.MethodGet, "campaign/get/", `{"advertiser_id":"`+id+`"}`)
	require.Equal(t, 40002, simtest.Code(t, w), "the parameters of a GET are in its query")
	require.Equal(t, http.StatusOK, w.Code, "an error has the HTTP status of success")
	d := simtest.Decoded(t, w)
	require.Equal(t, fields{}, d["data"])
	require.Regexp(t, "^20261115043456[0-9A-F]{20}$", d["request_id"])
}

func TestTikTok_RefusesOverTheLimitOfTheApp(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	rule := tiktok.New().Spec().Limits[0]
	require.Equal(t, limit.Rule{Media: "tiktok", Endpoint: "*", Scope: "app", Seconds: 1, Limit: 10}, rule)
	rule.Seconds, rule.Limit = 60, 2
	one := rule
	one.Seconds = 1
	s.Order("limits", fields{"rules": []limit.Rule{one}})
	a := s.Account(0)
	require.Equal(t, 0, simtest.Code(t, s.call(a, "campaign/get", nil)))
	require.Equal(t, 0, simtest.Code(t, s.call(a, "ad/get", nil)))
	w := s.call(a, "adgroup/get", nil)
	require.Equal(t, 40100, simtest.Code(t, w), "the limit is of all endpoints together")
	require.Equal(t, "App "+s.Credentials().AppID+" reaches the QPS limit 2, current QPS is 3.",
		simtest.Decoded(t, w)["message"])
	require.Equal(t, http.StatusOK, w.Code)
	require.Empty(t, w.Header().Get("Retry-After"))
	one.Limit = 0
	s.Order("limits", fields{"rules": []limit.Rule{one, rule}})
	require.Equal(t, 0, simtest.Code(t, s.call(a, "ad/get", nil)))
	require.Equal(t, 0, simtest.Code(t, s.call(a, "ad/get", nil)))
	require.Equal(t, 40133, simtest.Code(t, s.call(a, "ad/get", nil)), "another period has another code")
}

func TestTikTok_HasOtherRefusalsOfLimits(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	s.Order("clock", fields{"frozen": false}) // these traps end with time
	for _, x := range [][2]string{
		{"account_over_limit", `"code":40133,`}, {"platform_busy", `"code":61000,`},
		{"app_over_limit", `"code":40100,"message":"App `},
		{"endpoint_shut", `"code":40100,"message":"requests from App [`},
	} {
		s.Order("traps", fields{"name": x[0], "on": true})
		require.Contains(t, s.call(s.Account(0), "ad/get", nil).Body.String(), x[1], x[0])
		s.Order("traps", fields{"name": x[0], "on": false})
	}
}

func TestAccounts_HaveTheirZoneAndMoney(t *testing.T) {
	t.Parallel()
	s := newSim(t, 200)
	a := s.Account(0)
	ask := func(q fields) *httptest.ResponseRecorder {
		return s.get(s.Token(a), "advertiser/info", values(q))
	}
	ids := []string{simtest.Text(a.ID), simtest.Text(s.Account(1).ID)}
	list := simtest.Data(t, ask(fields{"advertiser_ids": ids}))["list"].([]any)
	require.Len(t, list, 2)
	x := list[0].(fields)
	require.Equal(t, ids[0], x["advertiser_id"])
	require.Equal(t, "Asia/Shanghai", x["timezone"])
	require.Equal(t, "CNY", x["currency"])
	require.Equal(t, "STATUS_ENABLE", x["status"])
	require.Len(t, x["create_time"].(json.Number).String(), 10, "seconds")
	v := world.View{Now: s.Now(), Corrections: world.NewCorrections()}
	require.Equal(t, v.FundNow(a).Balance.Total(), fen(t, x["balance"]))
	some := simtest.Data(t, ask(fields{"advertiser_ids": ids, "fields": []string{"name"}}))["list"].([]any)
	require.Equal(t, fields{"name": a.Name()}, some[0])

	s.Order("accounts", fields{"media": "tiktok", "account": ids[0], "state": "frozen"})
	require.Contains(t, ask(fields{"advertiser_ids": ids}).Body.String(), "STATUS_DISABLE", "a closed account is listed")
	for name, q := range map[string]fields{
		"no ids": {}, "no list": {"advertiser_ids": ids[0] + "x"}, "an empty list": {"advertiser_ids": []string{}},
		"101 ids": {"advertiser_ids": make([]string, 101)}, "another field": {"advertiser_ids": ids, "fields": []string{"x"}},
	} {
		require.Equal(t, 40002, simtest.Code(t, ask(q)), name)
	}
	mixed := fields{"advertiser_ids": append(ids, simtest.Text(s.Account(150).ID))}
	require.Equal(t, 40001, simtest.Code(t, ask(mixed)), "one forbidden account fails the call")
	s.Assume("forbidden_fails", 0)
	require.Len(t, simtest.Data(t, ask(mixed))["list"], 2)
}

func TestAccounts_CheapCallIsCounted(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	token := s.Credentials().Logins[0].AccessToken
	r, err := tiktok.New().CheapCall(t.Context(), "http://127.0.0.1", token)
	require.NoError(t, err)
	r.Body = http.NoBody // as a server has it
	require.Equal(t, 40002, simtest.Code(t, s.Do(r)), "it is refused after it has counted")
}

func TestAuthorise_ReturnsACode(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	q := url.Values{"app_id": {s.Credentials().AppID}, "state": {"x"}, "redirect_uri": {"http://127.0.0.1/back"}}
	w := s.Do(httptest.NewRequest(http.MethodGet, "/tiktok/portal/auth?"+q.Encode(), nil))
	require.Equal(t, http.StatusFound, w.Code)
	to, err := url.Parse(w.Header().Get("Location"))
	require.NoError(t, err)
	require.Equal(t, "x", to.Query().Get("state"))
	simtest.Data(t, s.oauth("access_token", fields{"auth_code": to.Query().Get("auth_code")}))
}

func TestNight_OrdersAreAccepted(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	kinds := map[night.Kind]bool{}
	for _, e := range tiktok.New().Night().Events {
		kinds[e.Kind] = true
		if e.Kind == night.Fault {
			s.Order("faults", with(e.Order, "media", "tiktok"))
		}
	}
	require.Equal(t, map[night.Kind]bool{night.Fault: true, night.AccountRevoked: true, night.CreativesDropped: true,
		night.GrantWithdrawn: true, night.HourRepeated: true}, kinds)
	require.True(t, tiktok.New().Night().KeepsTokens)
	require.Equal(t, 40100, simtest.Code(t, s.call(s.Account(0), "ad/get", nil)))
}

func TestTikTok_HasNamesOfKnownEndpointsOnly(t *testing.T) {
	t.Parallel()
	p := tiktok.New()
	require.Equal(t, "campaign/get", p.Endpoint("/open_api/v1.3/campaign/get/"))
	for _, path := range []string{"/open_api/v1.3/campaign/none/", "/open_api/v1.3/campaign/get", "/campaign/get/"} {
		require.Equal(t, platform.EndpointUnknown, p.Endpoint(path), path)
	}
}

// A report whose rows and sums disagree is what a client finds by the sums.
func TestFaults_RowsAndSumsDisagree(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	ask := func() (row, sums fields) {
		d := simtest.Data(s.t, s.call(s.Account(0), "report/integrated/get", fields{
			"report_type": "BASIC", "data_level": "AUCTION_ADVERTISER", "dimensions": []string{"advertiser_id", "stat_time_day"},
			"metrics": []string{"spend", "impressions"}, "start_date": "2026-11-14", "end_date": "2026-11-14",
			"enable_total_metrics": "true",
		}))
		return d["list"].([]any)[0].(fields)["metrics"].(fields), d["total_metrics"].(fields)
	}
	right, sums := ask()
	require.Equal(t, right, sums)
	s.Order("faults", fields{"kind": "wrong_row", "media": "tiktok", "count": 1})
	row, sums := ask()
	require.Equal(t, right, sums)
	require.Equal(t, right["spend"], row["spend"])
	require.Equal(t, count(t, right["impressions"])-1, count(t, row["impressions"]))
	s.Order("faults", fields{"kind": "wrong_sum", "media": "tiktok", "count": 1})
	row, sums = ask()
	require.Equal(t, right, row)
	require.Equal(t, count(t, right["impressions"])+1, count(t, sums["impressions"]))
}

// count returns a count that is a text.
func count(t *testing.T, value any) int {
	t.Helper()
	n, err := strconv.Atoi(value.(string))
	require.NoError(t, err)
	return n
}

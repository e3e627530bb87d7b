package tencent_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"adsync/simulator/simtest"
	"adsync/simulator/world"
)

func TestTencent_ChecksTheCommonParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 200)
	a := s.Account(0)
	stranger := s.Account(150)
	good := s.Token(a)
	now := s.Now()
	for name, c := range map[string]struct {
		change func(q url.Values)
		want   int
	}{
		"valid parameters":         {func(url.Values) {}, 0},
		"no token":                 {func(q url.Values) { q.Del("access_token") }, 12000},
		"no timestamp":             {func(q url.Values) { q.Del("timestamp") }, 12000},
		"no nonce":                 {func(q url.Values) { q.Del("nonce") }, 12000},
		"an empty token":           {func(q url.Values) { q.Set("access_token", "") }, 11005},
		"a token of another shape": {func(q url.Values) { q.Set("access_token", "abc") }, 11004},
		"an unknown token":         {func(q url.Values) { q.Set("access_token", strings.Repeat("0", 32)) }, 11002},
		"a clock 300 s ahead":      {func(q url.Values) { q.Set("timestamp", simtest.Text(now+300)) }, 0},
		"a clock 301 s ahead":      {func(q url.Values) { q.Set("timestamp", simtest.Text(now+301)) }, 12101},
		"a clock 301 s behind":     {func(q url.Values) { q.Set("timestamp", simtest.Text(now-301)) }, 12101},
		"a timestamp of words":     {func(q url.Values) { q.Set("timestamp", "now") }, 18002},
		"a nonce of 33":            {func(q url.Values) { q.Set("nonce", strings.Repeat("x", 33)) }, 18003},
		"another login's account":  {func(q url.Values) { q.Set("account_id", simtest.Text(stranger.ID)) }, 12201},
		"an unknown account":       {func(q url.Values) { q.Set("account_id", "123") }, 12201},
		"no account":               {func(q url.Values) { q.Del("account_id") }, 18001},
		"an account of words":      {func(q url.Values) { q.Set("account_id", `"1"`) }, 18002},
	} {
		r := s.request(good, "adgroups/get", simtest.Query("account_id", simtest.Text(a.ID)))
		q := r.URL.Query()
		c.change(q)
		r.URL.RawQuery = q.Encode()
		require.Equal(t, c.want, simtest.Code(t, s.Do(r)), name)
	}
	r := s.request(good, "adgroups/get", simtest.Query("account_id", simtest.Text(a.ID), "nonce", "once"))
	require.Equal(t, 0, simtest.Code(t, s.Do(r)))
	require.Equal(t, 12100, simtest.Code(t, s.Do(r)))
}

func TestTencent_RefusesBadParameters(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	report := simtest.Query("level", "REPORT_LEVEL_ADGROUP", "group_by", `["date","adgroup_id"]`, "fields",
		`["date","cost"]`,
		"date_range", `{"start_date":"2026-11-01","end_date":"2026-11-07"}`)
	hourly := simtest.Query("level", "REPORT_LEVEL_ADVERTISER", "group_by", `["hour"]`, "fields", `["hour","cost"]`,
		"date_range", `{"start_date":"2026-11-14","end_date":"2026-11-14"}`)
	for _, c := range []struct {
		path string
		base url.Values
		set  []string // a name and its value; "-" omits it
		want int
	}{
		{"adgroups/get", nil, []string{"page", "101"}, 18003},
		{"adgroups/get", nil, []string{"page", "0"}, 18004},
		{"adgroups/get", nil, []string{"page_size", "101"}, 18003},
		{"adgroups/get", nil, []string{"page", "one"}, 18002},
		{"adgroups/get", nil, []string{"fields", "adgroup_id"}, 12003},
		{"adgroups/get", nil, []string{"fields", `"adgroup_id"`}, 12008},
		{"adgroups/get", nil, []string{"fields", `["campaign_id"]`}, 12009},
		{"adgroups/get", nil, []string{"is_deleted", "1"}, 18002},
		{"adgroups/get", nil, []string{"pagination_mode", "CURSOR"}, 18009},
		{"adgroups/get", nil,
			[]string{"filtering", `[{"field":"last_modified_time","operator":"GREATER","values":[1795140000]}]`}, 18002},
		{"adgroups/get", nil,
			[]string{"filtering", `[{"field":"last_modified_time","operator":"GREATER","values":["17951"]}]`}, 18002},
		{"adgroups/get", nil,
			[]string{"filtering", `[{"field":"last_modified_time","operator":"CONTAINS","values":["1795140000"]}]`}, 18009},
		{"adgroups/get", nil, []string{"filtering", `[{"field":"campaign_id","operator":"EQUALS","values":["1"]}]`}, 18009},
		{"adgroups/get", nil, []string{"filtering", `[{"field":"adgroup_id","operator":"IN","values":[]}]`}, 18012},
		{"adgroups/get", nil, []string{"filtering", `[{"field":"is_deleted","operator":"EQUALS","values":["true"]}]`}, 33109},
		{"adgroups/get", nil, []string{"filtering", `{`}, 12003},
		{"campaigns/get", nil, []string{"page", "1"}, 12007},
		{"advertiser/get", nil, []string{"fields", `["account_id"]`}, 18001},
		{"daily_reports/get", report, []string{"level", "-"}, 18001},
		{"daily_reports/get", report, []string{"level", "REPORT_LEVEL_CAMPAIGN"}, 18009},
		{"daily_reports/get", report, []string{"fields", "-"}, 18001},
		{"daily_reports/get", report, []string{"fields", `["spend"]`}, 12009},
		{"daily_reports/get", report, []string{"group_by", "-"}, 18001},
		{"daily_reports/get", report, []string{"group_by", `[]`}, 18012},
		{"daily_reports/get", report, []string{"group_by", `["hour"]`}, 18009},
		{"daily_reports/get", report, []string{"date_range", "-"}, 18001},
		{"daily_reports/get", report, []string{"date_range", `{"start_date":"2026-11-08","end_date":"2026-11-07"}`}, 18004},
		{"daily_reports/get", report, []string{"date_range", `{"start_date":"2025-11-14","end_date":"2025-11-15"}`}, 18004},
		{"daily_reports/get", report, []string{"date_range", `{"start_date":"20261101","end_date":"2026-11-07"}`}, 18002},
		{"daily_reports/get", report, []string{"page_size", "2001"}, 18003},
		{"daily_reports/get", report, []string{"page", "5001", "page_size", "2"}, 18003},
		{"daily_reports/get", report, []string{"page", "6", "page_size", "2000"}, 18003},
		{"daily_reports/get", report, []string{"page", "5", "page_size", "2000"}, 0},
		{"daily_reports/get", report, []string{"order_by", `[{"sort_field":"cost","sort_type":"DOWN"}]`}, 18009},
		{"daily_reports/get", report, []string{"order_by", `[{"sort_field":"cost","sort_type":"DESCENDING"}]`}, 0},
		{"daily_reports/get", report, []string{"time_line", "NOW"}, 18009},
		{"daily_reports/get", report, []string{"time_line", "REPORTING_TIME"}, 0},
		{"hourly_reports/get", hourly, []string{"date_range", `{"start_date":"2026-11-13","end_date":"2026-11-14"}`}, 18003},
		{"hourly_reports/get", hourly, []string{"date_range", `{"start_date":"2026-08-10","end_date":"2026-08-10"}`}, 18004},
		{"hourly_reports/get", hourly, []string{"page", "101"}, 18003},
		{"hourly_reports/get", hourly, []string{"group_by", `["date"]`}, 18009},
	} {
		q := url.Values{}
		maps.Copy(q, c.base)
		for i := 0; i < len(c.set); i += 2 {
			if q.Set(c.set[i], c.set[i+1]); c.set[i+1] == "-" {
				q.Del(c.set[i])
			}
		}
		q.Set("account_id", simtest.Text(a.ID))
		w := s.Do(s.request(s.Token(a), c.path, q))
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, c.want, simtest.Code(t, w), "%s %v: %s", c.path, c.set, w.Body)
	}
	r := s.request(s.Token(a), "adgroups/get", nil)
	r.Method = http.MethodPost
	require.Equal(t, 12007, simtest.Code(t, s.Do(r)))
}

// walk reads a list by cursor to its end.
func (s *sim) walk(a *world.Account, path string, pairs ...string) (rows []any, calls int) {
	for cursor := ""; ; calls++ {
		q := append([]string{"pagination_mode", "PAGINATION_MODE_CURSOR"}, pairs...)
		if cursor != "" {
			q = append(q, "cursor", cursor)
		}
		d := simtest.Data(s.t, s.call(a, path, q...))
		rows = append(rows, d["list"].([]any)...)
		info := d["cursor_page_info"].(fields)
		switch next := info["cursor"]; next {
		case nil:
			cursor = info["next_cursor"].(string)
			require.LessOrEqual(s.t, len(cursor), 10)
			if cursor == "" {
				return rows, calls + 1
			}
		default:
			cursor = next.(json.Number).String()
			if info["has_more"] == false {
				return rows, calls + 1
			}
		}
	}
}

func TestTencent_CursorReachesEveryRowOnce(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	rows, calls := s.walk(a, "adgroups/get", "page_size", "7", "fields", `["adgroup_id"]`)
	var want []string
	for _, o := range s.Objects(a) {
		if o.Status != world.StatusDeleted {
			want = append(want, simtest.Text(o.ID))
		}
	}
	var got []string
	for _, r := range rows {
		require.Len(t, r, 1, "only the requested fields")
		got = append(got, r.(fields)["adgroup_id"].(json.Number).String())
	}
	require.Equal(t, want, got)
	require.Equal(t, (len(want)+6)/7, calls)

	first := simtest.Data(t, s.call(a, "adgroups/get", "pagination_mode",
		"PAGINATION_MODE_CURSOR"))["cursor_page_info"].(fields)
	w := s.call(a, "adgroups/get", "pagination_mode", "PAGINATION_MODE_CURSOR", "page_size", "9", "cursor",
		first["next_cursor"].(string))
	require.Equal(t, 18009, simtest.Code(t, w), "a cursor belongs to its query")
}

func TestTencent_AccountListsReachExactlyTheLoginsAccounts(t *testing.T) {
	t.Parallel()
	s := newSim(t, 150)
	a := s.Account(120) // of the second login, which has 50
	for _, list := range [][]string{
		{"advertiser/get", "fields", `["account_id","corporation_name"]`, "page_size", "9"},
		{"organization_account_relation/get", "page_size", "9"},
	} {
		token := s.Token(a)
		var got []string
		for cursor := "0"; ; {
			q := simtest.Query(append([]string{"pagination_mode", "PAGINATION_MODE_CURSOR", "cursor", cursor}, list[1:]...)...)
			d := simtest.Data(t, s.Do(s.request(token, list[0], q)))
			for _, r := range d["list"].([]any) {
				got = append(got, r.(fields)["account_id"].(json.Number).String())
			}
			info := d["cursor_page_info"].(fields)
			if info["has_more"] == false {
				break
			}
			cursor = info["cursor"].(json.Number).String()
		}
		var want []string
		for i := 100; i < 150; i++ {
			want = append(want, simtest.Text(s.Account(i).ID))
		}
		require.Equal(t, want, got)
		q := simtest.Query(append([]string{"pagination_mode", "PAGINATION_MODE_NORMAL", "page", "6"}, list[1:]...)...)
		d := simtest.Data(t, s.Do(s.request(token, list[0], q)))
		require.Len(t, d["list"], 5)
		require.Equal(t, json.Number("50"), d["page_info"].(fields)["total_number"])
	}
}

func TestTencent_FiltersAdgroups(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	objects := s.Objects(a)
	moment := objects[len(objects)/2].Modified
	name := objects[0].Name
	ids := func(filtering string, more ...string) (list []string) {
		rows, _ := s.walk(a, "adgroups/get", append([]string{"filtering", filtering, "page_size", "100"}, more...)...)
		for _, r := range rows {
			list = append(list, r.(fields)["adgroup_id"].(json.Number).String())
		}
		return list
	}
	want := func(fits func(o world.Object) bool) (list []string) {
		for _, o := range objects {
			if fits(o) {
				list = append(list, simtest.Text(o.ID))
			}
		}
		return list
	}
	live := func(o world.Object) bool { return o.Status != world.StatusDeleted }
	stamp := simtest.Text(moment)
	for operator, fits := range map[string]func(at int64) bool{
		"GREATER_EQUALS": func(at int64) bool { return at >= moment }, "GREATER": func(at int64) bool { return at > moment },
		"LESS_EQUALS": func(at int64) bool { return at <= moment }, "LESS": func(at int64) bool { return at < moment },
		"EQUALS": func(at int64) bool { return at == moment },
	} {
		f := `[{"field":"last_modified_time","operator":"` + operator + `","values":["` + stamp + `"]}]`
		require.Equal(t, want(func(o world.Object) bool { return live(o) && fits(o.Modified) }), ids(f), operator)
		require.Equal(t, want(func(o world.Object) bool { return !live(o) && fits(o.Modified) }),
			ids(f, "is_deleted", "true"), operator)
	}
	require.Equal(t, want(func(o world.Object) bool { return live(o) && o.Status == world.StatusActive }),
		ids(`[{"field":"configured_status","operator":"EQUALS","values":["AD_STATUS_NORMAL"]}]`))
	require.Equal(t, want(func(o world.Object) bool { return live(o) && strings.Contains(o.Name, name[:6]) }),
		ids(simtest.JSON([]fields{{"field": "adgroup_name", "operator": "CONTAINS", "values": []string{name[:6]}}})))
	some := want(live)[:3]
	require.Equal(t, some, ids(simtest.JSON([]fields{{"field": "adgroup_id", "operator": "IN", "values": some}})))
}

func TestTencent_ReportsGroupAndSort(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	rows := func(group string, more ...string) []any {
		return simtest.Data(t, s.call(a, "daily_reports/get",
			append([]string{"level", "REPORT_LEVEL_ADGROUP", "group_by", group,
				"fields", `["date","adgroup_id","adgroup_name","site_set","cost","account_id"]`, "page_size", "2000",
				"date_range", `{"start_date":"2026-11-05","end_date":"2026-11-15"}`}, more...)...))["list"].([]any)
	}
	spend := func(list []any) (sum int64) {
		for _, r := range list {
			n, err := r.(fields)["cost"].(json.Number).Int64()
			require.NoError(t, err)
			sum += n
		}
		return sum
	}
	whole := rows(`["date","adgroup_id"]`)
	require.Len(t, rows(`["date"]`), 11)
	require.Less(t, len(rows(`["adgroup_id"]`)), len(whole))
	for _, group := range []string{`["date"]`, `["adgroup_id"]`, `["site_set"]`, `["date","adgroup_id","site_set"]`} {
		require.Equal(t, spend(whole), spend(rows(group)), group)
	}
	sorted := rows(`["date","adgroup_id"]`, "order_by",
		`[{"sort_field":"date","sort_type":"DESCENDING"},{"sort_field":"adgroup_id","sort_type":"ASCENDING"}]`)
	require.Len(t, sorted, len(whole))
	require.True(t, slices.IsSortedFunc(sorted, func(x, y any) int {
		if c := strings.Compare(y.(fields)["date"].(string), x.(fields)["date"].(string)); c != 0 {
			return c
		}
		return strings.Compare(x.(fields)["adgroup_id"].(json.Number).String(),
			y.(fields)["adgroup_id"].(json.Number).String())
	}))
	id := whole[0].(fields)["adgroup_id"].(json.Number).String()
	for _, r := range rows(`["date","adgroup_id"]`, "filtering", `[{"field":"adgroup_id","operator":"IN","values":["`+id+
		`"]}]`) {
		require.Equal(t, json.Number(id), r.(fields)["adgroup_id"])
		require.NotEmpty(t, r.(fields)["adgroup_name"])
		require.Equal(t, json.Number(simtest.Text(a.ID)), r.(fields)["account_id"])
	}
}

func TestTencent_IsServedUnderItsHostToo(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	a := s.Account(0)
	r := s.request(s.Token(a), "adgroups/get", simtest.Query("account_id", simtest.Text(a.ID)))
	r.URL.Path = "/v3.0/adgroups/get"
	require.Equal(t, 404, s.Do(r).Code)
	for _, host := range []string{"api.e.qq.com", "API.e.qq.com:443"} {
		r.Host = host
		q := r.URL.Query()
		q.Set("nonce", host)
		r.URL.RawQuery = q.Encode()
		require.Equal(t, 0, simtest.Code(t, s.Do(r)), host)
	}
	w := s.Do(httptest.NewRequest(http.MethodGet, "https://dl.e.qq.com/v3.0/async_report_files/get", nil))
	require.Equal(t, 12007, simtest.Code(t, w))
}

func TestTencent_ErrorsHaveTheEnvelope(t *testing.T) {
	t.Parallel()
	s := newSim(t, 40)
	w := s.Do(s.request(strings.Repeat("0", 32), "adgroups/get", simtest.Query("account_id", "1")))
	require.Equal(t, http.StatusOK, w.Code)
	v := simtest.Decoded(t, w)
	require.Equal(t, w.Header().Get("X-TSA-Trace-Id"), v["trace_id"])
	require.Regexp(t, `^[0-9a-f]{32}$`, v["trace_id"])
	require.Equal(t, "BusinessException", v["code_type"])
	require.NotContains(t, v, "data")
	require.Equal(t, "application/json;charset=utf-8", w.Header().Get("Content-Type"))
	require.Equal(t, "Sun, 15 Nov 2026 04:34:56 GMT", w.Header().Get("Date"), "the world's time")
}

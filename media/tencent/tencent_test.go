package tencent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/ratelimit"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/media"
)

// server answers an API's calls with a function of the query.
type server struct {
	answer  func(endpoint string, query url.Values) string
	queries []url.Values
}

func (s *server) Get(_ context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	s.queries = append(s.queries, query)
	return New().Decode(http.StatusOK, http.Header{}, []byte(s.answer(endpoint, query)))
}

func (*server) Post(context.Context, string, any) (json.RawMessage, error) {
	return nil, errors.New("this platform has no POST")
}

func (*server) Account() media.Account { return media.Account{ExternalID: "25610"} }

func data(text string) func(string, url.Values) string {
	return func(string, url.Values) string { return `{"code":0,"message":"","message_cn":"","data":` + text + `}` }
}

func requireClass(t *testing.T, class media.Class, err error) {
	t.Helper()
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, class, e.Class, "%v", err)
}

// requireLost checks that a page's only row is lost, with a fault.
func requireLost(t *testing.T, page media.Page, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Len(t, page.Rows, 1)
	require.True(t, page.Rows[0].Lost)
	require.NotEmpty(t, page.Rows[0].Faults)
}

func TestSign_AddsTokenTimeAndNonce(t *testing.T) {
	t.Parallel()
	nonces := map[string]bool{}
	for range 100 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"https://api.e.qq.com/v3.0/adgroups/get?account_id=25610", http.NoBody)
		require.NoError(t, err)
		New().Sign(req, "to/ken", time.Unix(1795228968, 0))
		q := req.URL.Query()
		require.Equal(t, "to/ken", q.Get("access_token"))
		require.Equal(t, "1795228968", q.Get("timestamp"))
		require.Equal(t, "25610", q.Get("account_id"))
		require.LessOrEqual(t, len(q.Get("nonce")), 32)
		nonces[q.Get("nonce")] = true
	}
	require.Len(t, nonces, 100)
}

func TestDecode_ClassifiesTheReturnCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]media.Error{
		11000: {Class: media.Auth, Expired: true},
		11002: {Class: media.Auth, Expired: true},
		11012: {Class: media.Auth},
		11016: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Second},
		11017: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 5 * time.Minute},
		12101: {Class: media.Transient, Again: true},
		12009: {Class: media.Bug},
		12201: {Class: media.Invalid, Parks: media.Revoked},
		30000: {Class: media.Transient},
		30099: {Class: media.Transient},
		30100: {Class: media.Transient}, // not in the table
		51001: {Class: media.Transient, RetryAfter: time.Minute},
	} {
		body := fmt.Sprintf(
			`{"code":%d,"message":"words","message_cn":"话","code_type":"BusinessException",`+
				`"trace_id":"4084e32111062db0bfdaa89f0301dce5"}`, code)
		_, err := New().Decode(http.StatusOK, http.Header{}, []byte(body))
		want.Code, want.Message = strconv.Itoa(code), "words (request 4084e32111062db0bfdaa89f0301dce5)"
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok)
		require.Equal(t, want, *e)
	}
}

func TestAdgroups_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(`{"list":[
		{"adgroup_id":41000000001,"adgroup_name":"广告 😀","configured_status":"AD_STATUS_NORMAL",` +
		`"system_status":"ADGROUP_STATUS_ACTIVE",
		 "daily_budget":30050,"bid_amount":1234,"created_time":1795000000,"last_modified_time":1795150000,` +
		`"is_deleted":false,` +
		`"new":{"x":1}},
		{"adgroup_id":"41000000002","adgroup_name":null,"daily_budget":"","last_modified_time":0}],
		"cursor_page_info":{"page_size":100,"total_number":2,"next_cursor":"","previous_cursor":""}}`)}
	list := New().Lists()[0]
	page, err := list.Page(t.Context(), s, media.ListQuery{Variant: live, Since: time.Unix(1795140000, 500)}, "")
	require.NoError(t, err)
	require.Equal(t, url.Values{
		"account_id": {"25610"},
		"filtering":  {`[{"field":"last_modified_time","operator":"GREATER_EQUALS","values":["1795140000"]}]`},
		"fields": {`["adgroup_id","adgroup_name","configured_status","system_status","daily_budget","bid_amount",` +
			`"created_time","last_modified_time","is_deleted","targeting"]`},
		"is_deleted":      {"false"},
		"pagination_mode": {"PAGINATION_MODE_CURSOR"},
		"page_size":       {"100"},
	}, s.queries[0])
	require.Equal(t, 2, page.Total)
	require.Empty(t, page.Next)
	first, second := page.Rows[0], page.Rows[1]
	require.Equal(t, "41000000001", first.Object)
	require.Equal(t, "广告 😀", first.Name)
	require.Equal(t, time.Unix(1795150000, 0).UTC(), first.Modified)
	require.False(t, first.Deleted)
	require.Equal(t, []any{
		"广告 😀", "AD_STATUS_NORMAL", "ADGROUP_STATUS_ACTIVE", int64(30050), int64(1234),
		sqldb.At(time.Unix(1795000000, 0)), sqldb.At(time.Unix(1795150000, 0)),
	}, first.Raw)
	require.Contains(t, string(first.JSON), `"new":{"x":1}`)
	require.Equal(t, "41000000002", second.Object)
	require.Equal(t, []any{nil, nil, nil, nil, nil, sqldb.Time{}, sqldb.Time{}}, second.Raw)

	page, err = list.Page(t.Context(), s, media.ListQuery{Variant: deleted}, "")
	require.NoError(t, err)
	require.Equal(t, "true", s.queries[1].Get("is_deleted"))
	require.Empty(t, s.queries[1].Get("filtering"))
	require.True(t, page.Rows[0].Deleted, "objects in the list of deleted ones are deleted")
}

func TestAdgroups_FollowsTheCursorToTheEnd(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{"the last cursor is empty": "", "the last cursor is not": "end"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{answer: func(_ string, q url.Values) string {
				cursor := map[string]string{"": "aB3", "aB3": last}[q.Get("cursor")]
				id := map[string]int{"": 1, "aB3": 2}[q.Get("cursor")]
				return data(fmt.Sprintf(`{"list":[{"adgroup_id":%d}],"cursor_page_info":{"total_number":2,"next_cursor":%q}}`, id,
					cursor))("", nil)
			}}
			list := New().Lists()[0]
			first, err := list.Page(t.Context(), s, media.ListQuery{}, "")
			require.NoError(t, err)
			second, err := list.Page(t.Context(), s, media.ListQuery{}, first.Next)
			require.NoError(t, err)
			require.Equal(t, "2", second.Rows[0].Object)
			require.Empty(t, second.Next)
		})
	}
	_, err := New().Lists()[0].Page(t.Context(), &server{answer: data("{}")}, media.ListQuery{}, "nonsense")
	requireClass(t, media.Bug, err)
}

// reportAnswer returns the answer of a report with the given rows and total.
func reportAnswer(total int, rows string) func(string, url.Values) string {
	return data(fmt.Sprintf(`{"list":[%s],"page_info":{"page":1,"page_size":2000,"total_number":%d,"total_page":1}}`, rows,
		total))
}

func findReport(t *testing.T, name, level string) media.Report {
	t.Helper()
	for _, r := range New().Reports() {
		if r.Name == name && r.Level == level {
			return r
		}
	}
	require.Fail(t, "no such report")
	return media.Report{}
}

func TestDailyReport_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	s := &server{answer: reportAnswer(1,
		`{"date":"2026-11-01","adgroup_id":41000001,"cost":29866,"view_count":5809,"valid_click_count":66,"activated_count":6,
		"purchase_amount":100,"first_day_pay_amount":null,"order_pv":7,"order_amount":3450,"ctr":0.01}`)}
	page, err := findReport(t, "report_daily", "adgroup").Page(t.Context(), s,
		media.ReportQuery{From: "2026-11-01", To: "2026-11-07"}, "")
	require.NoError(t, err)
	require.Equal(t, url.Values{
		"account_id": {"25610"},
		"level":      {"REPORT_LEVEL_ADGROUP"},
		"date_range": {`{"end_date":"2026-11-07","start_date":"2026-11-01"}`},
		"group_by":   {`["date","adgroup_id"]`},
		"fields": {`["date","adgroup_id","cost","view_count","valid_click_count","download_count","install_count",` +
			`"activated_count","reg_pv",` +
			`"conversions_count","deep_conversions_count","first_pay_count","purchase_pv","purchase_amount",` +
			`"first_day_pay_amount",` +
			`"payment_amount_activated_d3","payment_amount_activated_d7","retention_count",` +
			`"first_day_pay_count","order_pv","order_amount"]`},
		"order_by":  {`[{"sort_field":"date","sort_type":"ASCENDING"},{"sort_field":"adgroup_id","sort_type":"ASCENDING"}]`},
		"time_line": {"REQUEST_TIME"},
		"page":      {"1"},
		"page_size": {"2000"},
	}, s.queries[0])
	row := page.Rows[0]
	require.Equal(t, day.Day("2026-11-01"), row.Day)
	require.Equal(t, "41000001", row.Object)
	for name, want := range map[string]int64{"cost": 298_660_000, "impressions": 5809, "clicks": 66, "activations": 6,
		"pay_amount": 1_000_000, "orders": 7, "order_amount": 34_500_000} {
		got, set := row.Metrics.Get(metric.Index(name))
		require.True(t, set, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"pay_amount_d1", "installs", "conversions_event", "pay_amount_d14"} {
		_, set := row.Metrics.Get(metric.Index(name))
		require.False(t, set, name)
	}
	require.Equal(t, []any{int64(29866), int64(5809), int64(66), nil, nil, int64(6), nil, nil, nil, nil, nil, int64(100),
		nil, nil, nil, nil, nil, int64(7), int64(3450)}, row.Raw)
}

func TestHourlyReport_TakesTheDayFromTheQuery(t *testing.T) {
	t.Parallel()
	s := &server{answer: reportAnswer(2, `{"hour":0,"cost":1},{"hour":"23","cost":"2","date":"2026-11-01"}`)}
	report := findReport(t, "report_hourly", "account")
	page, err := report.Page(t.Context(), s, media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
	require.NoError(t, err)
	require.Equal(t, `["hour"]`, s.queries[0].Get("group_by"))
	require.Equal(t, "REPORT_LEVEL_ADVERTISER", s.queries[0].Get("level"))
	require.Equal(t, []int{0, 23}, []int{page.Rows[0].Hour, page.Rows[1].Hour})
	require.Equal(t, day.Day("2026-11-01"), page.Rows[1].Day)
	require.Empty(t, page.Rows[1].Object)

	_, err = report.Page(t.Context(), s, media.ReportQuery{From: "2026-11-01", To: "2026-11-02"}, "")
	requireClass(t, media.Bug, err)
	for _, hour := range []string{`24`, `-1`, `null`, `"x"`} {
		page, err := report.Page(t.Context(), &server{answer: reportAnswer(1, `{"hour":`+hour+`}`)},
			media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
		requireLost(t, page, err)
	}
}

func TestReport_RequestsTheFieldsOfTheQuery(t *testing.T) {
	t.Parallel()
	s := &server{answer: reportAnswer(1,
		`{"date":"2026-11-01","cost":29866,"view_count":5809,"order_amount":{"any":["thing"]}}`)}
	report := findReport(t, "report_daily", "account")
	q := media.ReportQuery{From: "2026-11-01", To: "2026-11-07", Extra: []string{"order_amount"},
		Without: []string{"reg_pv", "view_count"}}
	page, err := report.Page(t.Context(), s, q, "")
	require.NoError(t, err)
	var asked []string
	require.NoError(t, json.Unmarshal([]byte(s.queries[0].Get("fields")), &asked))
	require.Subset(t, asked, []string{"date", "cost", "order_amount"})
	require.NotContains(t, asked, "reg_pv")
	require.NotContains(t, asked, "view_count")
	require.Contains(t, string(page.Rows[0].JSON), `"order_amount":{"any":["thing"]}`, "as the platform sent it")
	_, set := page.Rows[0].Metrics.Get(metric.Index("registrations"))
	require.False(t, set, "NULL, and not 0")
}

func TestReport_NamesTheUnknownField(t *testing.T) {
	t.Parallel()
	report := findReport(t, "report_daily", "account")
	q := media.ReportQuery{From: "2026-11-01", To: "2026-11-07"}
	for answer, want := range map[string]string{
		`{"code":12009,"message":"unknown field reg_pv"}`: "reg_pv",
		`{"code":18009,"message":"a value is not allowed","errors":[{"type":"COMMON_PARAM_EXCEPTION",
			"common_param_exception_spec":{"error_fields":["view_count"]}}]}`: "view_count",
		`{"code":12009,"message":"unknown field"}`:     "",
		`{"code":18001,"message":"reg_pv is missing"}`: "",
	} {
		_, err := report.Page(t.Context(), &server{answer: func(string, url.Values) string { return answer }}, q, "")
		requireClass(t, media.Bug, err)
		e, _ := errors.AsType[*media.Error](err)
		require.Equal(t, want, e.Field, answer)
	}
}

func TestReport_PagesUpToTheCap(t *testing.T) {
	t.Parallel()
	report := findReport(t, "report_daily", "account")
	q := media.ReportQuery{From: "2026-11-01", To: "2026-11-07"}
	require.Equal(t, 10_000, report.RowsMax)
	for total, want := range map[int]int{0: 1, 2_000: 1, 2_001: 2, 10_000: 5, 10_001: 5} {
		s := &server{answer: reportAnswer(total, "")}
		next, asked := "", 0
		for {
			page, err := report.Page(t.Context(), s, q, next)
			require.NoError(t, err)
			asked++
			require.Equal(t, total, page.Total)
			require.Equal(t, strconv.Itoa(asked), s.queries[len(s.queries)-1].Get("page"))
			if next = page.Next; next == "" {
				break
			}
		}
		require.Equal(t, want, asked, "%d rows", total)
	}
}

func TestReports_RepeatWithoutARefusedOrder(t *testing.T) {
	t.Parallel()
	s := &server{answer: func(_ string, q url.Values) string {
		if q.Has("order_by") {
			return refusal(18009, "order_by: sort_field adgroup_id cannot be sorted by")
		}
		return data(`{"list":[],"page_info":{"total_number":0}}`)("", nil)
	}}
	r := report{endpoint: dailyEndpoint, level: "REPORT_LEVEL_ADGROUP", objects: byAdgroup}
	day := day.Day("2026-11-14")
	_, err := r.page(t.Context(), s, media.ReportQuery{From: day, To: day}, "")
	require.NoError(t, err)
	require.Len(t, s.queries, 2)
	other := &server{answer: func(string, url.Values) string { return refusal(18009, "level") }}
	_, err = r.page(t.Context(), other, media.ReportQuery{From: day, To: day}, "")
	requireClass(t, media.Bug, err)
	require.Len(t, other.queries, 1)
}

type transport struct {
	req  *http.Request
	body string
}

func (tr *transport) Do(req *http.Request) (status int, header http.Header, body []byte, err error) {
	tr.req = req
	return http.StatusOK, http.Header{}, []byte(tr.body), nil
}
func (*transport) BaseURL() string { return "https://api.e.qq.com/v3.0" }
func (*transport) Now() time.Time  { return time.Now() }

func TestRefresh_KeepsTheRefreshToken(t *testing.T) {
	t.Parallel()
	app := media.App{ID: "17", Secret: secret.NewText("s&cret")}
	tr := &transport{body: `{"code":0,"data":{"access_token":"new","access_token_expires_in":86400,` +
		`"refresh_token_expires_in":2592000}}`}
	tokens, err := New().Refresh(t.Context(), tr, app, "re fresh")
	require.NoError(t, err)
	require.Equal(t, "new", tokens.Access.Reveal())
	require.True(t, tokens.Refresh.IsZero())
	require.Equal(t, 24*time.Hour, tokens.AccessExpires)
	require.Equal(t, 30*24*time.Hour, tokens.RefreshExpires)
	require.Equal(t, "https://api.e.qq.com/oauth/token", tr.req.URL.Scheme+"://"+tr.req.URL.Host+tr.req.URL.Path)
	require.Equal(t, url.Values{"client_id": {"17"}, "client_secret": {"s&cret"}, "grant_type": {"refresh_token"},
		"refresh_token": {"re fresh"}}, tr.req.URL.Query())

	for body, class := range map[string]media.Class{
		`{"code":11012,"message":"expired"}`: media.Auth, `{"code":0,"data":{}}`: media.Transient,
		`{"code":0}`:              media.Transient,
		`{"code":0,"data":"tok"}`: media.Transient, `{"code":11007}`: media.Invalid,
	} {
		_, err := New().Refresh(t.Context(), &transport{body: body}, app, "r")
		requireClass(t, class, err)
	}
}

func FuzzReaders(f *testing.F) {
	for _, s := range []string{
		`{"list":[{"adgroup_id":1,"date":"2026-11-01","hour":3,"cost":1,"account_id":5}],"page_info":{"total_number":1},` +
			`"cursor_page_info":{"total_number":1,"next_cursor":"a","has_more":true,"cursor":1}}`,
		`{"list":[null],"page_info":{"total_number":"1"}}`, `{"list":[{"cost":1e400}]}`, `[]`, `{"access_token":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _, _ = adgroups.readPage(body, true)
		_, _, _ = creatives.readPage(body, false)
		_, _, _ = readAccounts(body)
		_, _ = readTokens(body)
		_, _ = readAuthorisation(body)
		s := &server{answer: data(string(body))}
		for _, r := range []report{{}, {objects: byAdgroup}, {hourly: true}, {hourly: true, objects: byCreative}} {
			_, _ = r.page(context.Background(), s, media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
		}
		_, _ = New().Decode(http.StatusOK, http.Header{}, body)
	})
}

func TestUsage_IsReadFromTheHeader(t *testing.T) {
	t.Parallel()
	for header, want := range map[string][]ratelimit.Usage{
		"50%,2%":    {{Period: 24 * time.Hour, Left: 0.5}, {Period: time.Minute, Left: 0.02}},
		"7% , 0%":   {{Period: 24 * time.Hour, Left: 0.07}, {Period: time.Minute, Left: 0}},
		"50%":       {{Period: 24 * time.Hour, Left: 0.5}},
		"":          nil,
		"all,-1%":   nil,
		"NaN%,101%": nil,
	} {
		require.Equal(t, want, Platform{}.Usage(http.Header{"X-Ratelimit-Remaining": {header}}), "%q", header)
	}
}

func TestMatched_IsReadFromThePagesOfReports(t *testing.T) {
	t.Parallel()
	require.Equal(t, "REPORT_LEVEL_ADGROUP", Platform{}.Rows("hourly_reports/get",
		url.Values{"level": {"REPORT_LEVEL_ADGROUP"}}))
	require.Empty(t, Platform{}.Rows("adgroups/get", url.Values{"level": {"REPORT_LEVEL_ADGROUP"}}))
	for payload, want := range map[string]int{
		`{"list":[{"x":"\"page_info\": {\"total_number\": 9}"}], "page_info" : {"page":1,"page_size":10,"total_number":123,` +
			`"total_page":13}}`: 123,
		`{"page_info":{"total_number":0},"list":[]}`: 0,
		`{"page_info":{"total_number":"123"}}`:       123,
		`{"list":[]}`:                                -1,
		`{"page_info":{}}`:                           -1,
		`{"page_info":{"total_number":-1}}`:          -1,
		`{"page_info":{"total_number":"a"}}`:         -1,
		`{"page_info"`:                               -1,
		``:                                           -1,
	} {
		rows, ok := Platform{}.Matched(json.RawMessage(payload))
		require.Equal(t, want >= 0, ok, payload)
		require.Equal(t, max(0, want), rows, payload)
	}
}

package oceanengine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

// server answers an API's calls with a function of the query.
type server struct {
	answer  func(endpoint string, query url.Values) string
	queries []url.Values
	topics  string // the answer about topics; "" refuses it
}

func (s *server) Get(_ context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	if endpoint == topicsEndpoint {
		return New().Decode(http.StatusOK, http.Header{}, []byte(cmp.Or(s.topics, `{"code":40118}`)))
	}
	s.queries = append(s.queries, query)
	return New().Decode(http.StatusOK, http.Header{}, []byte(s.answer(endpoint, query)))
}

func (*server) Post(context.Context, string, any) (json.RawMessage, error) {
	return nil, errors.New("this platform has no POST")
}

func (*server) Account() media.Account { return media.Account{ExternalID: "1700000000000001"} }

func data(text string) func(string, url.Values) string {
	return func(string, url.Values) string {
		return `{"code":0,"message":"OK","data":` + text + `,"request_id":"r1"}`
	}
}

// requireClass checks an error's class and returns its RetryAfter.
func requireClass(t *testing.T, class media.Class, err error) time.Duration {
	t.Helper()
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, class, e.Class, "%v", err)
	return e.RetryAfter
}

// requireLost checks that a page's only row is lost, with a fault.
func requireLost(t *testing.T, page media.Page, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Len(t, page.Rows, 1)
	require.True(t, page.Rows[0].Lost)
	require.NotEmpty(t, page.Rows[0].Faults)
}

func TestSign_PutsTheTokenIntoTheHeader(t *testing.T) {
	t.Parallel()
	sign := func(path string) *http.Request {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, New().BaseURL()+"/"+path, http.NoBody)
		require.NoError(t, err)
		New().Sign(req, "tk", time.Now())
		return req
	}
	req := sign(promotionsEndpoint)
	require.Equal(t, "tk", req.Header.Get("Access-Token"))
	require.Empty(t, req.URL.RawQuery)
	require.Equal(t, "access_token=tk", sign(accountsEndpoint).URL.RawQuery,
		"the only endpoint that reads it from the query")
}

func TestDecode_ClassifiesTheCodes(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]media.Error{
		40000: {Class: media.Bug},
		40002: {Class: media.Invalid, Parks: media.Revoked},
		40100: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 3 * time.Second},
		40102: {Class: media.Auth, Expired: true},
		40107: {Class: media.Auth},
		40110: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 2 * time.Second},
		40130: {Class: media.Quota, Scope: grant.ScopeAccount, RetryAfter: 30 * time.Second},
		50000: {Class: media.Transient},
		49999: {Class: media.Transient}, // not in the table
	} {
		_, err := New().Decode(http.StatusOK, http.Header{},
			fmt.Appendf(nil, `{"code":%d,"message":"words","request_id":"2026"}`, code))
		want.Code, want.Message = strconv.Itoa(code), "words (request 2026)"
		e, ok := errors.AsType[*media.Error](err)
		require.True(t, ok)
		require.Equal(t, want, *e)
	}
}

func TestDecode_UsesThePenaltyHeader(t *testing.T) {
	t.Parallel()
	after := func(value string) time.Duration {
		_, err := New().Decode(http.StatusOK, http.Header{"X-Ratelimit-Retryin": {value},
			"X-Ratelimit-Dimension": {"developer_qpm"}}, []byte(`{"code":40110}`))
		return requireClass(t, media.Quota, err)
	}
	require.Equal(t, 5*time.Minute, after("300"))
	require.Equal(t, 2*time.Second, after("1"))
	require.Equal(t, 2*time.Second, after("soon"))
	require.Equal(t, 99_999_999*time.Second, after("99999999"), "the caller caps it by media.pause_max")
	_, err := New().Decode(http.StatusOK, http.Header{"X-Ratelimit-Retryin": {"300"}}, []byte(`{"code":50000}`))
	require.Zero(t, requireClass(t, media.Transient, err))
}

const promotionRow = `{"promotion_id":7300000000000000001,"promotion_name":"p1","project_id":7200000000000000001,` +
	`"advertiser_id":1700000000000001,
	"status_first":"PROMOTION_STATUS_ENABLE","opt_status":"ENABLE","budget":300.5,"budget_mode":"BUDGET_MODE_DAY",` +
	`"cpa_bid":0.29,
	"promotion_create_time":"2026-11-19 23:00:00","promotion_modify_time":"2026-11-20 10:00:00","new":[{}]}`

func TestPromotions_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(`{"list":[` + promotionRow +
		`,{"promotion_id":"7300000000000000002","status_first":"PROMOTION_STATUS_DELETED","budget":null,"project_id":""}],
		"page_info":{"page":1,"page_size":20,"total_number":2,"total_page":1}}`)}
	list := New().Lists()[0]
	require.Equal(t, "adgroup", list.Level)
	now := time.Date(2026, 11, 20, 15, 59, 59, 0, time.UTC)
	page, err := list.Page(t.Context(), s, media.ListQuery{Since: now.Add(-24 * time.Hour), Until: now}, "")
	require.NoError(t, err)
	require.Equal(t, url.Values{
		"advertiser_id": {"1700000000000001"},
		"filtering": {`{"promotion_modify_end_time":"2026-11-20 23:59:59","promotion_modify_start_time":"2026-11-19 ` +
			`23:59:59","status_first":"PROMOTION_STATUS_ALL"}`},
		"fields": {`["promotion_id","promotion_name","project_id","advertiser_id","status_first","opt_status","budget",` +
			`"budget_mode","cpa_bid",` +
			`"promotion_create_time","promotion_modify_time"]`},
		"page":      {"1"},
		"page_size": {"20"},
	}, s.queries[0])
	require.Equal(t, 2, page.Total)
	require.Empty(t, page.Next)
	first, second := page.Rows[0], page.Rows[1]
	require.Equal(t, "7300000000000000001", first.Object)
	require.Equal(t, time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC), first.Modified)
	require.Equal(t, []any{
		"p1", "7200000000000000001", "PROMOTION_STATUS_ENABLE", "ENABLE", int64(30050), "BUDGET_MODE_DAY", int64(29),
		sqldb.At(time.Date(2026, 11, 19, 15, 0, 0, 0, time.UTC)), sqldb.At(time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)),
	}, first.Raw)
	require.JSONEq(t, promotionRow, string(first.JSON))
	require.True(t, second.Deleted)
	require.Equal(t, []any{nil, nil, "PROMOTION_STATUS_DELETED", nil, nil, nil, nil, sqldb.Time{}, sqldb.Time{}},
		second.Raw)
}

func TestPromotions_RequestsAllWhenTheWindowIsTooLong(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for since, want := range map[time.Duration]bool{30 * 24 * time.Hour: false, 29 * 24 * time.Hour: true,
		time.Hour: true} {
		_, windowed := promotionFilter(media.ListQuery{Since: now.Add(-since), Until: now})["promotion_modify_start_time"]
		require.Equal(t, want, windowed, since)
	}
	require.Equal(t, map[string]string{"status_first": "PROMOTION_STATUS_ALL"},
		promotionFilter(media.ListQuery{Until: now}))
}

// manyPromotions returns the answers of a platform with n promotions, by page and by cursor.
func manyPromotions(n int) func(string, url.Values) string {
	return func(_ string, q url.Values) string {
		number := func(name string) int { v, _ := strconv.Atoi(q.Get(name)); return v }
		from, size := (number("page")-1)*number("page_size"), number("page_size")
		byCursor := q.Get("cursor") != ""
		if byCursor {
			from, size = number("cursor"), number("count")
		} else if from+size > 10_000 {
			return `{"code":40000,"message":"too far"}`
		}
		rows := ""
		for i := from; i < min(from+size, n); i++ {
			if rows != "" {
				rows += ","
			}
			rows += fmt.Sprintf(`{"promotion_id":%d}`, 7300000000000000001+i)
		}
		info := fmt.Sprintf(`"page_info":{"total_number":%d}`, n)
		if byCursor {
			info = fmt.Sprintf(`"cursor_info":{"has_more":%t,"count":%d,"cursor":%d}`, from+size < n, size, from+size)
		}
		return data(`{"list":[`+rows+`],`+info+`}`)("", nil)
	}
}

func TestPromotions_PagesByNumberAndBeyondItByCursor(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 20, 21, 9_999, 10_000, 10_001, 10_050} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			s := &server{answer: manyPromotions(n)}
			seen := map[string]bool{}
			for next := ""; ; {
				page, err := New().Lists()[0].Page(t.Context(), s, media.ListQuery{}, next)
				require.NoError(t, err)
				require.Equal(t, n, page.Total)
				for _, row := range page.Rows {
					seen[row.Object] = true
				}
				if next = page.Next; next == "" {
					break
				}
			}
			require.Len(t, seen, n)
		})
	}
	for _, page := range []string{"nonsense", "page:x", "cursor:1", "cursor:x:1"} {
		_, err := New().Lists()[0].Page(t.Context(), &server{answer: manyPromotions(1)}, media.ListQuery{}, page)
		requireClass(t, media.Bug, err)
	}
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
	s := &server{answer: data(
		`{"rows":[{"dimensions":{"stat_time_day":"2026-11-01","cdp_promotion_id":"7300000000000000001"},
		"metrics":{"stat_cost":"12.34","show_cnt":"1000","attribution_game_in_app_ltv_1day":"0.10","convert_cnt":"3",` +
			`"active":"","in_app_order_gmv":"34.50"}}],
		"total_metrics":{"stat_cost":"56.78","active":"","attribution_game_in_app_ltv_3days":"9.00"},"page_info":{"page":1,` +
			`"page_size":100,"total_number":101,"total_page":2}}`),
		topics: `{"code":0,"data":{"list":[{"data_topic":"BASIC_DATA","dimensions":[{"field":"stat_time_day",` +
			`"sort_able":true},{"field":"cdp_promotion_id","sort_able":true}]}]}}`}
	page, err := findReport(t, "report_daily", "adgroup").Page(t.Context(), s,
		media.ReportQuery{From: "2026-11-01", To: "2026-11-07"}, "")
	require.NoError(t, err)
	require.Equal(t, url.Values{
		"advertiser_id": {"1700000000000001"},
		"data_topic":    {"BASIC_DATA"},
		"dimensions":    {`["stat_time_day","cdp_promotion_id"]`},
		"metrics": {`["stat_cost","show_cnt","click_cnt","download_finish_cnt","install_finish_cnt","active",` +
			`"active_register","convert_cnt",` +
			`"deep_convert_cnt","active_pay","game_pay_count","attribution_game_in_app_ltv_1day",` +
			`"attribution_game_in_app_ltv_3days",` +
			`"attribution_game_in_app_ltv_7days","attribution_next_day_open_cnt",` +
			`"click_start_cnt","game_addiction","in_app_order","in_app_order_gmv"]`},
		"filters":    {"[]"},
		"start_time": {"2026-11-01 00:00:00"},
		"end_time":   {"2026-11-07 23:59:59"},
		"order_by":   {`[{"field":"stat_time_day","type":"ASC"},{"field":"cdp_promotion_id","type":"ASC"}]`},
		"page":       {"1"},
		"page_size":  {"100"},
	}, s.queries[0])
	require.Equal(t, "2", page.Next)
	row := page.Rows[0]
	require.Equal(t, day.Day("2026-11-01"), row.Day)
	require.Equal(t, "7300000000000000001", row.Object)
	for name, want := range map[string]int64{"cost": 12_340_000, "impressions": 1000, "pay_amount_d1": 100_000,
		"conversions_event": 3, "order_amount": 34_500_000} {
		got, set := row.Metrics.Get(metric.Index(name))
		require.True(t, set, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"activations", "conversions", "pay_amount", "clicks"} {
		_, set := row.Metrics.Get(metric.Index(name))
		require.False(t, set, name)
	}
	require.Equal(t, int64(1234), row.Raw[0])
	var sums metric.Values
	sums.Set(metric.Index("cost"), 56_780_000)
	require.Equal(t, &sums, page.Sums, "the sums of all pages; amounts of later days are inexact")
	require.Equal(t, "stat_cost_fen", New().Reports()[0].Table.Columns[0].Name)
}

func TestReports_OfMaterialsHaveNoSums(t *testing.T) {
	t.Parallel()
	answer := data(`{"rows":[],"total_metrics":{"stat_cost":"1.00"},"page_info":{"total_number":0}}`)
	for _, r := range New().Reports() {
		page, err := r.Page(t.Context(), &server{answer: answer}, media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
		require.NoError(t, err)
		require.Equal(t, r.Level != "creative", r.HasSums, r.Level)
		require.Equal(t, r.HasSums, page.Sums != nil, r.Level)
	}
	page, err := findReport(t, "report_daily", "account").Page(t.Context(),
		&server{answer: data(`{"rows":[],"total_metrics":{"stat_cost":"much","show_cnt":5},"page_info":{"total_number":0}}`)},
		media.ReportQuery{}, "")
	require.NoError(t, err)
	require.Equal(t, "stat_cost", page.Faults[0].Field)
	require.Equal(t, wire.FigureFault, page.Faults[0].Kind)
	_, ok := page.Sums.Get(metric.Index("impressions"))
	require.True(t, ok, "the other sums are set")
}

func TestReport_RequestsTheMetricsOfTheQuery(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(
		`{"rows":[{"dimensions":{"stat_time_day":"2026-11-01"},"metrics":{"stat_cost":"12.34","in_app_cart":"7"}}],
		"total_metrics":{"stat_cost":"12.34"},"page_info":{"total_number":1}}`)}
	q := media.ReportQuery{From: "2026-11-01", To: "2026-11-07", Extra: []string{"in_app_cart"},
		Without: []string{"active"}}
	page, err := findReport(t, "report_daily", "account").Page(t.Context(), s, q, "")
	require.NoError(t, err)
	_, err = New().Total(t.Context(), s, q)
	require.NoError(t, err)
	for _, query := range s.queries {
		var asked []string
		require.NoError(t, json.Unmarshal([]byte(query.Get("metrics")), &asked))
		require.Subset(t, asked, []string{"stat_cost", "in_app_cart"})
		require.NotContains(t, asked, "active")
	}
	require.Contains(t, string(page.Rows[0].JSON), `"in_app_cart":"7"`)
	_, set := page.Rows[0].Metrics.Get(metric.Index("activations"))
	require.False(t, set, "NULL, and not 0")

	for answer, want := range map[string]string{
		`{"code":40000,"message":"metrics: active_register is illegal"}`: "active_register",
		`{"code":40000,"message":"start_time is illegal"}`:               "",
	} {
		_, err := findReport(t, "report_daily", "account").Page(t.Context(),
			&server{answer: func(string, url.Values) string { return answer }}, q, "")
		requireClass(t, media.Bug, err)
		e, _ := errors.AsType[*media.Error](err)
		require.Equal(t, want, e.Field, answer)
	}
}

func TestHourlyReport_ReadsDayAndHour(t *testing.T) {
	t.Parallel()
	answer := func(hour string) *server {
		return &server{answer: data(`{"rows":[{"dimensions":{"stat_time_hour":` + hour +
			`},"metrics":{}}],"page_info":{"total_number":1}}`)}
	}
	report := findReport(t, "report_hourly", "account")
	q := media.ReportQuery{From: "2022-08-01", To: "2022-08-07"}
	s := answer(`"2022-08-02 14:00 - 14:59"`)
	page, err := report.Page(t.Context(), s, q, "")
	require.NoError(t, err)
	require.Equal(t, `["stat_time_hour"]`, s.queries[0].Get("dimensions"))
	require.Equal(t, day.Day("2022-08-02"), page.Rows[0].Day)
	require.Equal(t, 14, page.Rows[0].Hour)
	require.Empty(t, page.Next)
	for _, hour := range []string{`"2022-08-02 24:00"`, `"2022-13-02 14:00"`, `""`, `null`, `14`, `"2022-08-02 xx:00"`} {
		page, err := report.Page(t.Context(), answer(hour), q, "")
		requireLost(t, page, err)
	}
}

// Rows with unreadable figures make their day partial: NULL is not 0.
func TestReport_WithoutAnObjectOfFiguresIsNotWhole(t *testing.T) {
	t.Parallel()
	for _, metrics := range []string{`"metrics":[],`, `"metrics":"-",`, `"metrics":"",`, `"metrics":"x",`, `"metrics":5,`,
		`"metrics":true,`, `"metrics":null,`, ``} {
		for _, level := range []string{"account", "creative"} {
			s := &server{answer: data(`{"rows":[{` + metrics +
				`"dimensions":{"stat_time_day":"2026-11-01","cdp_promotion_id":"1","material_id":"2"}}],
				"total_metrics":{},"page_info":{"total_number":1}}`)}
			page, err := findReport(t, "report_daily", level).Page(t.Context(), s,
				media.ReportQuery{From: "2026-11-01", To: "2026-11-01"}, "")
			require.NoError(t, err, metrics)
			require.False(t, page.Rows[0].Lost, metrics)
			require.Equal(t, []wire.Fault{{Field: "metrics", Kind: wire.FigureFault, Why: "is not an object of figures"}},
				page.Rows[0].Faults, metrics)
		}
	}
}

func TestHourlyReport_BeginsAtAnHour(t *testing.T) {
	t.Parallel()
	s := &server{answer: data(`{"rows":[],"page_info":{"total_number":0}}`)}
	for _, r := range New().Reports() {
		require.Equal(t, r.Hourly, r.HasHours, "%s of %s", r.Name, r.Level)
	}
	_, err := findReport(t, "report_hourly", "account").Page(t.Context(), s,
		media.ReportQuery{From: "2026-11-21", To: "2026-11-21", FromHour: 9}, "")
	require.NoError(t, err)
	require.Equal(t, "2026-11-21 09:00:00", s.queries[0].Get("start_time"))
	require.Equal(t, "2026-11-21 23:59:59", s.queries[0].Get("end_time"))
}

type transport struct {
	sent string
	body string
}

func (tr *transport) Do(req *http.Request) (status int, header http.Header, body []byte, err error) {
	sent, err := io.ReadAll(req.Body)
	tr.sent = req.Method + " " + req.URL.String() + " " + string(sent)
	return http.StatusOK, http.Header{}, []byte(tr.body), err
}
func (*transport) BaseURL() string { return "https://api.oceanengine.com/open_api" }
func (*transport) Now() time.Time  { return time.Now() }

func TestRefresh_ReturnsANewPair(t *testing.T) {
	t.Parallel()
	app := media.App{ID: "1234567890123456789", Secret: secret.NewText("s")}
	tr := &transport{body: `{"code":0,"message":"OK","data":{"access_token":"a2","refresh_token":"r2",` +
		`"expires_in":86400,` +
		`"refresh_token_expires_in":2592000},"request_id":"x"}`}
	tokens, err := New().Refresh(t.Context(), tr, app, "r")
	require.NoError(t, err)
	require.Equal(t,
		`POST https://api.oceanengine.com/open_api/oauth2/refresh_token/ {"app_id":1234567890123456789,"refresh_token":"r",`+
			`"secret":"s"}`, tr.sent)
	require.Equal(t, "a2", tokens.Access.Reveal())
	require.Equal(t, "r2", tokens.Refresh.Reveal())
	require.Equal(t, 24*time.Hour, tokens.AccessExpires)

	for body, class := range map[string]media.Class{
		`{"code":40107}`: media.Auth, `{"code":40103}`: media.Auth, `{"code":40002}`: media.Invalid,
		`{"code":50000}`:                         media.Transient,
		`{"code":0,"data":{"access_token":"a"}}`: media.Transient, `{"code":0}`: media.Transient,
	} {
		_, err := New().Refresh(t.Context(), &transport{body: body}, app, "r")
		requireClass(t, class, err)
	}
	_, err = New().Refresh(t.Context(), tr, media.App{ID: "not a number"}, "r")
	requireClass(t, media.Invalid, err)
}

func FuzzReaders(f *testing.F) {
	for _, s := range []string{
		`{"list":[` + promotionRow + `],"page_info":{"total_number":1},"cursor_info":{"has_more":true,"cursor":20}}`,
		`{"rows":[{"dimensions":{"stat_time_day":"2026-11-01","stat_time_hour":"2026-11-01 14:00 - 14:59",` +
			`"cdp_promotion_id":"1"},"metrics":{"stat_cost":"1.2"}}],"page_info":{"total_number":1}}`,
		`{"rows":[null]}`, `{"list":[{"budget":1e30}]}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _, _ = promotions.read(body)
		_, _, _ = materials.read(body)
		s := &server{answer: data(string(body))}
		_, _ = projects(context.Background(), s, media.ListQuery{}, "")
		accounts, _ := readAccounts(body)
		if len(accounts) > 0 {
			readDetails(body, accounts)
		}
		for i := range accounts {
			_ = accounts[i].found()
		}
		_, _ = readTokens(body)
		for _, r := range []report{byAccount, byMaterial, {hourly: true}, {hourly: true, objects: byPromotion.objects}} {
			_, _ = r.page(context.Background(), s, media.ReportQuery{}, "")
		}
		_, _ = New().Decode(http.StatusOK, http.Header{}, body)
	})
}

// An account without permission must not remove the details of all others.
func TestAccounts_AForbiddenOneDoesNotAffectTheOthers(t *testing.T) {
	t.Parallel()
	const accounts, calls = 250, 3 // calls without a forbidden account
	for name, forbidden := range map[string][]int{
		"none": nil, "one": {37}, "the first and the last": {1, accounts}, "neighbours": {99, 100, 101, 102}, "all": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isForbidden := func(id int) bool { return name == "all" || slices.Contains(forbidden, id) }
			s := &server{answer: func(endpoint string, query url.Values) string {
				var rows []string
				if endpoint == accountsEndpoint {
					for id := 1; id <= accounts; id++ {
						rows = append(rows,
							fmt.Sprintf(`{"advertiser_id":%d,"advertiser_name":"a","account_role":"ADVERTISER","is_valid":true}`, id))
					}
					return data(`{"list":[`+strings.Join(rows, ",")+`]}`)("", nil)
				}
				var ids []int
				require.NoError(t, json.Unmarshal([]byte(query.Get("advertiser_ids")), &ids))
				require.LessOrEqual(t, len(ids), 100, "the platform takes at most 100")
				for _, id := range ids {
					if isForbidden(id) {
						return `{"code":40002,"message":"No permission","request_id":"r1"}`
					}
					rows = append(rows, fmt.Sprintf(`{"id":%d,"company":"company %d","status":"STATUS_ENABLE"}`, id, id))
				}
				return data("["+strings.Join(rows, ",")+"]")("", nil)
			}}
			id := 0
			require.NoError(t, New().Accounts(t.Context(), s, "", func(page []media.FoundAccount) error {
				for _, a := range page {
					id++
					require.Equal(t, strconv.Itoa(id), a.ExternalID, "all are found, in order")
					want := []any{"a", "ADVERTISER", fmt.Sprintf("company %d", id), "STATUS_ENABLE"}
					if isForbidden(id) {
						want[2], want[3] = nil, nil
					}
					require.Equal(t, want, a.Raw)
					require.Equal(t, !isForbidden(id), strings.Contains(string(a.JSON), `"info":{`))
				}
				return nil
			}))
			require.Equal(t, accounts, id)
			switch name {
			case "none":
				require.Len(t, s.queries, 1+calls)
			case "all":
				require.Less(t, len(s.queries), 120, "a login without permission does not cause a call per account")
			default:
				require.LessOrEqual(t, len(s.queries), 1+calls+2*8*len(forbidden))
			}
		})
	}
}

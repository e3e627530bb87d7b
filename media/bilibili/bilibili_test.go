package bilibili

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/fund"
	"adsync/base/metric"
	"adsync/base/ratelimit/grant"
	"adsync/base/rawtable"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

// server answers an API's calls with a function, and notes each call as its method, its endpoint and its parameters.
type server struct {
	answer func(call string) string
	calls  []string
}

func (s *server) Get(_ context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	return s.take("GET " + endpoint + "?" + query.Encode())
}

func (s *server) Post(_ context.Context, endpoint string, body any) (json.RawMessage, error) {
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return s.take("POST " + endpoint + " " + string(sent))
}

func (s *server) take(call string) (json.RawMessage, error) {
	s.calls = append(s.calls, call)
	return New().Decode(http.StatusOK, http.Header{}, []byte(s.answer(call)))
}

func (*server) Account() media.Account { return media.Account{ExternalID: "1135369"} }

// good is the envelope of lists and reports, coded that of tokens and accounts.
func good(data string) string  { return `{"status":"success","data":` + data + `}` }
func coded(data string) string { return `{"code":0,"message":"success","data":` + data + `}` }

func answering(data string) *server {
	return &server{answer: func(string) string { return good(data) }}
}

func failure(t *testing.T, err error) media.Error {
	t.Helper()
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	return *e
}

func requireClass(t *testing.T, class media.Class, err error) {
	t.Helper()
	require.Equal(t, class, failure(t, err).Class, "%v", err)
}

func TestSign_PutsTheTokenIntoTheHeader(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, New().BaseURL()+"/"+units.endpoint, nil)
	require.NoError(t, err)
	New().Sign(req, "at-1", time.Now())
	require.Equal(t, "https://cm.bilibili.com/takumi/api/open_api/cpc/v3/unit/list_units", req.URL.String())
	require.Equal(t, http.Header{"Authorization": {"Bearer at-1"}}, req.Header)
}

func TestReads_AllButTheCallForTokens(t *testing.T) {
	t.Parallel()
	require.False(t, New().Reads(tokenEndpoint))
	for _, endpoint := range []string{units.endpoint, reportEndpoint, flowEndpoint} {
		require.True(t, New().Reads(endpoint), endpoint)
	}
}

func TestDecode_ClassifiesTheCodes(t *testing.T) {
	t.Parallel()
	invalid, transient := media.Error{Class: media.Invalid}, media.Error{Class: media.Transient}
	expired := media.Error{Class: media.Auth, Expired: true}
	limited := media.Error{Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Second}
	table := map[int64]media.Error{
		40001: expired, 40002: invalid, 40003: invalid, 40004: {Class: media.Auth}, 40005: {Class: media.Auth},
		40301: {Class: media.Invalid, Parks: media.Revoked}, 40302: {Class: media.Invalid, Parks: media.Frozen},
		40000: {Class: media.Bug}, -429: limited, 50001: transient, 40404: transient,
	}
	require.Len(t, codes, len(table)-1)
	for code, want := range table {
		want.Code, want.Message = fmt.Sprint(code), "words"
		// The text is in message or msg, and a refusal has either envelope or both (STACK).
		for _, body := range []string{`{"code":%d,"message":"words"}`, `{"code":%d,"msg":"words","data":null}`,
			`{"status":"fail","code":%d,"msg":"words"}`, `{"status":"success","code":"%d","message":"words"}`} {
			data, err := New().Decode(http.StatusOK, http.Header{}, fmt.Appendf(nil, body, code))
			require.Nil(t, data)
			require.Equal(t, want, failure(t, err), body)
		}
	}
}

// No source has a code of the platform: its words and its HTTP status decide about an unknown one.
func TestDecode_ClassifiesUnknownRefusalsByTheirWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   media.Class
	}{
		{200, `{"status":"fail","msg":"请求频率过高"}`, media.Quota},
		{200, `{"status":"fail","code":0,"message":"接口限流"}`, media.Quota},
		{200, `{"status":"fail","code":777,"msg":"QPS limit"}`, media.Quota},
		{200, `{"code":777,"message":"traffic control"}`, media.Quota},
		{429, `{"code":777,"message":"words"}`, media.Quota},
		{429, `<html>`, media.Quota},
		{200, `{"status":"fail","msg":"invalid access_token"}`, media.Auth},
		{401, `{"code":777,"message":"words"}`, media.Auth},
		{401, ``, media.Auth},
		{200, `{"code":40301,"message":"QPS limit"}`, media.Invalid}, // The table comes first.
		{503, `{"status":"fail","msg":"QPS limit"}`, media.Transient},
		{503, `{"status":"success","data":[]}`, media.Transient},
		{302, `{"status":"success","data":[]}`, media.Transient},
		{200, `{"status":"fail","msg":"words"}`, media.Transient},
		{200, `{"status":"fail","data":[]}`, media.Transient},
	} {
		_, err := New().Decode(c.status, http.Header{}, []byte(c.body))
		e := failure(t, err)
		require.Equal(t, c.want, e.Class, c.body)
		require.Equal(t, c.want == media.Auth, e.Expired, c.body)
		require.Equal(t, c.want == media.Quota, e.Scope == grant.ScopeApp, c.body)
	}
}

func TestDecode_ReadsBothEnvelopes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		good(`[1]`): `[1]`, coded(`{"a":1}`): `{"a":1}`, `{"code":"0","data":[]}`: `[]`,
		`{"status":"success","code":0,"data":[]}`: `[]`, good("null"): "", coded("null"): "", `{"status":"success"}`: "",
	} {
		data, err := New().Decode(http.StatusOK, http.Header{}, []byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, string(data), body)
	}
	for _, body := range []string{"", "{", "[]", "null", `"success"`, "{}", `{"data":[]}`, `{"status":"","data":[]}`,
		`{"status":5,"data":[]}`, `{"status":null,"data":[]}`, `{"code":null,"data":[]}`, `{"code":{},"data":[]}`,
		`{"status":"success","code":{},"data":[]}`, `{"status":"Success ","data":[]}`} {
		data, err := New().Decode(http.StatusOK, http.Header{}, []byte(body))
		requireClass(t, media.Transient, err)
		require.Nil(t, data, body)
	}
}

func listOf(t *testing.T, name string) media.List {
	t.Helper()
	i := slices.IndexFunc(New().Lists(), func(l media.List) bool { return l.Name == name })
	require.GreaterOrEqual(t, i, 0)
	return New().Lists()[i]
}

// unitRow has the fields of STACK's calls that save a unit.
const unitRow = `{"unit_id":601,"unit_name":"SG iOS","campaign_id":501,"status":1,"budget_limit_type":1,` +
	`"budget":"1000.50","bid":35.5,"ctime":"2026-11-01 11:55:32","mtime":"2026-11-20 09:00:00"}`

func TestLists_ReadTheWireFormat(t *testing.T) {
	t.Parallel()
	s := answering(`[{"campaign_id":501,"campaign_name":"SG","status":1}]`)
	page, err := listOf(t, "campaign").Page(t.Context(), s, media.ListQuery{}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`POST cpc/v3/campaign/list_campaigns ` +
		`{"account_id":1135369,"page":1,"page_size":100,"status":"ALL"}`}, s.calls)
	require.Equal(t, "501", page.Rows[0].Object)
	require.Equal(t, "SG", page.Rows[0].Name)
	require.Equal(t, []any{"SG", "1", nil, nil, nil, sqldb.At(time.Time{}), sqldb.At(time.Time{})}, page.Rows[0].Raw)

	s = answering(`[` + unitRow + `,{"unit_id":602,"status":"4"},{"unit_id":"x"},{"unit_id":603,"status":98,"bid":"no"}]`)
	list := listOf(t, "unit")
	page, err = list.Page(t.Context(), s, media.ListQuery{}, "7")
	require.NoError(t, err)
	require.Equal(t, []string{`POST cpc/v3/unit/list_units ` +
		`{"account_id":1135369,"page":7,"page_size":100,"status":"ALL"}`}, s.calls)
	created, modified := time.Date(2026, 11, 1, 3, 55, 32, 0, time.UTC), time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC)
	first := page.Rows[0]
	require.Equal(t, modified, first.Modified, "the platform's times are China's")
	require.Equal(t, []any{"SG iOS", "501", "1", "1", int64(100_050), int64(3550), sqldb.At(created), sqldb.At(modified)},
		first.Raw)
	require.Equal(t, []string{"budget_fen", "bid_fen"}, []string{list.Table.Columns[4].Name, list.Table.Columns[5].Name})
	require.JSONEq(t, unitRow, string(first.JSON))
	require.False(t, first.Deleted)
	require.True(t, page.Rows[1].Deleted)
	require.True(t, page.Rows[2].Lost)
	require.Equal(t, "98", page.Rows[3].Raw[2], "a status that no source has")
	require.Equal(t, []wire.Fault{{Field: "bid", Kind: wire.AttributeFault, Why: page.Rows[3].Faults[0].Why}},
		page.Rows[3].Faults)
}

// A full page and a short one may be followed by others: only an empty one is the end.
func TestLists_EndWithAnEmptyPage(t *testing.T) {
	t.Parallel()
	for _, list := range New().Lists() {
		key := list.Name + "_id"
		full := make([]string, listPage)
		for i := range full {
			full[i] = fmt.Sprintf(`{"%s":%d}`, key, i+1)
		}
		for rows, next := range map[string]string{strings.Join(full, ","): "4", `{"` + key + `":1}`: "4", "": ""} {
			page, err := list.Page(t.Context(), answering("["+rows+"]"), media.ListQuery{}, "3")
			require.NoError(t, err)
			require.Equal(t, next, page.Next, list.Name)
			require.Equal(t, media.ByRepeat, page.Proof)
		}
		for _, data := range []string{"{}", "null", "5", `"[]"`, `{"list":[]}`} {
			_, err := list.Page(t.Context(), answering(data), media.ListQuery{}, "")
			requireClass(t, media.Transient, err)
		}
		_, err := list.Page(t.Context(), answering("[]"), media.ListQuery{}, "x")
		requireClass(t, media.Bug, err)
	}
}

func TestCreatives_ShowTheirFiles(t *testing.T) {
	t.Parallel()
	image := func(id string) rawtable.AssetUse { return rawtable.AssetUse{Kind: rawtable.AssetImage, ID: id} }
	video := rawtable.AssetUse{Kind: rawtable.AssetVideo, ID: "50000000014"}
	for _, c := range []struct {
		fields string
		want   []rawtable.AssetUse
		broken bool
	}{
		{`"video_id":50000000014,"image_ids":[4,4]`, []rawtable.AssetUse{video, image("4")}, false},
		{`"video_id":null,"image_ids":[4,"5"]`, []rawtable.AssetUse{image("4"), image("5")}, false},
		{`"video_id":null,"image_ids":[]`, []rawtable.AssetUse{}, false},
		{`"status":1`, nil, false},
		{`"video_id":{},"image_ids":[4]`, []rawtable.AssetUse{image("4")}, true},
		{`"image_ids":[4,{}]`, []rawtable.AssetUse{image("4")}, true},
		{`"video_id":50000000014,"image_ids":5`, []rawtable.AssetUse{video}, true},
	} {
		page, err := listOf(t, "creative").Page(t.Context(), answering(`[{"creative_id":1,`+c.fields+`}]`),
			media.ListQuery{}, "")
		require.NoError(t, err)
		require.Equal(t, c.want, page.Rows[0].Assets, c.fields)
		require.Equal(t, c.broken, page.Rows[0].MoreAssets, c.fields)
	}
}

func TestFiles_ReadTheWireFormat(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]any{"image": nil, "video": {int64(24_566)}} {
		s := answering(`[{"` + name + `_id":14,"name":"v1","md5":"5d41","width":720,"height":1280,"size":4000000,` +
			`"duration":24566,"ctime":"2026-11-01"}]`)
		page, err := listOf(t, name).Page(t.Context(), s, media.ListQuery{}, "")
		require.NoError(t, err)
		require.Equal(t, []string{`POST cpc/v3/material/list_` + name + `s ` +
			`{"account_id":1135369,"page":1,"page_size":100}`}, s.calls)
		require.Equal(t, append([]any{"v1", "5d41", int64(720), int64(1280), int64(4_000_000),
			sqldb.At(time.Date(2026, 10, 31, 16, 0, 0, 0, time.UTC))}, more...), page.Rows[0].Raw)
	}
}

func reportOf(t *testing.T, name, level string) media.Report {
	t.Helper()
	all := New().Reports()
	i := slices.IndexFunc(all, func(r media.Report) bool { return r.Name == name && r.Level == level })
	require.GreaterOrEqual(t, i, 0)
	return all[i]
}

func requireMetrics(t *testing.T, want map[string]int64, got metric.Values) {
	t.Helper()
	for i, m := range metric.All {
		value, set := got.Get(i)
		expected, has := want[m.Name]
		require.Equal(t, has, set, m.Name)
		require.Equal(t, expected, value, m.Name)
	}
}

var oneDay = media.ReportQuery{From: "2026-09-01", To: "2026-09-01"}

func TestDailyReport_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	s := answering(`{"rows":[{"dimensions":{"date_time":"2026-09-01","campaign_id":501},"metrics":{"show_count":10234,` +
		`"click_count":310,"charged_cost_milli":12345000,"pay_amount_milli":"605000","pay_count":null}}],` +
		`"page":1,"size":100,"total":101}`)
	q := oneDay
	q.Extra, q.Without = []string{"video_play_count"}, []string{"app_install_count", "retention_count"}
	page, err := reportOf(t, "report_daily", "campaign").Page(t.Context(), s, q, "")
	require.NoError(t, err)
	require.Equal(t, []string{`POST report/v3/custom {"account_id":1135369,"dimensions":["date_time","campaign_id"],` +
		`"end_date":"2026-09-01","filters":[],"metrics":["charged_cost_milli","show_count","click_count",` +
		`"app_download_count","app_activate_count","register_count","conversion_count","first_pay_count","pay_count",` +
		`"pay_amount_milli","first_day_pay_amount_milli","seven_day_pay_amount_milli","video_play_count"],` +
		`"page":1,"size":100,"start_date":"2026-09-01"}`}, s.calls)
	require.Equal(t, 101, page.Total)
	require.Equal(t, media.ByTotal, page.Proof)
	require.NotEmpty(t, page.Moved, "100 rows are due")
	row := page.Rows[0]
	require.Equal(t, day.Day("2026-09-01"), row.Day)
	require.Equal(t, "501", row.Object)
	require.Empty(t, row.Faults)
	requireMetrics(t, map[string]int64{"cost": 123_450_000, "impressions": 10_234, "clicks": 310, "pay_amount": 6_050_000},
		row.Metrics)
	require.Equal(t, int64(12_345_000), row.Raw[0])
	require.Equal(t, "charged_cost_milli_millifen", dailyTable.Columns[0].Name)
}

// READER takes a row without groups, and days with a time. Whether there is a total is not documented either.
func TestHourlyReport_ReadsFlatRowsWithoutATotal(t *testing.T) {
	t.Parallel()
	for level, object := range map[string]string{"account": "", "campaign": "campaign_id", "adgroup": "unit_id",
		"creative": "creative_id"} {
		s := answering(`{"rows":[{"date_time":"2026-09-01 09:00:00","hour":"9","campaign_id":501,"unit_id":601,` +
			`"creative_id":701,"charged_cost_milli":1,"show_count":0}]}`)
		report := reportOf(t, "report_hourly", level)
		page, err := report.Page(t.Context(), s, oneDay, "2")
		require.NoError(t, err)
		require.Equal(t, "3", page.Next)
		require.Equal(t, media.ByRepeat, page.Proof)
		row := page.Rows[0]
		require.Equal(t, day.Day("2026-09-01"), row.Day)
		require.Equal(t, 9, row.Hour)
		require.Equal(t, map[string]string{"": "", "campaign_id": "501", "unit_id": "601", "creative_id": "701"}[object],
			row.Object)
		requireMetrics(t, map[string]int64{"cost": 10, "impressions": 0}, row.Metrics)
		if object != "" {
			require.Contains(t, s.calls[0], `"dimensions":["date_time","hour","`+object+`"]`)
		}
		fields, err := report.Values(row.JSON)
		require.NoError(t, err)
		require.Equal(t, "1", string(fields["charged_cost_milli"]))
	}
}

func TestReport_ARowWithoutAUsableKeyIsLost(t *testing.T) {
	t.Parallel()
	const hour, unit = `"hour":9`, `"unit_id":601`
	for _, dimensions := range []string{
		`{"date_time":"2026-09-01",` + unit + `}`, `{"date_time":"2026-09-01","hour":24,` + unit + `}`,
		`{"date_time":"2026-09-01",` + hour + `}`, `{"date_time":"2026-09-01","unit_id":"0x1",` + hour + `}`,
		`{` + hour + `,` + unit + `}`, `{"date_time":20260901,` + hour + `,` + unit + `}`,
		`{"date_time":"2026-13-01 09:00:00",` + hour + `,` + unit + `}`,
		`{"date_time":"2026-09-01 09:00",` + hour + `,` + unit + `}`, `[]`, `null`,
	} {
		page, err := reportOf(t, "report_hourly", "adgroup").Page(t.Context(),
			answering(`{"rows":[{"dimensions":`+dimensions+`,"metrics":{"show_count":1}}],"total":1}`), oneDay, "")
		require.NoError(t, err)
		require.True(t, page.Rows[0].Lost, dimensions)
		require.NotEmpty(t, page.Rows[0].Faults, dimensions)
	}
}

// Rows with unreadable figures make their day partial: NULL is not 0.
func TestReport_WithoutAnObjectOfFiguresIsNotWhole(t *testing.T) {
	t.Parallel()
	for _, metrics := range []string{`"metrics":[],`, `"metrics":"-",`, `"metrics":5,`, `"metrics":null,`, ``} {
		page, err := reportOf(t, "report_daily", "account").Page(t.Context(),
			answering(`{"rows":[{`+metrics+`"dimensions":{"date_time":"2026-09-01"}}],"total":1}`), oneDay, "")
		require.NoError(t, err, metrics)
		require.False(t, page.Rows[0].Lost, metrics)
		require.Equal(t, []wire.Fault{{Field: "metrics", Kind: wire.FigureFault, Why: "is not an object of figures"}},
			page.Rows[0].Faults, metrics)
	}
	for _, data := range []string{`{}`, `[]`, `null`, `{"rows":{}}`, `{"rows":[],"total":"x"}`} {
		_, err := reportOf(t, "report_daily", "account").Page(t.Context(), answering(data), oneDay, "")
		requireClass(t, media.Transient, err)
	}
}

func TestReport_NamesAnUnknownMetric(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{`metrics has \"register_count\", which is unknown`: "register_count",
		"the time range is at most 1 day(s)": ""} {
		s := &server{answer: func(string) string { return `{"status":"fail","code":40000,"msg":"` + message + `"}` }}
		_, err := reportOf(t, "report_daily", "account").Page(t.Context(), s, oneDay, "")
		requireClass(t, media.Bug, err)
		require.Equal(t, want, failure(t, err).Field)
	}
}

func TestFunds_ReadTheWireFormat(t *testing.T) {
	t.Parallel()
	s := answering(`{"cash":1234.56,"red_packet":"30.5"}`)
	rows, err := New().Funds().Balance.Fetch(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, []string{"GET report/v2/cash?account_id=1135369"}, s.calls)
	require.Len(t, rows, 1)
	amount := func(micros int64) fund.Amount { return fund.Amount{Micros: micros, Set: true} }
	require.Equal(t, amount(1_234_560_000), rows[0].Funds[0].Values[fund.Balance])
	require.Equal(t, amount(30_500_000), rows[0].Funds[1].Values[fund.Balance])
	require.Equal(t, []any{int64(123_456), int64(3050)}, rows[0].Raw)
	for _, data := range []string{`{}`, `[]`, `null`, `5`, `{"red_packet":5}`} {
		_, err := New().Funds().Balance.Fetch(t.Context(), answering(data))
		requireClass(t, media.Transient, err)
	}

	s = answering(`[{"date":"2026-11-15","recharge_cash":1000,"cost_cash":500,"transfer_in_cash":11000,` +
		`"transfer_out_cash":550.5,"balance_cash":3000,"cost_red_packet":0.7},{"date":"15.11.2026"}]`)
	page, err := New().Funds().Daily.Page(t.Context(), s, media.ReportQuery{From: "2026-11-15", To: "2026-11-17"}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`POST cpc/v3/account/list_cash_flows {"account_id":1135369,"end_date":"2026-11-17",` +
		`"page":1,"page_size":100,"start_date":"2026-11-15"}`}, s.calls)
	row := page.Rows[0]
	require.Equal(t, day.Day("2026-11-15"), row.Day)
	require.Equal(t, []any{int64(100_000), int64(50_000), int64(1_100_000), int64(55_050), int64(300_000), nil, int64(70),
		nil, nil, nil}, row.Raw)
	require.Equal(t, fund.Cash, row.Funds[0].Kind)
	require.Equal(t, amount(500_000_000), row.Funds[0].Values[fund.Paid])
	require.Equal(t, amount(700_000), row.Funds[1].Values[fund.Paid])
	require.True(t, page.Rows[1].Lost)
	require.Equal(t, "2", page.Next)
}

func TestLevels_AreTheUnitsOfTheirParents(t *testing.T) {
	t.Parallel()
	parents := map[string]string{"campaign": "", "unit": "campaign_id", "creative": "unit_id", "image": "", "video": ""}
	for _, list := range New().Lists() {
		require.Equal(t, parents[list.Name], list.Parent, list.Name)
		require.True(t, list.NoSince)
		require.Equal(t, "bilibili_"+list.Name, list.Table.Name)
	}
	for _, report := range New().Reports() {
		require.Equal(t, 1, report.MaxDays, "GUIDE: a query has one day")
	}
}

// transport answers a call for tokens and notes what was sent.
type transport struct {
	status  int
	answers []string
	sent    []string
}

func (tr *transport) Do(req *http.Request) (status int, header http.Header, body []byte, err error) {
	sent, err := io.ReadAll(req.Body)
	tr.sent = append(tr.sent, strings.TrimSpace(req.Method+" "+req.URL.String()+" "+req.Header.Get("Content-Type")+
		req.Header.Get("Authorization")+" "+string(sent)))
	answer := tr.answers[0]
	if len(tr.answers) > 1 {
		tr.answers = tr.answers[1:]
	}
	return max(tr.status, http.StatusOK), http.Header{}, []byte(answer), err
}
func (*transport) BaseURL() string { return New().BaseURL() }
func (*transport) Now() time.Time  { return time.Now() }

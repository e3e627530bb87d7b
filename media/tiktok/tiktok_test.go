package tiktok

import (
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
	"adsync/base/fund"
	"adsync/base/metric"
	"adsync/base/ratelimit/grant"
	"adsync/base/rawtable"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/wire"
)

// server answers an API's calls with a function of the query.
type server struct {
	answer    func(endpoint string, query url.Values) string
	endpoints []string
	queries   []url.Values
}

func (s *server) Get(_ context.Context, endpoint string, query url.Values) (json.RawMessage, error) {
	s.endpoints, s.queries = append(s.endpoints, endpoint), append(s.queries, query)
	return New().Decode(http.StatusOK, http.Header{}, []byte(s.answer(endpoint, query)))
}

func (*server) Post(context.Context, string, any) (json.RawMessage, error) {
	return nil, errors.New("this platform has no POST")
}

func (*server) Account() media.Account { return media.Account{ExternalID: "7100000000000000001"} }

func envelope(data string) string {
	return `{"code":0,"message":"OK","request_id":"r2","data":` + data + `}`
}

func answering(data string) *server {
	return &server{answer: func(string, url.Values) string { return envelope(data) }}
}

func requireClass(t *testing.T, class media.Class, err error) {
	t.Helper()
	require.Equal(t, class, failure(t, err).Class, "%v", err)
}

func failure(t *testing.T, err error) media.Error {
	t.Helper()
	e, ok := errors.AsType[*media.Error](err)
	require.True(t, ok, "%v", err)
	return *e
}

func TestSign_PutsTheTokenIntoTheHeader(t *testing.T) {
	t.Parallel()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, New().BaseURL()+"/"+campaigns.endpoint, nil)
	require.NoError(t, err)
	New().Sign(req, "tk", time.Now())
	require.Equal(t, "https://business-api.tiktok.com/open_api/v1.3/campaign/get/", req.URL.String())
	require.Equal(t, http.Header{"Access-Token": {"tk"}}, req.Header)
}

func TestSignApp_OnlyTheListOfAccountsHasTheSecret(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{infoEndpoint, reportEndpoint, campaigns.endpoint, exchangeEndpoint} {
		require.False(t, New().AppSigned(endpoint), endpoint)
	}
	require.True(t, New().AppSigned(accountsEndpoint))
	query := url.Values{}
	body, err := New().SignApp(query, nil, media.App{ID: "7000000000000000001", Secret: secret.NewText("s3cr3t")}, "tk")
	require.NoError(t, err)
	require.Nil(t, body)
	require.Equal(t, url.Values{"app_id": {"7000000000000000001"}, "secret": {"s3cr3t"}}, query)
}

func TestDecode_ClassifiesTheCodes(t *testing.T) {
	t.Parallel()
	minute := media.Error{Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Minute}
	revoked := media.Error{Class: media.Invalid, Parks: media.Revoked}
	token := media.Error{Class: media.Auth, Expired: true}
	invalid, bug, transient := media.Error{Class: media.Invalid}, media.Error{Class: media.Bug},
		media.Error{Class: media.Transient}
	want := map[int64]media.Error{
		20001: transient, 40000: bug, 40001: revoked, 40002: bug, 40006: bug, 40007: bug, 40009: invalid, 40016: minute,
		40050: bug, 40100: {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: 2 * time.Second}, 40102: token,
		40103: invalid, 40104: token, 40105: token, 40107: invalid, 40108: invalid, 40110: invalid, 40113: invalid,
		40118: invalid, 40130: invalid, 40131: invalid, 40132: minute, 40133: minute, 40300: revoked, 40301: revoked,
		50000: transient, 50002: transient, 60001: {Class: media.Transient, RetryAfter: 5 * time.Minute}, 61000: minute,
	}
	require.Len(t, codes, len(want))
	// Codes that the table lacks: a write conflict, and the platform's internal services.
	want[40202], want[51001], want[51039], want[52001] = transient, transient, transient, transient
	for code, e := range want {
		_, err := New().Decode(http.StatusOK, http.Header{},
			fmt.Appendf(nil, `{"code":%d,"message":"words","request_id":"r4","data":{}}`, code))
		e.Code, e.Message = strconv.FormatInt(code, 10), "words (request r4)"
		got, ok := errors.AsType[*media.Error](err)
		require.True(t, ok, code)
		require.Equal(t, e, *got, code)
	}
}

func TestDecode_ARestrictedAppRests(t *testing.T) {
	t.Parallel()
	wait := func(message string) time.Duration {
		_, err := New().Decode(http.StatusOK, http.Header{}, []byte(`{"code":40100,"message":"`+message+
			`","request_id":"r4","data":{}}`))
		requireClass(t, media.Quota, err)
		return failure(t, err).RetryAfter
	}
	require.Equal(t, 2*time.Second, wait("App 7000000000000000001 reaches the QPS limit 10, current QPS is 11."))
	require.Equal(t, 5*time.Minute, wait("requests from App [7000000000000000001] are temporarily restricted"))
	_, err := New().Decode(http.StatusOK, http.Header{}, []byte(`{"code":50000,"message":"temporarily restricted"}`))
	requireClass(t, media.Transient, err)
	require.Zero(t, failure(t, err).RetryAfter)
}

// campaignRow is a row in the platform's documents.
const campaignRow = `{"advertiser_id":"7100000000000000001","campaign_id":"1800000000000001",` +
	`"campaign_name":"SG install","objective_type":"APP_PROMOTION","budget":50.0,"budget_mode":"BUDGET_MODE_DAY",` +
	`"operation_status":"ENABLE","secondary_status":"CAMPAIGN_STATUS_ENABLE","create_time":"2026-08-01 02:00:00",` +
	`"modify_time":"2026-08-20 11:30:05"}`

func TestCampaigns_ReadTheWireFormat(t *testing.T) {
	t.Parallel()
	s := answering(`{"list":[` + campaignRow + `,{"campaign_id":"1800000000000002","budget":"0.125",` +
		`"secondary_status":"CAMPAIGN_STATUS_DELETE","modify_time":"-"}],` +
		`"page_info":{"page":1,"page_size":1000,"total_number":2,"total_page":1}}`)
	list := New().Lists()[0]
	page, err := list.Page(t.Context(), s, media.ListQuery{}, "")
	require.NoError(t, err)
	require.Equal(t, []string{"campaign/get/"}, s.endpoints)
	require.Equal(t, url.Values{"advertiser_id": {"7100000000000000001"}, "page": {"1"}, "page_size": {"1000"},
		"filtering": {`{"primary_status":"STATUS_ALL"}`}}, s.queries[0])
	require.Empty(t, page.Next)
	first, second := page.Rows[0], page.Rows[1]
	created, modified := time.Date(2026, 8, 1, 2, 0, 0, 0, time.UTC), time.Date(2026, 8, 20, 11, 30, 5, 0, time.UTC)
	require.Equal(t, "1800000000000001", first.Object)
	require.Equal(t, modified, first.Modified)
	require.False(t, first.Deleted)
	require.Equal(t, []any{"SG install", "APP_PROMOTION", nil, int64(50_000_000), "BUDGET_MODE_DAY", "ENABLE",
		"CAMPAIGN_STATUS_ENABLE", sqldb.At(created), sqldb.At(modified)}, first.Raw)
	require.JSONEq(t, campaignRow, string(first.JSON))
	require.True(t, second.Deleted)
	require.True(t, second.Modified.IsZero())
	require.Equal(t, int64(125_000), second.Raw[3], "a currency with three decimals")
	require.Equal(t, "budget_micros", list.Table.Columns[3].Name)
}

func TestAds_ShowTheirFiles(t *testing.T) {
	t.Parallel()
	image := func(id string) rawtable.AssetUse { return rawtable.AssetUse{Kind: rawtable.AssetImage, ID: id} }
	video := rawtable.AssetUse{Kind: rawtable.AssetVideo, ID: "v10033g50000c1"}
	for fields, want := range map[string][]rawtable.AssetUse{
		`"video_id":"v10033g50000c1","image_ids":["ad-site/a","ad-site/a"]`: {video, image("ad-site/a")},
		`"video_id":null,"image_ids":["a","b"]`:                             {image("a"), image("b")},
		`"video_id":"","image_ids":[]`:                                      nil,
		`"video_id":{},"image_ids":["a"]`:                                   {image("a")},
		`"image_ids":["a",{}]`:                                              {image("a")},
		`"video_id":"v10033g50000c1","image_ids":5`:                         {video},
	} {
		s := answering(`{"list":[{"ad_id":"1",` + fields + `}],"page_info":{"total_number":1}}`)
		page, err := New().Lists()[2].Page(t.Context(), s, media.ListQuery{}, "")
		require.NoError(t, err)
		require.Equal(t, want, page.Rows[0].Assets, fields)
		broken := strings.Contains(fields, "{}") || strings.Contains(fields, "5,") || strings.HasSuffix(fields, "5")
		require.Equal(t, broken, page.Rows[0].MoreAssets, fields)
		require.True(t, page.Rows[0].Modified.IsZero(), "ads of Smart+ campaigns")
	}
}

func TestFiles_ReadTheirTimesInBothForms(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 1, 2, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-08-01T02:00:00Z": at, "2026-08-01 02:00:00": at, "2026-08-01T10:00:00+08:00": at, "": {},
	} {
		s := answering(`{"list":[{"video_id":"v1","duration":3.25,"create_time":"` + text +
			`"}],"page_info":{"total_number":1}}`)
		page, err := New().Lists()[4].Page(t.Context(), s, media.ListQuery{}, "")
		require.NoError(t, err)
		require.Empty(t, page.Rows[0].Faults, text)
		raw := page.Rows[0].Raw
		require.Equal(t, int64(3250), raw[0], "milliseconds")
		require.Equal(t, sqldb.At(want), raw[8], text)
		require.Equal(t, []string{"file/video/ad/search/"}, s.endpoints)
		require.Equal(t, url.Values{"advertiser_id": {"7100000000000000001"}, "page": {"1"}, "page_size": {"100"}},
			s.queries[0])
	}
}

func findReport(t *testing.T, name, level string) media.Report {
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

func TestDailyReport_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	s := answering(`{"list":[{"dimensions":{"campaign_id":"1800000000000001","stat_time_day":"2026-09-01 00:00:00"},` +
		`"metrics":{"spend":"123.45","impressions":"10234","clicks":"310","conversion":"17","app_install":"15",` +
		`"total_purchase_value":"0.125","real_time_conversion":"-","purchase":""}}],` +
		`"total_metrics":{"spend":"200.00","clicks":"-"},` +
		`"page_info":{"page":1,"page_size":1000,"total_number":1001,"total_page":2}}`)
	q := media.ReportQuery{From: "2026-09-01", To: "2026-09-07", Extra: []string{"reach"},
		Without: []string{"registration"}}
	page, err := findReport(t, "report_daily", "campaign").Page(t.Context(), s, q, "")
	require.NoError(t, err)
	require.Equal(t, []string{"report/integrated/get/"}, s.endpoints)
	require.Equal(t, url.Values{
		"advertiser_id": {"7100000000000000001"}, "service_type": {"AUCTION"}, "report_type": {"BASIC"},
		"data_level": {"AUCTION_CAMPAIGN"}, "dimensions": {`["stat_time_day","campaign_id"]`},
		"metrics": {`["spend","impressions","clicks","app_install","conversion","real_time_conversion","purchase",` +
			`"total_purchase","total_purchase_value","reach"]`},
		"start_date": {"2026-09-01"}, "end_date": {"2026-09-07"}, "enable_total_metrics": {"true"},
		"filtering": {`[{"field_name":"campaign_status","filter_type":"IN","filter_value":"[\"STATUS_ALL\"]"}]`},
		"page":      {"1"}, "page_size": {"1000"},
	}, s.queries[0])
	require.Equal(t, "2", page.Next)
	row := page.Rows[0]
	require.Equal(t, day.Day("2026-09-01"), row.Day)
	require.Equal(t, "1800000000000001", row.Object)
	require.Empty(t, row.Faults, `"-" is no value`)
	requireMetrics(t, map[string]int64{"cost": 123_450_000, "impressions": 10_234, "clicks": 310, "conversions": 17,
		"activations": 15, "pay_amount": 125_000}, row.Metrics)
	require.Equal(t, int64(123_450_000), row.Raw[0])
	requireMetrics(t, map[string]int64{"cost": 200_000_000}, *page.Sums)

	total, err := New().Total(t.Context(), s, q)
	require.NoError(t, err)
	requireMetrics(t, map[string]int64{"cost": 200_000_000}, total)
	_, err = New().Total(t.Context(), answering(`{"list":[],"page_info":{"total_number":0}}`), q)
	requireClass(t, media.Transient, err)
}

func TestReports_RequestDeletedObjectsAndNarrowByCampaigns(t *testing.T) {
	t.Parallel()
	const all = `","filter_type":"IN","filter_value":"[\"STATUS_ALL\"]"}`
	for level, want := range map[string]string{
		"account": "", "campaign": `[{"field_name":"campaign_status` + all + `]`,
		"adgroup": `[{"field_name":"adgroup_status` + all +
			`,{"field_name":"campaign_ids","filter_type":"IN","filter_value":"[\"18\",\"19\"]"}]`,
		"creative": `[{"field_name":"ad_status` + all +
			`,{"field_name":"campaign_ids","filter_type":"IN","filter_value":"[\"18\",\"19\"]"}]`,
	} {
		for _, name := range []string{"report_daily", "report_hourly"} {
			report, s := findReport(t, name, level), answering(`{"list":[],"page_info":{"total_number":0}}`)
			q := media.ReportQuery{From: "2026-09-01", To: "2026-09-01"}
			if report.Split != nil {
				q.Within = []string{"18", "19"}
			}
			_, err := report.Page(t.Context(), s, q, "")
			require.NoError(t, err)
			require.Equal(t, want, s.queries[0].Get("filtering"), level)
			require.Equal(t, name == "report_daily", s.queries[0].Has("enable_total_metrics"))
			require.Equal(t, name == "report_hourly", report.RepeatsHours)
		}
	}
}

func TestHourlyReport_ReadsDayAndHour(t *testing.T) {
	t.Parallel()
	report := findReport(t, "report_hourly", "account")
	q := media.ReportQuery{From: "2026-09-01", To: "2026-09-01"}
	ask := func(hour string) media.Row {
		page, err := report.Page(t.Context(), answering(`{"list":[{"dimensions":{"advertiser_id":"7100000000000000001",`+
			`"stat_time_hour":`+hour+`},"metrics":{"spend":"1.00"}}],"page_info":{"total_number":1}}`), q, "")
		require.NoError(t, err)
		return page.Rows[0]
	}
	row := ask(`"2026-09-01 23:00:00"`)
	require.Equal(t, day.Day("2026-09-01"), row.Day)
	require.Equal(t, 23, row.Hour)
	require.Empty(t, row.Object)
	for _, hour := range []string{`"2026-09-01 24:00:00"`, `"2026-13-01 14:00:00"`, `"2026-09-01"`, `""`, `null`, `14`,
		`"2026-09-01 xx:00:00"`} {
		row := ask(hour)
		require.True(t, row.Lost, hour)
		require.NotEmpty(t, row.Faults, hour)
	}
	_, err := report.Page(t.Context(), answering("{}"), media.ReportQuery{From: "2026-09-01", To: "2026-09-02"}, "")
	requireClass(t, media.Bug, err)
}

func TestReport_NamesAnUnknownMetric(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{"metrics: registration is not supported": "registration",
		"end_date is before start_date": ""} {
		s := &server{answer: func(string, url.Values) string { return `{"code":40002,"message":"` + message + `"}` }}
		_, err := findReport(t, "report_daily", "account").Page(t.Context(), s, media.ReportQuery{}, "")
		requireClass(t, media.Bug, err)
		require.Equal(t, want, failure(t, err).Field)
	}
}

// Rows with unreadable figures make their day partial: NULL is not 0.
func TestReport_WithoutAnObjectOfFiguresIsNotWhole(t *testing.T) {
	t.Parallel()
	for _, metrics := range []string{`"metrics":[],`, `"metrics":"-",`, `"metrics":5,`, `"metrics":null,`, ``} {
		s := answering(`{"list":[{` + metrics + `"dimensions":{"stat_time_day":"2026-11-01 00:00:00","ad_id":"1"}}],` +
			`"page_info":{"total_number":1}}`)
		page, err := findReport(t, "report_daily", "creative").Page(t.Context(), s, media.ReportQuery{}, "")
		require.NoError(t, err, metrics)
		require.False(t, page.Rows[0].Lost, metrics)
		require.Equal(t, []wire.Fault{{Field: "metrics", Kind: wire.FigureFault, Why: "is not an object of figures"}},
			page.Rows[0].Faults, metrics)
	}
}

func TestProbe_RequestsUpToFiveAccountsInOneReport(t *testing.T) {
	t.Parallel()
	row := func(id, spend, impressions string) string {
		return `{"dimensions":{"advertiser_id":"` + id + `","stat_time_day":"2026-09-01 00:00:00"},"metrics":{"spend":"` +
			spend + `","impressions":"` + impressions + `","currency":"USD","timezone":"Etc/GMT","advertiser_id":"` + id + `"}}`
	}
	s := answering(`{"list":[` + strings.Join([]string{row("71", "0", "12"), row("72", "3", "0"), row("73", "0", "-"),
		row("99", "5", "5")}, ",") + `],"page_info":{"total_number":4}}`)
	var accounts []media.Account
	for i, id := range []string{"71", "72", "73", "74"} {
		accounts = append(accounts, media.Account{ID: int64(i + 1), ExternalID: id, Zone: time.UTC})
	}
	require.Equal(t, 5, New().ProbeMax())
	spending, err := New().Probe(t.Context(), s, accounts, time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	require.Equal(t, map[int64]bool{1: true, 2: true}, spending, "money without decimals may be 0")
	require.Equal(t, `["71","72","73","74"]`, s.queries[0].Get("advertiser_ids"))
	require.Equal(t, "2026-09-01", s.queries[0].Get("end_date"))
	require.False(t, s.queries[0].Has("advertiser_id"))

	refused := &server{answer: func(string, url.Values) string { return `{"code":40001}` }}
	_, err = New().Probe(t.Context(), refused, accounts, time.Now())
	requireClass(t, media.Invalid, err)
}

func TestFund_ReadsTheBalance(t *testing.T) {
	t.Parallel()
	s := answering(`{"list":[{"advertiser_id":"7100000000000000001","balance":1234.5,"currency":"USD"}]}`)
	rows, err := New().Funds().Balance.Fetch(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, url.Values{"advertiser_ids": {`["7100000000000000001"]`},
		"fields": {`["advertiser_id","balance","currency"]`}}, s.queries[0])
	require.Len(t, rows, 1)
	require.Equal(t, fund.Total, rows[0].Funds[0].Kind)
	require.Equal(t, fund.Amount{Micros: 1_234_500_000, Set: true}, rows[0].Funds[0].Values[fund.Balance])
	for _, list := range []string{`[]`, `[{}]`, `[{"advertiser_id":"7100000000000000001"}]`,
		`[{"advertiser_id":"7100000000000000002","balance":1}]`, `[{"advertiser_id":"1"},{"advertiser_id":"2"}]`} {
		_, err := New().Funds().Balance.Fetch(t.Context(), answering(`{"list":`+list+`}`))
		requireClass(t, media.Transient, err)
	}
}

// login answers the calls of a listing: a list of n accounts, and details that a function may refuse.
func login(t *testing.T, n int, isForbidden func(id int) bool, leavesOut bool) *server {
	t.Helper()
	return &server{answer: func(endpoint string, query url.Values) string {
		var rows []string
		if endpoint == accountsEndpoint {
			for id := 1; id <= n; id++ {
				rows = append(rows, fmt.Sprintf(`{"advertiser_id":"%d","advertiser_name":"a"}`, id))
			}
			return envelope(`{"list":[` + strings.Join(rows, ",") + `]}`)
		}
		var ids []string
		require.NoError(t, json.Unmarshal([]byte(query.Get("advertiser_ids")), &ids))
		require.LessOrEqual(t, len(ids), 100, "the platform takes at most 100")
		for _, text := range ids {
			if id, _ := strconv.Atoi(text); !isForbidden(id) {
				rows = append(rows, `{"advertiser_id":"`+text+`","name":"n`+text+
					`","currency":"KWD","timezone":"Asia/Kuwait","create_time":1700000000}`)
			} else if !leavesOut {
				return `{"code":40001,"message":"No permission to operate advertiser ` + text + `"}`
			}
		}
		return envelope(`{"list":[` + strings.Join(rows, ",") + `]}`)
	}}
}

// One account without permission leaves all others whole.
func TestAccounts_AForbiddenOneDoesNotAffectTheOthers(t *testing.T) {
	t.Parallel()
	for name, forbiddenIDs := range map[string][]int{"none": nil, "one": {37}, "the first and the last": {1, 250}} {
		for _, leavesOut := range []bool{false, true} {
			s := login(t, 250, func(id int) bool { return slices.Contains(forbiddenIDs, id) }, leavesOut)
			id, left := 0, 0
			require.NoError(t, New().Accounts(t.Context(), s, "", func(page []media.FoundAccount) error {
				for _, a := range page {
					id++
					require.Equal(t, strconv.Itoa(id), a.ExternalID, "all are found, in order")
					if slices.Contains(forbiddenIDs, id) {
						left++
						require.Equal(t, forbidden, a.LeftOut)
						continue
					}
					require.Equal(t, media.FoundAccount{ExternalID: a.ExternalID, Name: "n" + a.ExternalID,
						Timezone: "Asia/Kuwait", Currency: "KWD", JSON: a.JSON,
						Raw: []any{"n" + a.ExternalID, nil, nil, nil, "KWD", "Asia/Kuwait",
							sqldb.At(time.Unix(1_700_000_000, 0).UTC())}}, a)
				}
				return nil
			}))
			require.Equal(t, 250, id)
			require.Equal(t, len(forbiddenIDs), left, name)
		}
	}
}

// An account that is not yielded counts as gone: a login without the permission itself loses none.
func TestAccounts_ALoginWithoutDetailsFails(t *testing.T) {
	t.Parallel()
	for _, leavesOut := range []bool{false, true} {
		s := login(t, 250, func(int) bool { return true }, leavesOut)
		err := New().Accounts(t.Context(), s, "", func([]media.FoundAccount) error { return nil })
		require.Error(t, err)
		require.Less(t, len(s.queries), 250)
	}
	for _, data := range []string{`{}`, `[]`, `{"list":5}`, `null`} {
		err := New().Accounts(t.Context(), answering(data), "", func([]media.FoundAccount) error { return nil })
		requireClass(t, media.Transient, err)
	}
}

func TestAccounts_OneWithoutAUsableZoneIsLost(t *testing.T) {
	t.Parallel()
	for _, fields := range []string{`"currency":"USD"`, `"currency":"USD","timezone":"Local"`,
		`"currency":"USD","timezone":"Mars/Phobos"`, `"timezone":"Etc/GMT"`, `"currency":"dollars","timezone":"Etc/GMT"`} {
		rows, err := readDetails([]byte(`{"list":[{"advertiser_id":"7",` + fields + `}]}`))
		require.NoError(t, err)
		require.True(t, rows["7"].Lost, fields)
	}
	ids, lost, err := readAccounts([]byte(`{"list":[{"advertiser_id":"7"},{"advertiser_id":"x"},{"advertiser_id":7}]}`))
	require.NoError(t, err)
	require.Equal(t, []string{"7"}, ids)
	require.Len(t, lost, 1)
}

type transport struct{ sent, body string }

func (tr *transport) Do(req *http.Request) (status int, header http.Header, body []byte, err error) {
	sent, err := io.ReadAll(req.Body)
	tr.sent = req.Method + " " + req.URL.String() + " " + string(sent)
	return http.StatusOK, http.Header{}, []byte(tr.body), err
}
func (*transport) BaseURL() string { return "https://business-api.tiktok.com/open_api/v1.3" }
func (*transport) Now() time.Time  { return time.Now() }

func TestExchange_ReadsTheWireFormat(t *testing.T) {
	t.Parallel()
	app := media.App{ID: "7000000000000000001", Secret: secret.NewText("s3cr3t")}
	exchange := func(body string) (media.Authorisation, string, error) {
		tr := &transport{body: body}
		a, err := New().Exchange(t.Context(), tr, app, secret.NewText("ac-1"), "https://example.com/callback")
		return a, tr.sent, err
	}
	a, sent, err := exchange(envelope(`{"access_token":"tok-1","advertiser_ids":["7100000000000000002",` +
		`"7100000000000000001","710000000000000000"],"scope":[4,220]}`))
	require.NoError(t, err)
	require.Equal(t, `POST https://business-api.tiktok.com/open_api/v1.3/oauth2/access_token/ {"app_id":`+
		`"7000000000000000001","auth_code":"ac-1","secret":"s3cr3t"}`, sent)
	require.Equal(t, media.Authorisation{Login: "710000000000000000",
		Tokens: media.Tokens{Access: secret.NewText("tok-1")}}, a, "no refresh token, and no end")

	for body, class := range map[string]media.Class{
		`{"code":40110}`: media.Invalid, `{"code":40113}`: media.Invalid, `{"code":50000}`: media.Transient,
		envelope(`{"access_token":"tok-1","advertiser_ids":[]}`): media.Invalid,
		envelope(`{"advertiser_ids":["71"]}`):                    media.Invalid, envelope(`null`): media.Invalid,
	} {
		_, _, err := exchange(body)
		requireClass(t, class, err)
		require.NotContains(t, err.Error(), "tok-1")
	}
	require.Equal(t, "https://business-api.tiktok.com/portal/auth?app_id=7&redirect_uri=https%3A%2F%2Fa.b%2Fc&state=s",
		New().AuthoriseURL(New().AuthorisePage(), media.Ask{AppID: "7", RedirectURI: "https://a.b/c",
			State: secret.NewText("s")}))
}

func TestRefresh_CallsNothing(t *testing.T) {
	t.Parallel()
	tr := &transport{}
	_, err := New().Refresh(t.Context(), tr, media.App{}, "r")
	requireClass(t, media.Auth, err)
	require.False(t, failure(t, err).Expired)
	require.Empty(t, tr.sent)
}

func FuzzReaders(f *testing.F) {
	for _, s := range []string{
		`{"list":[` + campaignRow + `],"page_info":{"total_number":1}}`,
		`{"list":[{"dimensions":{"stat_time_day":"2026-11-01 00:00:00","stat_time_hour":"2026-11-01 14:00:00","ad_id":"1"},` +
			`"metrics":{"spend":"1.2","clicks":"-"}}],"total_metrics":{"spend":"1.2"},"page_info":{"total_number":1}}`,
		`{"list":[{"advertiser_id":"7","timezone":"Etc/GMT","currency":"USD","balance":1.5}]}`,
		`{"list":[{"ad_id":"1","video_id":"v","image_ids":["a",5]}],"page_info":{"total_number":1}}`,
		`{"access_token":"a","advertiser_ids":["7"]}`, `{"list":[null]}`, `[]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(_ *testing.T, body []byte) {
		ctx, s := context.Background(), answering(string(body))
		for _, list := range New().Lists() {
			_, _ = list.Page(ctx, s, media.ListQuery{}, "")
		}
		for _, report := range New().Reports() {
			_, _ = report.Page(ctx, s, media.ReportQuery{}, "")
		}
		_, _ = New().Probe(ctx, s, []media.Account{{ID: 1, ExternalID: "7", Zone: time.UTC}}, time.Now())
		_, _, _ = readAccounts(body)
		_, _ = readDetails(body)
		_, _ = fetchFund(ctx, s)
		_, _ = readAuthorisation(body)
		_, _ = New().Decode(http.StatusOK, http.Header{}, body)
	})
}

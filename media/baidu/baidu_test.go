package baidu_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/day"
	"adsync/base/metric"
	"adsync/base/secret"
	"adsync/base/sqldb"
	"adsync/media"
	"adsync/media/baidu"
)

// server answers calls with the samples of the platform's documents, in turn.
type server struct {
	t       *testing.T
	account media.Account
	answers []string
	asked   []string // each endpoint with its body
}

func newServer(t *testing.T, answers ...string) *server {
	t.Helper()
	return &server{t: t, account: media.Account{ExternalID: "630152", Name: "shop-sem"}, answers: answers}
}

func (s *server) Get(context.Context, string, url.Values) (json.RawMessage, error) {
	return nil, fmt.Errorf("the platform has no GET")
}

func (s *server) Post(_ context.Context, endpoint string, body any) (json.RawMessage, error) {
	sent, err := json.Marshal(body)
	require.NoError(s.t, err)
	s.asked = append(s.asked, endpoint+" "+string(sent))
	if len(s.answers) == 0 {
		return nil, fmt.Errorf("one call too many: %s", endpoint)
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return baidu.New().Decode(http.StatusOK, http.Header{}, []byte(answer))
}

func (s *server) Account() media.Account { return s.account }

func good(data string) string {
	return `{"header":{"status":0,"desc":"success","quota":1,"rquota":49999,"oprs":1,"oprtime":0,"traceid":"t1",` +
		`"failures":[]},"body":{"data":` + data + `}}`
}

func failing(status int, code, message string) string {
	return fmt.Sprintf(`{"header":{"status":%d,"desc":"failure","traceid":"t1","failures":[{"code":%s,"message":%q,`+
		`"position":""}]},"body":{"data":[]}}`, status, code, message)
}

func listOf(t *testing.T, name string) media.List {
	t.Helper()
	for _, l := range baidu.New().Lists() {
		if l.Name == name {
			return l
		}
	}
	require.Fail(t, "no list", name)
	return media.List{}
}

func reportOf(t *testing.T, name, level string) media.Report {
	t.Helper()
	for _, r := range baidu.New().Reports() {
		if r.Name == name && r.Level == level {
			return r
		}
	}
	require.Fail(t, "no report", level)
	return media.Report{}
}

func TestList_ReadsTheSampleOfCampaigns(t *testing.T) {
	t.Parallel()
	s := newServer(t,
		good(`[{"campaignId":86415412,"campaignName":"SG","budget":50.0,"pause":false,"status":21}]`))
	page, err := listOf(t, "campaign").Page(t.Context(), s, media.ListQuery{Variant: "search"}, "")
	require.NoError(t, err)
	require.Equal(t, []string{`json/sms/service/CampaignService/getCampaign {"header":{"userName":"shop-sem",` +
		`"accessToken":""},"body":{"campaignFields":["campaignId","campaignName","pause","status","budget","createTime",` +
		`"adType","marketingTargetId","campaignOcpcBid","campaignTransTypes"]}}`}, s.asked)
	require.Len(t, page.Rows, 1)
	require.Equal(t, media.ByRepeat, page.Proof)
	row := page.Rows[0]
	require.Equal(t, "86415412", row.Object)
	require.Equal(t, "SG", row.Name)
	require.Equal(t, []any{"SG", "false", "21", int64(5000), sqldb.At(time.Time{})}, row.Raw)
}

// Children are requested by their parents, at most as many as the platform takes.
func TestList_RequestsChildrenInParts(t *testing.T) {
	t.Parallel()
	parents := make([]string, 101)
	for i := range parents {
		parents[i] = fmt.Sprintf(`{"campaignFeedId":%d}`, i+1)
	}
	s := newServer(t, good("["+strings.Join(parents, ",")+"]"),
		good(`[{"adgroupFeedId":5,"campaignFeedId":1,"adgroupFeedName":"a","pause":true,"bid":"35.05",`+
			`"modtime":"2026-11-20 09:00:00"}]`), good("[]"))
	page, err := listOf(t, "adgroup").Page(t.Context(), s, media.ListQuery{Variant: "feed"}, "")
	require.NoError(t, err)
	require.Len(t, s.asked, 3)
	require.Contains(t, s.asked[1], `"idType":1,"ids":[1,2,3,`)
	require.Contains(t, s.asked[2], `"idType":1,"ids":[101]`)
	require.Len(t, page.Rows, 1)
	modified := time.Date(2026, 11, 20, 1, 0, 0, 0, time.UTC)
	require.Equal(t, []any{"a", "1", "true", nil, int64(3505), sqldb.At(time.Time{}), sqldb.At(modified)},
		page.Rows[0].Raw)
}

// The good part of an answer is kept, and a row that is lost keeps the others from counting as deleted.
func TestList_AFailedIDIsALostRow(t *testing.T) {
	t.Parallel()
	s := newServer(t, good(`[{"campaignFeedId":1},{"campaignFeedId":2}]`),
		`{"header":{"status":1,"failures":[{"code":800,"message":"busy","position":"ids[0]","field":"ids","id":1}]},`+
			`"body":{"data":[{"adgroupFeedId":5,"campaignFeedId":2}]}}`)
	page, err := listOf(t, "adgroup").Page(t.Context(), s, media.ListQuery{Variant: "feed"}, "")
	require.NoError(t, err)
	require.Len(t, page.Rows, 2)
	require.True(t, page.Rows[0].Lost)
	require.Contains(t, page.Rows[0].Faults[0].Why, "800")
	require.Equal(t, "5", page.Rows[1].Object)
}

const sample = `{"date":"2026-09-01","userId":630152,"userName":"shop-sem","campaignId":86415412,"impression":10234,` +
	`"click":310,"cost":1234.56}`

func TestReport_ReadsTheSample(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{"array": `[%s]`, "object": `%s`} {
		s := newServer(t, good(fmt.Sprintf(data, `{"rowCount":1,"totalRowCount":1,"rows":[`+sample+`]}`)))
		page, err := reportOf(t, "report_daily", "campaign").Page(t.Context(), s,
			media.ReportQuery{Variant: "search", From: "2026-09-01", To: "2026-09-07"}, "")
		require.NoError(t, err, name)
		require.Contains(t, s.asked[0], `"reportType":2290316`)
		require.Contains(t, s.asked[0], `"sorts":[{"column":"date","sortRule":"ASC"},{"column":"campaignId",`)
		require.Equal(t, 1, page.Total)
		require.Empty(t, page.Moved)
		row := page.Rows[0]
		require.Equal(t, "86415412", row.Object)
		require.EqualValues(t, "2026-09-01", row.Day)
		cost, _ := row.Metrics.Get(metric.Index("cost"))
		require.EqualValues(t, 1_234_560_000, cost)
		_, set := row.Metrics.Get(metric.Index("conversions"))
		require.False(t, set, "a figure that is missing is not set")
	}
}

func TestReport_HasPagesAndHours(t *testing.T) {
	t.Parallel()
	s := newServer(t, good(`[{"totalRowCount":1001,"rows":[`+
		`{"date":"2026-09-01 23:00","userId":1,"ideaId":7,"cost":0.01}]}]`))
	page, err := reportOf(t, "report_hourly", "creative").Page(t.Context(), s,
		media.ReportQuery{Variant: "feed", From: "2026-09-01", To: "2026-09-01"}, "1000")
	require.NoError(t, err)
	require.Contains(t, s.asked[0], `"startRow":1000`)
	require.Contains(t, s.asked[0], `"timeUnit":"HOUR"`)
	require.Contains(t, s.asked[0], `"activeConversions"`)
	require.Equal(t, 23, page.Rows[0].Hour)
	require.Empty(t, page.Next)
	require.Empty(t, page.Moved)
	for _, date := range []string{"2026-09-01", "2026-09-01 24:00", "2026-09-01 9:00", "2026-09-01 -1:00", "x 01:00"} {
		s.answers = []string{good(`[{"totalRowCount":1,"rows":[{"date":"` + date + `","userId":1,"ideaId":7}]}]`)}
		page, err := reportOf(t, "report_hourly", "creative").Page(t.Context(), s,
			media.ReportQuery{Variant: "feed", From: "2026-09-01", To: "2026-09-01"}, "")
		require.NoError(t, err)
		require.True(t, page.Rows[0].Lost, date)
	}
}

// An account may have both kinds of advertising: its own row is their sum.
func TestReport_AddsSearchAndFeedOfAnAccount(t *testing.T) {
	t.Parallel()
	row := func(more string) string {
		return good(`[{"totalRowCount":1,"rows":[{"date":"2026-09-01","userId":630152,"cost":1.5,"click":2` + more + `}]}]`)
	}
	s := newServer(t, row(`,"ocpcConversions":3,"ocpcConversionsDetail4":4`), row(`,"ocpcTargetTrans":5`))
	page, err := reportOf(t, "report_daily", "account").Page(t.Context(), s,
		media.ReportQuery{From: "2026-09-01", To: "2026-09-01"}, "")
	require.NoError(t, err)
	require.Equal(t, 1, page.Total)
	require.Len(t, page.Rows, 1)
	for name, want := range map[string]int64{"cost": 3_000_000, "clicks": 4, "conversions": 8} {
		got, set := page.Rows[0].Metrics.Get(metric.Index(name))
		require.True(t, set, name)
		require.Equal(t, want, got, name)
	}
	_, set := page.Rows[0].Metrics.Get(metric.Index("activations"))
	require.False(t, set, "a sum without a part would look complete")
	require.True(t, strings.HasPrefix(string(page.Rows[0].JSON), "[{"))
}

// A joint query has no account's name: the login's is added when it is signed.
func TestReport_OfSeveralAccounts(t *testing.T) {
	t.Parallel()
	q := media.ReportQuery{Variant: "search", From: "2026-09-01", To: "2026-09-01",
		Accounts: []media.Account{{ExternalID: "630152"}, {ExternalID: "630153"}}}
	part := func(id string) string {
		return `{"header":{"status":1,"failures":[{"code":8406,"message":"no permission","field":"userIds","id":` + id +
			`}]},"body":{"data":[{"totalRowCount":1,"rows":[` + sample + `]}]}}`
	}
	s := newServer(t, part("630153"), part("5"))
	s.account = media.Account{}
	page, err := reportOf(t, "report_daily", "campaign").Page(t.Context(), s, q, "")
	require.NoError(t, err)
	require.Contains(t, s.asked[0], `"userIds":[630152,630153]`)
	require.Equal(t, "630152", page.Rows[0].Account)
	_, err = reportOf(t, "report_daily", "campaign").Page(t.Context(), s, q, "")
	require.ErrorContains(t, err, "8406", "a part that is no account's")
}

func TestReport_NamesAnUnknownColumn(t *testing.T) {
	t.Parallel()
	s := newServer(t, failing(2, "901000", "column activeConversions is not one of the report"))
	r := reportOf(t, "report_daily", "adgroup")
	q := media.ReportQuery{Variant: "feed", From: "2026-09-01", To: "2026-09-01"}
	_, err := r.Page(t.Context(), s, q, "")
	var e *media.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "activeConversions", e.Field)
	s.answers = []string{good(`[{"totalRowCount":0,"rows":[]}]`)}
	q.Without = []string{e.Field}
	_, err = r.Page(t.Context(), s, q, "")
	require.NoError(t, err)
	require.NotContains(t, s.asked[1], "activeConversions")
}

func TestSign_AddsTheTokenAndTheLogin(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"shop-sem": "shop-sem", "": "manager"} {
		body := `{"header":{"userName":"` + name + `","accessToken":""},"body":{"ids":[18446744073709551615]}}`
		ctx := media.WithLogin(t.Context(), media.Login{Name: "manager"})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x", strings.NewReader(body))
		require.NoError(t, err)
		baidu.New().Sign(req, "eyJ0", time.Time{})
		sent, err := io.ReadAll(req.Body)
		require.NoError(t, err)
		require.Equal(t, `{"header":{"userName":"`+want+`","accessToken":"eyJ0"},"body":{"ids":[18446744073709551615]}}`,
			string(sent))
		require.EqualValues(t, len(sent), req.ContentLength)
	}
}

func TestDecode_ClassesOfCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int
		code    string
		class   media.Class
		expired bool
		parks   media.Parking
		wait    time.Duration
	}{
		{2, "8501", media.Quota, false, "", time.Second},
		{3, "8501", media.Quota, false, "", time.Second},
		{2, "9011028", media.Quota, false, "", time.Minute},
		{2, "894062", media.Auth, true, "", 0},
		{2, "8401", media.Auth, true, "", 0},
		{2, "801", media.Auth, false, "", 0},
		{2, "8406", media.Invalid, false, media.Revoked, 0},
		{2, "901913", media.Invalid, false, media.Revoked, 0},
		{3, "800", media.Transient, false, "", 0},
		{3, "901000", media.Transient, false, "", 0},
		{2, "901000", media.Bug, false, "", 0},
		{2, "9250001", media.Bug, false, "", 0},
		{2, "8101", media.Bug, false, "", 0},
		{2, "77777", media.Transient, false, "", 0},
		{2, `"x"`, media.Transient, false, "", 0},
		{1, "800", media.Transient, false, "", 0},
	} {
		answer := failing(c.status, c.code, "why")
		if c.status == 1 {
			answer = strings.Replace(answer, `"data":[]`, `"other":[]`, 1)
		}
		_, err := baidu.New().Decode(http.StatusOK, http.Header{}, []byte(answer))
		var e *media.Error
		require.ErrorAs(t, err, &e, c.code)
		require.Equal(t, c.class, e.Class, "%s with status %d", c.code, c.status)
		require.Equal(t, c.expired, e.Expired, c.code)
		require.Equal(t, c.parks, e.Parks, c.code)
		require.Equal(t, c.wait, e.RetryAfter, c.code)
		require.Equal(t, "why (request t1)", e.Message)
	}
	for status, class := range map[int]media.Class{421: media.Quota, 429: media.Quota, 405: media.Transient,
		502: media.Transient} {
		_, err := baidu.New().Decode(status, http.Header{"Retry-After": {"7"}}, []byte("busy"))
		var e *media.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, class, e.Class, status)
		require.Equal(t, 7*time.Second, e.RetryAfter)
	}
}

// exchanges answers calls for tokens.
type exchanges struct {
	answers []string
	sent    []string
}

func (x *exchanges) Do(req *http.Request) (int, http.Header, []byte, error) {
	body, err := io.ReadAll(req.Body)
	x.sent = append(x.sent, req.URL.String()+" "+string(body))
	answer := x.answers[0]
	x.answers = x.answers[1:]
	return http.StatusOK, http.Header{}, []byte(answer), err
}
func (*exchanges) BaseURL() string { return baidu.New().BaseURL() }
func (*exchanges) Now() time.Time  { return time.Time{} }

const tokens = `{"code":0,"message":"success","data":{"accessToken":"eyJ0","refreshToken":"eyJ1","openId":"8123",` +
	`"userId":630152,"expiresTime":"2026-09-02 18:37:29","expiresIn":86400,"refreshExpiresTime":"2026-10-01 18:37:29",` +
	`"refreshExpiresIn":2592000}}`

func TestRefresh_ReadsTheSample(t *testing.T) {
	t.Parallel()
	x := &exchanges{answers: []string{tokens, strings.Replace(tokens, "eyJ1", "", 1),
		`{"code":600014,"message":"refreshToken old is over","data":null}`,
		`{"code":600012,"message":"secretKey app-key is wrong","data":null}`, `{"code":600011,"message":"bad","data":null}`,
		`{"code":0,"data":{}}`}}
	ctx := media.WithLogin(t.Context(), media.Login{ID: "630152"})
	refresh := func() (media.Tokens, error) {
		return baidu.New().Refresh(ctx, x, media.App{ID: "A", Secret: secret.NewText("app-key")}, "old")
	}
	got, err := refresh()
	require.NoError(t, err)
	require.Equal(t, `https://u.baidu.com/oauth/refreshToken {"appId":"A","refreshToken":"old","secretKey":"app-key",`+
		`"userId":630152}`, x.sent[0])
	require.Equal(t, "eyJ1", got.Refresh.Reveal())
	require.Equal(t, 24*time.Hour, got.AccessExpires)
	got, err = refresh()
	require.NoError(t, err)
	require.True(t, got.Refresh.IsZero(), "the old one stays")
	for _, class := range []media.Class{media.Auth, media.Invalid, media.Bug, media.Transient} {
		_, err := refresh()
		var e *media.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, class, e.Class)
		require.NotContains(t, e.Error(), "old is over")
	}
}

// A login that is no manager has no list: it is its only account.
func TestAccounts_OfALoginOfOneAccount(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"shop-sem": 1, "": 0} {
		s := newServer(t, failing(2, "8406", "no manager"))
		s.account = media.Account{}
		ctx := media.WithLogin(t.Context(), media.Login{ID: "630152", Name: name})
		var found []media.FoundAccount
		err := baidu.New().Accounts(ctx, s, "630152", func(page []media.FoundAccount) error {
			found = append(found, page...)
			return nil
		})
		require.Equal(t, want == 0, err != nil, "%v", err)
		require.Len(t, found, want)
		if want > 0 {
			require.Equal(t, "630152", found[0].ExternalID)
			require.Equal(t, name, found[0].Name)
		}
	}
}

// What appears or goes between the two readings of a list is in it.
func TestAccounts_OfBothReadings(t *testing.T) {
	t.Parallel()
	s := newServer(t, good(`[{"userid":1,"username":"a"},{"userid":2,"username":"b"}]`),
		good(`[{"userid":3,"username":"c"},{"userid":2,"username":"b"}]`))
	s.account = media.Account{}
	var found []string
	require.NoError(t, baidu.New().Accounts(t.Context(), s, "", func(page []media.FoundAccount) error {
		for _, a := range page {
			found = append(found, a.ExternalID)
		}
		return nil
	}))
	require.Equal(t, []string{"1", "2", "3"}, found)
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(good(`[{"campaignId":86415412,"campaignName":"SG","budget":50.0,"pause":false,"status":21}]`)))
	f.Add([]byte(good(`[{"totalRowCount":1,"rows":[` + sample + `]}]`)))
	f.Add([]byte(failing(1, "8406", "why")))
	f.Add([]byte(good(`[{"creativeFeedId":1,"material":"{\"videoId\":1,\"poster\":\"http://x/1.jpg\"}"}]`)))
	f.Add([]byte(tokens))
	f.Fuzz(func(t *testing.T, answer []byte) {
		s := &server{t: t, account: media.Account{ExternalID: "1", Name: "a"}}
		each := func() { s.answers = []string{string(answer), string(answer), string(answer)} }
		for _, l := range baidu.New().Lists() {
			for _, variant := range []string{"search", "feed"} {
				each()
				page, err := l.Page(t.Context(), s, media.ListQuery{Variant: variant}, "")
				requireKeys(t, page, err)
			}
		}
		for _, r := range baidu.New().Reports() {
			each()
			q := media.ReportQuery{From: "2026-09-01", To: "2026-09-01"}
			page, err := r.Page(t.Context(), s, q, "")
			requireKeys(t, page, err)
			for _, row := range page.Rows {
				require.True(t, row.Lost || row.Day != day.Day(""))
			}
		}
		each()
		_, _ = baidu.New().Funds().Balance.Fetch(t.Context(), s)
		each()
		_ = baidu.New().Accounts(t.Context(), s, "", func([]media.FoundAccount) error { return nil })
		x := &exchanges{answers: []string{string(answer)}}
		_, _ = baidu.New().Refresh(t.Context(), x, media.App{}, "old")
	})
}

// requireKeys checks that each row has an id or is lost.
func requireKeys(t *testing.T, page media.Page, err error) {
	t.Helper()
	for _, row := range page.Rows {
		require.NoError(t, err)
		require.True(t, !row.Lost || len(row.Faults) > 0)
	}
}

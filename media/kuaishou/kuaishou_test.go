package kuaishou_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"adsync/base/ratelimit/grant"
	"adsync/base/secret"
	"adsync/media"
	"adsync/media/kuaishou"
)

// server answers calls in turn, for the account of the platform's documents.
type server struct {
	t       *testing.T
	answers []string
	asked   []string // each endpoint with its body
	files   []string // what Open returns, in turn: a file, or an answer that starts with "{"
}

func answering(t *testing.T, answers ...string) *server {
	t.Helper()
	return &server{t: t, answers: answers}
}

func (*server) Get(context.Context, string, url.Values) (json.RawMessage, error) {
	return nil, errors.New("this platform has no GET")
}

func (s *server) Post(_ context.Context, endpoint string, body any) (json.RawMessage, error) {
	sent, err := json.Marshal(body)
	require.NoError(s.t, err)
	s.asked = append(s.asked, endpoint+" "+string(sent))
	if len(s.answers) == 0 {
		return nil, errors.New("one call too many: " + endpoint)
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return kuaishou.New().Decode(http.StatusOK, http.Header{}, []byte(answer))
}

func (s *server) Open(_ context.Context, endpoint string, query url.Values) (media.Download, error) {
	s.asked = append(s.asked, endpoint+"?"+query.Encode())
	file := s.files[0]
	s.files = s.files[1:]
	if !strings.HasPrefix(file, "{") {
		return media.Download{Body: io.NopCloser(strings.NewReader(file))}, nil
	}
	data, err := kuaishou.New().Decode(http.StatusOK, http.Header{}, []byte(file))
	return media.Download{Payload: data}, err
}

func (*server) OpenAddress(context.Context, string) (io.ReadCloser, error) {
	return nil, errors.New("this platform has no addresses")
}

func (*server) Account() media.Account { return media.Account{ExternalID: "20000681"} }

var _ media.FileAPI = (*server)(nil)

func envelope(data string) string {
	return `{"code":0,"message":"OK","data":` + data + `,"request_id":"a1ad2f9a5dbd4450946ad85e9f7441e1"}`
}

// rows is an answer with all rows of a list.
func rows(list ...string) string { return rowsOf(len(list), list...) }

func rowsOf(total int, list ...string) string {
	return envelope(fmt.Sprintf(`{"total_count":%d,"details":[%s]}`, total, strings.Join(list, ",")))
}

func refusal(code int, message string) string {
	return fmt.Sprintf(`{"code":%d,"message":%q,"request_id":"q3"}`, code, message)
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
	for endpoint, want := range map[string]http.Header{
		"gw/dsp/unit/list":               {"Access-Token": {"tk"}},
		"v1/async_task/download":         {"Access-Token": {"tk"}},
		"oauth2/authorize/approval/list": {}, // the only call with the token in its body
	} {
		address := kuaishou.New().BaseURL() + "/" + endpoint
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
		require.NoError(t, err)
		kuaishou.New().Sign(req, "tk", time.Now())
		require.Equal(t, "https://ad.e.kuaishou.com/rest/openapi/"+endpoint, req.URL.String())
		require.Equal(t, want, req.Header)
	}
}

// The list of accounts is the only call that carries the app's secret, in the body of document 3025.
func TestSignApp_FillsTheSampleOfTheListOfAccounts(t *testing.T) {
	t.Parallel()
	k := kuaishou.New()
	for _, endpoint := range []string{"v1/advertiser/info", "v1/report/account_report", "gw/dsp/campaign/list",
		"oauth2/authorize/access_token"} {
		require.False(t, k.AppSigned(endpoint), endpoint)
	}
	require.True(t, k.AppSigned("oauth2/authorize/approval/list"))
	app := media.App{ID: "74751", Secret: secret.NewText("abcd")}
	query := url.Values{}
	body, err := k.SignApp(query, []byte(`{"page_no":1,"page_size":100}`), app, "f143e044bd8e1024545251c612c0ab49")
	require.NoError(t, err)
	require.JSONEq(t, `{"access_token":"f143e044bd8e1024545251c612c0ab49","app_id":74751,"page_no":1,"page_size":100,`+
		`"secret":"abcd"}`, string(body))
	require.Empty(t, query, "nothing of it is in the address")
	_, err = k.SignApp(query, []byte(`[]`), app, "tk")
	requireClass(t, media.Bug, err)
	app.ID = "an app"
	_, err = k.SignApp(query, []byte(`{}`), app, "tk")
	requireClass(t, media.Invalid, err)
	require.NotContains(t, err.Error(), "abcd")
}

// Only a job is made by a POST, and tokens are exchanged: those calls are not sent again.
func TestReads_AreAllOtherPosts(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]bool{
		"v1/async_task/create": false, "oauth2/authorize/access_token": false, "oauth2/authorize/refresh_token": false,
		"oauth2/authorize/approval/list": true, "v1/async_task/list": true, "v1/report/unit_report": true,
		"gw/dsp/creative/list": true, "v1/advertiser/fund/get": true, "v1/advertiser/fund/daily_flows": true,
		"v1/tool/operation_record/list": true,
	} {
		require.Equal(t, want, kuaishou.New().Reads(endpoint), endpoint)
	}
}

func TestLimits_AreThoseOfTheApp(t *testing.T) {
	t.Parallel()
	require.Equal(t, []grant.Rule{{Media: "kuaishou", Endpoint: "*", Scope: grant.ScopeApp, Period: time.Minute,
		Limit: 3_000}}, kuaishou.New().Limits())
}

// Each code of a group has the group's class. All others may be anything.
func TestDecode_ClassesOfAllCodes(t *testing.T) {
	t.Parallel()
	groups := map[string]media.Error{
		"400001":        {Class: media.Quota, Scope: grant.ScopeApp, RetryAfter: time.Minute},
		"400003,410000": {Class: media.Transient},
		"402000,402001,402002,402003,402004,402005,402006,402008,402009": {Class: media.Auth, Expired: true},
		"400002,400004,410001,402007,402010,402011,402012,402013,402014": {Class: media.Invalid, Parks: media.Revoked},
		"401000,401001,401002,401003,401004,401005,410002,410003,410004": {Class: media.Bug},
	}
	want := map[string]media.Error{}
	for codes, class := range groups {
		for code := range strings.SplitSeq(codes, ",") {
			want[code] = class
		}
	}
	decode := func(code string) {
		_, err := kuaishou.New().Decode(http.StatusOK, http.Header{},
			[]byte(`{"code":`+code+`,"message":"words","request_id":"q3"}`))
		e, known := want[code]
		if !known {
			e = media.Error{Class: media.Transient}
		}
		e.Code, e.Message = code, "words (request q3)"
		require.Equal(t, e, failure(t, err), code)
	}
	for code := 399_990; code < 410_100; code++ {
		decode(fmt.Sprint(code))
	}
	for _, code := range []string{"1", "-1", "500", "40001", "40029", "999999"} {
		decode(code)
	}
}

// Document 3025 has code 1 for success.
func TestDecode_TheOddSuccess(t *testing.T) {
	t.Parallel()
	decode := func(status int, body string) (json.RawMessage, error) {
		return kuaishou.New().Decode(status, http.Header{}, []byte(body))
	}
	data, err := decode(http.StatusOK, `{"code":1,"message":"成功","data":{"details":[8173064],"isEnd":false}}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"details":[8173064],"isEnd":false}`, string(data))
	data, err = decode(http.StatusOK, `{"code":0,"message":"OK","data":{"details":[8173064],"isEnd":false}}`)
	require.NoError(t, err, "if it is ever mended")
	require.JSONEq(t, `{"details":[8173064],"isEnd":false}`, string(data))
	for _, body := range []string{`{"code":1,"message":"OK","data":{}}`, `{"code":1,"message":"成功"}`,
		`{"code":1,"message":"成功","data":null}`, `{"code":2,"message":"成功","data":{}}`,
		`{"code":[1],"message":"成功","data":{}}`} {
		_, err := decode(http.StatusOK, body)
		requireClass(t, media.Transient, err)
	}
	_, err = decode(http.StatusBadGateway, `{"code":1,"message":"成功","data":{}}`)
	requireClass(t, media.Transient, err)
}

func TestDecode_BrokenAnswers(t *testing.T) {
	t.Parallel()
	decode := func(status int, header http.Header, body string) error {
		_, err := kuaishou.New().Decode(status, header, []byte(body))
		return err
	}
	for _, body := range []string{``, `busy`, `<html>502</html>`, `[]`, `null`, `{}`, `{"code":`, `{"code":"x"}`,
		`{"code":null,"message":"OK"}`, `{"data":{}}`, `{"result":1}`} {
		err := decode(http.StatusOK, nil, body)
		requireClass(t, media.Transient, err)
		require.NotContains(t, err.Error(), "html")
	}
	busy := http.Header{"Retry-After": {"7"}}
	for status, want := range map[int]media.Class{429: media.Quota, 500: media.Transient, 503: media.Transient} {
		err := decode(status, busy, `{"message":"busy"}`)
		requireClass(t, want, err)
		require.Equal(t, 7*time.Second, failure(t, err).RetryAfter, status)
	}
	err := decode(http.StatusTooManyRequests, http.Header{"Retry-After": {"90"}},
		refusal(400001, "api freq out of limit"))
	requireClass(t, media.Quota, err)
	require.Equal(t, 90*time.Second, failure(t, err).RetryAfter)
	err = decode(http.StatusForbidden, nil, refusal(402002, "token is expired"))
	requireClass(t, media.Auth, err)
}

// transport answers calls for tokens.
type transport struct {
	answers []string
	sent    []string
}

func (x *transport) Do(req *http.Request) (int, http.Header, []byte, error) {
	body, err := io.ReadAll(req.Body)
	x.sent = append(x.sent, req.Method+" "+req.URL.String()+" "+string(body))
	if req.Header.Get("Content-Type") != "application/json" || req.Header.Get("Access-Token") != "" {
		return 0, nil, nil, errors.New("calls for tokens are JSON, without a token in the header")
	}
	answer := x.answers[0]
	x.answers = x.answers[1:]
	return http.StatusOK, http.Header{}, []byte(answer), err
}
func (*transport) BaseURL() string { return kuaishou.New().BaseURL() }
func (*transport) Now() time.Time  { return time.Now() }

const pair = `"access_token":"tok-a","access_token_expires_in":86400,"refresh_token":"tok-r",` +
	`"refresh_token_expires_in":2592000`

// app is the app of the documents' samples.
func app() media.App { return media.App{ID: "1", Secret: secret.NewText("s3cr3t")} }

func tokens() media.Tokens {
	return media.Tokens{Access: secret.NewText("tok-a"), Refresh: secret.NewText("tok-r"), AccessExpires: 24 * time.Hour,
		RefreshExpires: 30 * 24 * time.Hour}
}

func TestAuthoriseURL_HasTheScopesAsAList(t *testing.T) {
	t.Parallel()
	k := kuaishou.New()
	address, err := url.Parse(k.AuthoriseURL(k.AuthorisePage(), media.Ask{AppID: "1", RedirectURI: "https://a.b/c?d=1&e",
		State: secret.NewText("s&<1>")}))
	require.NoError(t, err)
	require.Equal(t, url.Values{"app_id": {"1"}, "scope": {`["ad_query","report_service","account_service"]`},
		"redirect_uri": {"https://a.b/c?d=1&e"}, "state": {"s&<1>"}, "oauth_type": {"advertiser"}}, address.Query())
	address.RawQuery = ""
	require.Equal(t, "https://developers.e.kuaishou.com/tools/authorize", address.String())
	require.Equal(t, "auth_code", k.CodeParameter())
	require.Equal(t, "https://developers.e.kuaishou.com", k.Console())
}

func exchange(t *testing.T, answers ...string) (media.Authorisation, *transport, error) {
	t.Helper()
	x := &transport{answers: answers}
	a, err := kuaishou.New().Exchange(t.Context(), x, app(), secret.NewText("5991a7e2a6c7933b93"), "https://a.b/c")
	return a, x, err
}

// Documents 3085 and 3025.
func TestExchange_NamesTheLogin(t *testing.T) {
	t.Parallel()
	a, x, err := exchange(t, envelope(`{`+pair+`,"advertiser_id":20000681}`))
	require.NoError(t, err)
	require.Equal(t, []string{`POST https://ad.e.kuaishou.com/rest/openapi/oauth2/authorize/access_token ` +
		`{"app_id":1,"auth_code":"5991a7e2a6c7933b93","secret":"s3cr3t"}`}, x.sent)
	require.Equal(t, "20000681", a.Login)
	require.Equal(t, tokens(), a.Tokens)

	// Not every sample names the advertiser. Then it is the smallest one as a number.
	a, x, err = exchange(t, envelope(`{`+pair+`}`),
		`{"code":1,"message":"成功","data":{"details":[20000681,8173065,8173064,1000000000],"isEnd":false}}`)
	require.NoError(t, err)
	require.Equal(t, `POST https://ad.e.kuaishou.com/rest/openapi/oauth2/authorize/approval/list {"access_token":"tok-a",`+
		`"app_id":1,"page_no":1,"page_size":200,"secret":"s3cr3t"}`, x.sent[1])
	require.Equal(t, "8173064", a.Login)
	require.Equal(t, tokens(), a.Tokens)

	// Older documents name the lives differently.
	a, _, err = exchange(t, envelope(`{"access_token":"tok-a","expires_in":86400,"refresh_token":"tok-r",`+
		`"refresh_token_expires_in":2592000,"advertiser_id":"20000681"}`))
	require.NoError(t, err)
	require.Equal(t, tokens(), a.Tokens)
}

func TestExchange_Refused(t *testing.T) {
	t.Parallel()
	onlyPair := envelope(`{` + pair + `}`)
	for name, c := range map[string]struct {
		class   media.Class
		answers []string
	}{
		"a code that is used or a wrong app": {media.Invalid, []string{refusal(402004, "auth_code tok-c is used")}},
		"a wrong request":                    {media.Bug, []string{refusal(401000, "bad")}},
		"busy":                               {media.Transient, []string{refusal(400003, "busy")}},
		"no pair":                            {media.Transient, []string{envelope(`{"access_token":"tok-a"}`)}},
		"no tokens":                          {media.Transient, []string{envelope(`null`)}},
		"not an object":                      {media.Transient, []string{envelope(`[5]`)}},
		"no accounts":                        {media.Transient, []string{onlyPair, envelope(`{"details":[]}`)}},
		"a broken list":                      {media.Transient, []string{onlyPair, envelope(`{"details":5}`)}},
		"an account without a number":        {media.Transient, []string{onlyPair, envelope(`{"details":["x"]}`)}},
		"a refused list":                     {media.Invalid, []string{onlyPair, refusal(402007, "tok-a has no s3cr3t")}},
	} {
		_, x, err := exchange(t, c.answers...)
		require.Equal(t, c.class, failure(t, err).Class, "%s: %v", name, err)
		require.False(t, failure(t, err).Expired, "%s: there is no token that could be refreshed", name)
		require.Len(t, x.sent, len(c.answers), name)
		for _, hidden := range []string{"s3cr3t", "tok-a", "5991a7e2a6c7933b93"} {
			require.NotContains(t, err.Error(), hidden, name)
		}
	}
	wrong := media.App{ID: "an app", Secret: secret.NewText("s3cr3t")}
	_, err := kuaishou.New().Exchange(t.Context(), &transport{}, wrong, secret.NewText("c"), "")
	requireClass(t, media.Invalid, err)
}

func TestRefresh_ReplacesBothTokens(t *testing.T) {
	t.Parallel()
	refresh := func(answer string) (media.Tokens, string, error) {
		x := &transport{answers: []string{answer}}
		got, err := kuaishou.New().Refresh(t.Context(), x, app(), "5991a7e2a6c7933b93")
		return got, x.sent[0], err
	}
	got, sent, err := refresh(envelope(`{` + pair + `}`))
	require.NoError(t, err)
	require.Equal(t, `POST https://ad.e.kuaishou.com/rest/openapi/oauth2/authorize/refresh_token `+
		`{"app_id":1,"refresh_token":"5991a7e2a6c7933b93","secret":"s3cr3t"}`, sent)
	require.Equal(t, tokens(), got)
	for answer, class := range map[string]media.Class{
		// Only a person can replace a refresh token that is refused. A wrong app is not the login's fault.
		refusal(402005, "refresh token 5991a7e2a6c7933b93 is over"): media.Auth,
		refusal(402003, "app_id or secret is unknown"):              media.Invalid,
		refusal(402003, "wrong secret"):                             media.Invalid,
		refusal(410000, "busy"):                                     media.Transient,
		refusal(401000, "bad"):                                      media.Bug,
		refusal(400001, "api freq out of limit"):                    media.Quota,
		envelope(`{"access_token":"tok-a"}`):                        media.Transient,
		envelope(`{"refresh_token":"tok-r"}`):                       media.Transient,
		envelope(`{"access_token":5,"refresh_token":{}}`):           media.Transient,
		envelope(`null`):                                            media.Transient, `busy`: media.Transient,
	} {
		_, _, err := refresh(answer)
		require.Equal(t, class, failure(t, err).Class, "%s: %v", answer, err)
		require.False(t, failure(t, err).Expired, answer)
		require.NotContains(t, err.Error(), "5991a7e2a6c7933b93")
	}
}

func accounts(t *testing.T, answers ...string) (found []media.FoundAccount, s *server, err error) {
	t.Helper()
	s = answering(t, answers...)
	err = kuaishou.New().Accounts(t.Context(), s, "", func(page []media.FoundAccount) error {
		found = append(found, page...)
		return nil
	})
	return found, s, err
}

// approved is a page of the list of accounts. isEnd is true on the page after the last one.
func approved(end string, ids ...string) string {
	return `{"code":1,"message":"成功","data":{"details":[` + strings.Join(ids, ",") + `],"isEnd":` + end + `}}`
}

// The fields are those of document 2613.
func details(name string) string {
	return envelope(`{"user_id":1239164944,"user_name":"` + name + `","corporation_name":"测试广告主","industry_id":1251,` +
		`"industry_name":"其他资讯类","primary_industry_id":1021,"primary_industry_name":"传媒资讯类","product_name":"产品",` +
		`"delivery_type":1}`)
}

func TestAccounts_ReadTheListTwiceAndEachAccountOnce(t *testing.T) {
	t.Parallel()
	found, s, err := accounts(t, approved("false", "8173064", "20000681"), details("Eason忻"), details("b"),
		approved("true"), approved("false", "20000681", "9"), refusal(402007, "no permission"), approved("true"))
	require.NoError(t, err)
	require.Equal(t, []string{
		`oauth2/authorize/approval/list {"page_no":1,"page_size":200}`, `v1/advertiser/info {"advertiser_id":8173064}`,
		`v1/advertiser/info {"advertiser_id":20000681}`, `oauth2/authorize/approval/list {"page_no":2,"page_size":200}`,
		`oauth2/authorize/approval/list {"page_no":1,"page_size":200}`, `v1/advertiser/info {"advertiser_id":9}`,
		`oauth2/authorize/approval/list {"page_no":2,"page_size":200}`,
	}, s.asked)
	require.Len(t, found, 3)
	require.Equal(t, "8173064", found[0].ExternalID)
	require.Equal(t, "Eason忻", found[0].Name)
	require.Equal(t, "Asia/Shanghai", found[0].Timezone)
	require.Equal(t, "CNY", found[0].Currency)
	require.Equal(t, []any{"Eason忻", "测试广告主", "传媒资讯类", "其他资讯类", "产品", int64(1)}, found[0].Raw)
	require.Len(t, kuaishou.New().AccountTable().Columns, len(found[0].Raw))
	require.Equal(t, "9", found[2].ExternalID, "what appears between the two readings is in the list")
	require.Empty(t, found[2].Name, "an account whose details are refused has no name")
	require.False(t, found[2].Lost)
	require.Len(t, found[2].Raw, len(found[0].Raw))
}

func TestAccounts_EndWithTheMarkOrAnEmptyPage(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string][]string{
		"the mark on the last page":    {approved("true", "1"), details("a"), approved("true", "1")},
		"an empty page without a mark": {approved("false", "1"), details("a"), approved("false"), approved("false")},
		"no mark, and null as the empty list": {envelope(`{"details":["1"]}`), details("a"), envelope(`{"details":null}`),
			envelope(`{}`)},
	} {
		found, s, err := accounts(t, answers...)
		require.NoError(t, err, name)
		require.Len(t, found, 1, name)
		require.Empty(t, s.answers, name)
	}
	_, _, err := accounts(t, approved("false", "1"), details("a"), approved("false", "1"))
	requireClass(t, media.Transient, err)
	require.ErrorContains(t, err, "repeat themselves")
}

// An account that is not listed counts as gone: a broken list has none.
func TestAccounts_OfABrokenList(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{envelope(`null`), envelope(`[]`), envelope(`5`), envelope(`{"details":5}`),
		envelope(`{"details":["x"]}`), envelope(`{"details":[1,{}]}`), envelope(`{"details":[1.5]}`),
		envelope(`{"details":[0]}`), envelope(`{"details":[-1]}`), approved(`"maybe"`, "1"), `{`, refusal(410000, "busy")} {
		found, _, err := accounts(t, answer)
		requireClass(t, media.Transient, err)
		require.Empty(t, found, answer)
	}
	// A failed call for details must not become an account without a name.
	for _, answer := range []string{refusal(400003, "busy"), refusal(400001, "limit"), refusal(402002, "expired")} {
		found, _, err := accounts(t, approved("false", "1"), answer)
		require.Error(t, err)
		require.Empty(t, found, answer)
	}
	found, _, err := accounts(t, approved("true", "1"), envelope(`{"user_name":5,"delivery_type":"x"}`),
		approved("true", "1"))
	require.NoError(t, err)
	require.Equal(t, "1", found[0].ExternalID)
	require.Len(t, found[0].Faults, 2)
	stopped := errors.New("the store is closed")
	err = kuaishou.New().Accounts(t.Context(), answering(t, approved("true", "1"), details("a")), "",
		func([]media.FoundAccount) error { return stopped })
	require.ErrorIs(t, err, stopped)
}
